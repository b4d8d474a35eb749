"""Exact counts of a table in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.base import CountArray

MAX_CELLS = 500_000_000
CHUNK = 65_536


class MemoryEngine:
    """Counts the marginals of an encoded table, in chunks of rows that stay in the cache.

    Args:
        table: The table.
    """

    def __init__(self, table: EncodedTable) -> None:
        self._table = table

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table."""
        return self._table.domain

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return exact counts of each clique, shaped by its columns in its order.

        Raises:
            ResourceError: If a clique has more cells than can be counted.
        """
        return [self._count(tuple(c)) for c in cliques]

    def _count(self, clique: Clique) -> CountArray:
        shape, cells = self.domain.shape(clique), self.domain.cells(clique)
        if cells > MAX_CELLS:
            raise ResourceError(
                f"the marginal of {clique} has {cells:,} cells ({cells * 8 / 2**20:,.0f} MB); use fewer bins or categories"
            )
        n = self._table.n_rows
        total = np.zeros(cells, dtype=np.int64)
        columns = [self._table.column(c) for c in clique]
        step = max(CHUNK, cells)
        for start in range(0, n, step):
            key = np.zeros(min(step, n - start), dtype=np.intp)
            for size, codes in zip(shape, columns, strict=True):
                key *= size
                key += codes[start : start + step]
            total += np.bincount(key, minlength=cells)
        return total.reshape(shape)
