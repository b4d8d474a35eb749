"""Scores a synthetic table by many metrics at once, each with baselines."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, get_args

import numpy as np

from syntabula._arguments import count, function, several, shown, words
from syntabula._planning import Progress
from syntabula.errors import ArgumentError, PrivacyWarning, warn_caller
from syntabula.metrics import faults
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.evaluation import NOT_PRIVATE, Against, Evaluation, Result
from syntabula.metrics.metric import Group, Metric, MetricInfo, Need
from syntabula.metrics.reading import compare
from syntabula.metrics.registry import describe_metric, loaded_metrics
from syntabula.metrics.score import Baseline, Score
from syntabula.table.read import read
from syntabula.table.schema.schema import SchemaSource, as_schema

_NEEDED: Mapping[Need, str] = {
    "target": "the column to predict",
    "holdout": "real records that the synthesizer has not seen",
    "rules": "a schema with rules",
}

_OWN_HOLDOUT = "tested on a quarter of the real table, which the synthesizer has seen"

_SPLIT_ANEW: tuple[Group, ...] = ("rows", "fidelity", "queries")
"""Groups whose metrics also compare the synthetic table with the holdout; other metrics use the holdout
themselves."""


def evaluate(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    target: str | None = None,
    schema: SchemaSource | None = None,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    baselines: Baseline | Iterable[Baseline] = ("HALF", "HISTOGRAM"),
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Score a synthetic table against the real one, with baselines for each score.

    The scores are computed from the sensitive table without any noise, so they are not private; a
    PrivacyWarning says so.

    Args:
        real: The table that the synthetic one was made from: path, data frame, Arrow table or relation.
        synthetic: The table to score.
        holdout: Real records that the synthesizer has not seen. Metrics of rows, fidelity and queries are then also
            computed against them, with SELF (the real table) as their baseline: a synthetic table much nearer
            to the real one than to the holdout repeats its records. Without a holdout, metrics of a target are tested
            on a random quarter of the real table and compare with training on the rest; a note says so.
        target: Column to predict, for utility metrics.
        schema: Which columns are numeric, categorical or identifiers; inferred from the real table if not given. If
            it has rules, both tables are checked against them. If it names a unit, halves and holdouts that are drawn
            here keep all rows of a unit together; a SplitWarning says if one has rows in the real and the holdout table.
        metrics: Keys, groups ("rows", "fidelity", "queries", "utility", "privacy"; each stands for its
            quick metrics), or metrics with options of their own. By default all quick ones whose needs are met.
        baselines: Tables of known quality that are scored too.
        seed: Makes samples, splits and queries repeatable; each metric has its own random stream, so that
            its value does not depend on the other metrics.
        workers: Number of metrics computed in parallel; one per core by default. It does not affect the values.
        progress: Called with the name of a step and the fraction done.

    Returns:
        The scores. If a metric of a plug-in breaks, its score has no value, and `faults` has a sentence about it.

    Raises:
        ArgumentError: If a metric, baseline, target, seed or number of workers is unknown or out of range, or
            a metric needs a target or holdout that was not given; before any table is read.
        DataError: If a table cannot be read, or the tables cannot be compared.
        SchemaError: If the tables have different columns, or do not match the schema.
        MissingExtraError: If a library that one of the metrics needs is missing.

    Examples:
        >>> import warnings
        >>> from syntabula import datasets, evaluate
        >>> real, other = datasets.census(n_rows=300, seed=1), datasets.census(n_rows=300, seed=2)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     found = evaluate(real, other, metrics="tvd-1")
        >>> found.score("tvd-1").direction
        'lower'
    """
    declared = None if schema is None else as_schema(schema)
    chosen = choose_metrics(
        metrics,
        has_target=target is not None,
        has_holdout=holdout is not None,
        has_rules=declared is not None and declared.rules is not None,
    )
    wanted = _baselines(baselines)
    target = words("the name of a column").or_none("target", target)
    progress = function("a function of a step's name and the fraction done").or_none("progress", progress)
    seed = count(0)("seed", seed)
    threads: int = count().or_none("workers", workers) or os.cpu_count() or 1
    show = progress or (lambda step, done: None)

    show("read the tables", 0.0)
    original = read(real, declared)
    tables = compare(original, synthetic, holdout=holdout, target=target, schema=declared)
    if metrics is None and target is not None:
        # Of the quick metrics, those that fit the target's kind.
        kind = "class" if target in tables.categories else "number"
        chosen = [(info, metric) for info, metric in chosen if getattr(metric, "target", kind) == kind]
    warn_caller(PrivacyWarning(NOT_PRIVATE))
    results = score_tables(tables, chosen, wanted, seed=seed, workers=threads, progress=show)
    facts = {
        "rows_real": tables.real.n_rows,
        "rows_synthetic": tables.synthetic.n_rows,
        "rows_holdout": None if tables.holdout is None else tables.holdout.n_rows,
        "columns": [*tables.columns],
        "left_out": [*tables.left_out],
        "unit": None if declared is None else declared.unit,
        "target": target,
        "seed": seed,
    }
    # A plug-in that cannot be loaded does not say its group; it may be of any that was asked for.
    unloaded = loaded_metrics()[1] if _asks_for_group(metrics) else ()
    container = original.origin.container
    return Evaluation(results=results, facts=facts, container=container, unloaded=unloaded)


