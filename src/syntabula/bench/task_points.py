"""A cell that bins points of the plane and tells their classes from the bins: Figures 16 and 17 of Ganev et al., "The
Importance of Being Discrete".

A logistic regression learns the classes of three fifths of the points and is judged by the others. It learns from the
coordinates themselves ("raw"), or from the bin of each coordinate ("bins"). Bins are private, each coordinate with half
of the budget; the classifier is not, and knows the classes.
"""

from __future__ import annotations

import math
import time
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula.bench.cell import Cell
from syntabula.bench.table_names import table_and_rows
from syntabula.bench.table_source import simulated
from syntabula.bench.task_columns import bin_count, fitted_bins
from syntabula.bench.tasks import Outcome
from syntabula.bins.uniform import Bins
from syntabula.datasets.simulated import LOWER, UPPER
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Floats
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

_LEARNED = 0.6
_STRENGTHS = tuple(10.0**i for i in range(-2, 5))
"""Inverse strengths of regularisation, among which three-fold validation chooses."""
_FINE = 20
"""Even intervals of each coordinate in which a picture shows what was told without bins."""
_DIGITS = 3


def run(cell: Cell) -> Outcome:
    """Bin the points of a cell, learn their classes, and judge what is told of the others."""
    table, rows = table_and_rows(cell.dataset)
    if not table.startswith("points_"):
        raise ArgumentError(
            f"this task takes tables of points, such as points_moons@200; {table!r} is none of them"
        )
    drawn = simulated(table, rows, cell.seed).columns
    coordinates = np.column_stack([drawn[name].values.astype(np.float64) for name in ("x", "y")])
    classes = drawn["class"].values.astype(str)
    seed = cell.seed + zlib.crc32(table.encode())
    order = np.random.default_rng(seed).permutation(len(classes))
    learned, judged = np.split(order, [round(_LEARNED * len(classes))])
    started = time.perf_counter()
    bins = None if cell.method == "raw" else _bins(cell, coordinates[learned], seed)
    seconds = time.perf_counter() - started
    classifier = _classifier(seed).fit(_features(coordinates[learned], bins), classes[learned])
    told = classifier.predict(_features(coordinates[judged], bins))
    facts: dict[str, Any] = {"fit_seconds": seconds}
    if bins is not None:
        facts["bins found"] = [b.size for b in bins]
    if "regions" in cell.task_options.get("keep", ()):
        facts["kept"] = {"regions": _regions(classifier, bins, coordinates, classes)}
    return Outcome(scores={"accuracy": float(np.mean(told == classes[judged]))}, facts=facts)


def _bins(cell: Cell, coordinates: Floats, seed: int) -> list[Bins]:
    budget = Budget.none() if math.isinf(cell.epsilon) else Budget.pure(cell.epsilon)
    ledger, noise = Ledger(budget), SeededNoise(seed)
    return [
        fitted_bins(
            ColumnCurator(values, ledger, noise), cell.binning, bin_count(cell, values), share=Fraction(1, 2)
        )
        for values in coordinates.T
    ]


def _classifier(seed: int) -> Any:
    learning, choosing = (
        require(f"sklearn.{part}", "evaluate") for part in ("linear_model", "model_selection")
    )
    folds = choosing.StratifiedKFold(3, shuffle=True, random_state=seed)
    return choosing.GridSearchCV(
        learning.LogisticRegression(max_iter=1000), {"C": list(_STRENGTHS)}, cv=folds, error_score="raise"
    )


def _features(coordinates: Floats, bins: list[Bins] | None) -> Floats:
    """Return the coordinates, or a column for each bin of each of them that is 1 where a point lies in it."""
    if bins is None:
        return coordinates
    held = [np.eye(b.size)[b.codes(values)] for values, b in zip(coordinates.T, bins, strict=True)]
    return np.concatenate(held, axis=1)


def _regions(classifier: Any, bins: list[Bins] | None, coordinates: Floats, classes: Any) -> dict[str, Any]:
    """Return the edges of both coordinates, all points, and the probability of the second of two classes in between."""
    fine = np.linspace(LOWER, UPPER, _FINE + 1)
    edges = [fine, fine] if bins is None else [np.asarray(b.edges, np.float64) for b in bins]
    middles = [(e[1:] + e[:-1]) / 2 for e in edges]
    places = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    told = classifier.predict_proba(_features(places, bins))
    second = told[:, 1].reshape(len(middles[0]), -1) if told.shape[1] == 2 else np.empty((0, 0))
    return {
        "edges": [np.round(e, _DIGITS).tolist() for e in edges],
        "second": np.round(second, _DIGITS).tolist(),
        "points": np.round(coordinates, _DIGITS).tolist(),
        "classes": classes.tolist(),
    }
