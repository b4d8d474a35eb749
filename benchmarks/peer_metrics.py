"""Compares our scores with public evaluators on the same tables and rows, in one run.

    git clone https://github.com/zealscott/SynMeter
    pip install sdmetrics
    SYNMETER=SynMeter python benchmarks/peer_metrics.py --rows 300
    SYNMETER=SynMeter python benchmarks/peer_metrics.py --rows 3000 --parts columns pairs

Needs SYNTABULA_DATA. Prints a table in Markdown: value, difference and processor seconds of each. Wasserstein
distance, queries and nearest records are scored on --rows random rows of adult against as many with independent
columns; membership disclosure on insurance from the same tables of shadow models of MST, which are made beforehand
and which theirs reads from files; affinity on insurance and obesity with the same settings, for the evaluators that
draw nothing at random.

Not compared from SynMeter: its tabular transformer, which needs a GPU, and the evaluators that it trains without
a seed. Imports that it does not use here are replaced. SDMetrics has scores of
columns and pairs without a counterpart in SynMeter.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pickle
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd

import syntabula as st
from syntabula import metrics
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.metrics.queries import Condition, answer
from syntabula.metrics.utility.affinity import Affinity
from syntabula.metrics.utility.learning import Encoding

Timed = tuple[float, float]
"""A value and the processor seconds to compute it."""

Scores = Iterator[tuple[str, str, Timed, Timed]]
"""Name of each score and its reference, and the results of ours and theirs."""

HEADER = "\n".join(
    (
        "| score | reference | ours | theirs | difference | our seconds | theirs | ratio |",
        "|---|---|---|---|---|---|---|---|",
    )
)


def shown(score: str, reference: str, ours: Timed, theirs: Timed) -> str:
    """Return a score and its reference as a row in Markdown."""
    return (
        f"| {score} | {reference} | {ours[0]:.6f} | {theirs[0]:.6f} | {abs(ours[0] - theirs[0]):.0e} "
        f"| {ours[1]:.3f} | {theirs[1]:.3f} | {theirs[1] / ours[1]:.1f} |"
    )


def timed(job: Callable[[], Any]) -> Timed:
    started = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = job()
    return float(value), time.process_time() - started


def synmeter() -> None:
    """Make SynMeter importable, with replacements for imports that it does not need here."""
    sys.path.insert(0, str(Path(os.environ["SYNMETER"]).resolve()))
    for name in ("optuna", "tomli_w", "seaborn", "scienceplots", "tqdm.contrib", "tqdm.contrib.logging"):
        sys.modules.setdefault(name, MagicMock())
    reader = ModuleType("tomli")
    reader.load = tomllib.load  # type: ignore[attr-defined]
    sys.modules.setdefault("tomli", reader)


def as_text(frame: pd.DataFrame, categorical: list[str]) -> pd.DataFrame:
    """Convert categories to text, with missing as a category: SynMeter does not support missing cells."""
    text = {
        name: ("v" + frame[name].astype(object).fillna("none").astype(str)).astype(object)
        for name in categorical
    }
    return frame.assign(**text)


def pair(n: int) -> tuple[pd.DataFrame, pd.DataFrame, list[str], st.Schema]:
    """Return rows of adult, as many with independent columns, the categorical columns, and a schema."""
    kinds = st.datasets.describe("adult").columns
    categorical = [name for name, kind in kinds.items() if kind == "categorical"]
    whole = as_text(st.datasets.load("adult").frame, categorical)
    real = whole.sample(n, random_state=0).reset_index(drop=True)
    made = pd.DataFrame({c: whole[c].sample(n, random_state=i).to_numpy() for i, c in enumerate(whole, 1)})
    columns = {
        name: st.Categorical(tuple(sorted(whole[name].unique())))
        if name in categorical
        else st.Numeric(float(whole[name].min()), float(whole[name].max()))
        for name in whole
    }
    return real, made, categorical, st.Schema(columns)


def of_columns(n: int) -> Scores:
    """Yield SDMetrics' scores of single columns and of pairs."""
    from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
    from sdmetrics.single_column import KSComplement, TVComplement

    real, made, categorical, schema = pair(n)
    tables = metrics.compare(real, made, schema=schema)
    rng = np.random.default_rng(0)
    numeric = [name for name in real if name not in categorical]

    def pairs(of: list[str]) -> list[tuple[str, str]]:
        return [(a, b) for i, a in enumerate(of) for b in of[i + 1 :]]

    def mean_of(score: Callable[[Any, Any], float], columns: Any) -> float:
        return float(np.mean([score(real[_listed(c)], made[_listed(c)]) for c in columns]))

    def part(metric: Any, columns: Any) -> float:
        details = metric(tables, rng).details
        return float(np.mean([details[c if isinstance(c, tuple) else (c,)] for c in columns]))

    yield (
        "ks", "SDMetrics, 1 - KSComplement",
        timed(lambda: metrics.KolmogorovSmirnov()(tables, rng).value),
        timed(lambda: 1 - mean_of(KSComplement.compute, numeric)),
    )  # fmt: skip
    yield (
        "tvd-1 of categories", "SDMetrics, 1 - TVComplement",
        timed(lambda: part(metrics.TotalVariation(way=1), categorical)),
        timed(lambda: 1 - mean_of(TVComplement.compute, categorical)),
    )  # fmt: skip
    yield (
        "tvd-2 of categories", "SDMetrics, 1 - ContingencySimilarity",
        timed(lambda: part(metrics.TotalVariation(way=2), pairs(categorical))),
        timed(lambda: 1 - mean_of(ContingencySimilarity.compute, pairs(categorical))),
    )  # fmt: skip
    yield (
        "association of numbers", "SDMetrics, 2 - 2 CorrelationSimilarity",
        timed(lambda: part(metrics.Association(), pairs(numeric))),
        timed(lambda: 2 - 2 * mean_of(CorrelationSimilarity.compute, pairs(numeric))),
    )  # fmt: skip


