"""Columns whose storage says nothing of their type, read as a schema declares them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from syntabula.table.columns import Column
from syntabula.table.declared_cells import declared_type
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema import Schema

_NO_TYPE = ("object", "null", "null[pyarrow]", "Null")
"""What libraries call the type of a column of which they know none, as they do of one without values."""


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose columns of no stored type are those that the schema declares.

    Delimited text, JSON and Python objects store no type: a column without values, or a table without rows,
    comes as text whatever it would hold, and one object may make another kind of a whole column. Objects that are
    not of the declared kind are therefore read as their texts would be in a file (see `declared_cells`), each on
    its own: 7 is the category "7", "2.5" is a number, and what has no plain text is unreadable. Other columns
    are left as they are, to be checked by the schema.
    """
    columns, physical = dict(table.columns), dict(table.origin.physical)
    for name, column in schema.columns.items():
        raw = columns.get(name)
        if raw is None:
            continue
        untyped = raw.physical.name in _NO_TYPE and raw.physical.kind == "text"
        if untyped and raw.missing.all() and column.objection(raw.physical) is not None:
            # No cell has content, so that the values are of no account. (Of a stored type the check decides, as for
            # any other column of that type: whether a table is refused must not follow from its cells.)
            values = np.zeros(raw.missing.size, dtype=np.int64)
            columns[name] = RawColumn(values, raw.missing, declared_type(column))
        elif raw.physical.name == "object" and column.objection(raw.physical) is not None:
            columns[name] = _read_objects(name, raw, column)
        if raw.physical.name == "object":
            # What is written in the end must not follow from the cells either.
            physical[name] = replace(declared_type(column), name="object")
    return replace(table, columns=columns, origin=replace(table.origin, physical=physical))


def _read_objects(name: str, raw: RawColumn, column: Column) -> RawColumn:
    from syntabula.table.declared_texts import read_texts
    from syntabula.table.object_columns import to_objects

    texts = [None if cell is None else _text(cell) for cell in to_objects(raw).tolist()]
    read = read_texts({name: texts}, Schema({name: column}))[0][name]
    unreadable = np.fromiter((text is None for text in texts), np.bool_, count=len(texts)) & ~raw.missing
    if read.unreadable is not None:
        unreadable |= read.unreadable
    return replace(read, unreadable=unreadable if unreadable.any() else None)


def _text(cell: Any) -> str | None:
    """Return an object as text files of this library write it; None if they do not."""
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, dt.date):
        return cell.isoformat()
    if isinstance(cell, float | np.floating):
        return repr(float(cell))
    if not isinstance(cell, str | int | Decimal | np.integer):
        return None
    try:
        text = str(cell)
        text.encode()
    except ValueError:
        # Lone surrogates, and numbers of thousands of digits.
        return None
    return text
