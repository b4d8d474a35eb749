"""Which codes a column has: its bins or categories in order, then "other", then missing."""

from __future__ import annotations

from typing import Any

from syntabula.bins.uniform import Bins
from syntabula.errors import SchemaError
from syntabula.table.schema.columns import Categorical, Column, Date, Datetime, Identifier, Label, Numeric

Binned = Numeric | Date | Datetime


def span(column: Column) -> tuple[Any, Any, bool]:
    """Return first and last value of a binned column, and whether they are grid points (integers)."""
    if not isinstance(column, Binned):
        raise SchemaError(f"a {column.kind} column has no bins")
    grid = column.grid()
    if grid is not None:
        return *grid, True
    assert isinstance(column, Numeric)
    return float(column.lower), float(column.upper), False


def is_learned(column: Column) -> bool:
    """Say whether a column has codes: all have but identifiers of which none may be missing."""
    return column.nullable or not isinstance(column, Identifier)


def n_codes(column: Column, bins: Bins | None) -> int:
    """Return the number of codes of a column; `bins` are those of a binned one, else None."""
    if bins is not None:
        values = bins.size
    elif isinstance(column, Categorical):
        values = len(column.categories) + column.open
    else:
        values = 1 if isinstance(column, Identifier) else 2
    return values + column.nullable


def all_labels(column: Categorical) -> tuple[Label, ...]:
    """Return the label of every code but missing."""
    return (*column.categories, column.other_label) if column.open else column.categories
