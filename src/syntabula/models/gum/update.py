"""One gradual update: move the rows of a table towards one marginal, where all marginals gain by it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.hard_rows import Rows

Index = NDArray[np.intp]

_CELLS_AT_ONCE = 2**18
"""Moves are weighed in blocks of so many cells: few enough for the cache, and the next block sees the change."""


@dataclass(frozen=True, eq=False)
class Target:
    """A marginal that the rows should have.

    Attributes:
        columns: Positions of its columns in the rows.
        shape: Number of codes of each.
        start: Position of its first cell among the cells of all marginals.
        size: Number of its cells.
        touched: Positions of the marginals that share a column with it, itself included.
        touched_by: The same for each of its columns.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    start: int
    size: int
    touched: Index
    touched_by: tuple[Index, ...]

    def cell_of(self, rows: Rows) -> NDArray[np.unsignedinteger]:
        """Return the cell of each row, in the smallest type, which is the fastest."""
        dtype = code_dtype(self.size)
        cell = rows[self.columns[0]].astype(dtype)
        for column, size in zip(self.columns[1:], self.shape[1:], strict=True):
            cell = cell * dtype.type(size) + rows[column]
        cells: NDArray[np.unsignedinteger] = cell.astype(dtype, copy=False)
        return cells


class GradualUpdate:
    """Rows, and by how much they exceed each cell of the marginals that they should have.

    Zhang et al. (2021), PrivSyn, section 5 (Gradually Update Method), but for the choice of moves: see `update`.

    Args:
        domain: Names the columns.
        tables: Counts of marginals, not negative, each with a sum above 0.
        rows: Codes [columns, rows], which `update` changes in place.
        rng: Source of randomness.
    """

    def __init__(
        self, domain: Domain, tables: Mapping[Clique, FloatArray], rows: Rows, rng: np.random.Generator
    ) -> None:
        self.rows = rows
        self._rng = rng
        self._starts = np.cumsum([0, *(t.size for t in tables.values())])[:-1]
        # Row codes times strides, plus starts, are the cells of all marginals; exact in this type below 2^53.
        self._strides = np.zeros((len(domain), len(tables)))
        for position, (clique, table) in enumerate(tables.items()):
            within = np.cumprod([1, *table.shape[:0:-1]])[::-1]
            self._strides[[domain.index(c) for c in clique], position] = within
        holds = self._strides > 0
        self.targets = []
        for (clique, table), start in zip(tables.items(), self._starts.tolist(), strict=True):
            columns = tuple(domain.index(c) for c in clique)
            touched = np.flatnonzero(holds[list(columns)].any(axis=0))
            touched_by = tuple(np.flatnonzero(holds[c]) for c in columns)
            self.targets.append(Target(columns, table.shape, start, table.size, touched, touched_by))
        n = rows.shape[1]
        self._excess = -np.concatenate([t.ravel() * (n / t.sum()) for t in tables.values()])
        for target in self.targets:
            counts = np.bincount(target.cell_of(rows), minlength=target.size)
            self._excess[target.start : target.start + target.size] += counts

    def errors(self) -> FloatArray:
        """Return the total variation distance of the rows to each marginal."""
        distance: FloatArray = np.add.reduceat(np.abs(self._excess), self._starts) / (2 * self.rows.shape[1])
        return distance

    def update(self, target: Target, *, step: float, duplicated: float) -> None:
        """Move rows from cells of a marginal that have too many to cells that have too few.

        A cell of count s that should have a > s is to receive min(a - s, step s) rows, or step a if it has
        none; cells above their count give up as many altogether, each in proportion to its surplus. A row that
        gets to a cell becomes a copy of a whole row of the cell, or is overwritten in the marginal's columns.
        Of these moves only those are made that bring all marginals together nearer to what they should be, in
        the sum of squares.

        Args:
            target: The marginal.
            step: The step size alpha, above 0 and at most 1.
            duplicated: Part of the moved rows that become copies.
        """
        excess = self._excess[target.start : target.start + target.size]
        cell = target.cell_of(self.rows)
        freed, wanted = self._proposed(cell, excess, step)
        copies = round(duplicated * wanted.size)
        if copies:
            self._copy(target, cell, freed[:copies], wanted[:copies])
        self._overwrite(target, cell, freed[copies:], wanted[copies:])

    def _proposed(self, cell: Rows, excess: FloatArray, step: float) -> tuple[Index, Index]:
        """Return rows to be moved, and the cells that they should get to, as many of both, in random order."""
        have = np.bincount(cell, minlength=excess.size)
        missing = np.maximum(-excess, 0)
        additions = _rounded(np.where(have > 0, np.minimum(missing, step * have), step * missing), self._rng)
        wanted = np.repeat(np.arange(additions.size), additions)
        surplus = np.maximum(excess, 0)
        part = surplus * (wanted.size / max(surplus.sum(), 1.0)) / np.maximum(have, 1)
        freed = np.flatnonzero(self._rng.random(cell.size, dtype=np.float32) < part.astype(np.float32)[cell])
        n = min(freed.size, wanted.size)
        return self._rng.permutation(freed)[:n], self._rng.permutation(wanted)[:n]

    def _copy(self, target: Target, cell: Rows, freed: Index, wanted: Index) -> None:
        """Make freed rows copies of rows in the wanted cells, where there are any."""
        by_cell = np.argsort(cell, kind="stable")
        have = np.bincount(cell, minlength=target.size)
        possible = have[wanted] > 0
        freed, wanted = freed[possible], wanted[possible]
        within = (self._rng.random(wanted.size) * have[wanted]).astype(np.intp)
        copied = by_cell[(np.cumsum(have) - have)[wanted] + within]
        all_columns, all_marginals = list(range(len(self.rows))), np.arange(len(self.targets))
        for block in _blocks(freed.size, all_marginals.size):
            self._move(freed[block], self.rows[:, copied[block]], all_columns, all_marginals)

    def _overwrite(self, target: Target, cell: Rows, freed: Index, wanted: Index) -> None:
        """Overwrite the marginal's columns of freed rows, by codes that differ in one column where possible."""
        axis = int(self._rng.integers(len(target.shape)))
        inner, size = math.prod(target.shape[axis + 1 :]), target.shape[axis]

        def others(cells: Index) -> Index:
            """Return the joint code of all columns but one."""
            joint: Index = cells // (inner * size) * inner + cells % inner
            return joint

        order, wanted_order, n_matched = _matched(
            others(cell[freed].astype(np.intp)), others(wanted), target.size // size
        )
        freed = freed[order]
        codes: Rows = np.stack(np.unravel_index(wanted[wanted_order], target.shape)).astype(self.rows.dtype)
        column, touched = [target.columns[axis]], target.touched_by[axis]
        for block in _blocks(n_matched, touched.size):
            self._move(freed[block], codes[axis : axis + 1, block], column, touched)
        columns, touched = list(target.columns), target.touched
        for block in _blocks(freed.size, touched.size, n_matched):
            self._move(freed[block], codes[:, block], columns, touched)

    def _move(self, freed: Index, codes: Rows, columns: list[int], touched: Index) -> None:
        """Give some columns of some rows new codes, where the marginals with these columns gain by it."""
        before = self.rows[:, freed].T.astype(np.float64)
        strides = self._strides[:, touched]
        left = (before @ strides + self._starts[touched]).astype(np.intp)
        change = ((codes.T - before[:, columns]) @ strides[columns]).astype(np.intp)
        entered = left + change
        # Half of what the sum of squares falls by, if one row alone moves.
        gain = (self._excess.take(left) - self._excess.take(entered)).sum(axis=1)
        made = np.flatnonzero(gain > np.count_nonzero(change, axis=1))
        np.add.at(self._excess, left[made].ravel(), -1.0)
        np.add.at(self._excess, entered[made].ravel(), 1.0)
        self.rows[np.ix_(np.array(columns), freed[made])] = codes[:, made]


def _blocks(stop: int, width: int, start: int = 0) -> Iterator[slice]:
    length = max(1, _CELLS_AT_ONCE // width)
    return (slice(at, min(at + length, stop)) for at in range(start, stop, length))


def _matched(one: Index, other: Index, n_groups: int) -> tuple[Index, Index, int]:
    """Return an order of each in which as many as possible are equal, and come first; and how many are."""
    counts = [np.bincount(groups, minlength=n_groups) for groups in (one, other)]
    both = np.minimum(*counts)
    orders = []
    for groups, count in zip((one, other), counts, strict=True):
        order = np.argsort(groups, kind="stable")
        grouped = groups[order]
        equal = np.arange(groups.size) - (np.cumsum(count) - count)[grouped] < both[grouped]
        orders.append(np.concatenate([order[equal], order[~equal]]))
    return orders[0], orders[1], int(both.sum())


def _rounded(expected: FloatArray, rng: np.random.Generator) -> Index:
    """Round expected counts up or down at random, each right on average, and their sum with them."""
    edges = np.floor(np.cumsum(expected) + rng.random()).astype(np.intp)
    rounded: Index = edges - np.concatenate([[0], edges[:-1]])
    return rounded
