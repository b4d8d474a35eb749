"""One gradual update: move the rows of a table towards one marginal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.encoded import code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.hard_rows import Rows

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Target:
    """A marginal that the rows should have.

    Attributes:
        columns: Positions of its columns in the rows.
        shape: Number of codes of each.
        counts: Wanted number of rows of each cell, flat; they sum to the number of rows.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    counts: FloatArray

    def cell_of(self, rows: Rows) -> NDArray[np.unsignedinteger]:
        """Return the cell of each row, in the smallest type, which sorts fastest."""
        dtype = code_dtype(self.counts.size)
        cell = rows[:, self.columns[0]].astype(dtype)
        for column, size in zip(self.columns[1:], self.shape[1:], strict=True):
            cell = cell * dtype.type(size) + rows[:, column]
        return cell.astype(dtype, copy=False)

    def error(self, rows: Rows) -> float:
        """Return the L1 distance of the rows' counts to the wanted ones."""
        have = np.bincount(self.cell_of(rows), minlength=self.counts.size)
        return float(np.abs(have - self.counts).sum())


def update(rows: Rows, target: Target, *, step: float, duplicated: float, rng: np.random.Generator) -> None:
    """Move rows, in place, from cells that have too many to cells that have too few.

    A cell of count s that should have a > s receives min(a - s, step s) rows, or step a if it has none; cells
    above their count give up as many rows altogether, each at most its surplus and all by the same part of
    their rows where that allows (Zhang et al. 2021, PrivSyn, section 5).

    Args:
        rows: Codes [rows, columns] in random order, so that any run of rows of a cell is a random choice.
        target: The marginal.
        step: The step size alpha, above 0 and at most 1.
        duplicated: Part of a cell's new rows that are copies of its whole rows; for the others only the
            marginal's columns of a row are overwritten, which leaves the row's other columns as they were.
        rng: Source of randomness.
    """
    cell = target.cell_of(rows)
    have = np.bincount(cell, minlength=target.counts.size)
    missing = target.counts - have
    additions = np.where(missing > 0, np.minimum(missing, np.where(have > 0, step * have, step * missing)), 0)
    added = _rounded(additions, rng)
    moved = int(added.sum())
    if not moved:
        return
    removals = _evenly_removed(np.maximum(-missing, 0), have, moved)
    removed = _rounded(removals, rng, total=moved)

    by_cell = np.argsort(cell, kind="stable")
    first = np.cumsum(have) - have
    freed = by_cell[_runs(first, have, removed, rng)]
    rng.shuffle(freed)
    copies = np.where(have > 0, _rounded(np.multiply(added, duplicated, dtype=np.float64), rng), 0)
    copies = np.minimum(copies, added)
    copied = by_cell[_runs(first, have, copies, rng)]
    rows[freed[: copied.size]] = rows[copied]
    overwritten = freed[copied.size :]
    codes = np.unravel_index(np.repeat(np.arange(added.size), added - copies), target.shape)
    for column, code in zip(target.columns, codes, strict=True):
        rows[overwritten, column] = code


def _evenly_removed(surplus: FloatArray, have: Index, moved: int) -> FloatArray:
    """Return min(surplus, beta have) with the one beta for which they sum to `moved`.

    Cells are full in the order of surplus / have; beta lies where the sum over full ones, and beta times the
    rows of the others, reaches `moved`.
    """
    over = np.flatnonzero(surplus > 0)
    ratio = surplus[over] / have[over]
    order = over[np.argsort(ratio, kind="stable")]
    full = np.concatenate([[0.0], np.cumsum(surplus[order])])
    open_rows = np.concatenate([np.cumsum(have[order][::-1])[::-1], [0]])
    betas = np.sort(ratio)
    reached = full[:-1] + betas * open_rows[:-1]
    position = int(np.searchsorted(reached, moved))
    if position >= order.size:  # only by rounding: everything goes
        return surplus
    beta = (moved - full[position]) / open_rows[position]
    removed: FloatArray = np.minimum(surplus, beta * have)
    return removed


def _rounded(expected: FloatArray, rng: np.random.Generator, total: int | None = None) -> Index:
    """Round expected counts up or down at random, each right on average, and their sum with them."""
    edges = np.cumsum(expected)
    if total is not None and edges[-1] > 0:
        edges *= total / edges[-1]
    offset = rng.random()
    whole = np.floor(edges + offset).astype(np.intp)
    if total is not None:
        whole[edges >= edges[-1]] = total
    return np.diff(whole, prepend=0)


def _runs(first: Index, length: Index, wanted: Index, rng: np.random.Generator) -> Index:
    """Return positions of the wanted number of rows of each cell: a run that starts anywhere in the cell."""
    cells = np.flatnonzero(wanted)
    wanted, length = wanted[cells], length[cells]
    start = (rng.random(cells.size) * length).astype(np.intp)
    begins = np.cumsum(wanted) - wanted
    along = np.arange(int(wanted.sum())) - np.repeat(begins, wanted)
    turned: Index = (np.repeat(start, wanted) + along) % np.repeat(length, wanted)
    return np.repeat(first[cells], wanted) + turned
