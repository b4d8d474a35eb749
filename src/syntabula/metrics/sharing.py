"""Whether the rows of a synthetic table share out the records' values, where independent draws would vary by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.metrics.comparison import Comparison, Floats, View

_PARTS = 20
"""Parts of a number's range, each of equally many records."""
_LEAST_EXPECTED = 5.0
"""Fewest rows of a part for which its counts follow a normal distribution nearly enough."""
_LEAST_PARTS = 10
"""Fewest parts; with fewer, counts of independent draws agree by chance."""
_CHANCE = 1e-6


def shares_out(tables: Comparison) -> bool:
    """Return whether some column's counts are nearer to those of the records than independent draws come by chance.

    So they are where rows share out the records of a leaf (Synthpop) or are fitted to counts, and in a copy of
    the table. Pearson's statistic of each column is compared with its distribution for draws from the records' own
    marginal; draws from any other are farther away. All columns together are wrong about such draws with a
    chance of one in a million. Columns with fewer than ten parts that hold five rows each are not looked at.
    """
    special = require("scipy.special", "evaluate")
    records = tables.real if tables.learned is None else tables.learned
    chances = []
    for name in tables.columns:
        counted = _counts(tables, records, name)
        expected = counted[0] * (counted[1].sum() / max(counted[0].sum(), 1.0))
        # Parts that hold too few rows are one.
        small = expected < _LEAST_EXPECTED
        expected, found = (np.append(c[~small], c[small].sum()) for c in (expected, counted[1]))
        if expected[-1] < _LEAST_EXPECTED:
            expected, found = expected[:-1], found[:-1]
        if expected.size >= _LEAST_PARTS:
            statistic = float(((found - expected) ** 2 / expected).sum())
            chances.append(float(special.chdtr(expected.size - 1, statistic)))
    return bool(chances) and min(chances) < _CHANCE / len(chances)


def _counts(tables: Comparison, records: View, name: str) -> tuple[Floats, Floats]:
    """Return how many records and how many synthetic rows are in each part of a column [parts]."""
    parts: list[NDArray[np.intp]] = []
    if name in tables.categories:
        size = tables.size(name)
        parts = [view.codes[name].astype(np.intp) for view in (records, tables.synthetic)]
    else:
        present = records.numbers[name][~np.isnan(records.numbers[name])]
        shares = np.arange(1, _PARTS) / _PARTS
        edges = np.unique(np.quantile(present, shares)) if present.size else np.zeros(0)
        size = edges.size + 2
        for view in (records, tables.synthetic):
            numbers = view.numbers[name]
            # Missing cells are the last part.
            parts.append(np.where(np.isnan(numbers), size - 1, np.searchsorted(edges, numbers, side="right")))
    real, synthetic = (np.bincount(part, minlength=size).astype(np.float64) for part in parts)
    return real, synthetic
