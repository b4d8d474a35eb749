"""Delimited files in parts of which not all columns are declared: their types are found from the kinds of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from syntabula.errors import SchemaError
from syntabula.marginals.distinct import CountedPoints
from syntabula.marginals.parts import Fold, State
from syntabula.table.database import connection, interruptible
from syntabula.table.files.cell_kinds import CELL_KINDS, TEXT, kind_counts
from syntabula.table.files.delimited import delimited_file, header_of
from syntabula.table.frames.object_columns import object_array
from syntabula.table.parts.files import TextPart
from syntabula.table.parts.labels import texts_of
from syntabula.table.parts.raw_parts import RawParts, Wrap
from syntabula.table.parts.stored_type import StoredType
from syntabula.table.raw import Origin, PhysicalType, RawTable
from syntabula.table.schema.schema import Schema, undeclared

_KINDS = {"boolean": np.bool_, "float": np.float64, "text": np.object_}
"""Types of the numbers that stand for cells; those of other kinds are int64."""


@dataclass(frozen=True)
class DelimitedPart:
    """A delimited file, which is in memory while it is read.

    Attributes:
        path: The file.
        names: Names of its columns, in the order of the table.
        schema: Declares some of them, or none.
        physical: Types of the others; None while they are not found, when all cells are read as written.
    """

    path: str
    names: tuple[str, ...]
    schema: Schema | None
    physical: Mapping[str, PhysicalType] | None = None

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records, in one piece; see `Part.tables`."""
        del schema
        wanted = [name for name in self.names if columns is None or name in columns]
        with delimited_file(self.path, self.schema, wanted) as file:
            if self.physical is None:
                read = {name: file.texts(name) for name in wanted}
                table = RawTable(read, file.n_rows, Origin(file.container, {}))
            else:
                physical = {name: found for name, found in self.physical.items() if name in wanted}
                table = file.typed(physical, self.schema)
        yield table


@dataclass(frozen=True)
class KindFold(Fold[RawTable]):
    """Counts the kinds of the non-empty cells of columns of texts.

    Attributes:
        names: The columns.
    """

    names: tuple[str, ...]

    def start(self) -> State:
        """Return a zero for each kind, by the position of a column."""
        return {str(i): np.zeros(len(CELL_KINDS), np.int64) for i in range(len(self.names))}

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        with connection() as database:
            for i, name in enumerate(self.names):
                counts = texts_of(part.columns[name])
                if not counts:
                    continue
                texts = {"c": object_array([*counts]), "n": np.array([*counts.values()], np.int64)}
                database.register("texts", texts)
                found = interruptible(database, lambda: kind_counts(database, "texts", "c", number="sum(n)"))
                state[str(i)] += np.array([found[kind] for kind in CELL_KINDS])


@dataclass(eq=False, repr=False)
class TextParts(RawParts):
    """Delimited files whose undeclared columns are texts, until their types are found.

    Attributes:
        decimal_comma: Whether 1,234 is rather a number with decimals than one of thousands, by the separator of cells.
    """

    decimal_comma: bool = False
    _kinds: dict[str, CountedPoints] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of records (sensitive); known after the pass that counts kinds of cells."""
        self._read_kinds()
        return super().n_rows

    def wrapped(self, wrap: Wrap, **changes: Any) -> Self:
        """Return the same table with each part wrapped; see `RawParts.wrapped`."""
        # What is around a part may leave out cells.
        return super().wrapped(wrap, _kinds={}, **changes)

    def cell_kinds(self, name: str) -> CountedPoints:
        """Return positions in `CELL_KINDS`, and how many non-empty cells of a column have each; sensitive."""
        self._read_kinds()
        return self._kinds[name]

    def typed(self, physical: Mapping[str, PhysicalType], schema: Schema | None = None) -> RawParts:
        """Return the table with columns of these types; see `DelimitedFile.typed`.

        Args:
            physical: Type of each undeclared column.
            schema: Declares the others, as in `text_parts`.
        """
        stored = {
            name: StoredType(found, found, np.dtype(_KINDS.get(found.kind, np.int64)))
            for name, found in physical.items()
        }
        parts = tuple(_typed(part, physical) for part in self.parts)
        return RawParts(
            self.container,
            schema,
            parts,
            self.workers,
            self.snapshot,
            stored=stored,
            order=self.order,
            dialect=self.dialect,
            _n_rows=self._n_rows,
        )

    def _read_kinds(self) -> None:
        if not self._kinds:
            fold = KindFold(tuple(self.stored))
            state = self.of(fold.names).fold(fold)
            places = np.arange(len(CELL_KINDS))
            for i, name in enumerate(fold.names):
                counts = state[str(i)]
                self._kinds[name] = CountedPoints(places[counts > 0], counts[counts > 0])


def text_parts(parts: RawParts) -> TextParts:
    """Return delimited files with the names of their columns, which are checked in all files.

    Args:
        parts: The files as `file_parts` gives them; the schema declares some columns, or is None.

    Raises:
        DataError: If a file has no header.
        SchemaError: If a file lacks a column, or has one that the others lack, or that the schema declares.
    """
    paths = [part.path for part in parts.parts if isinstance(part, TextPart)]
    headers = {path: header_of(path, parts.schema) for path in paths}
    names, dialect = headers[paths[0]]
    if parts.schema is not None:
        parts.schema.check_names(names)
    for path, (own, _) in headers.items():
        for name in sorted(set(own) ^ set(names)):
            lacks, has = (path, paths[0]) if name in names else (paths[0], path)
            raise SchemaError(
                f"{lacks!r} has no column {name!r}, which {has!r} has; all files need all columns"
            )
    return TextParts(
        parts.container,
        parts.schema,
        tuple(DelimitedPart(path, tuple(names), parts.schema) for path in paths),
        parts.workers,
        parts.snapshot,
        stored={n: StoredType(TEXT, TEXT, np.dtype(object)) for n in undeclared(names, parts.schema)},
        order=tuple(names),
        dialect=dialect,
        decimal_comma=dialect is not None and dialect.delimiter == ";",
    )


def _typed(part: Any, physical: Mapping[str, PhysicalType]) -> Any:
    """Return a part with found types; what is around it stays."""
    if isinstance(part, DelimitedPart):
        return replace(part, physical=physical)
    return replace(part, part=_typed(part.part, physical))
