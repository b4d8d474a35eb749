"""Numbers in 100 levels of their range, in which tab_bench and MargNet compare tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema.columns import Column, Numeric
from syntabula.table.schema.schema import Schema

Floats = NDArray[np.float64]
LEVELS = 100
_LEVEL = PhysicalType("integer", "int64")


KINDS = ("fixed", "joint")
"""Where levels lie: over the range of the learned records, or over that of the real and the synthetic table together."""
Ends = Mapping[str, tuple[float, float]]


def in_levels(table: RawTable, schema: Schema, *, binned: bool, ends: Ends | None = None) -> RawTable:
    """Round numbers with many values to 100 levels of their range in the learned records.

    Args:
        table: The table.
        schema: Schema of the learned records.
        binned: Whether numbers are first moved to the middle of their even bin, as the papers' code decodes them.
        ends: Other ends of the levels of each column, such as those of `joint_ends`.
    """
    columns = dict(table.columns)
    for name, column in schema.columns.items():
        if is_wide(column):
            low, high = _ends(column) if ends is None else ends[name]
            scaled = (_values(table, name, column, binned=binned) - low) / ((high - low) or 1.0)
            codes = np.rint((LEVELS - 1) * scaled.clip(0, 1)).astype(np.int64)
            columns[name] = RawColumn(codes, table.columns[name].missing, _LEVEL)
    return RawTable(columns, table.n_rows, table.origin)


def joint_ends(real: RawTable, made: RawTable, schema: Schema, *, binned: bool) -> Ends:
    """Return the range of each column with many values over the real and the synthetic table together.

    So the papers' code places its levels. One extreme record shifts all of them relative to the bins, so that errors jump
    by a factor of two; ours are fixed.

    Args:
        real: The real table.
        made: The synthetic one.
        schema: Schema of the learned records.
        binned: Whether synthetic numbers are in the middle of their even bin.
    """
    found = {}
    for name, column in schema.columns.items():
        if is_wide(column):
            both = (_values(real, name, column, binned=False), _values(made, name, column, binned=binned))
            found[name] = (min(float(v.min()) for v in both), max(float(v.max()) for v in both))
    return found


def _ends(column: Column) -> tuple[float, float]:
    assert isinstance(column, Numeric)
    return float(column.lower), float(column.upper)


def _values(table: RawTable, name: str, column: Column, *, binned: bool) -> Floats:
    """Return the numbers of a column, within their even bins if `binned`; the lower bound where one is missing."""
    low, high = _ends(column)
    old = table.columns[name]
    values: Floats = np.where(old.missing, low, old.values).astype(np.float64)
    if binned:
        values = low + (np.floor((values - low) / (high - low) * LEVELS) + 0.5) / LEVELS * (high - low)
    return values


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
