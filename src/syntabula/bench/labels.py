"""Which column of a named table is to be predicted."""

from __future__ import annotations

from syntabula.datasets.registry import describe, registry

CODED_ADULT = "adult_margnet"
"""The coded Adult of MargNet's public code, in the checkout that the environment variable MARGNET names."""


def label_of(name: str) -> str | None:
    """Return the column to predict of a named table, of which "@" and a number may take some rows; None for others."""
    table, at, rows = name.rpartition("@")
    table = table if at and rows.isdecimal() else name
    return describe(table).label if table in registry() else "y_attr" if table == CODED_ADULT else None
