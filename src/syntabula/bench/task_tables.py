"""A cell that learns a table, draws a synthetic one and scores it."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from syntabula.bench.bin_rules import RULES
from syntabula.bench.candidate import Candidate, fraction_of
from syntabula.bench.cell import Cell
from syntabula.bench.kept import Fit, observed
from syntabula.bench.levels import in_levels, joint_ends, schema_of_levels
from syntabula.bench.splits import Split, bins_of_pairs, declared, load_split
from syntabula.bench.tasks import Outcome, metric_of
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.reading import compare
from syntabula.metrics.registry import describe_metric
from syntabula.metrics.score import Score
from syntabula.metrics.utility.evaluators import EVALUATORS
from syntabula.privacy.budget import Budget
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema

_SAMPLE_SEED = 1_000_000
"""Added to the seed of the fit for the rows, as the random choices of the fit would otherwise recur."""
_MEMORY_MB = 8000.0
"""What methods plan with, the same for all; the limit of the study ends the process."""
_ALONE = ("utility", "privacy")
"""Groups of metrics that use learned and held-out rows themselves."""
_PRINTED = {"area under the curve": "auc", "nearer to real than to holdout": "nearer"}
"""Facts of scores that are parts of them, with the parts' names."""


def run(cell: Cell) -> Outcome:
    """Learn, draw and score.

    Raises:
        SyntabulaError: If something is wrong, as its sentence says.
    """
    split = load_split(cell.split, cell.dataset, cell.task_options, cell.target)
    drawn = _Drawn(cell, split)
    scores: dict[str, float] = {}
    first = next((role for role in cell.against if split.real(role) is not None), "")
    for role in cell.against:
        real = split.real(role)
        if real is None:
            continue
        made = drawn.rows(real.n_rows if split.as_many_rows else None)
        for number, kind in enumerate(
            cell.task_options.get("levels", ("fixed",)) if split.levels else ("fixed",)
        ):
            marks = ([] if role == first else [role]) + ([f"{kind} levels"] if number else [])
            mark = f" [{', '.join(marks)}]" if marks else ""
            tables = _compared(split, real, made, binned=drawn.in_even_bins, joint=kind == "joint")
            for key in cell.scores:
                if describe_metric(key).group not in _ALONE:
                    score = drawn.noted(_score(cell, key, tables))
                    found = _parts(score) | _named_marginals(cell, key, score)
                    scores |= {name + mark: value for name, value in found.items()}
    alone = [key for key in cell.scores if describe_metric(key).group in _ALONE]
    if alone:
        made = drawn.rows(split.fit.n_rows if split.as_many_rows else None)
        tables = _compared(split, split.fit, made, binned=drawn.in_even_bins, with_target=True)
        for key in alone:
            scores |= _parts(drawn.noted(_score(cell, key, tables)))
    if wanted := cell.task_options.get("keep", ()):
        from syntabula.bench.kept import kept

        real = split.fit if first == "" else split.real(first)
        assert real is not None
        made = drawn.rows(real.n_rows if split.as_many_rows else None)
        tables = _compared(split, real, made, binned=drawn.in_even_bins)
        drawn.facts["kept"] = kept(wanted, tables, drawn.fits, cell.seed)
    if cell.overall:
        known = [scores[key] for key in cell.scores if not math.isnan(scores.get(key, math.nan))]
        scores[cell.overall] = float(np.mean(known)) if known else math.nan
    return Outcome(scores=scores, facts=drawn.facts)


