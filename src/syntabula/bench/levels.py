"""Numbers in 100 levels of their range, in which tab_bench and MargNet compare tables."""

from __future__ import annotations

import numpy as np

from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema.columns import Column, Numeric
from syntabula.table.schema.schema import Schema

LEVELS = 100
_LEVEL = PhysicalType("integer", "int64")


def in_levels(table: RawTable, schema: Schema, *, binned: bool) -> RawTable:
    """Round numbers with many values to 100 levels of their range in the learned records.

    The papers' levels cover the range of the real and the synthetic table together, so one extreme record shifts all
    levels relative to the bins, and errors jump by a factor of two. The levels here are fixed.

    Args:
        table: The table.
        schema: Schema of the learned records.
        binned: Whether numbers are first moved to the middle of their even bin, as the papers' code decodes them.
    """
    columns = dict(table.columns)
    for name, column in schema.columns.items():
        if is_wide(column):
            assert isinstance(column, Numeric)
            low, high = float(column.lower), float(column.upper)
            old = table.columns[name]
            scaled = (np.where(old.missing, low, old.values).astype(np.float64) - low) / (high - low)
            if binned:
                scaled = (np.floor(scaled * LEVELS) + 0.5) / LEVELS
            codes = np.rint((LEVELS - 1) * scaled.clip(0, 1)).astype(np.int64)
            columns[name] = RawColumn(codes, old.missing, _LEVEL)
    return RawTable(columns, table.n_rows, table.origin)


def schema_of_levels(schema: Schema) -> Schema:
    """Return the schema of the result of `in_levels`."""
    columns: dict[str, Column] = {}
    for name, column in schema.columns.items():
        wide = is_wide(column)
        columns[name] = Numeric(0, LEVELS - 1, integer=True, nullable=column.nullable) if wide else column
    return Schema(columns)


def is_wide(column: Column) -> bool:
    """Whether a column is of numbers with more than 100 values."""
    return isinstance(column, Numeric) and (not column.integer or column.upper - column.lower >= LEVELS)


def few_values_ranked(table: RawTable) -> RawTable:
    """Replace whole numbers with few values in a wide range by their ranks, as the papers keep every value."""
    columns = dict(table.columns)
    for name, column in table.columns.items():
        if column.physical.kind != "integer" or column.missing.any():
            continue
        known, ranks = np.unique(column.values, return_inverse=True)
        if known.size < LEVELS <= int(known[-1]) - int(known[0]):
            columns[name] = RawColumn(ranks.astype(np.int64), column.missing, column.physical)
    return RawTable(columns, table.n_rows, table.origin)
