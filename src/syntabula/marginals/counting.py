"""Exact counting of sensitive tables: which histograms are counted, the interface of engines, and the one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import megabytes
from syntabula._memory import above_limit, cells_shown, table_mb
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.parts import BYTES_PER_KEY, CHUNK_ROWS, CountFold, HeldParts

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


CountArray = NDArray[np.int64]


class CountingEngine(Protocol):
    """Exact counts of an encoded table. Only the Curator calls it."""

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table that is counted."""
        ...

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting these could need more memory than allowed; reads no row."""
        ...

    @property
    def limit_mb(self) -> float:
        """Largest memory that one call may take, its results included."""
        ...

    def summed(self, counts: Callable[[EncodedTable], CountArray]) -> CountArray:
        """Return the sum of the count arrays of disjoint pieces of the table, which together hold each record once."""
        ...

    def records(self) -> EncodedTable:
        """Return the table itself."""
        ...

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> CountingEngine:
        """Return an engine that counts the same records in another coding.

        Args:
            domain: Domain of the new coding.
            rows: Recodes records, each independently of the others.
        """
        ...

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return the exact marginal of each clique: one axis per column, in the clique's order."""
        ...


def engine_for(table: EncodedTable, *, limit_mb: float) -> CountingEngine:
    """Return the engine that counts a table.

    Args:
        table: The encoded table.
        limit_mb: Largest memory that one count may take, its results included.
    """
    return MemoryEngine(table, limit_mb=limit_mb)


BLOCK_CELLS = 65_536
"""Joint histograms are not widened beyond this many cells: keys fit 16 bits, and counts (0.5 MB) fit the cache."""


class MemoryEngine:
    """Counts marginals of an encoded table in a few passes over its rows.

    The table is a single part of the seam (`marginals.parts`). Many small marginals are summed from a few joint
    histograms: all 45 pairs of ten columns with ten codes each take ten histograms. Counting runs in one thread: numpy
    counts under the interpreter's lock, and two threads were no faster than one.

    Args:
        table: The table.
        limit_mb: Largest memory that one call of `counts` may take, its results included.

    Raises:
        ArgumentError: If the limit is not a positive number.
    """

    def __init__(self, table: EncodedTable, *, limit_mb: float = 4000.0) -> None:
        self._table = table
        self._limit_mb: float = megabytes("limit_mb", limit_mb)

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table."""
        return self._table.domain

    @property
    def limit_mb(self) -> float:
        """Largest memory that one call may take, its results included."""
        return self._limit_mb

    def summed(self, counts: Callable[[EncodedTable], CountArray]) -> CountArray:
        """Return the counts of the table, which is a single piece."""
        return counts(self._table)

    def records(self) -> EncodedTable:
        """Return the table itself."""
        return self._table

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> MemoryEngine:
        """Return an engine of the same records in another coding."""
        table = rows(self._table)
        if table.domain != domain:
            raise ArgumentError(
                "rows returned a table over another domain than the domain argument; make them equal"
            )
        return MemoryEngine(table, limit_mb=self._limit_mb)

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return an upper bound on the memory that `counts` needs beyond the table, results included.

        It depends only on the domain, not on the rows. It leaves out the planning of very many cliques (about
        1 kB each).
        """
        return table_mb(
            (BLOCK_CELLS + result_cells(self.domain, cliques)) * 8 + CHUNK_ROWS * BYTES_PER_KEY, 1
        )

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return exact counts of each clique, one axis per column in the clique's order.

        Args:
            cliques: Any number of columns each; without columns, the number of rows (an array without axes). A
                clique may be named several times, with its columns in any order.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the counts could need more memory than the limit; raised before counting.
        """
        positions = positions_of(self.domain, cliques)
        self.check_memory(cliques)
        blocks = cover(self.domain, [*positions], n_rows=self._table.n_rows, block_cells=BLOCK_CELLS)
        return arranged(self._margins(blocks), positions, cliques)

    def _margins(
        self, blocks: Iterable[tuple[Clique, list[Clique]]]
    ) -> Iterator[Mapping[Clique, CountArray]]:
        parts = HeldParts((self._table,))
        for block, members in blocks:
            # One histogram at a time, since passes over a table in memory cost nothing.
            fold = CountFold(self.domain, (block,))
            yield margins(block, fold.histograms(parts.fold(fold))[0], members)

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting could need more memory than the limit; depends only on the domain."""
        check_limit(self.domain, cliques, needed_mb=self.memory_mb(cliques), limit_mb=self._limit_mb)


def positions_of(domain: Domain, cliques: Iterable[Clique]) -> dict[Clique, list[int]]:
    """Return where each set of columns is asked for, by its clique in the order of the domain.

    Raises:
        SchemaError: If a clique names an unknown column, or one twice.
    """
    positions: dict[Clique, list[int]] = {}
    for position, clique in enumerate(cliques):
        positions.setdefault(domain.canonical(clique), []).append(position)
    return positions


def result_cells(domain: Domain, cliques: Iterable[Clique]) -> int:
    """Return the cells that the counts of some cliques may take, with copies of those in another order."""
    return sum(
        domain.cells(clique) * (1 if tuple(clique) == domain.canonical(clique) else 2) for clique in cliques
    )


def check_limit(domain: Domain, cliques: Sequence[Clique], *, needed_mb: float, limit_mb: float) -> None:
    """Raise ResourceError if counting some cliques needs more memory than the limit."""
    if needed_mb > limit_mb:
        widest = max(cliques, key=domain.cells, default=())
        raise ResourceError(
            f"counting {len(cliques)} marginals may need {above_limit(needed_mb, limit_mb)}; the widest, "
            f"{tuple(widest)}, has {cells_shown(domain.cells(widest))} cells of 8 bytes. Use fewer bins, group "
            "categories, ask for fewer or narrower marginals, or raise memory_mb"
        )


def arranged(
    margins: Iterable[Mapping[Clique, CountArray]],
    positions: Mapping[Clique, Sequence[int]],
    cliques: Sequence[Clique],
) -> list[CountArray]:
    """Return counts for each clique, with their axes in its order.

    Args:
        margins: Counts of all cliques in the order of the domain, some at a time.
        positions: What `positions_of` returns.
        cliques: The cliques as asked, in any order; one that is named twice has counts of its own each time.
    """
    found: dict[int, CountArray] = {}
    for some in margins:
        for member, counts in some.items():
            for position in positions[member]:
                repeated = position != positions[member][0]
                found[position] = _ordered(counts, member, cliques[position], copy=repeated)
    return [found[position] for position in range(len(cliques))]


def margins(block: Clique, counts: CountArray, members: Sequence[Clique]) -> dict[Clique, CountArray]:
    """Sum a block's histogram to its members, each from the smallest table computed so far that contains it."""
    known = {block: counts}
    for member in sorted(members, key=len, reverse=True):
        columns = set(member)
        source = min((b for b in known if columns.issubset(b)), key=lambda b: known[b].size)
        axes = tuple(i for i, c in enumerate(source) if c not in columns)
        known[member] = np.asarray(known[source].sum(axis=axes)) if axes else known[source]
    return {m: known[m] for m in members}


def _ordered(counts: CountArray, have: Clique, wanted: Clique, *, copy: bool) -> CountArray:
    """Return counts with their axes in the order wanted."""
    turned = counts.transpose([have.index(c) for c in wanted])
    return np.array(turned, order="C") if copy else np.asarray(turned, order="C")
