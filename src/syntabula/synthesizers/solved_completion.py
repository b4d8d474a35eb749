"""Draws rows of a release with rules, with the cells given row by row, and those that follow from them by a rule.

Rows in which other columns follow are drawn apart, each kind with the columns that it is given or that follow.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, ConditionWarning, warn_caller
from syntabula.models.base import Model
from syntabula.synthesizers.ruled_completion import DrawnRows, RuledCompletion
from syntabula.synthesizers.ruled_rows import joined_rows
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.rules.row_rules import RowRules, rules_in_words
from syntabula.table.rules.solved import Solver
from syntabula.table.schema.columns import Identifier

_NAMED = 20
"""Given rows that an error names."""


@dataclass(frozen=True, eq=False)
class SolvedCompletion:
    """One row for each row of a given table, as `RuledCompletion`, without drawing what its values tell.

    Attributes:
        rules: The rules.
        codec: The release's codec, which numbers identifiers.
        given: The given columns, as read.
        n_rows: Number of given rows.
        parts: Positions of some rows, in order, and their completion; together all rows.
    """

    rules: RowRules
    codec: Codec
    given: Mapping[str, RawColumn]
    n_rows: int
    parts: Sequence[tuple[NDArray[np.intp], RuledCompletion]]

    @classmethod
    def of(cls, rules: RowRules, codec: Codec, model: Model, source: Any) -> Self:
        """Read a given table; raises as `Completion.of`."""
        table = read(source, rules.schema)
        everything = RuledCompletion.of(rules, codec, model, table)
        solver = Solver.of(rules, table.columns)
        cells, distances = solver.solved(table.columns), solver.distances(table.columns)
        told = [*cells.known.values(), *distances.known.values()]
        every = np.arange(table.n_rows)
        parts = [(every, everything)]
        if told and every.size:
            kinds, kind_of = np.unique(np.stack(told), axis=1, return_inverse=True)
            parts = []
            for kind in range(kinds.shape[1]):
                rows = np.flatnonzero(kind_of.reshape(-1) == kind)
                follow = {n: c.take(rows) for n, c in cells.cells.items() if cells.known[n][rows[0]]}
                apart = {n: c.take(rows) for n, c in distances.cells.items() if distances.known[n][rows[0]]}
                given = {name: column.take(rows) for name, column in table.columns.items()}
                with warnings.catch_warnings():
                    # All rows together have said what there is to say of them.
                    warnings.simplefilter("ignore", ConditionWarning)
                    part = RawTable(given | follow, rows.size, table.origin)
                    parts.append((rows, RuledCompletion.of(rules, codec, model, part, distances=apart)))
        return cls(rules, codec, table.columns, table.n_rows, parts)

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another.

        Raises:
            ArgumentError: If for some rows, no drawn row satisfies all rules; says which, and the rules.
        """
        drawn: list[DrawnRows] = []
        places: list[NDArray[np.intp]] = []
        left: list[NDArray[np.intp]] = []
        for rows, part in self.parts:
            first, end = np.searchsorted(rows, [start, stop])
            if end > first or len(self.parts) == 1:
                drawn.append(part.draw(int(first), int(end), rng))
                places.append(rows[first:end])
                left.append(rows[drawn[-1].left])
        _check(drawn, np.sort(np.concatenate(left)), range(start, stop), self.n_rows)
        if len(drawn) == 1:
            columns = drawn[0].columns
        else:
            order = np.argsort(np.concatenate(places))
            whole = joined_rows([part.columns for part in drawn])
            columns = {name: column.take(order) for name, column in whole.items()}
        numbered = {
            name: self.codec.identifiers(name, columns[name].missing, start)
            for name, column in self.rules.schema.columns.items()
            if isinstance(column, Identifier) and name not in self.given
        }
        return columns | numbered


def _check(drawn: Sequence[DrawnRows], left: NDArray[np.intp], rows: range, n_rows: int) -> None:
    """Refuse given rows that no draw satisfies, and warn of those whose drawn values were moved.

    Args:
        drawn: What was drawn for each part of the rows.
        left: Positions of those that no draw satisfies, in order.
        rows: Positions of the rows of all parts.
        n_rows: Number of given rows.
    """
    of = f"{n_rows:,} given rows" if len(rows) == n_rows else f"given rows {rows.start} to {rows.stop - 1}"
    failed = [part for part in drawn if part.left.size]
    if failed:
        broken = Counter[str]()
        for part in failed:
            broken.update(part.broken)
        n_tried = sum(part.n_tried for part in failed)
        rules = rules_in_words({rule: count / n_tried for rule, count in broken.items()})
        named = ", ".join(map(str, left[:_NAMED].tolist())) + ", and so on" * (left.size > _NAMED)
        raise ArgumentError(
            f"for {left.size:,} of {of}, no draw satisfies the rules: {rules}. Correct the values of these rows, or "
            "leave them out: the release has no values that fit them; or in place of a derived column, give the columns "
            f"that it is computed from. They are: {named} (the first row is 0)"
        )
    moved = [part for part in drawn if part.n_moved]
    if moved:
        rules = ", ".join(dict.fromkeys(rule for part in moved for rule in part.movable))
        warn_caller(
            ConditionWarning(
                f"for {sum(part.n_moved for part in moved):,} of {of}, no draw kept {rules} with the "
                "given values, so drawn values of these columns were moved until it holds: they are little more than a "
                "guess"
            )
        )
