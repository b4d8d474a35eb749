"""Random linear thresholds: yes-or-no queries about several ordered columns at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray

YES = 1
"""Code of a threshold's column if the record passes; the other code is 0."""

_GRID = 2.0**20
"""Weights and places are multiples of one over this, so that a weighted sum of up to a thousand columns is exact in
float64 in any order: the answer of a record must not depend on the records beside it."""

_THRESHOLDS_AT_ONCE, _ROWS_AT_ONCE = 32, 4096
"""1 MB of sums stays in the cache."""


@dataclass(frozen=True, eq=False)
class LinearThreshold:
    """Whether a weighted sum of columns exceeds an offset; code c of m codes counts as (c + 1/2) / m.

    It is a function of one record, so it can be counted like any other column, with two codes.

    Attributes:
        columns: Distinct names.
        weights: One number per column [columns]; rounded to a millionth.
        offset: The number that the sum must exceed.
    """

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    offset: float

    def __post_init__(self) -> None:
        if not self.columns or self.weights.shape != (len(self.columns),):
            raise ArgumentError("a threshold needs one weight for each of its columns, and at least one")
        object.__setattr__(self, "weights", _rounded(self.weights))

    def codes(self, table: EncodedTable) -> NDArray[np.uint8]:
        """Return 1 for each row [rows] that passes, 0 for the others."""
        passed: NDArray[np.uint8] = (self.weights @ places(table, self.columns) > self.offset).astype(
            np.uint8
        )
        return passed


@dataclass(frozen=True, eq=False)
class CrossedThresholds:
    """Many thresholds over the same columns, each counted together with one other column.

    Attributes:
        columns: Distinct names, at least one.
        weights: One number per threshold and column [thresholds, columns]; rounded to a millionth.
        offsets: The number that each sum must exceed [thresholds].
        others: The other columns; none if thresholds are counted alone.
        crossed: For each threshold, the position of its other column [thresholds]; 0 where there are none.
    """

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]
    others: tuple[str, ...]
    crossed: NDArray[np.intp]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _rounded(self.weights))

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def names(self) -> list[str]:
        """Names of the thresholds, in order."""
        return [f"threshold {position}" for position in range(len(self))]

    def clique(self, position: int) -> Clique:
        """Return the name of a threshold and the column that it is counted with."""
        return (f"threshold {position}", *self.others[self.crossed[position] :][:1])

    def named(self, positions: Sequence[int]) -> dict[str, LinearThreshold]:
        """Return some of the thresholds by name."""
        return {
            self.clique(i)[0]: LinearThreshold(self.columns, self.weights[i], float(self.offsets[i]))
            for i in positions
        }


def random_thresholds(
    columns: Sequence[str], others: Sequence[str], n: int, rng: np.random.Generator
) -> CrossedThresholds:
    """Draw thresholds: weights N(0, 1 / columns), an offset N(0, 1), and a uniformly chosen column to count it with.

    Vietri et al. (2022), RAP++.

    Args:
        columns: Columns of the sums, at least one.
        others: Columns that a threshold may be counted with; none to count it alone.
        n: Number of thresholds.
        rng: Source of ordinary randomness; thresholds are not secret.
    """
    return CrossedThresholds(
        columns=tuple(columns),
        weights=rng.standard_normal((n, len(columns))) / np.sqrt(len(columns)),
        offsets=rng.standard_normal(n),
        others=tuple(others),
        crossed=rng.integers(0, max(1, len(others)), n).astype(np.intp),
    )


def positions(size: int) -> NDArray[np.float64]:
    """Return the place of each code between 0 and 1 [size]."""
    return _rounded((np.arange(size) + 0.5) / size)


def places(table: EncodedTable, columns: Sequence[str]) -> NDArray[np.float64]:
    """Return the place of each row in some columns [columns, rows]."""
    return np.stack([positions(table.domain.size(c))[table.column(c)] for c in columns])


def with_threshold_columns(domain: Domain, thresholds: Mapping[str, LinearThreshold]) -> Domain:
    """Return a domain with a column of two codes for each threshold, after its own."""
    sizes = (*domain.sizes, *(2 for _ in thresholds))
    return Domain((*domain.columns, *thresholds), sizes, domain.ordered, domain.apart)


def passing(
    weights: FloatArray, offsets: FloatArray, where: FloatArray, codes: NDArray[np.integer] | None, size: int
) -> NDArray[np.int64]:
    """Return how many rows of each code pass each threshold [thresholds, codes]; sums are exact in any order.

    Args:
        weights: [thresholds, columns].
        offsets: [thresholds].
        where: Places of the rows [columns, rows].
        codes: Of the rows [rows]; None where all have the same.
        size: Number of codes.
    """
    n_rows = where.shape[1]
    counts = np.zeros((len(offsets), size), dtype=np.int64)
    if codes is None:
        ends = np.array([n_rows])
    else:
        order = np.argsort(codes, kind="stable")
        where, ends = where[:, order], np.cumsum(np.bincount(codes, minlength=size))
    for code, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for row in range(start, end, _ROWS_AT_ONCE):
            part = np.ascontiguousarray(where[:, row : min(row + _ROWS_AT_ONCE, end)])
            for first in range(0, len(offsets), _THRESHOLDS_AT_ONCE):
                some = slice(first, first + _THRESHOLDS_AT_ONCE)
                passed = weights[some] @ part > offsets[some, None]
                counts[some, code] += np.count_nonzero(passed, axis=1)
    return counts


def _rounded(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.round(np.asarray(numbers, dtype=np.float64) * _GRID) / _GRID
    return rounded
