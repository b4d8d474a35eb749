"""Rows for given ones that also satisfy conditions on other columns: those that do not are drawn anew, each alone.

Those that never do take what conditions are on from rows of the release that satisfy them (`nearest_given`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import refusal
from syntabula.errors import ArgumentError, ConditionWarning, SyntabulaWarning, warn_caller
from syntabula.synthesizers.nearest_given import NearestRows
from syntabula.synthesizers.ruled_rows import Draw, place
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import Allowed, allowed
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Identifier
from syntabula.table.schema.schema import Schema

_ROUNDS = 200
"""Draws of a given row: if one in ten satisfies the conditions, none of so many does with a probability below 1e-9."""
_NAMED = 20

Again = Callable[[NDArray[np.intp], np.random.Generator], dict[str, RawColumn]]
"""Draws some of the given rows anew, by their positions among all."""


@dataclass(frozen=True, eq=False)
class SatisfyingGiven:
    """One row for each given row; each has the release's distribution given its own values and the conditions.

    Attributes:
        schema: The columns of whole rows.
        given: Names of the given columns.
        wanted: What the conditions allow, by column; none of these is given.
        inner: Draws rows for given ones, whatever the conditions.
        again: Draws some of them alone; None if `inner` has to draw all rows of a piece.
        nearest: Completes those that no draw satisfies.
    """

    schema: Schema
    given: frozenset[str]
    wanted: Mapping[str, Allowed]
    inner: Draw
    again: Again | None
    nearest: NearestRows

    @classmethod
    def of(
        cls,
        schema: Schema,
        given: Mapping[str, RawColumn],
        where: object,
        inner: Draw,
        again: Again | None,
        nearest: Callable[[Mapping[str, Allowed]], NearestRows],
    ) -> Self:
        """Read the conditions; `nearest` returns what completes rows that no draw satisfies.

        Raises:
            ArgumentError: If they cannot be met by any row, or are on a given column.
            SchemaError: If they name an unknown column.
        """
        if not isinstance(where, Mapping):
            raise refusal("where", "a dictionary from columns to allowed values", where)
        wanted = {name: allowed(name, schema[name], condition) for name, condition in where.items()}
        if both := [name for name in wanted if name in given]:
            raise ArgumentError(
                f"column {both[0]!r} is given, and where has a condition on it; drop it from the given table, so that "
                "its cells are drawn, or from where, so that they stay as they are"
            )
        return cls(schema, frozenset(given), wanted, inner, again, nearest(wanted))

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another.

        Raises:
            ArgumentError: If no row of the release satisfies the conditions and its rules for some; says which.
        """
        drawn = self.inner(start, stop, rng)
        left = np.flatnonzero(~self._satisfied(drawn))
        if not left.size:
            return drawn
        # Columns may be held by one array.
        found = {n: c if n in self.given else c.take(np.arange(c.missing.size)) for n, c in drawn.items()}
        for _ in range(_ROUNDS):
            with warnings.catch_warnings():
                # The first draw has said what there is to say.
                warnings.simplefilter("ignore", SyntabulaWarning)
                if self.again is None:
                    every = self.inner(start, stop, rng)
                    rows = {name: column.take(left) for name, column in every.items()}
                else:
                    rows = self.again(left + start, rng)
            kept = np.flatnonzero(self._satisfied(rows))
            self._place(found, rows, left[kept], kept)
            left = np.delete(left, kept)
            if not left.size:
                return found
        return self._lent(found, left, start, stop, rng)

    def _lent(
        self,
        found: dict[str, RawColumn],
        left: NDArray[np.intp],
        start: int,
        stop: int,
        rng: np.random.Generator,
    ) -> dict[str, RawColumn]:
        """Return rows of which those that are left have values of others that satisfy the conditions."""
        rows = self.nearest.draw(left + start, rng)
        if rows is not None:
            kept = np.flatnonzero(self._satisfied(rows))
            self._place(found, rows, left[kept], kept)
            if kept.size:
                warn_caller(
                    ConditionWarning(
                        f"for {kept.size:,} of {stop - start:,} given rows none of {_ROUNDS} draws satisfied where: the "
                        "release hardly ever has such values beside theirs, so they took them from rows of the release "
                        "that are most like them"
                    )
                )
            left = np.delete(left, kept)
        if left.size:
            places = ", ".join(map(str, (left[:_NAMED] + start).tolist()))
            more = ", and so on" if left.size > _NAMED else ""
            raise ArgumentError(
                f"of {stop - start:,} given rows {left.size:,} got none that satisfies where in {_ROUNDS} draws, and no "
                f"row of the release could lend them its values; loosen the conditions, or leave these rows out: {places}"
                f"{more} (the first row is 0)"
            )
        return found

    def _place(
        self,
        found: dict[str, RawColumn],
        rows: Mapping[str, RawColumn],
        places: NDArray[np.intp],
        sources: NDArray[np.intp],
    ) -> None:
        made_anew = [name for name in found if isinstance(self.schema[name], Identifier)]
        own = {n: c for n, c in rows.items() if n not in self.given and n not in made_anew}
        place(found, own, places, sources)
        for name in made_anew:
            # Keys follow from positions, and only which are missing is drawn.
            if name not in self.given:
                found[name].missing[places] = rows[name].missing[sources]

    def _satisfied(self, rows: Mapping[str, RawColumn]) -> NDArray[np.bool_]:
        found = [satisfies(self.schema[n], rows[n], condition) for n, condition in self.wanted.items()]
        every = np.ones(next(iter(rows.values())).missing.size, np.bool_)
        return np.asarray(np.logical_and.reduce([every, *found]))
