"""Columns without any value, whose stored type says nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syntabula.table.columns import Boolean, Categorical, Column, Date, Datetime
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema import Schema


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose text columns without any value are stored as the schema declares them.

    Delimited text, JSON and Python objects store no type: a column without values, or a table without rows,
    comes as text whatever it would hold. Other columns are left as they are, to be checked by the schema.
    """
    columns = dict(table.columns)
    for name, column in schema.columns.items():
        raw = columns.get(name)
        if raw is None or raw.physical.kind != "text" or not raw.missing.all():
            continue
        if column.objection(raw.physical) is not None:
            physical, dtype = _stored(column)
            columns[name] = RawColumn(np.zeros(raw.missing.size, dtype=dtype), raw.missing, physical)
    return replace(table, columns=columns)


def _stored(column: Column) -> tuple[PhysicalType, str]:
    """Return a stored type that reads as declared, and the dtype of its values."""
    match column:
        case Date():
            return PhysicalType("date", "date"), "int64"
        case Datetime():
            return PhysicalType("datetime", "datetime64[us]", timezone=column.timezone), "int64"
        case Boolean():
            return PhysicalType("boolean", "bool"), "bool"
        case Categorical() if column.label_type is bool:
            return PhysicalType("boolean", "bool"), "bool"
    return PhysicalType("float", "float64"), "float64"
