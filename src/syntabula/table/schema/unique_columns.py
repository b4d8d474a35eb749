"""The column that no two rows share, and how many rows it allows."""

from __future__ import annotations

from syntabula.errors import ArgumentError
from syntabula.table.schema.columns import Date, Datetime
from syntabula.table.schema.schema import Schema


def unique_columns(schema: Schema) -> dict[str, Date | Datetime]:
    """Return the column that no two rows share, by its name, if there is one."""
    return {n: c for n, c in schema.columns.items() if isinstance(c, Date | Datetime) and c.unique}


def check_number(schema: Schema, n_rows: int) -> None:
    """Refuse more rows than a column that no two rows share has values; raises ArgumentError."""
    for name, column in unique_columns(schema).items():
        if n_rows > most_rows(column):
            raise ArgumentError(
                f"column {name!r} is `unique` and has {most_rows(column):,} values between its bounds; draw at most so "
                "many rows, or widen the bounds"
            )


def most_rows(column: Date | Datetime) -> int:
    """Return how many values a column has between its bounds."""
    first, last = column.grid()
    return last - first + 1
