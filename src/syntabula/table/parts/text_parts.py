"""Delimited files in parts, and the types of columns that nobody declares, which are found from the kinds of cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from syntabula._extras import require
from syntabula.errors import SchemaError
from syntabula.marginals.parts import Fold, State
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.table.database import at_hand, interruptible
from syntabula.table.files.cell_kinds import CELL_KINDS, TEXT, kinds_by_column
from syntabula.table.files.formats import file_format
from syntabula.table.files.text_batches import TextFile, cell_reader, texts_as_written
from syntabula.table.parts.labels import texts_of
from syntabula.table.parts.part_reading import Snapshot, failures_of
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE, RawParts, StoredType, Wrap
from syntabula.table.raw import Container, Origin, PhysicalType, RawTable
from syntabula.table.schema.schema import Schema, is_whole, undeclared

_KINDS = {"boolean": np.bool_, "float": np.float64, "text": np.object_}
"""Types of the numbers that stand for cells; those of other kinds are int64."""


@dataclass(frozen=True)
class DelimitedPart:
    """Some records of a delimited file, which follow each other.

    Attributes:
        file: The file.
        schema: Declares its columns, or some of them, or none.
        physical: Types of the others; None while they are not found, when all cells are read as written.
        is_checked: Whether an earlier pass read all columns, so that those that are not asked need not be read.
        begin: Position of the first record.
        n_rows: Number of records (sensitive); None for all that follow.
    """

    file: TextFile
    schema: Schema | None
    physical: Mapping[str, PhysicalType] | None = None
    is_checked: bool = False
    begin: int = field(default=0, repr=False)
    n_rows: int | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.file.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        del schema
        wanted = [name for name in self.file.names if columns is None or name in columns]
        end = None if self.n_rows is None else self.begin + self.n_rows
        with cell_reader(self.schema, self.physical or {}) as reader:
            # A fault anywhere in the file has to show in the first pass, before anything is spent.
            needed = wanted if self.is_checked and wanted else self.file.names
            for texts in self.file.batches(needed, ROWS_AT_ONCE, self.begin, end):
                chosen = texts.select(wanted)
                if self.physical is None:
                    read = {name: texts_as_written(chosen[name]) for name in wanted}
                else:
                    read = reader.columns(chosen)
                yield RawTable(read, texts.num_rows, Origin(file_format(self.file.path).container, {}))


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
        arrow = require("pyarrow", "arrow")
        counts = [texts_of(part.columns[name]) for name in self.names]
        columns = {
            "i": np.repeat(np.arange(len(counts)), [len(of) for of in counts]),
            "c": arrow.array([*chain.from_iterable(counts)], arrow.string()),
            "n": np.array([*chain.from_iterable(of.values() for of in counts)], np.int64),
        }
        with at_hand() as database:
            database.register("texts", arrow.table(columns))
            for i, kind, number in interruptible(database, lambda: kinds_by_column(database, "texts")):
                state[str(i)][kind] += number


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
            _pools=self._pools,
        )

    def _read_kinds(self) -> None:
        if not self._kinds:
            fold = KindFold(tuple(self.stored))
            state = self.of(fold.names).fold(fold)
            places = np.arange(len(CELL_KINDS))
            for i, name in enumerate(fold.names):
                counts = state[str(i)]
                self._kinds[name] = CountedPoints(places[counts > 0], counts[counts > 0])


def text_parts(snapshot: Snapshot, container: Container, schema: Schema | None, *, workers: int) -> RawParts:
    """Return delimited files as a table in parts; the names of their columns are checked in all files.

    Args:
        snapshot: The files.
        container: Their format.
        schema: Declares all columns, or some; None for none.
        workers: Number of processes that read.

    Raises:
        DataError: If a file has no header.
        SchemaError: If a file lacks a column, or has one that the others lack, or that the schema declares.
    """
    files = [TextFile.of(path, schema) for path in snapshot.paths]
    first = files[0]
    for file in files:
        if schema is not None:
            with failures_of(DelimitedPart(file, schema)):
                schema.check_names(file.names)
        for name in sorted(set(file.names) ^ set(first.names)):
            lacks, has = (file, first) if name in first.names else (first, file)
            raise SchemaError(
                f"{lacks.path!r} has no column {name!r}, which {has.path!r} has; all files need all columns"
            )
    # Types are found of undeclared columns alone.
    physical: Mapping[str, PhysicalType] | None = {} if is_whole(schema) else None
    pieces = tuple(
        DelimitedPart(file, schema, physical, begin=begin, n_rows=n_rows)
        for file in files
        for begin, n_rows in _pieces(file, snapshot, workers)
    )
    facts: dict[str, Any] = {"order": first.names, "dialect": first.dialect}
    if physical is not None:
        return RawParts(container, schema, pieces, workers, snapshot, **facts)
    return TextParts(
        container,
        schema,
        pieces,
        workers,
        snapshot,
        stored={n: StoredType(TEXT, TEXT, np.dtype(object)) for n in undeclared(first.names, schema)},
        decimal_comma=first.delimiter == ";",
        **facts,
    )


def _pieces(file: TextFile, snapshot: Snapshot, workers: int) -> list[tuple[int, int | None]]:
    """Return begin and length of the pieces of a file, so many that each process has about as much to do."""
    sizes = {path: size for path, size, _ in snapshot.stamps}
    count = round(workers * sizes[file.path] / max(snapshot.size, 1))
    if count <= 1:
        return [(0, None)]
    n_rows = file.n_rows()
    cuts = [n_rows * i // count for i in range(count + 1)]
    return [(a, b - a) for a, b in itertools.pairwise(cuts)]


def _typed(part: Any, physical: Mapping[str, PhysicalType]) -> Any:
    """Return a part with found types; what is around it stays."""
    if isinstance(part, DelimitedPart):
        return replace(part, physical=physical, is_checked=True)
    return replace(part, part=_typed(part.part, physical))
