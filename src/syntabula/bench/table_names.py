"""Names of tables in a study: how many rows they take, and which column is to be predicted."""

from __future__ import annotations

from syntabula.datasets.registry import describe, registry

CODED_ADULT = "adult_margnet"
"""The coded Adult of MargNet's public code, in the checkout that the environment variable MARGNET names."""


def table_and_rows(name: str) -> tuple[str, int | None]:
    """Return the table of a name such as "bank@2000" and its number of rows; None for all."""
    table, at, rows = name.rpartition("@")
    return (table, int(rows)) if at and rows.isdecimal() else (name, None)


def with_rows(name: str, most: int) -> str:
    """Return the name of a table that takes at most so many rows."""
    table, rows = table_and_rows(name)
    return f"{table}@{most if rows is None else min(rows, most)}"


def label_of(name: str) -> str | None:
    """Return the column to predict of a named table; None for others."""
    table, _ = table_and_rows(name)
    return describe(table).label if table in registry() else "y_attr" if table == CODED_ADULT else None
