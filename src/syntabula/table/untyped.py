"""Columns without any value, whose stored type says nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syntabula.table.declared_cells import declared_type
from syntabula.table.raw import RawColumn, RawTable
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
            # No cell has content, so that the values are of no account.
            values = np.zeros(raw.missing.size, dtype=np.int64)
            columns[name] = RawColumn(values, raw.missing, declared_type(column))
    return replace(table, columns=columns)
