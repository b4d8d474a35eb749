"""Lends rows whose distances lead beyond the bounds those of other drawn rows that begin near them.

A model draws a long stay for a late admission where it cannot tell that the stays of such are short: because noise hides
it, or because the two were not measured together. To discard the row would take the late admission from the table along
with the long stay, and late ones would become too rare. So the row keeps what its distances count from, and all else that
it holds, and takes the distances of a row that fits. As that one begins at about the same time, they lead within the
bounds, and follow the distribution of those that do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.synthesizers.placed_rows import place
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.rules.placing import connected
from syntabula.table.rules.row_rules import RowRules

Cells = Mapping[str, RawColumn]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]


_MOST_LOANS = 10
"""Rows from which each one takes distances in turn, until those lead within its bounds and it satisfies all rules."""


def mended(
    rules: RowRules,
    learned: Cells,
    columns: dict[str, RawColumn],
    kept: Flags,
    broken: dict[str, int],
    ends: Callable[[dict[str, RawColumn]], dict[str, RawColumn]],
    rng: np.random.Generator,
    *,
    fixed: Collection[str] = (),
) -> dict[str, int]:
    """Mend rows whose distances lead beyond the bounds, in place; return for each rule how many still break it.

    Args:
        rules: The rules. Those of a release of an earlier version lend nothing.
        learned: Decoded rows of the learned table, as far as they are not kept.
        columns: The same rows, completed.
        kept: Which of these satisfy all rules.
        broken: For each rule that some of these break, how many do.
        ends: Draws the ends of distances anew within their bins, see `DrawnEnds`.
        rng: Source of ordinary randomness.
        fixed: Columns whose values stay.
    """
    if not rules.lends or kept.all():
        return broken
    lenders = Lenders(rules, columns, kept.copy(), fixed)
    for _ in range(_MOST_LOANS):
        rows = np.flatnonzero(~kept)
        lent, changed = lenders.lend({name: column.take(rows) for name, column in learned.items()}, rng)
        if not changed.any():
            break
        others, fit, broken = rules.completed(ends(lent), rows.size, rng)
        place(columns, others, rows[fit], np.flatnonzero(fit))
        kept[rows[fit]] = True
    return broken


@dataclass(frozen=True, eq=False)
class Lenders:
    """Rows that satisfy the rules, whose distances others may take.

    Attributes:
        rules: The rules.
        columns: The rows, completed.
        kept: Which of them satisfy all rules [n].
        fixed: Columns whose values stay; what counts from one, or from the same column as one, is not lent.
    """

    rules: RowRules
    columns: Cells
    kept: Flags
    fixed: Collection[str] = ()

    @cached_property
    def _distances(self) -> Cells:
        """What was learned of the columns in orders, of the rows that are kept."""
        named = {name for start, names in self._groups for name in (start, *names)}
        rows = {name: self.columns[name].take(self.kept) for name in self.columns if name in named}
        table, _ = self.rules.learned_table(RawTable(rows, int(self.kept.sum()), Origin("pandas", {})))
        return table.columns

    @cached_property
    def _groups(self) -> list[tuple[str, list[str]]]:
        """Each column, learned as it is, that distances count from, with these; without distances from several such."""
        distances, found = self.rules.compiled.distances, []
        for pairs in connected([(name, other) for name, d in distances.items() for other in d.columns]):
            named = {name for pair in pairs for name in pair}
            starts = named - distances.keys()
            if len(starts) == 1 and not named.intersection(self.fixed):
                found.append((starts.pop(), [name for name in distances if name in named]))
        return found

    def lend(self, learned: Cells, rng: np.random.Generator) -> tuple[dict[str, RawColumn], Flags]:
        """Return rows with the distances of others where their own lead beyond the bounds, and which rows those are [m].

        All distances that count from the same column are those of one row, so that they suit each other. Cells that are
        missing stay so.

        Args:
            learned: Decoded rows of the learned table.
            rng: Chooses among the rows that begin about as near.
        """
        whole, beyond = self.rules.with_ends(learned, rng)
        found, changed = dict(learned), np.zeros(next(iter(whole.values())).missing.shape, np.bool_)
        for start, names in self._groups:
            leads = [rows for name, rows in beyond.items() if name in names]
            asking = np.logical_or.reduce([np.zeros_like(changed), *leads]) & ~whole[start].missing
            if not asking.any():
                continue
            present = np.stack([~whole[name].missing for name in names])
            for pattern in np.unique(present[:, asking], axis=1).T:
                rows = np.flatnonzero(asking & (present == pattern[:, None]).all(axis=0))
                those = [name for name, is_present in zip(names, pattern, strict=True) if is_present]
                lenders = self._near(start, those, whole[start].take(rows), rng)
                if lenders.size:
                    changed[rows] = True
                    for name in those:
                        found[name] = self._with(name, found[name], whole[name].missing, rows, lenders)
        return found, changed

    def _near(self, start: str, names: Sequence[str], asking: RawColumn, rng: np.random.Generator) -> Places:
        """Choose a row that begins near each of some starts and has some distances; none at all if none has these."""
        can = np.flatnonzero(~np.logical_or.reduce([self._distances[n].missing for n in (start, *names)]))
        if not can.size:
            return can
        begins, _, _ = self.rules.numbers(start, self._distances[start].take(can))
        wanted, _, _ = self.rules.numbers(start, asking)
        order = np.argsort(begins, kind="stable")
        reach = math.isqrt(can.size)
        places = np.searchsorted(begins[order], wanted) + rng.integers(-reach, reach + 1, wanted.size)
        found: Places = can[order[np.clip(places, 0, can.size - 1)]]
        return found

    def _with(self, name: str, own: RawColumn, missing: Flags, rows: Places, lenders: Places) -> RawColumn:
        """Return a column of distances with those of other rows in some."""
        cells = own.values.copy()
        cells[rows] = self._distances[name].values[lenders]
        return replace(own, cells=cells, missing=missing.copy())
