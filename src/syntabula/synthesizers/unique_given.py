"""Rows for given ones of which no two share the value of a column that is not given, such as their day.

Each row is drawn as any row for its given values. Of rows with the same value all but one move to the nearest free value
with all else that was drawn, as rows of a whole table do (`unique_values`); given values stay.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, SyntabulaWarning
from syntabula.synthesizers.free_values import FreeValues, apart_in_order
from syntabula.synthesizers.moved_rows import MovedRows
from syntabula.synthesizers.ruled_rows import CONDITIONS, Draw, place
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import Allowed
from syntabula.table.raw import RawColumn
from syntabula.table.rules.computed import equal_cells
from syntabula.table.rules.row_rules import RowRules, rules_in_words
from syntabula.table.schema.columns import Date, Datetime, Identifier
from syntabula.table.schema.schema import Schema

_ROUNDS = 12
"""Times that rows are drawn which no free value near them fits."""


@dataclass(frozen=True, eq=False)
class UniqueGiven:
    """All rows for those of a given table, in its order.

    Attributes:
        name: The column that no two rows share.
        column: Its declaration.
        schema: The columns of whole rows.
        rules: The rules, if there are any.
        given: The given columns.
        n_rows: Number of given rows, as many as there are values at most.
        plain: Draws rows for the given ones, whatever they share.
        generator: Returns the source of all rows, from the same seed for all parts of a table.
        wanted: What conditions allow that all rows of `plain` satisfy, by column.
    """

    name: str
    column: Date | Datetime
    schema: Schema
    rules: RowRules | None
    given: Mapping[str, RawColumn]
    n_rows: int
    plain: Draw
    generator: Callable[[], np.random.Generator]
    wanted: Mapping[str, Allowed]

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Return the rows from one position up to another, which the seed decides and not the generator.

        Raises:
            ArgumentError: If rules leave no free value for some rows.
        """
        columns, left, broken = self._rows
        if left:
            raise ArgumentError(
                f"column {self.name!r} is `unique`, and for {left:,} of {self.n_rows:,} given rows no value was found "
                f"that no other row has and that satisfies the rules: they break {rules_in_words(broken)}. Give fewer "
                f"rows, or values of {self.name!r}"
            )
        return {name: column.take(np.arange(start, stop)) for name, column in columns.items()}

    @property
    def most(self) -> int:
        """Number of values that rows may have."""
        return sum(last - first for first, last in self._values.spans)

    @property
    def _values(self) -> FreeValues:
        own = self.wanted.get(self.name)
        return FreeValues.of(self.column, None if own is None else apart_in_order(own.spans))

    @cached_property
    def _rows(self) -> tuple[dict[str, RawColumn], int, dict[str, float]]:
        """All rows, how many of them have no value of their own, and the share of these that broke each rule."""
        rng, values = self.generator(), self._values
        found: dict[str, RawColumn] = {}
        left, broken = np.arange(self.n_rows), dict[str, float]()
        for _ in range(_ROUNDS):
            with warnings.catch_warnings():
                if found:
                    # The first rows have said what there is to say of the given ones.
                    warnings.simplefilter("ignore", SyntabulaWarning)
                drawn = self.plain(0, self.n_rows, rng)
            rows = {name: column.take(left) for name, column in drawn.items()}
            moves = MovedRows(self.name, self.column, self.rules, self._stay(left), self._fitness)
            points = moves.points(rows)
            rows, kept, broken = moves.moved(rows, points, values.apart(points), rng)
            values.taken.update(moves.points(rows)[kept].tolist())
            if not found:
                found = rows
            else:
                # Identifiers were numbered for all rows at once.
                ours = {n: c for n, c in rows.items() if not isinstance(self.schema[n], Identifier)}
                place(found, ours, left[kept], np.flatnonzero(kept))
            left = left[~kept]
            if not left.size:
                break
        return found, left.size, broken

    @property
    def _fitness(self) -> str:
        return f"given values or {CONDITIONS}" if self.wanted else "given values"

    def _stay(
        self, rows: NDArray[np.intp]
    ) -> Callable[[Mapping[str, RawColumn], NDArray[np.intp]], NDArray[np.bool_]]:
        """Return what says of moved rows, by their places among some given ones, whether given values stay and conditions
        hold."""

        def stay(moved: Mapping[str, RawColumn], places: NDArray[np.intp]) -> NDArray[np.bool_]:
            same = np.ones(places.size, np.bool_)
            for name, column in self.given.items():
                if not isinstance(self.schema[name], Identifier):
                    same &= equal_cells(self.schema[name], moved[name], column.take(rows[places]))
            for name, condition in self.wanted.items():
                same &= satisfies(self.schema[name], moved[name], condition)
            return same

        return stay