def _listed(columns: Any) -> Any:
    return [*columns] if isinstance(columns, tuple) else columns


def of_pairs(n: int) -> Scores:
    """Yield fidelity, query error and distances to the closest record of SynMeter."""
    from evaluator.fidelity.wasserstein import cal_fidelity
    from evaluator.privacy.util import nearest_neighbors
    from evaluator.utility.query import cal_query, sample_queries
    from lib.commons import cat_encode, normalize

    real, made, categorical, schema = pair(n)
    tables = metrics.compare(real, made, schema=schema)
    rng = np.random.default_rng(0)
    values = {name: sorted({*real[name], *made[name]}) for name in categorical}
    numeric = [name for name in real if name not in categorical]
    yield (
        "wasserstein", "SynMeter, cal_fidelity",
        timed(lambda: metrics.Wasserstein(max_rows=n)(tables, rng).value),
        timed(lambda: np.mean([*cal_fidelity(real, made, values).values()])),
    )  # fmt: skip

    ranges = {name: [real[name].min(), real[name].max()] for name in numeric}
    asked = sample_queries(values, ranges, 3, 200, 0)
    codes = {name: {value: i for i, value in enumerate(tables.categories[name])} for name in categorical}
    queries = [
        tuple(
            Condition(c, *map(float, v)) if isinstance(v, list) else Condition(c, codes[c][v], codes[c][v])
            for c, v in conditions.items()
        )
        for conditions in asked
    ]

    def ours() -> float:
        shares = [answer(view, queries)[:, -1] for view in (tables.real, tables.synthetic)]
        return float(np.abs(shares[0] - shares[1]).mean())

    def theirs() -> float:
        return float(np.mean([abs(cal_query(real, c) - cal_query(made, c)) for c in asked]))

    yield "query-error-3, 200 queries of theirs", "SynMeter, cal_query", timed(ours), timed(theirs)

    def closest() -> float:
        both = pd.concat([real, made])
        points = []
        for frame in (real, made):
            encoded = [
                (cat_encode if c in categorical else partial(normalize, normalization="minmax"))(
                    both[[c]].to_numpy()
                ).transform(frame[[c]].to_numpy())
                for c in real
            ]
            points.append(np.concatenate(encoded, axis=1))
        return float(np.percentile(nearest_neighbors(points[0], points[1]), 5) / np.sqrt(len(real.columns)))

    dcr = ClosestRecord()
    yield "dcr", "SynMeter, nearest_neighbors", timed(lambda: dcr(tables, rng).value), timed(closest)


