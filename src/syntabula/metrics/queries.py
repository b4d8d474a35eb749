"""Random conjunctive queries, and what share of the rows of a table satisfies each prefix of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.metrics.comparison import Comparison, Floats, View


@dataclass(frozen=True)
class Condition:
    """What a query asks of one column.

    Attributes:
        column: Name of the column.
        low: Least number, or the code of the one category.
        high: Largest number, itself included; the same code for a category.
    """

    column: str
    low: float
    high: float


Query = tuple[Condition, ...]


def draw_queries(
    tables: Comparison, n_queries: int, n_conditions: int, rng: np.random.Generator
) -> list[Query]:
    """Draw conjunctions of range conditions on numbers and point conditions on categories.

    The columns of a query are drawn without replacement. A range has two ends drawn evenly between the least
    and the largest real value; a point is drawn evenly among the values that occur in the real table, of which
    missing is one (Chen et al., tab_bench; Du and Li, SynMeter, Section 5.2).

    Args:
        tables: Real and synthetic table; only the real one matters.
        n_queries: How many to draw.
        n_conditions: Conditions of each, or as many as there are columns if that is less.
        rng: Source of the queries.
    """
    occurring = {name: np.unique(tables.real.codes[name]) for name in tables.categorical}
    ranges = {name: _range(tables.real.numbers[name]) for name in tables.numeric}
    names = np.array(tables.columns, dtype=object)
    n_conditions = min(n_conditions, names.size)

    def condition(name: str) -> Condition:
        if name in occurring:
            code = float(rng.choice(occurring[name]))
            return Condition(name, code, code)
        low, high = np.sort(rng.uniform(*ranges[name], size=2))
        return Condition(name, float(low), float(high))

    return [
        tuple(condition(name) for name in rng.choice(names, size=n_conditions, replace=False))
        for _ in range(n_queries)
    ]


def answer(view: View, queries: Sequence[Query]) -> Floats:
    """Return the share of rows that satisfy the first 1, 2, .. conditions of each query [queries, conditions].

    A missing number satisfies no range.
    """
    shares = np.zeros((len(queries), len(queries[0]) if queries else 0))
    for i, query in enumerate(queries):
        rows: NDArray[np.bool_] | None = None
        for j, condition in enumerate(query):
            satisfied = _satisfied(view, condition)
            rows = satisfied if rows is None else rows & satisfied
            shares[i, j] = np.count_nonzero(rows)
    return shares / view.n_rows


def _satisfied(view: View, condition: Condition) -> NDArray[np.bool_]:
    if condition.column in view.codes:
        codes = view.codes[condition.column]
        equal: NDArray[np.bool_] = codes == codes.dtype.type(condition.low)
        return equal
    values = view.numbers[condition.column]
    return np.asarray((values >= condition.low) & (values <= condition.high))


def _range(values: Floats) -> tuple[float, float]:
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)
