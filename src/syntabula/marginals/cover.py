"""Choose which joint histograms to count, so that many marginals can be summed from a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain

# Nanoseconds, measured with numpy 2.4 for 1e3 .. 1e6 cells. They decide how marginals are counted, and never
# change the counts.
_PER_ROW = 0.8
_PER_ROW_AND_COLUMN = 0.1
_PER_CELL = 2.5
_PER_HISTOGRAM = 10_000.0

Numbers = NDArray[np.intp]


def cover(
    domain: Domain, cliques: Sequence[Clique], *, n_rows: int, block_cells: int
) -> list[tuple[Clique, list[Clique]]]:
    """Choose blocks of columns to count jointly, and the cliques to sum from each.

    Greedy: the widest clique left starts a block. The block takes in further columns, the largest saving per
    bit of their size first, as long as counting the newly contained cliques separately would cost more than the
    wider histogram.

    Args:
        domain: Columns and sizes.
        cliques: Distinct cliques in the order of the domain.
        n_rows: Rows to count.
        block_cells: A block is not widened beyond this many cells (a clique that is wider stands alone).

    Returns:
        Blocks in the order of the domain, each with its cliques; every clique is in exactly one block.
    """
    task = _Task.of(domain, cliques, n_rows, block_cells)
    widest_first = sorted(range(len(cliques)), key=lambda q: (len(cliques[q]), task.cells[q]), reverse=True)
    blocks = []
    for seed in widest_first:
        if task.left[seed]:
            columns, members = task.block_of(seed)
            blocks.append((tuple(domain.columns[c] for c in columns), [cliques[q] for q in members]))
    return blocks


@dataclass(eq=False)
class _Task:
    """The cliques still to be covered, by number; columns by position.

    A step looks only at the cliques of a block's columns, in a few numpy passes.

    Attributes:
        sizes: Number of codes of each column [columns].
        bits: Binary logarithm of one more [columns].
        columns: Columns of each clique.
        of_column: The cliques that contain each column.
        single: The cliques of one column.
        cells: Number of cells of each clique.
        alone: Nanoseconds to count each in its own histogram [cliques].
        left: Whether each is still to be covered [cliques].
        lacking: How many of its columns the growing block lacks [cliques].
        absent: Sum of the positions of these columns [cliques]; if there is only one, its position.
        n_rows: Rows to count.
        block_cells: Most cells of a block.
    """

    sizes: NDArray[np.float64]
    bits: NDArray[np.float64]
    columns: list[tuple[int, ...]]
    of_column: list[Numbers]
    single: Numbers
    cells: list[int]
    alone: NDArray[np.float64]
    left: NDArray[np.bool_]
    lacking: Numbers
    absent: Numbers
    n_rows: int
    block_cells: int

    @classmethod
    def of(cls, domain: Domain, cliques: Sequence[Clique], n_rows: int, block_cells: int) -> _Task:
        columns = [tuple(map(domain.index, clique)) for clique in cliques]
        cells = [domain.cells(clique) for clique in cliques]
        widths = np.array([len(c) for c in columns], dtype=np.intp)
        of_column: list[list[int]] = [[] for _ in domain.columns]
        for number, members in enumerate(columns):
            for column in members:
                of_column[column].append(number)
        per_row = _PER_ROW + _PER_ROW_AND_COLUMN * widths
        return cls(
            sizes=np.array(domain.sizes, dtype=np.float64),
            bits=np.log2(np.array(domain.sizes, dtype=np.float64) + 1),
            columns=columns,
            of_column=[np.array(numbers, dtype=np.intp) for numbers in of_column],
            single=np.flatnonzero(widths == 1),
            cells=cells,
            alone=n_rows * per_row + np.array(cells, dtype=np.float64) * _PER_CELL + _PER_HISTOGRAM,
            left=np.ones(len(cliques), dtype=np.bool_),
            lacking=widths,
            absent=np.array([sum(c) for c in columns], dtype=np.intp),
            n_rows=n_rows,
            block_cells=block_cells,
        )

    def block_of(self, seed: int) -> tuple[list[int], list[int]]:
        """Return the columns of a block around a clique, and the cliques to sum from it, the seed first."""
        block, cells, inside = list(self.columns[seed]), float(self.cells[seed]), 1
        # Before a block grows, only cliques of one column lack exactly one.
        fitting = self.single[self.left[self.single]] if cells <= self.block_cells else None
        for column in block:
            fitting = self._entered(column, fitting)
        while fitting is not None and (best := self._best(fitting, cells, inside)) is not None:
            inside += int(np.count_nonzero(self.absent[fitting] == best))
            cells *= self.sizes[best]
            block.append(best)
            fitting = self._entered(best, fitting)
        members = self._members(block, seed, cells)
        self.left[members] = False
        for column in block:
            self.lacking[self.of_column[column]] += 1
            self.absent[self.of_column[column]] += column
        return sorted(block), members

    def _members(self, block: Sequence[int], seed: int, cells: float) -> list[int]:
        """Return the seed and the cliques in its block that are faster to sum from it than to count alone."""
        held = np.concatenate([self.of_column[c] for c in block]) if block else np.empty(0, dtype=np.intp)
        quicker = self.left[held] & (self.lacking[held] == 0) & (cells * _PER_CELL < self.alone[held])
        return list(dict.fromkeys([seed, *held[quicker].tolist()]))

    def _entered(self, column: int, fitting: Numbers | None) -> Numbers | None:
        """Add a column to the block; return the cliques that now lack one column."""
        touched = self.of_column[column]
        self.lacking[touched] -= 1
        self.absent[touched] -= column
        if fitting is None:
            return None
        new = touched[self.left[touched] & (self.lacking[touched] == 1)]
        return np.concatenate([fitting[self.lacking[fitting] == 1], new])

    def _best(self, fitting: Numbers, cells: float, inside: int) -> int | None:
        """Return the column that saves most nanoseconds per bit of its size; None if none saves any."""
        column = self.absent[fitting]
        saved = np.bincount(column, self.alone[fitting], self.sizes.size)
        new = np.bincount(column, minlength=self.sizes.size)
        wider = cells * self.sizes
        # One pass over the cells makes the histogram, and one more sums each clique from it.
        more_cells = wider * (1 + inside + new) - cells * (1 + inside)
        extra = self.n_rows * _PER_ROW_AND_COLUMN + more_cells * _PER_CELL
        scores = (saved - extra) / self.bits
        scores[(new == 0) | (wider > self.block_cells)] = 0.0
        best = int(scores.argmax())
        return best if scores[best] > 0 else None
