"""Rows of a release of which no two share the value of one column, such as the days of a table with one row a day.

A model of codes draws some days twice and skips others. Rows are drawn as of any release, several times as many as are
wanted, so that as many of each weekday and hour can be chosen as the release says. Of rows with the same value all but
one move to the nearest free value, of the same weekday and time of day where one is near, with all that they hold: what
other columns tell of weekdays and hours stays. All parts of a table are cut from the same rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ResourceError
from syntabula.synthesizers.free_values import FreeValues
from syntabula.synthesizers.ruled_rows import Draw, joined_rows, place
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.rules.row_rules import RowRules, rules_in_words
from syntabula.table.schema.columns import Date, Datetime, Identifier

_TIMES = 8
"""Times as many rows as are wanted, of which these are chosen."""
_MOST_TRIED = 200_000
"""Rows from which on no more are drawn than are wanted."""
_ROUNDS = 12
"""Times that rows are drawn for values that are left, until all have one with which they satisfy the rules."""


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
        rng, values = self.generator(), FreeValues.of(self.column)
        pieces: list[dict[str, RawColumn]] = []
        broken: dict[str, float] = {}
        missing = self.n_rows
        for number in range(_ROUNDS):
            tried = self._tried(rng, first=not number)
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

    def _tried(self, rng: np.random.Generator, *, first: bool) -> dict[str, RawColumn]:
        """Draw rows, never more at once than are wanted: keys of a pattern may not be enough for more."""
        times = max(1, min(_TIMES, _MOST_TRIED // max(self.n_rows, 1))) if first else 1
        pieces = []
        for number in range(times):
            with warnings.catch_warnings():
                if number or not first:
                    # The first ones have said what there is to say of the release.
                    warnings.simplefilter("ignore")
                pieces.append(self.plain(0, self.n_rows, rng))
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
