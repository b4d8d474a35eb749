"""Exact counting of sensitive tables: the interface of engines, and the one that counts in memory."""

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

CHUNK_ROWS = 65_536
"""Rows whose keys are computed at once; the keys (0.6 MB) stay in the cache."""

_BYTES_PER_KEY = 32
"""Two keys being computed, the final one as an index, and the one of the chunk before."""


class MemoryEngine:
    """Counts marginals of an encoded table in a few passes over its rows.

    Many small marginals are summed from a few joint histograms: all 45 pairs of ten columns with ten codes each
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
        cells = BLOCK_CELLS
        for clique in cliques:
            in_order = tuple(clique) == self.domain.canonical(clique)
            cells += self.domain.cells(clique) * (1 if in_order else 2)
        return table_mb(cells * 8 + CHUNK_ROWS * _BYTES_PER_KEY, 1)

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return exact counts of each clique, one axis per column in the clique's order.

        Args:
            cliques: Any number of columns each; without columns, the number of rows (an array without axes). A
                clique may be named several times, with its columns in any order.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the counts could need more memory than the limit; raised before counting.
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
        """Raise ResourceError if counting could need more memory than the limit; depends only on the domain."""
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
            np.add.at(counts, keys, 1)  # in place; np.bincount would allocate a histogram for every chunk
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
