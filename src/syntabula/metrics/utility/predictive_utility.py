"""Predictive utility of Discretization: a regression's F1 or error, relative to real training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from syntabula._arguments import count, normalise, one_of
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Direction, Score
from syntabula.metrics.utility.efficacy import NO_TARGET
from syntabula.metrics.utility.evaluators import evaluator
from syntabula.metrics.utility.learning import (
    Encoding,
    class_scores,
    nothing_to_predict,
    predictions,
    root_mean_squared_error,
)


@dataclass(frozen=True, kw_only=True)
class PredictiveUtility:
    """F1 on holdout records of a logistic regression trained on synthetic records, divided by that of real training.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), metric PU. The paper
    does not say which F1 is meant for more than two classes, nor whether values above 1 are clipped: here it
    is the macro F1, without clipping. 1 is as good as real records.

    For a number it is the root mean squared error of a linear regression, relative to that of real training, which is
    not in the paper.

    Attributes:
        target: Whether to predict a class or a number.
        max_rows: Rows of each table used for training.

    Raises:
        ArgumentError: If `max_rows` is below 1.
    """

    target: Literal["class", "number"] = "class"
    max_rows: int = 50_000

    def __post_init__(self) -> None:
        normalise(self, target=one_of("class", "number"), max_rows=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "predictive-utility" if self.target == "class" else "predictive-error"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the seed of the models."""
        seed = int(rng.integers(2**31))
        direction: Direction = "higher" if self.target == "class" else "lower"
        needed = ""
        if tables.target is None or tables.holdout is None:
            needed = NO_TARGET
        elif self.target == "class" and tables.target not in tables.categories:
            needed = "the target is a number, which has no F1"
        elif self.target == "number" and tables.target in tables.categories:
            needed = "the target is a class, which has no error in numbers"
        if needed or tables.holdout is None:
            return Score.mean(self.key, {}, direction=direction, needed=needed)
        encoding = Encoding(tables)
        task, test = encoding.task, encoding.sample(tables.holdout)
        sampled = tables.sampled(self.max_rows, rng)
        synthetic, real = trains = [encoding.sample(view) for view in (sampled.synthetic, sampled.real)]
        if lack := nothing_to_predict(test, real, synthetic):
            return Score.mean(self.key, {}, direction=direction, needed=lack)
        said = [predictions(evaluator("linear").make(task, {}, seed), task, train, test) for train in trains]
        if self.target == "class":
            measure, why = "f1", "even real training predicts no holdout record correctly"
            found, ideal = (class_scores(task, test, p)["f1"] for p in said)
        else:
            measure, why = "rmse", "real training predicts all holdout records without error"
            found, ideal = (root_mean_squared_error(test, p) for p in said)
        return Score(
            metric=self.key,
            value=found / ideal if ideal else float("nan"),
            direction=direction,
            facts={f"{measure} (synthetic)": found, f"{measure} (real)": ideal, "tested": test.y.size},
            note="" if ideal else why,
        )
