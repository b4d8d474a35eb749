"""How columns follow each other within bins, learned of rows drawn without conditions, for rows drawn under conditions.

Rows that satisfy a condition on a part of a bin are not spread over the bin as all rows are: where amounts rise together,
the rows in the upper part of a bin of one have the higher bins of the others. So the hidden numbers behind the groups of
columns (`values_within`) are those of all rows: they say how likely a row lies in that part, by its other columns, and
where in their bins these lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Parts
from syntabula.table.coding.values_within import (
    Hidden,
    InBins,
    correlations_of,
    factors_of,
    nearest,
    strong_pairs,
)

_POOL = 8
"""Points that are drawn for each row, of which it takes the one at its hidden number."""
_LEAST = 1e-12
_STEPS, _ENOUGH = 16, 50
"""Quantiles of the hidden numbers in a group, and rows of it that they are taken of."""
_BELOW_ONE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Followers:
    """What rows drawn without conditions tell of how their columns follow each other within bins.

    Attributes:
        ranks: Part of all rows with a value below each edge of a column's bins [bins + 1], by column.
        runs: Group of each bin [bins], by column; see `InBins.groups`.
        correlations: Of the hidden numbers of the columns [columns, columns].
        columns: The rows.
    """

    ranks: tuple[NDArray[np.float64], ...]
    runs: tuple[NDArray[np.intp], ...]
    correlations: NDArray[np.float64]
    columns: Sequence[InBins]

    @classmethod
    def of(cls, columns: Sequence[InBins]) -> Self | None:
        """Learn it of drawn rows, which need not be many; None if no column follows another."""
        if len(columns) < 2:
            return None
        correlations = correlations_of([column.hidden() for column in columns])
        if not strong_pairs(correlations).any():
            return None
        ranks = []
        for column in columns:
            counts = np.bincount(column.index[~column.missing], minlength=column.bins.size)
            below = np.concatenate([[0.0], np.cumsum(counts)])
            ranks.append(below / max(below[-1], 1.0))
        return cls(tuple(ranks), tuple(column.runs() for column in columns), correlations, columns)

    def ends(self, place: int) -> NDArray[np.float64]:
        """Return the ranks at the ends of a column's groups [groups + 1]."""
        first = np.flatnonzero(np.diff(self.runs[place], prepend=-1))
        return np.append(self.ranks[place][first], self.ranks[place][-1])

    def hidden(self, place: int, column: InBins) -> Hidden:
        """Return the hidden numbers of some rows' groups, with ranks among all rows."""
        index, _ = column.grouped()
        return Hidden(index, column.missing, self.ends(place), column.wide_groups())

    def follows(self, place: int) -> bool:
        """Return whether any column follows the one at a place."""
        return bool(strong_pairs(self.correlations)[place].any())


@dataclass(frozen=True, eq=False)
class RankedParts:
    """The ranks of the parts of a column's bins.

    Attributes:
        ends: Ranks at the ends of parts [parts + 1].
        groups: First and last rank of each part's group [2, parts].
        runs: Group of each part [parts].
        shares: Part of the values of its group that lie in each part [parts].
    """

    ends: NDArray[np.float64]
    groups: NDArray[np.float64]
    runs: NDArray[np.intp]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, followers: Followers, place: int, parts: Parts, curves: Curves) -> Self:
        """Read the parts of the column at a place."""
        masses = np.diff(followers.ranks[place])[parts.whole] * parts.shares
        run = followers.runs[place][parts.whole]
        held = np.bincount(run, masses)
        shares = np.divide(masses, held[run], out=np.zeros(masses.size), where=held[run] > 0)
        # From the start of each group on, at most 1 but for rounding.
        below = np.cumsum(shares) - np.concatenate([[0.0], np.cumsum(np.bincount(run, shares))])[run]
        last = np.append(run[1:] != run[:-1], True)
        upper = np.where(last, 1.0, curves.places(run, np.clip(below, 0.0, 1.0)))
        ends = followers.ends(place)
        groups = np.stack([ends[run], ends[run + 1]])
        return cls(np.append(0.0, groups[0] + upper * (groups[1] - groups[0])), groups, run, shares)


