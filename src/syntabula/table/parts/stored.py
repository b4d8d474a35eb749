"""Undeclared columns of a table in parts: their stored types, and parts that are checked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula.errors import DataError, SchemaError
from syntabula.table.coding.levels import ROOMY_DECIMALS
from syntabula.table.frames.conform import is_null
from syntabula.table.parts.arrow_parts import ArrowPart, ParquetPart, declared_table
from syntabula.table.parts.number_types import common_number
from syntabula.table.parts.part_reading import Part, PartOf, failures_of
from syntabula.table.parts.raw_parts import RawParts, StoredType
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.schema import Schema, undeclared


@dataclass(frozen=True)
class StoredPart(PartOf):
    """A part with undeclared columns, which must be stored alike in all parts, or as narrower numbers or null.

    Attributes:
        types: Type of each undeclared column.
    """

    types: Mapping[str, StoredType]

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        for table in self.part.tables(schema, columns):
            read = {name: self._checked(name, column) for name, column in table.columns.items()}
            if lacking := [n for n in self.types if n not in read and (columns is None or n in columns)]:
                raise SchemaError(f"the table has no column {lacking[0]!r}, which other parts have; add it")
            yield replace(table, columns=read)

    def _checked(self, name: str, column: RawColumn) -> RawColumn:
        stored = self.types.get(name)
        if stored is None:
            return column
        if is_null(column.physical) and column.physical != stored.read:
            return _without_values(column, stored)
        if stored.widened and column.physical.kind in ("integer", "float"):
            return RawColumn(column.values.astype(stored.kind), column.missing, stored.physical)
        if column.physical != stored.read:
            raise SchemaError(
                f"column {name!r} is stored as {column.physical.name}, but as {stored.read.name} in other parts; "
                "declare it in a schema, or store all parts alike"
            )
        return replace(column, physical=stored.physical)


def _without_values(column: RawColumn, stored: StoredType) -> RawColumn:
    """Return a column of the null type as one of another type, all of whose cells are missing."""
    n = column.missing.size
    if stored.read.kind == "text":
        return RawColumn(RepeatedTexts.placed([""], np.zeros(n, np.uint8)), column.missing, stored.physical)
    values = np.full(n, None) if stored.read.kind == "decimal" else np.zeros(n, stored.kind)
    return RawColumn(values, column.missing, stored.physical)


def with_stored_types(parts: RawParts, empty: RawTable) -> RawParts:
    """Return a table in parts whose undeclared columns are known by their stored types.

    Args:
        parts: The table; its schema declares some of its columns, or none.
        empty: The table without records, as a reader of whole tables reads it.

    Raises:
        DataError: If batches give cells of another kind than such a reader.
        SchemaError: If a column is of a type that can only be read where it is declared.
    """
    if parts.schema is not None:
        parts.schema.check_names(empty.columns)
    first = parts.parts[0]
    with failures_of(first):
        table = next(first.tables(parts.schema, None))
    types = {}
    names = undeclared(empty.columns, parts.schema)
    of_all = _of_all_files(parts, names)
    for name in names:
        first_type = table.columns[name], empty.columns[name].physical, False
        column, physical, widened = of_all.get(name, first_type)
        physical.require_domain(name)
        too_fine = physical.kind == "decimal" and not 0 <= (physical.scale or 0) <= ROOMY_DECIMALS
        if too_fine or column.physical.is_labels != physical.is_labels:
            raise SchemaError(
                f"column {name!r} is stored as {physical.name}, which is read in parts only where a schema declares it"
            )
        if column.physical.kind != physical.kind:
            raise DataError(
                f"column {name!r} is read as {column.physical.kind} in parts; declare it in a schema"
            )
        # Values of so few decimals are told apart as floats.
        kind = np.dtype(np.float64) if physical.kind == "decimal" else column.values.dtype
        types[name] = StoredType(physical, column.physical, kind, widened=widened)
    return parts.wrapped(partial(_checked, types=types), stored=types, order=tuple(empty.columns))


_Stored = tuple[RawColumn, PhysicalType, bool]
"""A column without records, its type as a reader of whole tables names it, and whether files store narrower numbers."""


def _of_all_files(parts: RawParts, names: Sequence[str]) -> dict[str, _Stored]:
    """Return the columns that another file stores otherwise than the first one, where one type holds what all store.

    These are numbers of several types, and columns that the first file stores as the null type; not those that have the
    null type everywhere.
    """
    arrow_parts = [part for part in parts.parts if isinstance(part, ParquetPart | ArrowPart)]
    files = [*{part.place: part for part in arrow_parts}.values()]
    if len(files) < 2 or not names:
        return {}
    arrow = require("pyarrow", "arrow")
    schemas = []
    for part in files:
        with failures_of(part):
            schemas.append(part.stored())
    found: dict[str, _Stored] = {}
    for name in names:
        stored = [
            (s.field(name).type, part) for s, part in zip(schemas, files, strict=True) if name in s.names
        ]
        types = [kind for kind, _ in stored]
        others = [(kind, part) for kind, part in stored if not arrow.types.is_null(kind)]
        if not others or all(kind == types[0] for kind in types):
            continue
        common = common_number(types)
        if common is not None:
            empty = arrow.schema([(name, common)]).empty_table()
            column = declared_table(empty, parts.container, None).columns[name]
            widened = any(kind != common for kind, _ in others)
            found[name] = column, _as_whole(empty, files[0]).columns[name].physical, widened
        elif arrow.types.is_null(types[0]):
            part = others[0][1]
            with failures_of(part):
                column = next(part.tables(parts.schema, None)).columns[name]
                found[name] = column, part.empty().columns[name].physical, False
    return found


def _as_whole(empty: Any, part: ParquetPart | ArrowPart) -> RawTable:
    """Return a table of Arrow without records as the reader of such a file returns it."""
    if isinstance(part, ArrowPart):
        from syntabula.table.frames.frames import from_frame

        return from_frame(empty)
    from syntabula.table.database import connection, read_query

    with connection() as database:
        database.register("stored", empty)
        return RawTable(
            *read_query(database, "SELECT * FROM stored", empty.column_names), Origin("parquet", {})
        )


def _checked(part: Part, _: int, *, types: Mapping[str, StoredType]) -> StoredPart:
    return StoredPart(part, types)
