"""Supervised learning on one table, judged on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.metrics.comparison import Comparison, Floats, View

Matrix = NDArray[np.float32]
Labels = NDArray[Any]


class Estimator(Protocol):
    """A model in the manner of scikit-learn."""

    def fit(self, x: Matrix, y: Labels) -> Any:
        """Learn."""

    def predict(self, x: Matrix) -> Labels:
        """Return a class or a number per row."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be learned.

    Attributes:
        n_classes: Number of classes; 0 if the target is a number.
        n_numbers: Number of leading features that are numbers.
        categories: Sizes of the blocks of indicators that follow, one block per categorical column.
    """

    n_classes: int
    n_numbers: int
    categories: tuple[int, ...]

    @property
    def has_classes(self) -> bool:
        """Whether the target is a class."""
        return self.n_classes > 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Records as a matrix.

    Attributes:
        x: Features [rows, features]: standardised numbers, whether they are missing, indicators of categories.
        y: Codes of classes, or numbers [rows].
    """

    x: Matrix
    y: Labels


class Encoding:
    """How the records of some tables become a matrix: fitted to the real table, the same for all.

    Attributes:
        task: What is to be learned.
    """

    def __init__(self, tables: Comparison) -> None:
        if tables.target is None:
            raise ValueError("there is no target")
        self._target = tables.target
        self._numeric = [n for n in tables.numeric if n != self._target]
        self._categorical = [n for n in tables.categorical if n != self._target]
        self._sizes = tuple(tables.size(name) for name in self._categorical)
        self._scale = {name: _mean_and_deviation(tables.real.numbers[name]) for name in self._numeric}
        views = [v for v in (tables.real, tables.synthetic, tables.holdout) if v is not None]
        self._gaps = [n for n in self._numeric if any(np.isnan(v.numbers[n]).any() for v in views)]
        # A missing class is none.
        n_classes = tables.size(self._target) - 1 if self._target in tables.categories else 0
        self.task = Task(
            n_classes=n_classes, n_numbers=len(self._numeric) + len(self._gaps), categories=self._sizes
        )

    def sample(self, view: View) -> Sample:
        """Return the records of a table whose target is known."""
        if self.task.has_classes:
            known = np.flatnonzero(view.codes[self._target] < self.task.n_classes)
            y: Labels = view.codes[self._target][known].astype(np.int64)
        else:
            known = np.flatnonzero(~np.isnan(view.numbers[self._target]))
            y = view.numbers[self._target][known]
        view = view.take(known)
        x = np.zeros((known.size, self.task.n_numbers + sum(self._sizes)), np.float32)
        for place, name in enumerate(self._numeric):
            mean, deviation = self._scale[name]
            x[:, place] = np.nan_to_num((view.numbers[name] - mean) / deviation, nan=0.0)
        for place, name in enumerate(self._gaps, start=len(self._numeric)):
            x[:, place] = np.isnan(view.numbers[name])
        rows, first = np.arange(known.size), self.task.n_numbers
        for name, size in zip(self._categorical, self._sizes, strict=True):
            x[rows, first + view.codes[name].astype(np.intp)] = 1.0
            first += size
        return Sample(x, y)


def normal_targets(task: Task, *samples: Sample) -> tuple[Sample, ...]:
    """Return samples whose targets are brought to a normal distribution by the quantiles of the first; classes stay.

    As in SynMeter's code, so that a few large numbers do not make up the whole error: linearly between a quantile
    for every 30 rows, at least 10 and at most 1,000 of them.
    """
    if task.has_classes:
        return samples
    preprocessing = require("sklearn.preprocessing", "evaluate")
    n_rows = samples[0].y.size
    quantiles = preprocessing.QuantileTransformer(
        n_quantiles=min(max(min(n_rows // 30, 1000), 10), n_rows),
        output_distribution="normal",
        subsample=None,
    ).fit(samples[0].y[:, None])
    return tuple(replace(s, y=quantiles.transform(s.y[:, None])[:, 0]) for s in samples)


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of some records.

    Attributes:
        values: Classes or numbers [rows].
        probabilities: Of every class [rows, classes]; None for numbers, and for models that give none.
    """

    values: Labels
    probabilities: Floats | None


def predictions(model: Estimator, task: Task, train: Sample, test: Sample) -> Predictions:
    """Train a model on one sample and let it predict another; classes that training lacks are never predicted.

    With one class or one row to learn from, that is what is predicted.
    """
    known, y = np.unique(train.y, return_inverse=True) if task.has_classes else (None, train.y)
    if np.unique(train.y).size == 1:
        values = np.full(test.y.size, train.y[0])
        return Predictions(values, np.eye(task.n_classes)[values] if task.has_classes else None)
    model.fit(train.x, y)
    # Some libraries return a column.
    values = np.asarray(model.predict(test.x)).reshape(-1)
    if known is None:
        return Predictions(values.astype(np.float64), None)
    probabilities = None
    if hasattr(model, "predict_proba"):
        probabilities = np.zeros((test.y.size, task.n_classes))
        probabilities[:, known] = model.predict_proba(test.x)
    return Predictions(known[values.astype(np.intp)], probabilities)


def class_scores(task: Task, test: Sample, said: Predictions) -> Mapping[str, float]:
    """Return "f1" (macro), "weighted_f1", "accuracy" and "auc" of predicted classes.

    The AUC of more than two classes is the mean over those in the sample of each against the rest; it is NaN
    where the model gives no probabilities, or the sample has one class.
    """
    measures = require("sklearn.metrics", "evaluate")
    f1 = measures.f1_score
    return {
        "f1": float(f1(test.y, said.values, average="macro", zero_division=0)),
        "weighted_f1": float(f1(test.y, said.values, average="weighted", zero_division=0)),
        "accuracy": float((test.y == said.values).mean()),
        "auc": _area(task, test, said),
    }


def root_mean_squared_error(test: Sample, said: Predictions) -> float:
    """Return the error of predicted numbers, in units of the target."""
    return float(np.sqrt(np.mean((test.y - said.values) ** 2)))


def _area(task: Task, test: Sample, said: Predictions) -> float:
    present = np.unique(test.y)
    if said.probabilities is None or present.size < 2:
        return float("nan")
    area = require("sklearn.metrics", "evaluate").roc_auc_score
    # Of two classes, one stands for both.
    classes = present[1:] if task.n_classes == 2 else present
    return float(np.mean([area(test.y == c, said.probabilities[:, c]) for c in classes]))


def _mean_and_deviation(values: Floats) -> tuple[float, float]:
    present = values[~np.isnan(values)]
    if not present.size:
        return 0.0, 1.0
    return float(present.mean()), float(present.std()) or 1.0