@dataclass(frozen=True, eq=False)
class Curves:
    """How far within the groups of a column the hidden numbers of all rows lie.

    They are not spread evenly, as groups with long tails are not logistic, and columns are drawn one after another.

    Attributes:
        knots: Quantiles of the places, from 0 to 1, in each group [groups, steps + 1].
    """

    knots: NDArray[np.float64]

    @classmethod
    def of(cls, hidden: Hidden, numbers: NDArray[np.float32], rng: np.random.Generator) -> Self:
        """Measure it of rows with hidden numbers [n]."""
        heights = np.sort(hidden.heights(numbers, rng)[~hidden.missing])
        groups = hidden.ranks.size - 1
        starts = np.searchsorted(heights, np.arange(groups + 1))
        even = np.linspace(0.0, 1.0, _STEPS + 1)
        knots = np.tile(even, (groups, 1))
        for group in np.flatnonzero(np.diff(starts) >= _ENOUGH).tolist():
            own = heights[starts[group] : starts[group + 1]] - group
            knots[group, 1:-1] = np.quantile(own, even[1:-1])
        return cls(knots)

    def places(self, groups: NDArray[Any], parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the place below which these parts of the rows of some groups lie [n]."""
        step = np.minimum((parts * _STEPS).astype(np.intp), _STEPS - 1)
        low, high = self.knots[groups, step], self.knots[groups, step + 1]
        found: NDArray[np.float64] = low + (high - low) * (parts * _STEPS - step)
        return found

    def parts(self, groups: NDArray[Any], places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the part of the rows of some groups that lie below these places [n]; the reverse of `places`."""
        step = np.zeros(places.size, np.intp)
        for k in range(1, _STEPS):
            step += self.knots[groups, k] <= places
        low, high = self.knots[groups, step], self.knots[groups, step + 1]
        within = np.divide(places - low, high - low, out=np.zeros(places.size), where=high > low)
        found: NDArray[np.float64] = np.clip((step + within) / _STEPS, 0.0, 1.0)
        return found


@dataclass(frozen=True, eq=False)
class Following:
    """Rows of which the parts of some columns' bins are known.

    Attributes:
        followers: What all rows tell.
        known: Parts of the columns at some places, which other columns follow.
        curves: How the hidden numbers of all rows lie, if those of known columns are drawn first, by place.
        is_given: Whether the values of these columns are given, so that none need be found.
    """

    followers: Followers
    known: Mapping[int, RankedParts]
    curves: Mapping[int, Curves]
    is_given: bool = False

    @classmethod
    def of(cls, followers: Followers, cuts: Mapping[int, Parts], rng: np.random.Generator) -> Self:
        """Prepare it for parts of the bins of the columns at some places, which other columns follow."""
        hidden = [followers.hidden(j, column) for j, column in enumerate(followers.columns)]
        curves: dict[int, Curves] = {}
        plain = cls(followers, {}, {})
        # Known columns in the place that they have in all rows, the others after them.
        every = plain._order(hidden, ())
        for order, wanted in ((every, {*cuts}), ([*cuts, *every], {*every} - {*cuts})):
            numbers = plain._middles(hidden, every)
            for j in dict.fromkeys(order):
                expected, rest = plain._expected(j, numbers, hidden)
                numbers[j] = hidden[j].drawn(expected, rest, rng)
                if j in wanted:
                    curves[j] = Curves.of(hidden[j], numbers[j], rng)
        known = {j: RankedParts.of(followers, j, parts, curves[j]) for j, parts in cuts.items()}
        return cls(followers, known, curves)

    def weights(self, columns: Sequence[InBins], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return how much more likely a row's codes make its known parts than their shares of bins do [n].

        Args:
            columns: The rows' bins, which are the parts for the columns that are known.
            rng: Source of ordinary randomness.
        """
        hidden = self._hidden(columns)
        every = sorted(self._order(hidden, self.known))
        # Those before a known column follow its group, and only those after it the part.
        numbers = self._middles([self._in_groups(j, columns[j]) for j in range(len(columns))], every)
        weights = np.ones(columns[0].index.size)
        # In the order of all rows, as each column follows what was drawn for those before it.
        for j in every[: every.index(max(self.known)) + 1]:
            expected, rest = self._expected(j, numbers, hidden)
            numbers[j] = hidden[j].drawn(expected, rest, rng)
            if j not in self.known:
                continue
            parts = self.known[j]
            index, present = hidden[j].index, ~columns[j].missing
            first, last = parts.groups[:, index]
            low, high = parts.ends[:-1][index], parts.ends[1:][index]
            share = parts.shares[index]
            # Parts that hold none of the rows tell nothing.
            told = present & (high - low > _LEAST) & (share > 0)
            there = _masses(low, high, expected, rest)
            group = _masses(first, last, expected, rest)
            held = told & (group > 0)
            weights[held] *= (there[held] / group[held]) / share[held]
        return weights

    def __call__(
        self, columns: Sequence[InBins], points: list[NDArray[Any]], rng: np.random.Generator
    ) -> list[int]:
        """Replace points of each row's bins [n] by those at its hidden numbers; return the places of these columns."""
        hidden = self._hidden(columns)
        order = self._order(hidden, self.known)
        numbers = self._middles(hidden, order)
        for j in order:
            expected, rest = self._expected(j, numbers, hidden)
            numbers[j] = hidden[j].drawn(expected, rest, rng)
        for j in order:
            if j in self.known and self.is_given:
                continue
            heights = hidden[j].heights(numbers[j], rng)
            if j not in self.known and j in self.curves:
                groups = hidden[j].index
                heights = groups + _BELOW_ONE * self.curves[j].parts(groups, heights - groups)
            points[j] = _at(columns[j], hidden[j], heights, points[j], rng)
        return order

    def _order(self, hidden: Sequence[Hidden], known: Iterable[int]) -> list[int]:
        """Return the columns whose points are dealt out, those that are known first."""
        strong = strong_pairs(self.followers.correlations)
        others = [j for j, h in enumerate(hidden) if j not in known and strong[j].any() and h.wide.any()]
        return [*known, *others]

    def _hidden(self, columns: Sequence[InBins]) -> list[Hidden]:
        found = []
        for j, column in enumerate(columns):
            if j in self.known:
                wide = replace(column, groups=None).wide_groups()
                found.append(Hidden(column.index, column.missing, self.known[j].ends, wide))
            else:
                found.append(self.followers.hidden(j, column))
        return found

    def _in_groups(self, j: int, column: InBins) -> Hidden:
        """Return the hidden numbers of a column's groups, as if no part were known."""
        if j not in self.known:
            return self.followers.hidden(j, column)
        ends = self.followers.ends(j)
        return Hidden(
            self.known[j].runs[column.index], column.missing, ends, np.ones(ends.size - 1, np.bool_)
        )

    def _middles(self, hidden: Sequence[Hidden], some: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Return the middles of the groups of some columns and of those that they follow."""
        kept = {*some}
        strong = strong_pairs(self.followers.correlations)
        kept |= {k for k in range(len(hidden)) if strong[sorted(kept), k].any()}
        return {j: hidden[j].middles() for j in sorted(kept)}

    def _expected(
        self, j: int, numbers: Mapping[int, NDArray[np.float32]], hidden: Sequence[Hidden]
    ) -> tuple[NDArray[np.float32], float]:
        """Return the means of a column's hidden numbers by those of others [n], and the scale of what is left."""
        correlations = self.followers.correlations
        others = nearest(correlations[j], [k for k in numbers if k != j])
        factors, rest = factors_of(correlations, j, others)
        expected = np.zeros(hidden[j].index.size, np.float32)
        for factor, k in zip(factors, others, strict=True):
            expected += np.float32(factor) * numbers[k]
        return expected, rest


def _at(
    column: InBins,
    hidden: Hidden,
    heights: NDArray[np.float64],
    drawn: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Return a point of each row's group at its height [n], of a few that are drawn for each row.

    No two rows take the same one of them, so that values repeat as they do among rows of one bin.
    """
    present = np.flatnonzero(~column.missing)
    pool = replace(
        column,
        index=np.repeat(column.index[present], _POOL),
        missing=np.zeros(present.size * _POOL, np.bool_),
    ).drawn(rng)
    # Points rise from group to group, and so do heights.
    pool.sort()
    heights = heights[present]
    order = np.argsort(heights)
    index = hidden.index[present][order].astype(np.intp)
    within = heights[order] - index
    held = np.bincount(index, minlength=hidden.ranks.size - 1)
    ends = np.cumsum(held)
    first, last = (ends - held)[index], ends[index]
    rows = np.arange(present.size)
    wanted = _POOL * first + (within * (_POOL * (last - first))).astype(np.intp)
    # Each row leaves room for those of its group that come after it, and takes a place behind the one before.
    places = np.minimum(wanted, _POOL * last - (last - rows)) - rows
    places = np.maximum.accumulate(places) + rows
    found = drawn.copy()
    found[present[order]] = pool[places]
    return found


def _masses(
    first: NDArray[np.float64], last: NDArray[np.float64], expected: NDArray[np.float32], scale: float
) -> NDArray[np.float64]:
    """Return the probability of a logistic number of these means between the logits of two ranks [n]."""
    with np.errstate(divide="ignore"):
        low, high = ((np.log(rank) - np.log1p(-rank) - expected) / scale for rank in (first, last))
    # Small probabilities are exact, differences of those near 1 are not.
    turned = low > 0
    low, high = np.where(turned, -high, low), np.where(turned, -low, high)
    with np.errstate(over="ignore"):
        found: NDArray[np.float64] = 1 / (1 + np.exp(-high)) - 1 / (1 + np.exp(-low))
    return found
