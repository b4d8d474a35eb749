"""Draws the values of ordered columns within their bins, so that columns that rise together do so within bins too.

A model says how often two bins occur together, or two groups of bins whose noise would hide them alone, and nothing of
what lies within. Drawn apart there, columns with a correlation of .95 keep a part of it, above all in long tails. So each
column's values are drawn first, and then dealt out among the rows of the same group in the order of hidden numbers.
These are logistic, as the logits of ranks are, lie within the groups of their row, and have the correlations that the
logits of the drawn groups' ranks have.

Groups stay as they were drawn, and each has the values that it had. Only drawn rows are used, so this is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, Spread, normal_within, uniform_within
from syntabula.marginals.domain import code_dtype
from syntabula.table.raw import RawColumn, RepeatedTexts
from syntabula.table.schema.columns import Column, Ordered

if TYPE_CHECKING:
    from syntabula.bins.lift import Lifts
    from syntabula.bins.rhythm import RhythmOfDays
    from syntabula.bins.roundness import Roundness

    Within = Spread | Roundness | RhythmOfDays
    "How values lie within bins."

_FEWEST_ROWS = 200
_COMPARED_ROWS = 20_000
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

Deal = Callable[[Sequence["InBins"], list[NDArray[Any]], np.random.Generator], list[int]]
"""Deals out the points [n] of some columns of the same rows in place; returns which of the columns it dealt out."""


@dataclass(frozen=True, eq=False)
class InBins:
    """The drawn bins of an ordered column.

    Attributes:
        column: Its declaration.
        index: Bin of each row [n], in the small type of codes, as those of all columns are held at once.
        missing: Which cells are missing, or hold a text beside the values [n]; their bin means nothing.
        beside: The texts; None if the column declares none.
        bins: The bins.
        within: How values lie within them; evenly if None.
        groups: Group of each bin, within which bins were drawn apart from other columns; None if all were drawn as they
            are.
        lifts: How much more frequent some times are beside codes of other columns, if the values have a rhythm.
        others: The codes of these columns [n] each.
    """

    column: Ordered
    index: NDArray[Any]
    missing: NDArray[np.bool_]
    beside: RepeatedTexts | None
    bins: Bins
    within: Within | None
    groups: NDArray[np.intp] | None = None
    lifts: Lifts | None = None
    others: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(
        cls,
        column: Column,
        codes: NDArray[Any],
        bins: Bins,
        within: Within | None,
        groups: NDArray[np.intp] | None = None,
        lifts: Lifts | None = None,
        others: tuple[NDArray[Any], ...] = (),
    ) -> InBins:
        """Read the codes of an ordered column [n]; groups are those of all its codes."""
        assert isinstance(column, Ordered)
        return cls(column, *present_codes(column, codes, bins), bins, within, groups, lifts, others)

    def grouped(self) -> tuple[NDArray[Any], int]:
        """Return the group of each row [n], and how many there are; groups rise with the bins."""
        runs = self.runs()
        count = int(runs[-1]) + 1
        return runs.astype(code_dtype(count))[self.index], count

    def wide_groups(self) -> NDArray[np.bool_]:
        """Return which groups are wider than one value."""
        edges = np.array(self.bins.edges, dtype=np.float64)
        widths = np.bincount(self.runs(), np.diff(edges))
        # A bin for one float ends at the next one.
        least = 1.5 if self.bins.integer else 1e-9 * max(float(edges[-1] - edges[0]), 1e-300)
        return np.asarray(widths > least)

    def runs(self) -> NDArray[np.intp]:
        """Return the group of each bin; one that another divides, such as an atom, counts as two."""
        if self.groups is None:
            return np.arange(self.bins.size)
        return np.concatenate([[0], np.cumsum(np.diff(self.groups[: self.bins.size]) != 0)])

    def hidden(self) -> Hidden:
        """Return the hidden numbers of these rows' groups, with ranks among these rows."""
        index, groups = self.grouped()
        weights = None if not self.missing.any() else (~self.missing).astype(np.float64)
        below = np.concatenate([[0.0], np.cumsum(np.bincount(index, weights, minlength=groups))])
        return Hidden(index, self.missing, below / max(below[-1], 1.0), self.wide_groups())

    def drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        """Return a point of each row's bin [n]."""
        index = self.index.astype(np.intp)
        match self.within:
            case None:
                points = uniform_within(self.bins, index, rng)
            case Spread():
                points = normal_within(self.bins, self.within, index, rng)
            case _:
                points = self.within.within(self.bins, index, rng)
        return points

    def lifted(self, points: NDArray[Any], rng: np.random.Generator, *, days_stay: bool) -> NDArray[Any]:
        """Return points whose times follow other columns as lifts say; points themselves if there are none.

        Args:
            points: A point of each row's bin [n].
            rng: Source of ordinary randomness.
            days_stay: Whether the days follow other columns already, so that only times of day are drawn again.
        """
        if self.lifts is None:
            return points
        from syntabula.bins.rhythm import RhythmOfDays

        assert isinstance(self.within, RhythmOfDays)
        index = self.index.astype(np.intp)
        return self.lifts.redrawn(
            points, self.bins, index, self.within, self.others, rng, days_stay=days_stay
        )


