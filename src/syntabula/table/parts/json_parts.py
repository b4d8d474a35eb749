"""JSON Lines files in parts of which not all columns are declared: names and types are those of all cells."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syntabula.errors import DataError
from syntabula.table.files.declared_cells import read_texts
from syntabula.table.files.formats import check_readable, file_format
from syntabula.table.files.json_reading import parsed, rows_of, texts_in, value_of
from syntabula.table.frames.object_columns import column_from_objects, is_missing, object_array
from syntabula.table.parts.files import TextPart
from syntabula.table.parts.part_reading import failures_of
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.parts.stored_type import StoredType
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable, check_names
from syntabula.table.schema.schema import Schema, undeclared

_EXACT = 2**53
_TEXT = StoredType(PhysicalType("text", "JSON"), PhysicalType("text", "JSON"), np.dtype(object))
_MOMENTS = ("date", "datetime")


@dataclass
class _Seen:
    """What the cells of a column are, of all files so far.

    Attributes:
        types: Types of present cells.
        texts: Physical types of its texts, file by file.
        least: The smallest whole number, or 0.
        most: The largest, or 0.
    """

    types: set[type] = field(default_factory=set)
    texts: set[PhysicalType] = field(default_factory=set)
    least: int = 0
    most: int = 0

    def add(self, cells: Sequence[Any]) -> None:
        """Add the cells of a file."""
        present = [cell for cell in cells if not is_missing(cell)]
        self.types |= {*map(type, present)}
        whole = [cell for cell in present if type(cell) is int]
        self.least, self.most = min([self.least, *whole]), max([self.most, *whole])
        if texts := [cell for cell in present if isinstance(cell, str)]:
            self.texts.add(_of_texts(texts).physical)

    @property
    def stored(self) -> StoredType:
        """The type that reads all cells, as `column_from_objects` finds it for one file."""
        if self.types <= {str}:
            physical = next(iter(self.texts)) if len(self.texts) == 1 else _TEXT.physical
            return _TEXT if physical.kind == "text" else StoredType(physical, physical, np.dtype(np.int64))
        # Numbers of a column are judged by those that decide its type.
        ends: list[Any] = [self.least, self.most] if int in self.types else []
        samples = [*ends, *(kind() for kind in self.types if kind is not int)]
        column = column_from_objects(object_array(samples), np.zeros(len(samples), np.bool_), "JSON")
        return StoredType(column.physical, column.physical, column.values.dtype)


@dataclass(frozen=True)
class JsonPart:
    """A JSON Lines file, which is in memory while it is read.

    Attributes:
        path: The file.
        schema: Declares some columns, or none.
        stored: Types of the others.
    """

    path: str
    schema: Schema | None
    stored: Mapping[str, StoredType]

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records, in one piece; see `Part.tables`."""
        del schema
        rows = rows_of(self.path, file_format(self.path).compression)
        declared = {} if self.schema is None else self.schema.columns
        wanted = [n for n in [*declared, *self.stored] if columns is None or n in columns]
        read: dict[str, RawColumn] = {}
        if self.schema is not None and (
            texts := {n: texts_in(rows, n, declared[n]) for n in wanted if n in declared}
        ):
            read |= read_texts(texts, self.schema)[0]
        for name in wanted:
            if name in self.stored:
                read[name] = _as_stored([value_of(row.get(name)) for row in rows], self.stored[name])
        yield RawTable(read, len(rows), Origin("jsonl", {}))


def json_parts(parts: RawParts) -> RawParts:
    """Return JSON Lines files with the names and types of their columns, by one pass in this process.

    Args:
        parts: The files as `file_parts` gives them; the schema declares some columns, or is None.

    Raises:
        DataError: If a line is not a JSON object, or there is none.
        SchemaError: If the names of the columns do not fit the schema.
    """
    seen: dict[str, _Seen] = {}
    for part in parts.parts:
        assert isinstance(part, TextPart)
        check_readable(part.path)
        with failures_of(part):
            rows = rows_of(part.path, file_format(part.path).compression)
            names = dict.fromkeys(key for row in rows for key in row)
            for name in names:
                cells = seen.setdefault(name, _Seen())
                if parts.schema is None or name not in parts.schema:
                    cells.add([value_of(row.get(name)) for row in rows])
    if not seen:
        raise DataError(
            f"the files of {os.path.dirname(parts.parts[0].place[1:-1])!r} are empty; write one object per line, with a "
            "key for each column"
        )
    check_names([*seen])
    if parts.schema is not None:
        parts.schema.check_names([*seen])
    stored = {name: seen[name].stored for name in undeclared(seen, parts.schema)}
    made = [JsonPart(part.path, parts.schema, stored) for part in parts.parts if isinstance(part, TextPart)]
    return RawParts(
        "jsonl", parts.schema, tuple(made), parts.workers, parts.snapshot, stored=stored, order=tuple(seen)
    )


def _of_texts(texts: list[str]) -> RawColumn:
    moments = parsed(texts)
    cells = object_array(texts if moments is None else moments)
    return column_from_objects(cells, np.zeros(len(texts), np.bool_), "JSON")


def _as_stored(cells: list[Any], stored: StoredType) -> RawColumn:
    """Return the cells of a file in the type of the whole column."""
    values = object_array(cells)
    missing = np.fromiter((is_missing(cell) for cell in cells), np.bool_, count=len(cells))
    if stored.kind.hasobject:
        return column_from_objects(values, missing, "JSON")
    present = values[~missing].tolist()
    full = np.zeros(len(cells), stored.kind)
    full[~missing] = _of_texts(present).values if stored.physical.kind in _MOMENTS and present else present
    return RawColumn(full, missing, stored.physical)
