"""Draws ends that keep to weekdays and times of day, each within the bin of its distance from the start.

A bin of distances leaves the end's time of day open, and where it lasts less than a day, the start's: each is drawn
by how likely it is, and all codes stay as the model drew them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.ends import likely, of_any_day
from syntabula.bins.rhythm import HOURS, RhythmOfDays
from syntabula.synthesizers.timed_gaps import Cells, Points, TimedGap, in_microseconds, leading
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import encode_column, satisfies
from syntabula.table.coding.conditions import Allowed
from syntabula.table.coding.values_within import InBins
from syntabula.table.raw import RawColumn
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Date, Datetime

_NONE: Mapping[str, Allowed] = MappingProxyType({})
_TRIED, _TRIED_AGAIN = 16, 48
"""Starts among which one is chosen, and more where none of these leaves its end a time."""


@dataclass(frozen=True, eq=False)
class _Beyond:
    """A distance whose end depends on a column that is drawn.

    Attributes:
        gap: The distance.
        offsets: Microseconds from that column to what the distance counts from [n].
        cells: The distances.
    """

    gap: TimedGap
    offsets: Points
    cells: RawColumn


@dataclass(frozen=True, eq=False)
class DrawnEnds:
    """Draws the ends of a release's distances.

    Attributes:
        rules: The rules of the release.
        codec: Its codec.
    """

    rules: RowRules
    codec: Codec

    @cached_property
    def gaps(self) -> dict[str, TimedGap]:
        """The distances whose ends keep to times, each after those that it counts from."""
        names, ends = [n for n in self.rules.compiled.distances if n in self.codec.ends], self.codec.ends
        return {
            name: TimedGap.of(name, self.rules, self.codec, ends[name].cuts, ends[name].shares)
            for name in names
        }

    @cached_property
    def _within(self) -> dict[tuple[str, bool], RhythmOfDays]:
        ends = {name: self.codec.ends[name].ends for name in self.gaps}
        return {
            (name, any_day): RhythmOfDays(of_any_day(own) if any_day else own, self.gaps[name].days, None)
            for name, own in ends.items()
            for any_day in (False, True)
        }

    def __call__(
        self,
        learned: Cells,
        rng: np.random.Generator,
        fixed: Collection[str] = (),
        allowed: Mapping[str, Allowed] = _NONE,
    ) -> dict[str, RawColumn]:
        """Return decoded rows of the learned table with other values within their bins.

        Args:
            learned: The rows.
            rng: Source of ordinary randomness.
            fixed: Columns whose values stay.
            allowed: Conditions that values of a column satisfy, and others must, too.
        """
        found = dict(learned)
        moving = {name: gap for name, gap in self.gaps.items() if name not in fixed and name in found}
        if not moving:
            return found
        plain = self.completed(found)
        beyond: dict[str, list[_Beyond]] = {}
        for name, gap in moving.items():
            start = leading(name, self.rules, moving)
            offsets = self.bases(name, plain) - self.rules.numbers(start, plain[start])[0]
            beyond.setdefault(start, []).append(_Beyond(gap, offsets, found[name]))
        for start in beyond.keys() - {*moving, *fixed}:
            found[start] = self._start(start, beyond[start], found, rng, allowed.get(start))
        whole = dict(found)
        for name in self.rules.compiled.distances:
            if name in moving:
                found[name] = self._gaps(moving[name], found[name], beyond.get(name, []), whole, rng)
                whole[name] = found[name]
            if name in whole:
                whole[name], _ = self.rules.as_end(name, whole)
        return found

    def completed(self, learned: Cells) -> dict[str, RawColumn]:
        """Return the learned columns with ends in place of distances."""
        whole = dict(learned)
        for name in self.rules.compiled.distances:
            if name in whole:
                whole[name], _ = self.rules.as_end(name, whole)
        return whole

    def bases(self, name: str, whole: Cells) -> Points:
        """Return what each row's distance counts from, in microseconds [n]."""
        bases = np.asarray(self.rules.base(name, whole), dtype=np.int64)
        return np.broadcast_to(bases, whole[name].missing.shape)

    def tried(
        self, start: str, cells: Cells, rows: NDArray[np.intp], times: int, rng: np.random.Generator
    ) -> Points:
        """Draw other points of the bins of a start in some rows, none of them missing [times, rows]."""
        column, bins = self.codec.schema[start], self.codec.bins[start]
        lifts = self.codec.lifts.get(start)

        def codes(name: str) -> NDArray[Any]:
            raw = cells[name].take(rows)
            found = encode_column(self.codec.schema[name], raw, self.codec.bins.get(name)).codes
            return np.tile(found, times)

        others = () if lifts is None else tuple(codes(lift.column) for lift in lifts.lifts)
        own = InBins.of(column, codes(start), bins, self.codec.within(start), None, lifts, others)
        drawn = own.lifted(own.drawn(rng), rng, days_stay=False)
        return drawn.astype(np.int64).reshape(times, rows.size)

    def _start(
        self,
        start: str,
        beyond: list[_Beyond],
        found: Cells,
        rng: np.random.Generator,
        allowed: Allowed | None,
    ) -> RawColumn:
        """Choose among the starts of each row's bin by what the distances from them leave to their ends."""
        column, raw = self.rules.schema[start], found[start]
        narrow = np.logical_or.reduce([_is_narrow(other) for other in beyond])
        rows = np.flatnonzero(~raw.missing & narrow)
        if not rows.size or not isinstance(column, Date | Datetime) or start not in self.codec.rhythms:
            return raw
        points, _, _ = column.points(raw.values[rows], raw.physical.kind)
        left, chosen = np.arange(rows.size), points.astype(np.int64)
        tried = np.concatenate([chosen[None], self.tried(start, found, rows, _TRIED - 1, rng)])
        for any_day, again in ((False, False), (False, True), (True, False)):
            if again:
                tried = self.tried(start, found, rows[left], _TRIED_AGAIN, rng)
            weights = self._weights(column, beyond, tried, rows[left], rng, any_day=any_day)
            if allowed is not None:
                weights *= _satisfying(column, tried, allowed)
            can = weights.max(axis=0) > 0
            chosen[left[can]] = _chosen(tried[:, can], weights[:, can], rng)
            left, tried = left[~can], tried[:, ~can]
            if not left.size:
                break
        cells = raw.values.copy()
        cells[rows], _ = column.values(chosen)
        return replace(raw, cells=cells)

    def _weights(
        self,
        column: Date | Datetime,
        beyond: list[_Beyond],
        tried: Points,
        rows: NDArray[np.intp],
        rng: np.random.Generator,
        *,
        any_day: bool = False,
    ) -> NDArray[np.float64]:
        """Return how likely points of a column are by what they leave to the ends of distances [tried, rows].

        Each is tried with a part of its own of the bin of distances.
        """
        weights = np.ones(tried.shape)
        for other in beyond:
            gap = other.gap
            bases = (in_microseconds(column, tried) + other.offsets[rows]) // gap.unit
            codes = gap.others(gap.codes(other.cells.values[rows]), tried.shape[0], rng)
            dense = gap.densities(self._within[gap.name, any_day], bases, codes)
            starts = self.codec.ends[gap.name].starts
            if starts is not None:
                dense = dense * likely(starts, days_of(column), tried.ravel()).reshape(tried.shape)
            weights *= np.where(other.cells.missing[rows], 1.0, dense)
        return weights

    def _gaps(
        self, gap: TimedGap, raw: RawColumn, beyond: list[_Beyond], whole: Cells, rng: np.random.Generator
    ) -> RawColumn:
        """Return distances whose ends are drawn within the bins that the model knows."""
        bases = self.bases(gap.name, whole) // gap.unit
        cells, left = raw.values.copy(), np.flatnonzero(~raw.missing)
        for any_day, times in ((False, _TRIED), (False, _TRIED_AGAIN), (True, _TRIED)):
            within = self._within[gap.name, any_day]
            codes = gap.others(gap.codes(raw.values[left]), times, rng)
            dense = gap.densities(within, bases[left], codes)
            can = dense.max(axis=0) > 0
            rows, left = left[can], left[~can]
            codes = _chosen(codes[:, can], dense[:, can], rng)
            first, last = gap.windows(bases[rows], codes)
            own = gap.ends(bases[rows], raw.values[rows])
            ends = _drawn(within, first, last, own, _TRIED if beyond else 1, rng)
            chosen = ends[0]
            if beyond:
                weights = self._weights(gap.end, beyond, ends, rows, rng)
                is_told = weights.max(axis=0) > 0
                chosen[is_told] = _chosen(ends[:, is_told], weights[:, is_told], rng)
            cells[rows] = gap.gaps(bases[rows], chosen)
            if not left.size:
                break
        if left.size and gap.days.cells >= HOURS:
            # No end in their bins lies in these hours, but one of half a day around does.
            first, last = gap.around(bases[left], raw.values[left])
            can = within.below(last) > within.below(first)
            rows, own = left[can], gap.ends(bases[left], raw.values[left])[can]
            cells[rows] = gap.gaps(bases[rows], _drawn(within, first[can], last[can], own, 1, rng)[0])
        return replace(raw, cells=cells)


