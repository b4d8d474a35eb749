"""One gradual update: moves the rows of a table towards one marginal if all marginals in total improve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Codes, Domain, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.row_set import Records

Index = NDArray[np.intp]

_CELLS_AT_ONCE = 2**18
"""Moves are weighed in blocks of this many cells: they fit the cache, and the next block sees the change."""


@dataclass(frozen=True, eq=False)
class MarginalCells:
    """A marginal that the rows should match.

    Attributes:
        columns: Positions of its columns in the rows.
        shape: Number of codes of each.
        start: Position of its first cell among the cells of all marginals.
        size: Number of its cells.
        touched: Positions of the marginals that share a column with it, including itself.
        touched_by: The same for each of its columns.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    start: int
    size: int
    touched: Index
    touched_by: tuple[Index, ...]

    def cell_of(self, rows: Records) -> NDArray[np.unsignedinteger]:
        """Return the cell of each row, in the smallest integer type, which is fastest."""
        dtype = code_dtype(self.size)
        cell = rows[self.columns[0]].astype(dtype)
        for column, size in zip(self.columns[1:], self.shape[1:], strict=True):
            cell = cell * dtype.type(size) + rows[column]
        cells: NDArray[np.unsignedinteger] = cell.astype(dtype, copy=False)
        return cells


