"""Gives rows whose distances lead beyond the bounds those of other drawn rows.

A model draws a long stay for a late admission where it cannot tell that the stays of such are short: because noise hides
it, or because the two were not measured together. To discard the row would take the late admission from the table along
with the long stay, and both would become too rare. So the row keeps what its distances count from, and all else that it
holds, and exchanges its distances with another row, so that those of both lead within the bounds: the starts of all rows
stay as they were drawn, and so do their distances. Where no other row suits, it takes the distances of one that begins
near it, without giving its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
_MOST_TRIED = 60
"""Rows with which each one may try to exchange distances; most find one among a few."""


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
    n_left = int((~kept).sum())
    _exchange(Lenders(rules, columns, kept.copy(), fixed), learned, kept, ends, rng)
    lenders = Lenders(rules, columns, kept.copy(), fixed)
    for _ in range(_MOST_LOANS):
        rows = np.flatnonzero(~kept)
        lent, changed = lenders.lend({name: column.take(rows) for name, column in learned.items()}, rng)
        if rows.size == n_left and not changed.any():
            break
        n_left = rows.size
        others, fit, broken = rules.completed(ends(lent), rows.size, rng)
        place(columns, others, rows[fit], np.flatnonzero(fit))
        kept[rows[fit]] = True
    return broken


def _exchange(
    lenders: Lenders,
    learned: Cells,
    kept: Flags,
    ends: Callable[[dict[str, RawColumn]], dict[str, RawColumn]],
    rng: np.random.Generator,
) -> None:
    """Exchange distances that lead beyond the bounds with those of rows that are kept, in place; see `mended`."""
    rules, columns = lenders.rules, lenders.columns
    rows = np.flatnonzero(~kept)
    own = {name: column.take(rows) for name, column in learned.items()}
    for names, here, there in lenders.pairs(own, rng):
        theirs, _ = rules.learned_table(_table({n: c.take(there) for n, c in columns.items()}, there.size))
        one, other = {n: c.take(here) for n, c in own.items()}, dict(theirs.columns)
        for name in names:
            mine, given = one[name], other[name]
            one[name] = replace(mine, cells=given.values.astype(mine.values.dtype), missing=given.missing)
            other[name] = replace(given, cells=mine.values.astype(given.values.dtype))
        sides = [rules.completed(ends(side), there.size, rng)[:2] for side in (one, other)]
        fit = np.flatnonzero(sides[0][1] & sides[1][1] & ~kept[rows[here]])
        for (found, _), places in zip(sides, (rows[here], there), strict=True):
            place(columns, found, places[fit], fit)
        kept[rows[here[fit]]] = True


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
    columns: dict[str, RawColumn]
    kept: Flags
    fixed: Collection[str] = ()

    @cached_property
    def _distances(self) -> Cells:
        """What was learned of the columns in orders, of the rows that are kept."""
        named = {name for start, names in self._groups for name in (start, *names)}
        rows = {name: self.columns[name].take(self.kept) for name in self.columns if name in named}
        table, _ = self.rules.learned_table(_table(rows, int(self.kept.sum())))
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

    def pairs(self, learned: Cells, rng: np.random.Generator) -> Iterator[tuple[list[str], Places, Places]]:
        """Yield columns, some rows whose distances lead beyond the bounds, and for each another row: after an exchange of
        the distances of these columns, those of both lead within. No row is in two pairs.

        Args:
            learned: Decoded rows of the learned table [m].
            rng: Chooses the other rows, which are places among all [n].
        """
        whole, beyond = self.rules.with_ends(learned, rng)
        among = np.flatnonzero(self.kept)
        taken, pending = (
            np.zeros(among.size, np.bool_),
            np.ones(next(iter(whole.values())).missing.size, np.bool_),
        )
        for start, names in self._groups:
            own = {start: whole[start]}
            own |= {n: replace(learned[n], cells=learned[n].values, missing=whole[n].missing) for n in names}
            left = np.flatnonzero(self._asking(start, names, whole, beyond) & pending)
            found: list[tuple[Places, Places]] = []
            for _ in range(_MOST_TRIED):
                if not left.size or not among.size:
                    break
                others = rng.integers(0, among.size, left.size)
                is_first = np.zeros(left.size, np.bool_)
                is_first[np.unique(others, return_index=True)[1]] = True
                suit = is_first & ~taken[others] & self._suit(start, names, own, left, others)
                found.append((left[suit], others[suit]))
                taken[others[suit]], pending[left[suit]] = True, False
                left = left[~suit]
            if found:
                here, there = (np.concatenate(side) for side in zip(*found, strict=True))
                if here.size:
                    yield names, here, among[there]

    def _suit(self, start: str, names: Sequence[str], own: Cells, rows: Places, others: Places) -> Flags:
        """Return which rows and others may exchange some distances, so that those of both lead within the bounds."""
        one = {n: own[n].take(rows) for n in (start, *names)}
        other = {n: self._distances[n].take(others) for n in (start, *names)}
        alike = [one[n].missing == other[n].missing for n in (start, *names)]
        found: Flags = np.logical_and.reduce(alike)
        for begins, gaps in ((one, other), (other, one)):
            cells = {start: begins[start], **{name: gaps[name] for name in names}}
            for name in names:
                cells[name], fits = self.rules.as_end(name, cells)
                found &= fits
        return found

    def _asking(self, start: str, names: Sequence[str], whole: Cells, beyond: Mapping[str, Flags]) -> Flags:
        """Return the rows that have a start from which one of some distances leads beyond the bounds."""
        leads = [rows for name, rows in beyond.items() if name in names]
        is_there = ~whole[start].missing
        found: Flags = np.logical_or.reduce([np.zeros_like(is_there), *leads]) & is_there
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
            asking = self._asking(start, names, whole, beyond)
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


def _table(columns: Cells, n_rows: int) -> RawTable:
    return RawTable(dict(columns), n_rows, Origin("pandas", {}))