def _drawn(
    within: RhythmOfDays, first: Points, last: Points, own: Points, times: int, rng: np.random.Generator
) -> Points:
    """Draw ends from the windows of rows [times, n]; within a minute, they lie as starts and distances make them."""
    low, high = within.below(first), within.below(last)
    masses = low + (high - low) * rng.random((times, own.size))
    drawn = within.at(masses.ravel(), rng)
    shift = within.days.places(own)[2] - within.days.places(drawn)[2].reshape(masses.shape)
    found: Points = np.clip(drawn.reshape(masses.shape) + shift, first, last - 1)
    return found


def _is_narrow(other: _Beyond) -> NDArray[np.bool_]:
    """Return in which rows a bin of distances lasts less than a week, within which the start decides [n]."""
    codes, edges = other.gap.codes(other.cells.values), other.gap.edges
    return np.asarray(~other.cells.missing & (edges[codes + 1] - edges[codes] < other.gap.week))


def _satisfying(column: Date | Datetime, points: Points, allowed: Allowed) -> NDArray[np.bool_]:
    """Return which points of a column satisfy a condition, in the same shape."""
    values, physical = column.values(points.ravel())
    raw = RawColumn(values, np.zeros(values.size, np.bool_), physical)
    return satisfies(column, raw, allowed).reshape(points.shape)


def _chosen(tried: NDArray[Any], weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[Any]:
    """Choose one of the points that were tried for each row by their weights [tried, rows]."""
    below = np.cumsum(weights, axis=0)
    drawn = rng.random(weights.shape[1]) * below[-1]
    places = np.minimum((below <= drawn).sum(axis=0), weights.shape[0] - 1)
    found: NDArray[Any] = tried[places, np.arange(places.size)]
    return found
