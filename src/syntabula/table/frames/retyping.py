"""Columns that are stored otherwise than a schema declares them, or in no type at all, read as it declares."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.files.declared_cells import declared_type
from syntabula.table.frames.conform import as_number
from syntabula.table.raw import PhysicalKind, RawColumn, RawTable
from syntabula.table.schema.column_codes import all_labels
from syntabula.table.schema.columns import (
    SPELLINGS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Label,
    Numeric,
)
from syntabula.table.schema.schema import Schema

_NO_TYPE = ("object", "null", "null[pyarrow]", "Null")
"""What libraries call the type of a column of which they know none, as they do of one without values."""

_READ_AS_TEXTS: dict[PhysicalKind, tuple[type[Column], ...]] = {
    "text": (Numeric, Categorical, Boolean, Date, Datetime),
    "integer": (Categorical, Boolean),
    "float": (Categorical, Boolean),
    "boolean": (Categorical, Numeric),
}
"""Kinds of columns that are read from a stored kind which is not their own, by what its cells are as texts."""


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose columns are of the kinds that the schema declares, where they can be read so.

    One schema fits a table however it is stored: where a file of text, whose cells are read as declared, would
    be read, so are the columns that a library makes of it. Days that are stored as text, codes and flags stored
    as numbers, and Python objects are therefore read as their texts would be in a file (see `declared_cells`),
    each on its own: 7 is the category "7", "2.5" is a number, and what has no plain text is unreadable.

    Delimited text, JSON and Python objects store no type: a column without values, or a table without rows,
    comes as text whatever it would hold, and one object may make another kind of a whole column. Whether a
    column is read follows from its declaration and stored type alone; the others are left as they are, to be
    refused by the schema.
    """
    columns, physical = dict(table.columns), dict(table.origin.physical)
    for name, column in schema.columns.items():
        raw = columns.get(name)
        if raw is None:
            continue
        untyped = raw.physical.name in _NO_TYPE and raw.physical.kind == "text"
        if column.objection(raw.physical) is not None:
            if untyped and raw.missing.all():
                # No cell has content, so that the values are of no account.
                values = np.zeros(raw.missing.size, dtype=np.int64)
                columns[name] = RawColumn(values, raw.missing, declared_type(column))
            elif raw.physical.name == "object":
                columns[name] = _read_objects(name, raw, column)
            elif _is_read(raw.physical.kind, column):
                columns[name] = _read_stored(name, raw, column)
                if not _is_written(raw.physical.kind, column):
                    physical[name] = declared_type(column)
        if raw.physical.name == "object":
            # What is written in the end must not follow from the cells either.
            physical[name] = replace(declared_type(column), name="object")
    return replace(table, columns=columns, origin=replace(table.origin, physical=physical))


def _is_read(stored: PhysicalKind, column: Column) -> bool:
    if stored == "boolean" and isinstance(column, Categorical) and column.label_type is str:
        return _spelling(column) is not None
    return isinstance(column, _READ_AS_TEXTS.get(stored, ()))


def _is_written(stored: PhysicalKind, column: Column) -> bool:
    """Say whether a stored kind holds every value that is declared, so that synthetic ones are stored so too."""
    labels: tuple[Label, ...] = all_labels(column) if isinstance(column, Categorical) else ()
    match stored:
        case "integer" | "float":
            return all(as_number(label) is not None for label in labels if isinstance(label, str))
        case "boolean" if isinstance(column, Numeric):
            return column.integer and column.lower >= 0 and column.upper <= 1
        case "boolean":
            return {*labels} <= {0, 1} or {*labels} == {*(_spelling(column) or ())}
    return True


def _spelling(column: Column) -> tuple[str, str] | None:
    """Return how the categories write true and false, if they do."""
    labels = {*column.categories} if isinstance(column, Categorical) else set()
    pairs = [spelling.split("/") for spelling in SPELLINGS]
    return next(((true, false) for true, false in pairs if {true, false} <= labels), None)


def _read_stored(name: str, raw: RawColumn, column: Column) -> RawColumn:
    """Read each distinct value once, by its text."""
    from syntabula.table.files.declared_texts import read_texts

    missing = raw.missing.copy()
    if raw.physical.kind == "float":
        missing |= np.isnan(raw.values)
    places: dict[Any, int] = {}
    present: list[Any] = raw.values[~missing].tolist()
    found = np.fromiter((places.setdefault(v, len(places)) for v in present), np.intp, count=len(present))
    texts = [None, *(_stored_text(value, column) for value in places)]
    # The first one is that of missing cells.
    rows: NDArray[np.intp] = np.zeros(missing.size, dtype=np.intp)
    rows[~missing] = found + 1
    read = read_texts({name: texts}, Schema({name: column}))[0][name].take(rows)
    return read if raw.unreadable is None else _marked(read, raw.unreadable)


def _stored_text(value: Any, column: Column) -> str:
    """Return the text that a stored value would have in a file of text which is read as the column declares."""
    if isinstance(value, str):
        return value
    labels = column.categories if isinstance(column, Categorical) else ()
    if isinstance(value, bool):
        true, false = _spelling(column) or (("1", "0") if _is_number(column) else ("true", "false"))
        return true if value else false
    if isinstance(value, float) and value.is_integer() and str(int(value)) in labels:
        # pandas turns integers into floats as soon as one is missing.
        return str(int(value))
    # Without the sign of a zero, which equals the one without.
    return repr(value + 0)


def _is_number(column: Column) -> bool:
    return isinstance(column, Numeric) or (isinstance(column, Categorical) and column.label_type is not bool)


def _read_objects(name: str, raw: RawColumn, column: Column) -> RawColumn:
    from syntabula.table.files.declared_texts import read_texts
    from syntabula.table.frames.object_columns import to_objects

    texts = [None if cell is None else _text(cell) for cell in to_objects(raw).tolist()]
    read = read_texts({name: texts}, Schema({name: column}))[0][name]
    unreadable = np.fromiter((text is None for text in texts), np.bool_, count=len(texts)) & ~raw.missing
    return _marked(read, unreadable if raw.unreadable is None else unreadable | raw.unreadable)


def _marked(column: RawColumn, unreadable: NDArray[np.bool_]) -> RawColumn:
    """Return a column of which some more cells are unreadable."""
    if column.unreadable is not None:
        unreadable = unreadable | column.unreadable
    return replace(column, unreadable=unreadable if unreadable.any() else None)


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
