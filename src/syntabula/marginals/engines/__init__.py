"""Where tables are counted: the one place that chooses an engine."""

from __future__ import annotations

from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.base import CountingEngine
from syntabula.marginals.engines.memory import MemoryEngine


def engine_for(table: EncodedTable, *, limit_mb: float) -> CountingEngine:
    """Return what counts a table.

    Args:
        table: The encoded table.
        limit_mb: Largest memory that one count may take, its results included.
    """
    return MemoryEngine(table, limit_mb=limit_mb)
