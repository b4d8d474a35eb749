"""Predictive utility of Discretization: a logistic regression's F1, relative to real training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula._arguments import count, normalise
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Score
from syntabula.metrics.utility.efficacy import NO_TARGET
from syntabula.metrics.utility.evaluators import evaluator
from syntabula.metrics.utility.learning import Encoding, class_scores, predictions


@dataclass(frozen=True, kw_only=True)
class PredictiveUtility:
    """F1 on holdout records of a logistic regression trained on synthetic records, divided by that of real training.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), metric PU. The paper
    does not say which F1 is meant for more than two classes, nor whether values above 1 are clipped: here it
    is the macro F1, without clipping. 1 is as good as real records.

    Attributes:
        max_rows: Rows of each table used for training.

    Raises:
        ArgumentError: If `max_rows` is below 1.
    """

    max_rows: int = 50_000

    def __post_init__(self) -> None:
        normalise(self, max_rows=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "predictive-utility"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the seed of the models."""
        seed = int(rng.integers(2**31))
        needed = ""
        if tables.target is None or tables.holdout is None:
            needed = NO_TARGET
        elif tables.target not in tables.categories:
            needed = "the target is a number, which has no F1"
        if needed or tables.holdout is None:
            return Score.mean(self.key, {}, direction="higher", needed=needed)
        encoding = Encoding(tables)
        task, test = encoding.task, encoding.sample(tables.holdout)
        sampled = tables.sampled(self.max_rows, rng)
        trains = [encoding.sample(view) for view in (sampled.synthetic, sampled.real)]
        if not min(test.y.size, *(train.y.size for train in trains)):
            return Score.mean(self.key, {}, direction="higher", needed="a table has no known target")
        found, ideal = (
            class_scores(
                task, test, predictions(evaluator("linear").make(task, {}, seed), task, train, test)
            )["f1"]
            for train in trains
        )
        return Score(
            metric=self.key,
            value=found / ideal if ideal else float("nan"),
            direction="higher",
            facts={"f1 (synthetic)": found, "f1 (real)": ideal, "tested": test.y.size},
            note="" if ideal else "even real training predicts no holdout record correctly",
        )
