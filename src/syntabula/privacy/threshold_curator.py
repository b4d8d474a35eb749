"""Thresholds as further columns of a sensitive table."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula.errors import ArgumentError
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.threshold import LinearThreshold, with_threshold_columns
from syntabula.privacy.curator import Curator


def with_thresholds(curator: Curator, thresholds: Mapping[str, LinearThreshold]) -> Curator:
    """Return a curator of the same table with a column for each threshold, on the same ledger.

    A threshold maps each record on its own, so neighbours stay neighbours and a marginal of such columns has
    the sensitivity of any other; the thresholds themselves must come from public facts.

    Args:
        curator: Holds the table.
        thresholds: By the name of their column, over columns of the curator's domain.

    Raises:
        ArgumentError: If a name is taken.
        SchemaError: If a threshold is over an unknown column.
    """
    if set(thresholds) & set(curator.domain.columns):
        raise ArgumentError("a threshold has the name of a column; rename the column")
    recoding, domain = curator._recoding, with_threshold_columns(curator.domain, thresholds)

    def wider(table: EncodedTable) -> EncodedTable:
        coded = table if recoding is None else recoding.encode(table)
        further = tuple(threshold.codes(coded) for threshold in thresholds.values())
        return EncodedTable(domain, (*coded.codes, *further))

    return Curator(curator._engine.mapped(domain, wider), curator._ledger, curator._source)