class GradualUpdate:
    """Rows, and their excess over each cell of the target marginals.

    Zhang et al. (2021), PrivSyn, section 5 (Gradually Update Method), except for the choice of moves: see `update`.

    Args:
        domain: The columns.
        tables: Non-negative counts of marginals, each with a sum above 0.
        rows: Codes [columns, rows], which `update` changes in place.
        rng: Source of randomness.
    """

    def __init__(
        self, domain: Domain, tables: Mapping[Clique, FloatArray], rows: Records, rng: np.random.Generator
    ) -> None:
        self.rows = rows
        self._rng = rng
        self._starts = np.cumsum([0, *(t.size for t in tables.values())])[:-1]
        # A row's cell in a marginal is the marginal's start plus code times stride for each column.
        self._strides = np.zeros((len(domain), len(tables)), dtype=np.intp)
        widest = max(map(len, tables))
        self._columns, self._steps = np.zeros((2, widest, len(tables)), dtype=np.intp)
        for position, (clique, table) in enumerate(tables.items()):
            columns = [domain.index(c) for c in clique]
            within = np.cumprod([1, *table.shape[:0:-1]])[::-1]
            self._strides[columns, position] = within
            self._columns[: len(clique), position], self._steps[: len(clique), position] = columns, within
        holds = self._strides > 0
        self.targets = []
        for (clique, table), start in zip(tables.items(), self._starts.tolist(), strict=True):
            in_order = tuple(domain.index(c) for c in clique)
            touched = np.flatnonzero(holds[list(in_order)].any(axis=0))
            touched_by = tuple(np.flatnonzero(holds[c]) for c in in_order)
            self.targets.append(MarginalCells(in_order, table.shape, start, table.size, touched, touched_by))
        n = rows.shape[1]
        self._wanted = np.concatenate([t.ravel() * (n / t.sum()) for t in tables.values()])
        self._excess = -self._wanted
        for target in self.targets:
            counts = np.bincount(target.cell_of(rows), minlength=target.size)
            self._excess[target.start : target.start + target.size] += counts

    @property
    def counts(self) -> FloatArray:
        """Number of rows in each cell, for all marginals side by side."""
        counts: FloatArray = self._excess + self._wanted
        return counts

    def errors(self) -> FloatArray:
        """Return the total variation distance of the rows to each marginal."""
        distance: FloatArray = np.add.reduceat(np.abs(self._excess), self._starts) / (2 * self.rows.shape[1])
        return distance

    def update(self, target: MarginalCells, *, step: float, duplicated: float) -> bool:
        """Move rows from cells of a marginal that have too many to cells that have too few.

        A cell with s rows and a target a > s should receive min(a - s, step s) rows, or step a if it has none.
        Cells above their target give up as many in total, each in proportion to its surplus. A row that moves
        to a cell becomes a copy of a whole row of the cell, or is overwritten in the marginal's columns. Only
        moves that lower the total squared error of all marginals are made.

        Args:
            target: The marginal.
            step: The step size alpha, above 0 and at most 1.
            duplicated: Fraction of the moved rows that become copies.

        Returns:
            Whether copies gained at least as much as the others, per marginal lookup.
        """
        excess = self._excess[target.start : target.start + target.size]
        cell = target.cell_of(self.rows)
        freed, wanted = self._proposed(cell, excess, step)
        copies = round(duplicated * wanted.size)
        by_copying = self._copy(target, cell, freed[:copies], wanted[:copies]) if copies else 0.0
        return by_copying >= self._overwrite(target, cell, freed[copies:], wanted[copies:])

    def _proposed(self, cell: Codes, excess: FloatArray, step: float) -> tuple[Index, Index]:
        """Return the rows to move and their target cells, equally many of both, in random order."""
        have = np.bincount(cell, minlength=excess.size)
        missing = np.maximum(-excess, 0)
        additions = _rounded(np.where(have > 0, np.minimum(missing, step * have), step * missing), self._rng)
        wanted = np.repeat(np.arange(additions.size), additions)
        surplus = np.maximum(excess, 0)
        part = surplus * (wanted.size / max(surplus.sum(), 1.0)) / np.maximum(have, 1)
        freed = np.flatnonzero(self._rng.random(cell.size, dtype=np.float32) < part.astype(np.float32)[cell])
        n = min(freed.size, wanted.size)
        return self._rng.permutation(freed)[:n], self._rng.permutation(wanted)[:n]

    def _copy(self, target: MarginalCells, cell: Codes, freed: Index, wanted: Index) -> float:
        """Make freed rows copies of rows in the wanted cells, if there are any; return the gain per lookup."""
        by_cell = np.argsort(cell, kind="stable")
        have = np.bincount(cell, minlength=target.size)
        possible = have[wanted] > 0
        freed, wanted = freed[possible], wanted[possible]
        within = (self._rng.random(wanted.size) * have[wanted]).astype(np.intp)
        copied = by_cell[(np.cumsum(have) - have)[wanted] + within]
        everywhere, brought = np.arange(len(self.targets)), 0.0
        for block in _blocks(freed.size, everywhere.size):
            codes = self.rows[:, copied[block]]
            entered = self._cells(codes, everywhere)
            brought += self._move(
                freed[block], self._cells(self.rows[:, freed[block]], everywhere), entered, codes
            )
        return brought / max(1, freed.size * everywhere.size)

    def _overwrite(self, target: MarginalCells, cell: Codes, freed: Index, wanted: Index) -> float:
        """Overwrite the marginal's columns of freed rows, by codes that differ in one column where possible.

        Returns the gain per lookup of a marginal.
        """
        axis = int(self._rng.integers(len(target.shape)))
        inner, size = math.prod(target.shape[axis + 1 :]), target.shape[axis]

        def others(cells: Index) -> Index:
            """Return the joint code of all columns but one."""
            joint: Index = cells // (inner * size) * inner + cells % inner
            return joint

        order, wanted_order, n_matched = _matched(
            others(cell[freed].astype(np.intp)), others(wanted), target.size // size
        )
        freed, wanted = freed[order], wanted[wanted_order]
        codes = np.stack(np.unravel_index(wanted, target.shape)).astype(self.rows.dtype)
        brought, looks = 0.0, 0
        for axes, touched, start, stop in (
            ([axis], target.touched_by[axis], 0, n_matched),
            (list(range(len(target.shape))), target.touched, n_matched, freed.size),
        ):
            columns = [target.columns[i] for i in axes]
            strides = self._strides[np.ix_(np.array(columns), touched)]
            looks += (stop - start) * touched.size
            for block in _blocks(stop, touched.size, start):
                before = self.rows[:, freed[block]]
                left, given = self._cells(before, touched), codes[axes, block]
                entered = left + 0
                for stride, old, new in zip(strides, before[columns], given, strict=True):
                    entered += stride[:, None] * (new.astype(np.intp) - old)
                brought += self._move(freed[block], left, entered, given, columns)
        return brought / max(1, looks)

    def _cells(self, codes: Codes, touched: Index) -> Index:
        """Return the cells [marginals, rows] of rows of codes [columns, rows] in some marginals."""
        cells: Index = np.broadcast_to(self._starts[touched, None], (touched.size, codes.shape[1]))
        for columns, steps in zip(self._columns[:, touched], self._steps[:, touched], strict=True):
            cells = cells + codes[columns] * steps[:, None]
        return cells

    def _move(
        self, freed: Index, left: Index, entered: Index, codes: Codes, columns: Sequence[int] | None = None
    ) -> float:
        """Give some or all columns of some rows new codes, if that improves the marginals with these columns.

        Returns the gain: half of the decrease in the sum of squares if each row moved alone.
        """
        gain = (self._excess.take(left) - self._excess.take(entered)).sum(axis=0)
        gain -= np.count_nonzero(left != entered, axis=0)
        made = np.flatnonzero(gain > 0)
        np.add.at(self._excess, left[:, made].ravel(), -1.0)
        np.add.at(self._excess, entered[:, made].ravel(), 1.0)
        changed = np.arange(len(self.rows)) if columns is None else np.array(columns)
        self.rows[np.ix_(changed, freed[made])] = codes[:, made]
        return float(gain[made].sum())


def _blocks(stop: int, width: int, start: int = 0) -> Iterator[slice]:
    length = max(1, _CELLS_AT_ONCE // width)
    return (slice(at, min(at + length, stop)) for at in range(start, stop, length))


def _matched(one: Index, other: Index, n_groups: int) -> tuple[Index, Index, int]:
    """Return orders of both that put as many equal pairs as possible first, and the number of equal pairs."""
    small = code_dtype(n_groups)  # small integers use radix sort, which is far faster
    one, other = one.astype(small), other.astype(small)
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
    """Round expected counts up or down at random; each count, and their sum, is right on average."""
    edges = np.floor(np.cumsum(expected) + rng.random()).astype(np.intp)
    rounded: Index = edges - np.concatenate([[0], edges[:-1]])
    return rounded