def _asks_for_group(metrics: str | Metric | Iterable[str | Metric] | None) -> bool:
    """Return whether metrics are asked for that are not named one by one."""
    if metrics is None or callable(metrics):
        return metrics is None
    named = [metrics] if isinstance(metrics, str) else [*metrics]
    return any(isinstance(name, str) and name in get_args(Group) for name in named)


def _baselines(given: object) -> tuple[Baseline, ...]:
    known = ", ".join(get_args(Baseline))
    for name in several(f"some of {known}")("baselines", given):
        if not isinstance(name, str) or name not in get_args(Baseline):
            raise ArgumentError(f"there is no baseline {shown(name)}; baselines are {known}")
    return tuple(dict.fromkeys(several("")("baselines", given)))


def choose_metrics(
    metrics: str | Metric | Iterable[str | Metric] | None,
    *,
    has_target: bool,
    has_holdout: bool,
    has_rules: bool = False,
) -> list[tuple[MetricInfo, Metric]]:
    """Return the requested metrics, in the order of the registry, those with own options last in their group.

    Raises:
        ArgumentError: If one is unknown, or needs a target, a holdout or rules that were not given.
    """
    # A metric of a target makes a holdout of its own.
    given = {"target": has_target, "holdout": has_holdout or has_target, "rules": has_rules}
    if metrics is None:
        quick = [i for i in loaded_metrics()[0] if i.quick and all(given[need] for need in i.needs)]
        return [(info, faults.make(info)) for info in quick]
    listed = several("a metric, its key, a group of metrics, or several of these")
    named = [metrics] if callable(metrics) else [*listed("metrics", metrics)]
    keys: list[str] = []
    own: list[tuple[MetricInfo, Metric]] = []
    for name in named:
        if not isinstance(name, str):
            own.append((_info_of(name), name))
        elif name in get_args(Group):
            quick = [info for info in loaded_metrics()[0] if info.group == name and info.quick]
            # Whoever asks for a group has a target or holdout in mind; rules are a matter of the schema.
            keys += [info.key for info in quick if has_rules or "rules" not in info.needs]
        else:
            keys.append(describe_metric(name).key)
    chosen = [(info, faults.make(info)) for info in loaded_metrics()[0] if info.key in keys] + own
    groups = get_args(Group)
    chosen.sort(key=lambda pair: groups.index(pair[0].group))
    for info, _ in chosen:
        lacking = [need for need in info.needs if not given[need]]
        if "target" in lacking and "holdout" in lacking:
            # With a target, a part of the real table is held out.
            lacking.remove("holdout")
        if lacking:
            needed = " and ".join(f"{need} ({_NEEDED[need]})" for need in lacking)
            raise ArgumentError(f"the metric {info.key!r} needs {needed}")
    return chosen


