"""Rows of a release of which no two share the value of one column, such as the days of a table with one row a day.

A model of codes draws some days twice and skips others. Rows are drawn as of any release, several times as many as are
wanted, so that as many of each weekday and hour can be chosen as the release says. Of rows with the same value all but
one move to the nearest free value, of the same weekday and time of day where one is near, with all that they hold: what
other columns tell of weekdays and hours stays. All parts of a table are cut from the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ResourceError
from syntabula.synthesizers.ruled_rows import Draw, joined_rows, place
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.rules.row_rules import RowRules, rules_in_words
from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime, Identifier

_TIMES = 8
"""Times as many rows as are wanted, of which these are chosen."""
_MOST_TRIED = 200_000
"""Rows from which on no more are drawn than are wanted."""
_ROUNDS = 12
"""Times that rows are drawn for values that are left, until all have one with which they satisfy the rules."""
_WEEK = 7
_FARTHEST = 26
"""Weeks that a row moves at most to stay on its weekday or at its time of day, or to spare a rare one."""
_RARE = 0.25
"""Share of the rows of a weekday or hour, relative to all, up to which it is rare."""


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """All rows of a table in the order of a column that no two of them share.

    Attributes:
        name: The column's name.
        column: Its declaration.
        n_rows: Number of rows.
        plain: Draws rows of the release, whatever they share, that satisfy the rules.
        codec: The release's codec, which numbers identifiers.
        rules: The rules, if there are any.
        generator: Returns the source of all rows, from the same seed for all parts of a table.
    """

    name: str
    column: Date | Datetime
    n_rows: int
    plain: Draw
    codec: Codec
    rules: RowRules | None
    generator: Callable[[], np.random.Generator]

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Return the rows from one position up to another, which the seed decides and not the generator.

        Raises:
            ResourceError: If no values are left with which so many rows satisfy the rules.
        """
        columns, broken = self._rows
        if self.n_found < self.n_rows:
            raise ResourceError(
                f"column {self.name!r} is `unique`, and only {self.n_found:,} of {self.n_rows:,} rows were found that "
                f"have a value of their own and satisfy the rules; others break {rules_in_words(broken)}. Draw fewer "
                "rows, widen the bounds, or leave out `unique`"
            )
        return {name: column.take(np.arange(start, stop)) for name, column in columns.items()}

    @property
    def n_found(self) -> int:
        """Number of rows that have a value of their own and satisfy the rules, up to those wanted."""
        return self._rows[0][self.name].missing.size

    @cached_property
    def _rows(self) -> tuple[dict[str, RawColumn], dict[str, float]]:
        """All rows that were found, in order, and the share of the last tried ones that broke each rule."""
        rng, values = self.generator(), _Values.of(self.column)
        pieces: list[dict[str, RawColumn]] = []
        broken: dict[str, float] = {}
        missing = self.n_rows
        for number in range(_ROUNDS):
            tried = self._tried(rng, times=1 if number else _TIMES)
            chosen = values.chosen(self._points(tried), missing, rng)
            rows = {name: column.take(chosen) for name, column in tried.items()}
            points = self._points(rows)
            rows, kept, broken = self._moved(rows, points, values.apart(points), rng)
            values.taken.update(self._points(rows)[kept].tolist())
            pieces.append({name: column.take(np.flatnonzero(kept)) for name, column in rows.items()})
            missing -= int(kept.sum())
            if not missing:
                break
        columns = joined_rows(pieces)
        order = np.argsort(self._points(columns))
        columns = {name: column.take(order) for name, column in columns.items()}
        return columns | self._numbered(columns), broken

    def _tried(self, rng: np.random.Generator, *, times: int) -> dict[str, RawColumn]:
        """Draw rows, never more at once than are wanted: keys of a pattern may not be enough for more."""
        times = max(1, min(times, _MOST_TRIED // max(self.n_rows, 1)))
        pieces = [self.plain(0, self.n_rows, rng)]
        with warnings.catch_warnings():
            # The first ones have said what there is to say of the release.
            warnings.simplefilter("ignore")
            pieces += [self.plain(0, self.n_rows, rng) for _ in range(times - 1)]
        return joined_rows(pieces)

    def _points(self, rows: Mapping[str, RawColumn]) -> NDArray[np.int64]:
        raw = rows[self.name]
        points, _, _ = self.column.points(raw.values, raw.physical.kind)
        return points.astype(np.int64)

    def _moved(
        self,
        rows: dict[str, RawColumn],
        points: NDArray[np.int64],
        wanted: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> tuple[dict[str, RawColumn], NDArray[np.bool_], dict[str, float]]:
        """Move rows to other points; return them, which satisfy the rules, and the share that broke each rule."""
        kept = np.ones(points.size, np.bool_)
        moved = np.flatnonzero(points != wanted)
        if not moved.size:
            return rows, kept, {}
        values, physical = self.column.values(wanted[moved])
        there = RawColumn(values, np.zeros(moved.size, np.bool_), physical)
        if self.rules is None:
            place(rows, {self.name: there}, moved, np.arange(moved.size))
            return rows, kept, {}
        some = {name: column.take(moved) for name, column in rows.items()}
        start, starts, allowed = self.name, there, kept[moved]
        if self.name in self.rules.compiled.distances:
            # What it is a distance from moves, if that is one column, and else the distance changes.
            found = self.rules.anchored(self.name, some, there)
            start, starts, allowed = ("", there, allowed) if found is None else found
            some |= {} if start else {self.name: there}
        learned = dict(self.rules.learned_table(RawTable(some, moved.size, Origin("pandas", {})))[0].columns)
        # What is a distance from this column moves along with it.
        learned |= {start: starts} if start else {}
        others, satisfied, counts = self.rules.completed(learned, moved.size, rng)
        place(rows, others, moved, np.arange(moved.size))
        # A distance may be clipped, and the value with it.
        elsewhere = ~allowed | (self._points(others) != wanted[moved])
        kept[moved] = satisfied & ~elsewhere
        counts |= {f"{self.name} at a free value": int(elsewhere.sum())}
        return rows, kept, {rule: count / moved.size for rule, count in counts.items() if count}

    def _numbered(self, rows: Mapping[str, RawColumn]) -> dict[str, RawColumn]:
        schema = self.codec.schema if self.rules is None else self.rules.schema
        return {
            name: self.codec.identifiers(name, rows[name].missing, 0)
            for name, column in schema.columns.items()
            if isinstance(column, Identifier)
        }


@dataclass(frozen=True, eq=False)
class _Values:
    """The points of a column that no two rows share, and which of them have a row.

    Attributes:
        first: The first point.
        last: The last point.
        steps: Points of a week, a day and an hour, as far as there are so many in it; 1 at the end.
        kind: Points of a weekday or an hour, of which as many rows are chosen as there are in those that were drawn.
        taken: The points that have a row.
        rare: The weekdays or hours of the week that few rows have, which are the last to be filled.
    """

    first: int
    last: int
    steps: tuple[int, ...]
    kind: int
    taken: set[int] = field(default_factory=set)
    rare: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, column: Date | Datetime) -> _Values:
        """Return those of a column, of which none has a row yet."""
        first, last = column.grid()
        if isinstance(column, Date):
            return cls(first, last, (_WEEK, 1) if column.resolution == "day" else (1,), 1)
        length = MICROSECONDS[column.resolution]
        day, hour = (MICROSECONDS[name] // length or 1 for name in ("day", "hour"))
        return cls(first, last, tuple(dict.fromkeys((_WEEK * day, day, hour, 1))), hour)

    def chosen(self, points: NDArray[np.int64], n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return which of some rows [n] to take; those come first whose points are free."""
        if not self.taken:
            counts = np.bincount(self._kinds(points), minlength=self.steps[0] // self.kind)
            self.rare.update(np.flatnonzero(counts < _RARE * counts.mean()).tolist())
        free = np.fromiter((point not in self.taken for point in points.tolist()), np.bool_, points.size)
        some = self._even(points, np.flatnonzero(free), n_rows, rng)
        return np.concatenate([some, self._even(points, np.flatnonzero(~free), n_rows - some.size, rng)])

    def _even(
        self, points: NDArray[np.int64], rows: NDArray[np.intp], n_rows: int, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Return some of these rows, as many of each kind and each part of the range as in proportion."""
        ordered = rows[np.lexsort((points[rows], self._kinds(points[rows])))]
        n_chosen = min(n_rows, rows.size)
        # A random start, so that each row is chosen as often as any other.
        places = (np.arange(n_chosen) + rng.random()) * (rows.size / max(n_chosen, 1))
        return ordered[np.minimum(places.astype(np.intp), max(rows.size - 1, 0))]

    def _kinds(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        return points % self.steps[0] // self.kind

    def apart(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return free points for some [n]: their own for the first row there, or else the nearest."""
        found, taken, surplus = points.copy(), set(self.taken), []
        for row, point in enumerate(points.tolist()):
            if point in taken:
                surplus.append(row)
            taken.add(point)
        # Only a week leads to the same weekday and time, which may be rare.
        moves = [(step, number > 0) for number, step in enumerate(self.steps)]
        searches = [_Search(self, taken, step, spares) for step, spares in (*moves, (1, False))]
        for row in surplus:
            found[row] = self._nearest(int(points[row]), searches)
            taken.add(int(found[row]))
        return found

    def _nearest(self, point: int, searches: Sequence[_Search]) -> int:
        for search in searches:
            nearest = search.nearest(point)
            is_last = search is searches[-1]
            if nearest is not None and (is_last or abs(nearest - point) <= _FARTHEST * self.steps[0]):
                return nearest
        raise AssertionError("there are as many points as rows")


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds free points some steps from others.

    Attributes:
        values: The points.
        taken: Those that are not free; more may be added, but none removed.
        step: The step.
        spares_rare: Whether rare weekdays or hours are passed over.
    """

    values: _Values
    taken: set[int]
    step: int
    spares_rare: bool
    _jumps: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    def nearest(self, point: int) -> int | None:
        """Return the free point nearest to another one; None if there is none."""
        ways = zip((self.step, -self.step), self._jumps, strict=True)
        found = [end for way, jumps in ways if self._inside(end := self._end(point, way, jumps))]
        return min(found, key=lambda end: abs(end - point), default=None)

    def _end(self, point: int, way: int, jumps: dict[int, int]) -> int:
        """Return the first free point in one direction, or one beyond the bounds."""
        passed, at = [], point
        while self._inside(at) and (at in self.taken or (self.spares_rare and self._is_rare(at))):
            passed.append(at)
            at = jumps.get(at, at + way)
        # What is passed over once need not be again.
        jumps.update(dict.fromkeys(passed, at))
        return at

    def _inside(self, point: int) -> bool:
        return self.values.first <= point <= self.values.last

    def _is_rare(self, point: int) -> bool:
        return point % self.values.steps[0] // self.values.kind in self.values.rare
