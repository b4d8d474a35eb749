"""Thresholds as further columns of a sensitive table."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula.errors import ArgumentError
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.marginals.threshold import LinearThreshold, with_threshold_columns
from syntabula.privacy.curator import Curator


def with_thresholds(curator: Curator, thresholds: Mapping[str, LinearThreshold]) -> Curator:
    """Return a curator of the same table with a column for each threshold, on the same ledger.

    A threshold maps each record on its own, so neighbours stay neighbours and a marginal of such columns has
    the sensitivity of any other; the thresholds themselves must come from public facts.

    Args:
        curator: Holds the table, in memory.
        thresholds: By the name of their column, over columns of the curator's domain.

    Raises:
        ArgumentError: If the table is not in memory, or a name is taken.
        SchemaError: If a threshold is over an unknown column.
    """
    engine = curator._engine
    if not isinstance(engine, MemoryEngine):
        raise ArgumentError("thresholds can only be counted of a table in memory")
    if set(thresholds) & set(curator.domain.columns):
        raise ArgumentError("a threshold has the name of a column; rename the column")
    table = engine._table
    if curator._recoding is not None:
        table = curator._recoding.encode(table)
    domain = with_threshold_columns(curator.domain, thresholds)
    further = tuple(threshold.codes(table) for threshold in thresholds.values())
    wider = MemoryEngine(EncodedTable(domain, (*table.codes, *further)), limit_mb=engine._limit_mb)
    return Curator(wider, curator._ledger, curator._source)