def _info_of(metric: Metric) -> MetricInfo:
    """Return the info of a metric with options of its own."""
    home = f"{type(metric).__module__}:{type(metric).__qualname__}"
    relatives = [info for info in loaded_metrics()[0] if info.home == home]
    if not relatives:
        raise ArgumentError(
            f"the class {type(metric).__name__} is not registered as a metric; give a key or a group, or decorate the "
            'class with @syntabula.register("metric")'
        )
    same = [info for info in relatives if info.key == metric.key]
    return (same or relatives)[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """One metric for one pair of tables."""

    place: int
    info: MetricInfo
    metric: Metric
    against: Against
    baseline: Baseline | None
    tables: Comparison
    stream: tuple[int, ...]
    splits: bool = False

    def run(self) -> tuple[Score | str, float]:
        start = time.perf_counter()
        score = faults.compute(self.info, self.metric, self.tables, np.random.default_rng(self.stream))
        return score, time.perf_counter() - start


def score_tables(
    tables: Comparison,
    metrics: Sequence[tuple[MetricInfo, Metric]],
    baselines: Sequence[Baseline] = (),
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Result, ...]:
    """Compute metrics of a comparison, as `evaluate` does, without its checks and its warning."""
    tasks = _tasks(tables, metrics, baselines, seed)
    if workers > 1 and any("catboost" in getattr(metric, "evaluators", ()) for _, metric in metrics):
        # CatBoost imports polars, and scikit-learn in another thread would use the half-imported module.
        with suppress(ImportError):
            import_module("polars")
    found: dict[_Task, tuple[Score | str, float]] = {}
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(task.run): task for task in tasks}
        try:
            for future in as_completed(running):
                found[running[future]] = future.result()
                if progress is not None:
                    progress(running[future].metric.key, len(found) / len(tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return tuple(_result(task, found) for task in tasks if task.baseline is None)


def _result(task: _Task, found: Mapping[_Task, tuple[Score | str, float]]) -> Result:
    """Combine a score with those of its baselines; a sentence in place of a score says how its plug-in broke."""
    score, seconds = found[task]
    scale: dict[Baseline, float] = {}
    broken: list[tuple[Baseline, str]] = []
    for other in sorted(found, key=lambda t: str(t.baseline)):
        its_score, its_seconds = found[other]
        if other.baseline is not None and (other.place, other.against) == (task.place, task.against):
            if isinstance(its_score, str):
                broken.append((other.baseline, its_score))
            else:
                scale[other.baseline] = its_score.value
            seconds += its_seconds
    if isinstance(score, str):
        fault = score
        score = faults.without_value(task.info, task.metric, fault)
    else:
        fault = faults.of_baselines(broken)
        note = score.note or (_OWN_HOLDOUT if task.splits else "")
        score = replace(score, note="; ".join(filter(None, [note, fault])))
    score = score.with_baselines(scale)
    return Result(info=task.info, against=task.against, score=score, seconds=seconds, fault=fault)


def _has_halves(tables: Comparison) -> bool:
    """Return whether the real table can be halved: it has two rows, or two units."""
    units = tables.real.units
    return (tables.real.n_rows if units is None else np.unique(units).size) >= 2


def _scales(tables: Comparison, baselines: Sequence[Baseline], seed: int) -> dict[Baseline, Comparison]:
    """Return the tables of baselines."""
    makers: dict[Baseline, Callable[[], Comparison]] = {
        "HALF": lambda: tables.halves(np.random.default_rng([seed, 1])),
        "HISTOGRAM": lambda: tables.histogram(np.random.default_rng([seed, 2])),
        "SELF": tables.itself,
    }
    return {name: makers[name]() for name in baselines}


def _tasks(
    tables: Comparison,
    metrics: Sequence[tuple[MetricInfo, Metric]],
    baselines: Sequence[Baseline],
    seed: int,
) -> list[_Task]:
    """List the tasks to compute; the tables of baselines are made once, for all metrics."""
    any_scaled = any(info.baselines for info, _ in metrics)
    scales = _scales(tables, baselines, seed) if any_scaled else {}
    splits_any = tables.holdout is None and any("holdout" in info.needs for info, _ in metrics)
    own = tables.with_own_holdout(np.random.default_rng([seed, 3])) if splits_any else tables
    # Baselines of metrics that are tested on a holdout need one too, and are made of the other rows.
    of_own = _scales(own, baselines, seed) if splits_any and any_scaled and _has_halves(own) else {}
    tasks = []
    for place, (info, metric) in enumerate(metrics):
        stream = (seed, zlib.crc32(metric.key.encode()))
        splits = tables.holdout is None and "holdout" in info.needs
        compared: list[tuple[Against, Baseline | None, Comparison]] = [
            ("real", None, own if splits else tables)
        ]
        if info.baselines:
            compared += [("real", name, scale) for name, scale in (of_own if splits else scales).items()]
        if tables.holdout is not None and info.group in _SPLIT_ANEW:
            unseen = tables.against_holdout()
            compared.append(("holdout", None, unseen))
            if info.baselines and baselines:
                compared.append(("holdout", "SELF", replace(unseen, synthetic=tables.real)))
        tasks += [
            _Task(
                place=place,
                info=info,
                metric=metric,
                against=a,
                baseline=b,
                tables=t,
                stream=stream,
                splits=splits,
            )
            for a, b, t in compared
        ]
    return tasks