class Recorder:
    """Fits MST without privacy, and records what it learned and drew."""

    def __init__(self) -> None:
        self.runs: list[tuple[Any, list[Any]]] = []

    def fit(self, source: Any, schema: st.Schema | None = None) -> Recorder:
        self._release = st.MST(epsilon=float("inf"), seed=len(self.runs)).fit(source, schema)
        self.runs.append((source, []))
        return self

    def sample_columns(self, n: int, *, seed: int) -> Any:
        columns = self._release.sample_columns(n, seed=seed)
        self.runs[-1][1].append(columns)
        return columns


class Replay:
    """Returns what a recorder drew, in the same order, and fits nothing."""

    def __init__(self, runs: list[tuple[Any, list[Any]]]) -> None:
        self._runs = iter(runs)

    def fit(self, source: Any, schema: st.Schema | None = None) -> Replay:
        self._drawn = iter(next(self._runs)[1])
        return self

    def sample_columns(self, n: int, *, seed: int) -> Any:
        return next(self._drawn)


def small(name: str) -> tuple[pd.DataFrame, list[str], st.Schema]:
    """Return a small table, whole, with categories as text."""
    frame = st.datasets.load(name).frame
    kinds = st.datasets.describe(name).columns
    categorical = [c for c in frame if kinds[c] == "categorical" or c == "children"]
    frame = as_text(frame, categorical).drop_duplicates().reset_index(drop=True)
    return frame, categorical, st.draft_schema(frame)[0]


def of_members(shadows: int = 6, draws: int = 2) -> Scores:
    """Yield the membership disclosure score of shadow models that both evaluators read."""
    from evaluator.privacy import eval_helper

    frame, categorical, schema = small("insurance")
    schema = st.Schema({n: _public(column) for n, column in schema.columns.items()})
    recorder = Recorder()
    given: dict[str, Any] = {"n_shadows": shadows, "n_draws": draws, "baselines": False}
    st.membership_disclosure(frame, recorder, schema, **given)
    replay = Replay(recorder.runs)
    ours = timed(lambda: st.membership_disclosure(frame, replay, schema, **given).value)
    eval_helper.plt, eval_helper.sns = MagicMock(), MagicMock()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        eval_helper.ROOT_DIR = temporary
        home = root / "exp" / "insurance" / "mst"
        for number, (source, drawn) in enumerate(recorder.runs):
            place = home / "privacy" / str(number)
            place.mkdir(parents=True)
            rows = _frame(source.columns)
            known = {row: i for i, row in enumerate(frame[rows.columns].itertuples(index=False, name=None))}
            members = [known[row] for row in rows.itertuples(index=False, name=None)]
            (place / "member.pkl").write_bytes(pickle.dumps(np.array(members)))
            for i, columns in enumerate(drawn):
                _frame(columns)[[*frame]].to_csv(place / f"sampled_{i}.csv", index=False)
        kinds = [{"name": c, "type": "categorical" if c in categorical else "continuous"} for c in frame]
        (root / "meta.json").write_text(json.dumps({"columns": kinds}))
        frame.to_csv(root / "raw.csv", index=False)
        paths = "\n".join(
            f"{k} = '{root / v}'" for k, v in (("raw_data", "raw.csv"), ("meta_data", "meta.json"))
        )
        (home / "config.toml").write_text(f"[path_params]\n{paths}\n")
        theirs = timed(lambda: eval_helper.compute_MDS("mst", "insurance", shadows, draws))
    yield f"mds, {shadows} models of {draws} draws", "SynMeter, compute_MDS", ours, theirs


def _frame(columns: Any) -> pd.DataFrame:
    return pd.DataFrame({name: column.values for name, column in columns.items()})


