"""Machine-learning efficacy: how well models trained on the synthetic table predict real records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from syntabula._arguments import count, names, normalise, one_of
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.score import Direction, Part, Score
from syntabula.metrics.utility.evaluators import check_installed, evaluator
from syntabula.metrics.utility.learning import (
    Encoding,
    Sample,
    class_scores,
    nothing_to_predict,
    predictions,
    root_mean_squared_error,
)

TAB_BENCH = ("mlp", "catboost", "xgboost", "forest")
"""The four models of tab_bench."""

NO_TARGET = "name the column to predict, and real records to predict it on (target and holdout)"


@dataclass(frozen=True, kw_only=True)
class Efficacy:
    """Mean score, on holdout records, of models trained on the synthetic table.

    Chen, Li, Gong, McKenna and Wang (tab_bench): macro F1 of an MLP, CatBoost, XGBoost and a random forest;
    RMSE, in units of the target, for numbers. The same models trained on the real table are the baseline SELF.
    For classes the facts include AUC and accuracy. Departure: models have fixed settings here, while the
    authors tune them for each table and use a real validation set for early stopping.

    Attributes:
        target: Whether to predict a class or a number.
        evaluators: Keys of models, as in `evaluators.EVALUATORS`.
        max_rows: Rows of each table used for training or prediction.

    Raises:
        ArgumentError: If an evaluator is unknown or none is named, or `max_rows` is below 1.
        MissingExtraError: When called, before any is trained, if the library of an evaluator is not installed.
    """

    target: Literal["class", "number"] = "class"
    evaluators: tuple[str, ...] = TAB_BENCH
    max_rows: int = 20_000

    def __post_init__(self) -> None:
        normalise(self, target=one_of("class", "number"), evaluators=names, max_rows=count())
        check_evaluators(self.evaluators)

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "efficacy" if self.target == "class" else "efficacy-rmse"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the rows and the seeds of the models."""
        direction: Direction = "higher" if self.target == "class" else "lower"
        objection = _objection(tables, self.target)
        if objection or tables.holdout is None:
            return Score.mean(self.key, {}, direction=direction, needed=objection)
        check_installed(self.evaluators)
        encoding = Encoding(tables)
        sampled = tables.sampled(self.max_rows, rng)
        test = encoding.sample(at_most(tables.holdout, self.max_rows, rng))
        trains = {"synthetic": encoding.sample(sampled.synthetic), "real": encoding.sample(sampled.real)}
        if lack := nothing_to_predict(test, trains["real"], trains["synthetic"]):
            return Score.mean(self.key, {}, direction=direction, needed=lack)
        seed = int(rng.integers(2**31))
        found = {role: self._scores(encoding, train, test, seed) for role, train in trains.items()}
        first = "f1" if self.target == "class" else "rmse"
        facts: dict[str, int | float | str] = {"rows": trains["synthetic"].y.size, "tested": test.y.size}
        for role, scores in found.items():
            for measure in next(iter(scores.values())):
                if measure != first:
                    facts[f"{measure} ({role})"] = float(np.mean([s[measure] for s in scores.values()]))
        parts: dict[Part, float] = {(key,): scores[first] for key, scores in found["synthetic"].items()}
        score = Score.mean(self.key, parts, direction=direction, facts=facts)
        return score.with_baselines({"SELF": float(np.mean([s[first] for s in found["real"].values()]))})

    def _scores(
        self, encoding: Encoding, train: Sample, test: Sample, seed: int
    ) -> dict[str, dict[str, float]]:
        task = encoding.task
        scores = {}
        for key in self.evaluators:
            said = predictions(evaluator(key).make(task, {}, seed), task, train, test)
            scores[key] = (
                {m: v for m, v in class_scores(task, test, said).items() if m != "weighted_f1"}
                if task.has_classes
                else {"rmse": root_mean_squared_error(test, said)}
            )
        return scores


def at_most(view: View, n: int, rng: np.random.Generator) -> View:
    """Return a table, or n random rows if it is longer."""
    if view.n_rows <= n:
        return view
    return view.take(rng.choice(view.n_rows, size=n, replace=False))


def check_evaluators(keys: tuple[str, ...]) -> None:
    """Raise ArgumentError if an evaluator is unknown, or none is named."""
    if not keys:
        raise ArgumentError("name at least one evaluator")
    for key in keys:
        evaluator(key)


def _objection(tables: Comparison, wanted: Literal["class", "number"]) -> str:
    """Return why there is no score, or an empty text."""
    if tables.target is None or tables.holdout is None:
        return NO_TARGET
    kind = "class" if tables.target in tables.categories else "number"
    other = "efficacy" if kind == "class" else "efficacy-rmse"
    return "" if kind == wanted else f"the target is a {kind}, which the metric {other!r} is for"
