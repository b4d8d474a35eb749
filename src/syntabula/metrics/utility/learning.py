"""Supervised learning on one table, tested on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.table.unit_rows import Rows

Matrix = NDArray[np.float32]
Labels = NDArray[Any]
Scale = Callable[[Floats], Floats]


class Estimator(Protocol):
    """A model with scikit-learn's interface."""

    def fit(self, x: Matrix, y: Labels) -> Any:
        """Learn."""

    def predict(self, x: Matrix) -> Labels:
        """Return a class or a number per row."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The prediction task.

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
        x: Features [rows, features]: scaled numbers, whether they are missing, indicators of categories.
        y: Codes of classes, or numbers [rows].
        units: Number of each record's unit [rows], or None; see `View`.
    """

    x: Matrix
    y: Labels
    units: Rows | None = None


def nothing_to_predict(test: Sample, real: Sample, synthetic: Sample) -> str:
    """Return why no model can be judged by these records; empty if one can."""
    if not min(test.y.size, real.y.size, synthetic.y.size):
        return "a table has no known target"
    # A model that always says this value would be as good as the real table is.
    return "" if (real.y != real.y[0]).any() else "the target has a single value in the real table"


class Encoding:
    """Turns the records of all tables into matrices, with scales fitted to the real table.

    Numeric features are standardised, and a numeric target is unchanged. If `normal`, both are transformed to a
    normal distribution by the quantiles of the real table, as in SynMeter's code, so that a few large numbers do
    not dominate the error. The transform interpolates between quantiles, one for every 30 rows, at least 10 and at
    most 1,000.

    Attributes:
        task: The prediction task.
    """

    def __init__(self, tables: Comparison, *, normal: bool = False) -> None:
        if tables.target is None:
            raise ValueError("there is no target")
        self._target = tables.target
        self._numeric = [n for n in tables.numeric if n != self._target]
        self._categorical = [n for n in tables.categorical if n != self._target]
        self._sizes = tuple(tables.size(name) for name in self._categorical)
        scale = _to_normal if normal else _standard
        self._scale = {name: scale(tables.real.numbers[name]) for name in self._numeric}
        if normal and self._target in tables.numeric:
            self._scale[self._target] = scale(tables.real.numbers[self._target])
        views = [v for v in (tables.real, tables.synthetic, tables.holdout) if v is not None]
        self._gaps = [n for n in self._numeric if any(np.isnan(v.numbers[n]).any() for v in views)]
        # A missing value is not a class.
        n_classes = tables.size(self._target) - 1 if self._target in tables.categories else 0
        self.task = Task(
            n_classes=n_classes, n_numbers=len(self._numeric) + len(self._gaps), categories=self._sizes
        )

    def sample(self, view: View) -> Sample:
        """Return the records of a table whose target is known."""
        if self._target in view.codes:
            known = np.flatnonzero(view.codes[self._target] < self.task.n_classes)
            y: Labels = view.codes[self._target][known].astype(np.int64)
        else:
            known = np.flatnonzero(~np.isnan(view.numbers[self._target]))
            y = self._scale.get(self._target, _unchanged)(view.numbers[self._target][known])
        view = view.take(known)
        x = np.zeros((known.size, self.task.n_numbers + sum(self._sizes)), np.float32)
        for place, name in enumerate(self._numeric):
            x[:, place] = np.nan_to_num(self._scale[name](view.numbers[name]), nan=0.0)
        for place, name in enumerate(self._gaps, start=len(self._numeric)):
            x[:, place] = np.isnan(view.numbers[name])
        rows, first = np.arange(known.size), self.task.n_numbers
        for name, size in zip(self._categorical, self._sizes, strict=True):
            x[rows, first + view.codes[name].astype(np.intp)] = 1.0
            first += size
        return Sample(x, y, view.units)


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for some records.

    Attributes:
        values: Classes or numbers [rows].
        probabilities: Probability of every class [rows, classes]; None for numbers, and for models without
            probabilities.
    """

    values: Labels
    probabilities: Floats | None


def predictions(model: Estimator, task: Task, train: Sample, test: Sample) -> Predictions:
    """Train a model on one sample and predict another; classes absent from training are never predicted.

    If training has one class or one row, that is always predicted.
    """
    known, y = np.unique(train.y, return_inverse=True) if task.has_classes else (None, train.y)
    if np.unique(train.y).size == 1:
        values = np.full(test.y.size, train.y[0])
        return Predictions(values, np.eye(task.n_classes)[values] if task.has_classes else None)
    model.fit(train.x, y)
    # Some libraries return a column vector.
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

    The AUC of more than two classes is the mean, over the classes in the sample, of each against the rest;
    it is NaN if the model gives no probabilities or the sample has one class.
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
    # With two classes, one is enough.
    classes = present[1:] if task.n_classes == 2 else present
    return float(np.mean([area(test.y == c, said.probabilities[:, c]) for c in classes]))


def _unchanged(values: Floats) -> Floats:
    return values


def _standard(real: Floats) -> Scale:
    """Return a scale to mean 0 and standard deviation 1; missing numbers stay missing."""
    present = real[~np.isnan(real)]
    if not present.size:
        return _unchanged
    mean, deviation = float(present.mean()), float(present.std()) or 1.0
    return lambda values: (values - mean) / deviation


def _to_normal(real: Floats) -> Scale:
    """Return a scale to a normal distribution; missing numbers stay missing."""
    present = real[~np.isnan(real)]
    if not present.size:
        return _unchanged
    preprocessing = require("sklearn.preprocessing", "evaluate")
    quantiles = preprocessing.QuantileTransformer(
        n_quantiles=min(max(min(present.size // 30, 1000), 10), present.size),
        output_distribution="normal",
        subsample=None,
    ).fit(present[:, None])

    def scale(values: Floats) -> Floats:
        scaled, known = np.full(values.shape, np.nan), ~np.isnan(values)
        if known.any():  # scikit-learn refuses an empty table
            scaled[known] = quantiles.transform(values[known, None])[:, 0]
        return scaled

    return scale
