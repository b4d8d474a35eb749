"""Undeclared columns of a table in parts: their stored types, and parts that are checked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from syntabula.errors import DataError, SchemaError
from syntabula.table.coding.levels import ROOMY_DECIMALS
from syntabula.table.frames.conform import is_null
from syntabula.table.parts.arrow_parts import ArrowPart, ParquetPart
from syntabula.table.parts.part_reading import Part, PartOf, failures_of
from syntabula.table.parts.raw_parts import RawParts, StoredType
from syntabula.table.raw import PhysicalType, RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.schema import Schema, undeclared


@dataclass(frozen=True)
class StoredPart(PartOf):
    """A part with undeclared columns, which must be stored alike in all parts.

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
    elsewhere = _stored_elsewhere(parts, [name for name in names if is_null(table.columns[name].physical)])
    for name in names:
        column, physical = elsewhere.get(name, (table.columns[name], empty.columns[name].physical))
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
        types[name] = StoredType(physical, column.physical, kind)
    return parts.wrapped(partial(_checked, types=types), stored=types, order=tuple(empty.columns))


def _stored_elsewhere(parts: RawParts, names: list[str]) -> dict[str, tuple[RawColumn, PhysicalType]]:
    """Return columns which the first file stores as the null type as the first file does that stores them otherwise.

    Args:
        parts: The table.
        names: Columns that have the null type in the first part.

    Returns:
        By name the column without records, and its type as a reader of whole tables names it; no column that has the null
        type everywhere.
    """
    found: dict[str, tuple[RawColumn, PhysicalType]] = {}
    seen = {parts.parts[0].place}
    for part in parts.parts if names else ():
        if part.place in seen or not isinstance(part, ParquetPart | ArrowPart):
            continue
        seen.add(part.place)
        with failures_of(part):
            table = next(part.tables(parts.schema, None))
            for name in names:
                column = table.columns.get(name)
                if name not in found and column is not None and not is_null(column.physical):
                    found[name] = column, part.empty().columns[name].physical
        if len(found) == len(names):
            break
    return found


def _checked(part: Part, _: int, *, types: Mapping[str, StoredType]) -> StoredPart:
    return StoredPart(part, types)