def _public(column: Any) -> Any:
    from dataclasses import replace

    return replace(column, provenance="public")


def of_models() -> Scores:
    """Yield the affinity of the deterministic evaluators."""
    import lib.commons
    import sklearn.linear_model
    from evaluator.utility import simple_evaluators, xgb

    lib.commons.mean_squared_error = lambda y, said, squared: float(np.mean((y - said) ** 2)) ** 0.5
    simple_evaluators.LogisticRegression = lambda multi_class, n_jobs, **given: (
        sklearn.linear_model.LogisticRegression(**given)
    )
    judges = {
        "svm": simple_evaluators.train_svm,
        "linear": simple_evaluators.train_lr,
        "xgboost": xgb.train_xgb,
    }
    for name in ("insurance", "obesity"):
        frame, _, schema = small(name)
        info = st.datasets.describe(name)
        order = np.random.default_rng(0).permutation(len(frame))
        fit, test = (frame.iloc[rows].reset_index(drop=True) for rows in (order[300:], order[:300]))
        made = (
            st.MST(epsilon=float("inf"), seed=0, allow_observed=True)
            .fit(fit, schema)
            .sample(len(fit), seed=0)
        )
        tables = metrics.compare(fit, made, holdout=test, target=info.label, schema=schema)
        measure, task = (
            ("rmse", "regression") if info.task == "regression" else ("f1", "multiclass_classification")
        )
        # Encoded by their code, in the order of our columns, without those of categories that do not occur.
        features = [*tables.numeric, *tables.categorical]
        features.remove(info.label)
        chosen, meta = [*features, info.label], {"task": task}
        fitted, drawn, tested = (
            frame[chosen].rename(columns={info.label: "label"}) for frame in (fit, made, test)
        )
        discrete = [feature for feature in features if feature in tables.categories]
        start, rest, scales = lib.commons.preprocess(fitted[:900], fitted[900:], meta, discrete)
        encoded = [[np.concatenate(parts) for parts in zip(start, rest, strict=True)]]
        encoded += [lib.commons.transform_data(frame, scales, meta) for frame in (drawn, tested)]
        ours = Encoding(tables, normal=True).sample(tables.real).x
        real, synthetic, unseen = ([padded(x, ours.any(axis=0)), np.ravel(y)] for x, y in encoded)
        n_classes = fit[info.label].nunique()
        settings = {
            "svm": {},
            "linear": {"alpha": 1.0} if measure == "rmse" else {"C": 1.0, "max_iter": 1000},
            "xgboost": {"n_estimators": 100, "n_jobs": 1},
        }

        def theirs(
            key: str,
            given: Any = settings,
            to: Any = (real, synthetic, unseen, task, measure, n_classes),
        ) -> float:
            real, synthetic, unseen, task, measure, n_classes = to
            ideal, found = (
                judges[key](given[key], s, unseen, task, n_classes)[1][measure] for s in (real, synthetic)
            )
            return abs(found - ideal) / ideal

        for key in judges:
            judge = Affinity(evaluators=(key,))
            yield (
                f"affinity of {key} on {name}",
                f"SynMeter, {judges[key].__name__}",
                timed(lambda j=judge, t=tables: j(t, np.random.default_rng(0)).value),
                timed(lambda k=key: theirs(k)),
            )


def padded(x: Any, occurring: Any) -> Any:
    """Return a matrix with empty columns for categories that do not occur."""
    wide = np.zeros((len(x), occurring.size), np.float32)
    wide[:, occurring] = x
    return wide


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=300)
    parts: dict[str, Callable[[int], Scores]] = {
        "columns": of_columns,
        "pairs": of_pairs,
        "members": lambda _: of_members(),
        "models": lambda _: of_models(),
    }
    parser.add_argument("--parts", nargs="+", choices=[*parts], default=[*parts])
    options = parser.parse_args()
    pd.set_option("future.infer_string", False)  # SynMeter reshapes columns of text
    synmeter()
    print(HEADER)
    for score in chain.from_iterable(parts[name](options.rows) for name in options.parts):
        print(shown(*score), flush=True)


if __name__ == "__main__":
    main()