def present_codes(
    column: Column, codes: NDArray[Any], bins: Bins | None
) -> tuple[NDArray[Any], NDArray[np.bool_], RepeatedTexts | None]:
    """Return the codes, which are of cells without a value, and the texts that some of these hold beside values.

    Cells without a value get a valid code, so that every array has a plain type.
    """
    missing = np.zeros(codes.size, dtype=np.bool_)
    beside = None
    if isinstance(column, Ordered) and column.beside:
        assert bins is not None
        missing = codes >= bins.size
        places = np.where(missing, codes, 0).astype(np.int64) - (bins.size - 1)
        places[places > len(column.beside)] = 0
        beside = RepeatedTexts.placed(["", *column.beside], np.maximum(places, 0))
    elif column.nullable:
        missing = codes == column.n_codes(bins) - 1
    return np.where(missing, np.zeros(1, codes.dtype), codes), missing, beside


def ordered_values(
    columns: Mapping[str, InBins], rng: np.random.Generator, deal: Deal | None = None
) -> dict[str, RawColumn]:
    """Return values of the declared kinds for the drawn bins of some columns.

    Args:
        columns: All of the same rows.
        rng: Source of ordinary randomness.
        deal: Deals out the points of columns in place, and returns the places of these columns; by default among these
            rows, as of a whole table.
    """
    points = [column.drawn(rng) for column in columns.values()]
    moved = (deal or _deal_out)([*columns.values()], points, rng)
    found = {}
    for place, ((name, column), drawn) in enumerate(zip(columns.items(), points, strict=True)):
        lifted = column.lifted(drawn, rng, days_stay=place in moved)
        values, physical = column.column.values(lifted)
        found[name] = RawColumn(values, column.missing, physical, beside=column.beside)
    return found


def _deal_out(columns: Sequence[InBins], points: list[NDArray[Any]], rng: np.random.Generator) -> list[int]:
    """Deal out the points of columns among the rows of the same group; returns the positions of these columns."""
    n_rows = columns[0].index.size if columns else 0
    if len(columns) < 2 or n_rows < _FEWEST_ROWS:
        return []
    hidden = [column.hidden() for column in columns]
    correlations = correlations_of(hidden)
    strong = strong_pairs(correlations)
    moved = [j for j, h in enumerate(hidden) if strong[j].any() and _has_choice(h, points[j])]
    kept = [j for j in range(len(columns)) if j in moved or strong[moved, j].any()]
    numbers = {j: hidden[j].middles() for j in kept}
    # Once for each column is enough: more often changed no correlation in tests.
    for j in moved:
        others = nearest(correlations[j], [k for k in kept if k != j])
        factors, rest = factors_of(correlations, j, others)
        expected = np.zeros(n_rows, np.float32)
        for factor, k in zip(factors, others, strict=True):
            expected += np.float32(factor) * numbers[k]
        numbers[j] = hidden[j].drawn(expected, rest, rng)
    for j in moved:
        present = np.flatnonzero(~columns[j].missing)
        order = np.argsort(hidden[j].heights(numbers[j], rng)[present])
        # Points rise from group to group, and so do heights: each group gets the points that it had.
        points[j][present[order]] = np.sort(points[j][present])
    return moved


def _has_choice(hidden: Hidden, points: NDArray[Any]) -> bool:
    """Return whether different points lie in one group."""
    some = slice(_COMPARED_ROWS)
    order = np.argsort(hidden.index[some], kind="stable")
    index, drawn = hidden.index[some][order], points[some][order]
    return bool(np.any((index[1:] == index[:-1]) & (drawn[1:] != drawn[:-1])))


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
    some = slice(_COMPARED_ROWS)
    middles = np.stack([h.middles(some) for h in hidden]).astype(np.float64)
    counted = np.stack([h.wide[h.index[some]] & ~h.missing[some] for h in hidden]).astype(np.float64)
    rows = np.maximum(counted @ counted.T, 1.0)
    means = ((middles * counted) @ counted.T) / rows
    variances = (np.square(middles) * counted) @ counted.T / rows - np.square(means)
    products = (middles * counted) @ (middles * counted).T / rows - means * means.T
    roots = np.sqrt(np.maximum(variances * variances.T, 1e-12))
    shown = np.where(rows >= _FEWEST_ROWS, np.clip(products / roots, -1, 1), 0.0)
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
