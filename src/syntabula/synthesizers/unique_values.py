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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ResourceError
from syntabula.synthesizers.free_values import FreeValues, Spans, apart_in_order
from syntabula.synthesizers.moved_rows import MovedRows
from syntabula.synthesizers.ruled_rows import CONDITIONS, Draw, joined_rows
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import allowed
from syntabula.table.raw import RawColumn
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
        moves: Moves rows to other values of the column.
        n_rows: Number of rows.
        plain: Draws rows of the release, whatever they share, that satisfy the rules and the conditions.
        codec: The release's codec, which numbers identifiers.
        spans: Half-open intervals of points that the rows may have, in order; None if conditions leave all.
        generator: Returns the source of all rows, from the same seed for all parts of a table.
    """

    moves: MovedRows
    n_rows: int
    plain: Draw
    codec: Codec
    spans: Spans | None
    generator: Callable[[], np.random.Generator]

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Return the rows from one position up to another, which the seed decides and not the generator.

        Raises:
            ResourceError: If no values are left with which so many rows satisfy the rules.
        """
        columns, broken = self._rows
        if self.n_found < self.n_rows:
            raise ResourceError(
                f"column {self.moves.name!r} is `unique`, and only {self.n_found:,} of {self.n_rows:,} rows were found "
                f"that have a value of their own and satisfy the rules; others break {rules_in_words(broken)}. Draw "
                "fewer rows, widen the bounds, or leave out `unique`"
            )
        return {name: column.take(np.arange(start, stop)) for name, column in columns.items()}

    @property
    def most(self) -> int:
        """Number of values that rows may have."""
        return sum(last - first for first, last in FreeValues.of(self.moves.column, self.spans).spans)

    @property
    def n_found(self) -> int:
        """Number of rows that have a value of their own and satisfy the rules, up to those wanted."""
        return self._rows[0][self.moves.name].missing.size

    @cached_property
    def _rows(self) -> tuple[dict[str, RawColumn], dict[str, float]]:
        """All rows that were found, in order, and the share of the last tried ones that broke each rule."""
        rng, values = self.generator(), FreeValues.of(self.moves.column, self.spans)
        pieces: list[dict[str, RawColumn]] = []
        broken: dict[str, float] = {}
        missing = self.n_rows
        for number in range(_ROUNDS):
            tried = self._tried(rng, first=not number)
            chosen = values.chosen(self.moves.points(tried), missing, rng)
            rows = {name: column.take(chosen) for name, column in tried.items()}
            points = self.moves.points(rows)
            rows, kept, broken = self.moves.moved(rows, points, values.apart(points), rng)
            values.taken.update(self.moves.points(rows)[kept].tolist())
            pieces.append({name: column.take(np.flatnonzero(kept)) for name, column in rows.items()})
            missing -= int(kept.sum())
            if not missing:
                break
        columns = joined_rows(pieces)
        order = np.argsort(self.moves.points(columns))
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

    def _numbered(self, rows: Mapping[str, RawColumn]) -> dict[str, RawColumn]:
        rules = self.moves.rules
        schema = self.codec.schema if rules is None else rules.schema
        return {
            name: self.codec.identifiers(name, rows[name].missing, 0)
            for name, column in schema.columns.items()
            if isinstance(column, Identifier)
        }


def unique_rows(
    name: str,
    column: Date | Datetime,
    codec: Codec,
    rules: RowRules | None,
    plain: Draw,
    where: Mapping[str, Any],
    generator: Callable[[], np.random.Generator],
    n_rows: int,
) -> UniqueRows:
    """Return rows of which no two share a value of a column, and that satisfy conditions; see `UniqueRows`."""
    schema = codec.schema if rules is None else rules.schema
    wanted = {other: allowed(other, schema[other], condition) for other, condition in where.items()}

    def are_fit(rows: Mapping[str, RawColumn], places: NDArray[np.intp]) -> NDArray[np.bool_]:
        found = np.ones(places.size, np.bool_)
        for other, condition in wanted.items():
            found &= satisfies(schema[other], rows[other], condition)
        return found

    moves = MovedRows(name, column, rules, are_fit if wanted else None, CONDITIONS)
    spans = apart_in_order(wanted[name].spans) if name in wanted else None
    return UniqueRows(moves, n_rows, plain, codec, spans, generator)
