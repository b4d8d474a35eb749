"""The hidden numbers behind the groups of ordered columns: logits of ranks, with the correlations that groups show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST_ROWS = 200
COMPARED_ROWS = 20_000
_STRONG = 0.3
"""Least correlation of two columns that is carried into their groups."""
_MOST_OTHERS = 8
"""Columns by which the hidden numbers of a column are drawn: the more, the slower."""
_RIDGE = 0.01
_JITTER = 1e-6
"""Part of a group by which hidden numbers at the same place are told apart at random."""
_FARTHEST = 16.0
"""Logit of the smallest rank that is told from 0 in single precision."""
_VARIANCE = math.pi**2 / 3
"""Of a logistic number."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """Logits of ranks behind the groups of a column.

    Attributes:
        index: Group of each row [n].
        missing: Which cells are missing [n].
        ranks: Ranks at the ends of the groups, from 0 to 1 [groups + 1].
        wide: Which groups are wider than one value [groups].
    """

    index: NDArray[Any]
    missing: NDArray[np.bool_]
    ranks: NDArray[np.float64]
    wide: NDArray[np.bool_]

    def middles(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Return the mean logit of a group's ranks for some rows; 0 for a missing cell."""
        # The integral of a logit.
        areas = _times_log(self.ranks) + _times_log(1 - self.ranks)
        means = np.diff(areas) / np.maximum(np.diff(self.ranks), 1e-300)
        found: NDArray[np.float32] = means.astype(np.float32)[self.index[rows]]
        found[self.missing[rows]] = 0
        return found

    def drawn(
        self, expected: NDArray[np.float32], scale: float, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Draw logistic numbers of these means within the groups of the rows [n]."""
        with np.errstate(divide="ignore"):
            ends = (np.log(self.ranks) - np.log1p(-self.ranks)).astype(np.float32)
        factor = np.float32(scale)
        low, high = (ends[:-1][self.index] - expected) / factor, (ends[1:][self.index] - expected) / factor
        # Small ranks are exact, those near 1 are not.
        turned = low > 0
        low, high = np.where(turned, -high, low), np.where(turned, -low, high)
        with np.errstate(over="ignore", divide="ignore"):
            first, last = 1 / (1 + np.exp(-low)), 1 / (1 + np.exp(-high))
            rank = first + (last - first) * rng.random(low.size, dtype=np.float32)
            inner = np.clip(np.log(rank) - np.log1p(-rank), low, high)
        inner = np.clip(inner, -_FARTHEST, _FARTHEST)
        found: NDArray[np.float32] = expected + factor * np.where(turned, -inner, inner)
        found[self.missing] = 0
        return found

    def heights(self, numbers: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the group of each row and how far within it its number lies, as one number that rises with both [n]."""
        first, width = self.ranks[:-1][self.index], np.maximum(np.diff(self.ranks), 1e-300)[self.index]
        within = np.clip((1 / (1 + np.exp(-numbers.astype(np.float64))) - first) / width, 0.0, 1.0)
        found: NDArray[np.float64] = (
            self.index + within * (1 - 2 * _JITTER) + _JITTER * rng.random(first.size)
        )
        return found


def _times_log(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = numbers * np.log(np.maximum(numbers, 1e-300))
    return found


def correlations_of(hidden: Sequence[Hidden]) -> NDArray[np.float64]:
    """Return the correlations of hidden numbers as some rows' groups show them.

    Rows count in which both columns lie in groups wider than one value: that two amounts are zero in the same rows tells
    nothing of how they rise where they are not.

    The means of groups have a part v of the variance of a hidden number. A small correlation of such means, r, is that of
    the numbers times the root of v v', and one of 1 is 1: in between, this goes with the square of r.
    """
    some = slice(COMPARED_ROWS)
    middles = np.stack([h.middles(some) for h in hidden]).astype(np.float64)
    counted = np.stack([h.wide[h.index[some]] & ~h.missing[some] for h in hidden]).astype(np.float64)
    rows = np.maximum(counted @ counted.T, 1.0)
    means = ((middles * counted) @ counted.T) / rows
    variances = (np.square(middles) * counted) @ counted.T / rows - np.square(means)
    products = (middles * counted) @ (middles * counted).T / rows - means * means.T
    roots = np.sqrt(np.maximum(variances * variances.T, 1e-12))
    shown = np.where(rows >= FEWEST_ROWS, np.clip(products / roots, -1, 1), 0.0)
    parts = np.clip(middles.std(1) / math.sqrt(_VARIANCE), 0.8, 1.0)
    lost = 1 / np.outer(parts, parts) - 1
    raised = np.clip(shown * (1 + lost * (1 - shown**2)), -1, 1)
    np.fill_diagonal(raised, 1.0)
    # The nearest matrix that some numbers can have.
    values, vectors = np.linalg.eigh(raised)
    possible = (vectors * np.maximum(values, _RIDGE)) @ vectors.T
    deviations = np.sqrt(np.diagonal(possible))
    found: NDArray[np.float64] = possible / np.outer(deviations, deviations)
    return found


def strong_pairs(correlations: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which pairs of columns follow each other [columns, columns]."""
    return (np.abs(correlations) >= _STRONG) & ~np.eye(len(correlations), dtype=np.bool_)


def nearest(correlations: NDArray[np.float64], others: list[int]) -> list[int]:
    """Return the columns by which a column's numbers are drawn, of some others and its correlations [columns]."""
    return sorted(others, key=lambda k: -abs(float(correlations[k])))[:_MOST_OTHERS]


def factors_of(
    correlations: NDArray[np.float64], j: int, others: list[int]
) -> tuple[NDArray[np.float64], float]:
    """Return the factors of other hidden numbers in that of a column, and the scale of what they leave."""
    factors = np.linalg.solve(correlations[np.ix_(others, others)], correlations[others, j])
    return factors.astype(np.float64), math.sqrt(max(1 - float(factors @ correlations[others, j]), _RIDGE))
