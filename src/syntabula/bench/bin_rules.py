"""Rules for the number of bins of a column, by name (Ganev et al., "The Importance of Being Discrete", table 1).

Some read the exact values: they are here for comparison, not for a private release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Floats
from syntabula.prepare.preprocessing import MOST_BINS, budget_rice, rice
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Numeric
from syntabula.table.schema.schema import Schema

MOST = 1000


def doane_non_private(values: NDArray[Any]) -> int:
    """Return Doane's number, 1 + log2 n + log2(1 + |skewness| / its standard error). NOT private.

    Args:
        values: [n] values, n at least 3.
    """
    x = _checked(values)
    n = x.size
    spread = x.std()
    skewness = float(np.mean(((x - x.mean()) / spread) ** 3)) if spread > 0 else 0.0
    error = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return math.ceil(1 + math.log2(n) + math.log2(1 + abs(skewness) / error))


def freedman_diaconis_non_private(values: NDArray[Any]) -> int:
    """Return the range over 2 IQR / n^(1/3) (Freedman and Diaconis, 1981). NOT private.

    If the middle half of a column is one value, this width is 0, and the column gets Rice's number.
    """
    x = _checked(values)
    low, high = np.quantile(x, [0.25, 0.75])
    width = 2 * float(high - low) / math.cbrt(x.size)
    return max(1, math.ceil(float(np.ptp(x)) / width)) if width > 0 else rice(x.size)


def shimazaki_shinomoto_non_private(values: NDArray[Any]) -> int:
    """Return the count that minimises (2 mean - variance) / width^2 of the bins' counts (2006). NOT private.

    Candidates are 2 to 250 equal bins over the range.
    """
    x = _checked(values)
    low, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        return 1
    costs = {}
    places = (x - low) / width
    for bins in range(2, MOST_BINS + 1):
        counts = np.bincount(np.minimum((places * bins).astype(np.intp), bins - 1), minlength=bins)
        costs[bins] = (2 * counts.mean() - counts.var()) / (width / bins) ** 2
    return min(costs, key=lambda bins: costs[bins])


def _checked(values: NDArray[Any]) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size < 3 or not np.isfinite(x).all():
        raise ArgumentError("values must be at least 3 finite numbers")
    return x


RULES: Mapping[str, Callable[[Floats, float], int]] = {
    "doane": lambda values, _: doane_non_private(values),
    "rice": lambda values, _: rice(values.size),
    "freedman-diaconis": lambda values, _: freedman_diaconis_non_private(values),
    "shimazaki-shinomoto": lambda values, _: shimazaki_shinomoto_non_private(values),
    "budget-rice": lambda values, epsilon: budget_rice(values.size, epsilon),
}
"""Rules from a column and a budget; none of them is private, as each reads the column or its exact length."""


def with_rule(schema: Schema, table: RawTable, rule: str, epsilon: float) -> Schema:
    """Return a schema whose numeric columns have as many bins as a rule says, at most 1,000."""
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            known = table.columns[name]
            values = known.values[~known.missing].astype(np.float64)
            if values.size > 1:
                count = min(max(RULES[rule](values, epsilon), 2), MOST)
                schema = schema.with_column(name, replace(column, bins=count))
    return schema
