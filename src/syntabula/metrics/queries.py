"""Random range and point queries, and scores of a synthetic table's answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, flag, normalise
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.metrics.score import Part, Score


@dataclass(frozen=True)
class Condition:
    """The condition of a query on one column.

    Attributes:
        column: Name of the column.
        low: Least number, or the code of the category.
        high: Largest number, inclusive; the same code for a category.
    """

    column: str
    low: float
    high: float


Query = tuple[Condition, ...]


def draw_queries(
    tables: Comparison, n_queries: int, n_conditions: int, rng: np.random.Generator
) -> list[Query]:
    """Draw conjunctions of range conditions on numbers and point conditions on categories.

    The columns of a query are drawn without replacement. Both ends of a range are drawn uniformly between the
    least and the largest real value; a point is drawn uniformly from the values in the real table, including
    missing (Chen et al., tab_bench; Du and Li, SynMeter, Section 5.2).

    Args:
        tables: Real and synthetic table; only the real one is used.
        n_queries: Number of queries.
        n_conditions: Conditions of each query, at most the number of columns.
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
    """Return the fraction of rows that satisfy the first 1, 2, .. conditions of each query [queries, conditions].

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


@dataclass(frozen=True, kw_only=True)
class QueryError:
    """Mean of |fraction of real rows - fraction of synthetic rows| over random range and point queries.

    McKenna et al. 2019; Du and Li (SynMeter), Section 5.2; Chen et al. (tab_bench). SynMeter's public code
    draws the upper end of a range between the lower one and the maximum; here both ends are drawn from the
    whole range, as in the papers.

    Attributes:
        way: Number of conditions of a query; at most the number of columns.
        prefixes: Whether to average also over the first condition alone, the first two and so on. The
            published figures of tab_bench and MargNet are such means, though their texts name 3-way queries.
        n_queries: Number of queries.

    Raises:
        ArgumentError: If a number is below 1.
    """

    way: int = 3
    prefixes: bool = False
    n_queries: int = 1000

    def __post_init__(self) -> None:
        normalise(self, way=count(), prefixes=flag, n_queries=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "query-error-prefix" if self.prefixes else f"query-error-{self.way}"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the queries."""
        queries = draw_queries(tables, self.n_queries, self.way, rng)
        errors = np.abs(answer(tables.real, queries) - answer(tables.synthetic, queries))
        ways = range(1, errors.shape[1] + 1)
        if not self.prefixes:
            errors, ways = errors[:, -1:], ways[-1:]
        parts: dict[Part, float] = {
            (f"{way}-way",): float(error) for way, error in zip(ways, errors.mean(axis=0), strict=True)
        }
        return Score(
            metric=self.key,
            value=float(errors.mean()),
            direction="lower",
            details=parts,
            facts={"queries": self.n_queries, "standard error": _standard_error(errors.mean(axis=1))},
        )


@dataclass(frozen=True, kw_only=True)
class QuerySimilarity:
    """Mean of min / max of the fractions of rows that satisfy random queries with one, two and three conditions.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 4, with
    fractions in place of counts, which is the same for tables of equal length. The paper does not say how
    its queries are drawn: here as in `QueryError`. Two empty answers have similarity 1.

    Attributes:
        n_queries: Number of queries of each number of conditions.

    Raises:
        ArgumentError: If the number is below 1.
    """

    n_queries: int = 1000

    def __post_init__(self) -> None:
        normalise(self, n_queries=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "query-similarity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the queries."""
        ways = [way for way in (1, 2, 3) if way <= len(tables.columns)]
        found = {}
        for way in ways:
            queries = draw_queries(tables, self.n_queries, way, rng)
            real, synthetic = (answer(v, queries)[:, -1] for v in (tables.real, tables.synthetic))
            larger = np.maximum(real, synthetic)
            found[way] = np.divide(
                np.minimum(real, synthetic), larger, out=np.ones_like(larger), where=larger > 0
            )
        every = np.concatenate([*found.values()])
        return Score(
            metric=self.key,
            value=float(every.mean()),
            direction="higher",
            details={(f"{way}-way",): float(ratio.mean()) for way, ratio in found.items()},
            facts={"queries": every.size, "standard error": _standard_error(every)},
        )


def _standard_error(values: Floats) -> float:
    """Return the standard error of a mean over random queries [queries]; NaN for a single one."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
