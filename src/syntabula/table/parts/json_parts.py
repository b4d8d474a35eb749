"""JSON Lines files in parts, batch by batch; where not all columns are declared, their types are those of all cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Raw, defstruct, json
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.errors import DataError
from syntabula.table.files.formats import check_readable, file_format
from syntabula.table.files.json_reading import (
    NULL,
    number_format,
    parsed,
    record_batches,
    row_batches,
    text_of,
    warn_of_other_keys,
)
from syntabula.table.files.text_batches import cell_reader
from syntabula.table.frames.object_columns import column_from_objects, object_array
from syntabula.table.parts.part_reading import Snapshot, failures_of
from syntabula.table.parts.raw_parts import RawParts, StoredType
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable, check_names
from syntabula.table.schema.schema import Schema, is_whole, undeclared

_EXACT = 2**53
_TEXT = StoredType(PhysicalType("text", "JSON"), PhysicalType("text", "JSON"), np.dtype(object))
_MOMENTS = ("date", "datetime")
_GAP = Raw(NULL)


@dataclass
class _Seen:
    """What the cells of a column are, of all batches so far.

    Attributes:
        types: Types of present cells.
        texts: Physical types of its texts, batch by batch.
        least: The smallest whole number, or 0.
        most: The largest, or 0.
    """

    types: set[type] = field(default_factory=set)
    texts: set[PhysicalType] = field(default_factory=set)
    least: int = 0
    most: int = 0

    def add(self, cells: Sequence[Any]) -> None:
        """Add the distinct cells of a batch."""
        present = [cell for cell in cells if cell is not None]
        self.types |= {*map(type, present)}
        whole = [cell for cell in present if type(cell) is int]
        self.least, self.most = min([self.least, *whole]), max([self.most, *whole])
        if texts := [cell for cell in present if isinstance(cell, str)]:
            self.texts.add(_of_texts(texts).physical)

    @property
    def stored(self) -> StoredType:
        """The type that reads all cells, as `column_from_objects` finds it for all at once."""
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
    """A JSON Lines file.

    Attributes:
        path: The file.
        schema: Declares all columns, or some, or none.
        stored: Types of the others.
        names: Names of all columns that are read. Declared ones that no record has are read if all are declared.
    """

    path: str
    schema: Schema | None
    stored: Mapping[str, StoredType]
    names: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        del schema
        arrow = require("pyarrow", "arrow")
        with cell_reader(self.schema, {}) as reader:
            for n_rows, cells in self._written(columns):
                texts, read = {}, dict[str, RawColumn]()
                for name, written in cells.items():
                    # Each distinct cell is read once.
                    distinct, places = _distinct(written)
                    if name in self.stored:
                        values = [json.decode(cell) for cell in distinct]
                        read[name] = _as_stored(values, self.stored[name]).take(places)
                    elif self.schema is not None:
                        form = number_format(self.schema[name])
                        texts[name] = arrow.array(
                            [text_of(cell, form) for cell in distinct], arrow.string()
                        ).take(arrow.array(places))
                read |= reader.columns(arrow.table(texts))
                yield RawTable(read, n_rows, Origin("jsonl", {}))

    def _written(self, columns: Sequence[str] | None) -> Iterator[tuple[int, dict[str, list[bytes]]]]:
        """Yield the number of records of each batch, and their cells as written, of all columns or some."""
        names, compression = self.names, file_format(self.path).compression
        if columns is None and is_whole(self.schema):
            for rows in row_batches(self.path, compression, Raw):
                warn_of_other_keys(rows, self.schema)
                yield len(rows), {name: [bytes(row.get(name, _GAP)) for row in rows] for name in names}
            return
        fields = {f"cell_{i}": name for i, name in enumerate(names) if columns is None or name in columns}
        # The values of other keys are skipped, which takes far less time.
        kind = defstruct("Record", [(field, Raw, _GAP) for field in fields], rename=fields, gc=False)
        for records in record_batches(self.path, compression, kind):
            cells = {name: [*map(bytes, map(attrgetter(field), records))] for field, name in fields.items()}
            yield len(records), cells


def json_parts(snapshot: Snapshot, schema: Schema | None, *, workers: int) -> RawParts:
    """Return JSON Lines files as a table in parts.

    Names and types of undeclared columns are found by one pass in this process.

    Args:
        snapshot: The files.
        schema: Declares all columns, or some; None for none.
        workers: Number of processes that read.

    Raises:
        DataError: If a line is not a JSON object, or there is none and columns are undeclared.
        SchemaError: If the names of the columns do not fit the schema.
    """
    paths = snapshot.paths
    for path in paths:
        check_readable(path)
    seen = {} if is_whole(schema) else _seen(paths, schema)
    stored = {name: seen[name].stored for name in undeclared(seen, schema)}
    names = tuple(schema) if is_whole(schema) else tuple(seen)
    parts = tuple(JsonPart(path, schema, stored, names) for path in paths)
    return RawParts("jsonl", schema, parts, workers, snapshot, stored=stored, order=tuple(seen))


def _seen(paths: Sequence[str], schema: Schema | None) -> dict[str, _Seen]:
    """Return the names of all columns in the order of their first appearance, with the cells of undeclared ones."""
    seen: dict[str, _Seen] = {}
    for path in paths:
        with failures_of(JsonPart(path, schema, {})):
            for rows in row_batches(path, file_format(path).compression, Raw):
                for name in dict.fromkeys(chain.from_iterable(rows)):
                    cells = seen.setdefault(name, _Seen())
                    if schema is None or name not in schema:
                        distinct = {bytes(row.get(name, _GAP)) for row in rows}
                        cells.add([json.decode(cell) for cell in distinct])
    if not seen:
        shown = f"{paths[0]!r} is" if len(paths) == 1 else f"{paths[0]!r} and the other files are"
        raise DataError(f"{shown} empty; write one object per line, with a key for each column")
    check_names([*seen])
    if schema is not None:
        schema.check_names([*seen])
    return seen


def _distinct(cells: list[bytes]) -> tuple[list[bytes], NDArray[np.intp]]:
    """Return the distinct ones of some cells, and the place of each cell among them [n]."""
    arrow = require("pyarrow", "arrow")
    coded = arrow.array(cells, arrow.binary()).dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.intp)


def _of_texts(texts: list[str]) -> RawColumn:
    moments = parsed(texts)
    cells = object_array(texts if moments is None else moments)
    return column_from_objects(cells, np.zeros(len(texts), np.bool_), "JSON")


def _as_stored(cells: list[Any], stored: StoredType) -> RawColumn:
    """Return cells in the type of the whole column."""
    values = object_array(cells)
    missing = np.fromiter([cell is None for cell in cells], np.bool_, count=len(cells))
    if stored.kind.hasobject:
        return column_from_objects(values, missing, "JSON")
    present = values[~missing].tolist()
    full = np.zeros(len(cells), stored.kind)
    full[~missing] = _of_texts(present).values if stored.physical.kind in _MOMENTS and present else present
    return RawColumn(full, missing, stored.physical)
