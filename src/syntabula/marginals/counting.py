"""What counts sensitive tables: the interface of engines, and the one that counts in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import megabytes
from syntabula._memory import above_limit, cells_shown, table_mb
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.cover import cover
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable, code_dtype

CountArray = NDArray[np.int64]


class CountingEngine(Protocol):
    """Exact counts of an encoded table. Called by the Curator alone."""

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table that is counted."""
        ...

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if `counts` of these could take more memory than allowed; reads no row."""
        ...

    @property
    def limit_mb(self) -> float:
        """Largest memory that one call may take, its results included."""
        ...

    def summed(self, counts: Callable[[EncodedTable], CountArray]) -> CountArray:
        """Return the sum of counts over pieces of the table that hold each record once; by cell of their array."""
        ...

    def records(self) -> EncodedTable:
        """Return the table itself."""
        ...

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> CountingEngine:
        """Return an engine that counts the same records in another coding.

        Args:
            domain: Of the new coding.
            rows: Codes records anew, each on its own.
        """
        ...

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return the exact marginal of each clique: one axis per column, in the clique's order."""
        ...


def engine_for(table: EncodedTable, *, limit_mb: float) -> CountingEngine:
    """Return what counts a table.

    Args:
        table: The encoded table.
        limit_mb: Largest memory that one count may take, its results included.
    """
    return MemoryEngine(table, limit_mb=limit_mb)


BLOCK_CELLS = 65_536
"""Joint histograms are not widened beyond this many cells: keys fit 16 bits, counts (0.5 MB) the cache."""

CHUNK_ROWS = 65_536
"""Rows whose keys are made at once; the keys (0.6 MB) stay in the cache."""

_BYTES_PER_KEY = 32
"""Two keys in the making, the last one as an index, and the one of the chunk before."""


class MemoryEngine:
    """Counts marginals of an encoded table in few passes over its rows.

    Many small marginals are read off few joint histograms: all 45 pairs of ten columns with ten codes each
    take ten histograms. Counting runs in one thread: numpy counts under the interpreter's lock, and two
    threads were no faster than one.

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
        """Return the counts of the table, which is one piece."""
        return counts(self._table)

    def records(self) -> EncodedTable:
        """Return the table itself."""
        return self._table

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> MemoryEngine:
        """Return an engine of the same records in another coding."""
        table = rows(self._table)
        if table.domain != domain:
            raise ArgumentError("the rows are coded in another domain than stated")
        return MemoryEngine(table, limit_mb=self._limit_mb)

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return an upper bound on the memory that `counts` takes beyond the table, results included.

        It follows from the domain alone, not from the rows. The planning of very many cliques (about 1 kB
        each) is not in it.
        """
        cells = BLOCK_CELLS
        for clique in cliques:
            in_order = tuple(clique) == self.domain.canonical(clique)
            cells += self.domain.cells(clique) * (1 if in_order else 2)
        return table_mb(cells * 8 + CHUNK_ROWS * _BYTES_PER_KEY, 1)

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return exact counts of each clique, one axis per column in the clique's order.

        Args:
            cliques: Any number of columns each, also none (the number of rows, an array without axes); a
                clique may be named several times and in any order of its columns.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the counts could take more memory than the limit; nothing was counted.
        """
        positions: dict[Clique, list[int]] = {}
        for position, clique in enumerate(cliques):
            positions.setdefault(self.domain.canonical(clique), []).append(position)
        self.check_memory(cliques)
        found: dict[int, CountArray] = {}
        blocks = cover(self.domain, list(positions), n_rows=self._table.n_rows, block_cells=BLOCK_CELLS)
        for block, members in blocks:
            for member, counts in _margins(block, self._histogram(block), members).items():
                for position in positions[member]:
                    repeated = position != positions[member][0]
                    found[position] = _ordered(counts, member, cliques[position], copy=repeated)
        return [found[position] for position in range(len(cliques))]

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting could take more memory than the limit; rests on the domain alone."""
        needed = self.memory_mb(cliques)
        if needed > self._limit_mb:
            widest = max(cliques, key=self.domain.cells, default=())
            cells = self.domain.cells(widest)
            raise ResourceError(
                f"counting {len(cliques)} marginals may need {above_limit(needed, self._limit_mb)}; the widest, "
                f"{tuple(widest)}, has {cells_shown(cells)} cells of 8 bytes. Use fewer bins, group categories, ask for "
                "fewer or narrower marginals, or raise memory_mb"
            )

    def _histogram(self, block: Clique) -> CountArray:
        counts = np.zeros(self.domain.cells(block), dtype=np.int64)
        for keys in self._keys(block):
            np.add.at(counts, keys, 1)  # in place: np.bincount would make a new histogram for every chunk
        return counts.reshape(self.domain.shape(block))

    def _keys(self, block: Clique) -> Iterator[NDArray[np.intp]]:
        """Yield the cell of each row [rows of a chunk], chunk by chunk."""
        # A column of one code does not move the cell; without it every factor fits the type of the key.
        columns = [(self._table.column(c), self.domain.size(c)) for c in block if self.domain.size(c) > 1]
        for start in range(0, self._table.n_rows, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, self._table.n_rows)
            key: NDArray[np.unsignedinteger] = np.zeros(stop - start, dtype=np.uint8)
            cells = 1
            for codes, size in columns:
                if cells == 1:
                    key = codes[start:stop]
                else:
                    key = np.multiply(key, size, dtype=code_dtype(cells * size))
                    key += codes[start:stop]
                cells *= size
            yield key.astype(np.intp)


def _margins(block: Clique, counts: CountArray, members: Sequence[Clique]) -> dict[Clique, CountArray]:
    """Sum a block's histogram to its members, each from the smallest table already there that has it."""
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