class _Drawn:
    """Synthetic rows of one fit, or rows of known quality; the same number of rows is drawn once.

    Attributes:
        facts: The statement's total and the release's method.
        fits: Fits of the method's model, if the study keeps something for pictures.
        in_even_bins: Whether values are compared in the middle of their even bins.
    """

    def __init__(self, cell: Cell, split: Split) -> None:
        self._cell, self._split = cell, split
        self._known: dict[int | None, RawTable] = {}
        self.facts: dict[str, Any] = {}
        self.fits: list[Fit] = []
        self._release = None
        binned = cell.method not in ("SELF", "HALF", "HISTOGRAM") and cell.options.get("numbers", True)
        self.in_even_bins = split.levels and cell.binning.discretizer == "uniform" and bool(binned)
        if cell.method in ("SELF", "HALF", "HISTOGRAM"):
            from syntabula.attacks.baselines import BASELINES, Half

            # Another seed takes another half, so that the spread over seeds is that of halves.
            known: Any = Half(seed=cell.seed) if cell.method == "HALF" else BASELINES[cell.method]()
            self._release = known.fit(split.fit, split.schema)
            if cell.method == "SELF":
                from syntabula.bench.only_bins import cells_as_they_are

                self.facts = {"mean cells of a pair": cells_as_they_are(split.fit)}
        elif cell.method == "BINS":
            from syntabula.bench.only_bins import through_bins

            self._known[None], found = through_bins(cell, split, settings_of(cell, split))
            self.facts = dict(found)
        elif cell.method.startswith("peer:"):
            from syntabula.bench.peers.rows import peer_rows

            self._known[None], self.facts = peer_rows(cell, split, settings_of(cell, split))
        else:
            self._release = self._fitted()

    def noted(self, score: Score) -> Score:
        """Return a score; the facts keep why it has no value."""
        if math.isnan(score.value) and score.note:
            self.facts.setdefault("without_value", {})[score.metric] = score.note
        return score

    def rows(self, n: int | None) -> RawTable:
        """Return n rows, or as many as the release has."""
        split = self._split
        if self._release is None:
            return self._known[None]
        if n not in self._known:
            seed = _SAMPLE_SEED + self._cell.seed
            if self._cell.method in ("SELF", "HALF", "HISTOGRAM"):
                columns = self._release.sample_columns(n or split.fit.n_rows, seed=seed)
            else:
                columns = self._release.sample_columns(n, seed=seed)
            size = next(iter(columns.values())).values.size
            self._known[n] = RawTable(columns, size, split.fit.origin)
        return self._known[n]

    def _fitted(self) -> Any:
        cell, split = self._cell, self._split
        candidate = Candidate(method=cell.method, options=cell.options)
        started, used = time.perf_counter(), time.process_time()
        synthesizer = candidate.synthesizer(**settings_of(cell, split))
        if cell.task_options.get("keep"):
            synthesizer = observed(synthesizer, self.fits)
        release = synthesizer.fit(split.fit, declared(split, cell.binning, cell.epsilon))
        release.sample_columns(seed=cell.seed)  # the papers' seconds include one synthetic table
        privacy = release.privacy
        self.facts = {
            "fit_seconds": round(time.perf_counter() - started, 3),
            "fit_processor_seconds": round(time.process_time() - used, 3),
            "epsilon_spent": privacy.epsilon_spent,
            "accounting": privacy.budget.currency,
            "method": privacy.method if privacy.choice is None else privacy.choice.method,
        }
        return release


def settings_of(cell: Cell, split: Split) -> dict[str, Any]:
    """Return the settings that a cell gives every method."""
    from syntabula.prepare.preprocessing import Preprocessing

    binning = cell.binning
    bins: Any = binning.bins
    if bins == "pairs":
        bins = bins_of_pairs(split.fit.n_rows, len(split.schema.columns), cell.epsilon)
    elif bins in RULES:
        bins = "auto"  # the schema has those of each column
    preprocessing = Preprocessing(
        discretizer=binning.made(), share=fraction_of(binning.share), within=binning.within
    )
    budget: dict[str, Any] = {"epsilon": cell.epsilon, "delta": cell.delta}
    if "accounting" in cell.task_options:
        budget = {"budget": Budget(cell.epsilon, cell.delta, accounting=cell.task_options["accounting"])}
    return {
        **budget,
        "bins": bins,
        "preprocessing": preprocessing,
        "seed": cell.seed,
        "allow_observed": binning.domain == "observed",
        "memory_mb": _MEMORY_MB,
    }


def _compared(
    split: Split,
    real: RawTable,
    made: RawTable,
    *,
    binned: bool,
    joint: bool = False,
    with_target: bool = False,
) -> Comparison:
    schema: Schema = split.schema
    held_out = split.held_out if with_target else None
    if split.levels:
        ends = joint_ends(real, made, schema, binned=binned) if joint else None
        made = in_levels(made, schema, binned=binned, ends=ends)
        real = in_levels(real, schema, binned=False, ends=ends)
        held_out = None if held_out is None else in_levels(held_out, schema, binned=False)
        schema = schema_of_levels(schema)
    target = split.target if with_target and held_out is not None else None
    return compare(real, made, holdout=held_out, target=target, schema=schema)


def _score(cell: Cell, key: str, tables: Comparison) -> Score:
    metric = metric_of(key, cell.score_options.get(key, {}))
    return metric(tables, np.random.default_rng(cell.seed))


def _named_marginals(cell: Cell, key: str, score: Score) -> dict[str, float]:
    """Return the value of each marginal that the options of a score name."""
    named = cell.score_options.get(key, {}).get("cliques", ())
    return {f"{key} {'+'.join(columns)}": score.details[tuple(columns)] for columns in named}


def _parts(score: Score) -> dict[str, float]:
    """Return the value of a score and the parts of it that papers print."""
    found = {score.metric.partition(":")[0]: score.value}
    if describe_metric(score.metric.partition(":")[0]).group == "utility":
        found |= {
            f"{score.metric} {part[0]}": value
            for part, value in score.details.items()
            if part[0] in EVALUATORS
        }
    for name, value in score.facts.items():
        if isinstance(value, int | float):
            if name.startswith("mean of "):
                found[f"{score.metric} {name.removeprefix('mean of ')}"] = float(value)
            elif name in _PRINTED:
                found[f"{score.metric} {_PRINTED[name]}"] = float(value)
            elif name.endswith(" (synthetic)"):
                found[f"{score.metric} {name.removesuffix(' (synthetic)')}"] = float(value)
    return found
