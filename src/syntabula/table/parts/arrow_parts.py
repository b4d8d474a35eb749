"""Parts that are read as Arrow batches: row groups of Parquet, Arrow files, and streams of any library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syntabula._extras import require
from syntabula.table.frames.arrow_tables import read_chunks
from syntabula.table.frames.retyping import typed_as_declared
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE
from syntabula.table.raw import (
    Container,
    Origin,
    PhysicalType,
    RawColumn,
    RawTable,
    RepeatedTexts,
    check_names,
)
from syntabula.table.schema.schema import Schema


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a Parquet file.

    Attributes:
        path: The file.
        groups: Positions of the row groups; None for all.
        n_rows: Number of their records, as the file says (sensitive); None if it was not asked.
    """

    path: str
    groups: tuple[int, ...] | None = None
    n_rows: int | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        parquet = require("pyarrow.parquet", "arrow")
        # Buffered ahead, pyarrow would hold the whole file.
        with parquet.ParquetFile(self.path, pre_buffer=False, memory_map=False) as file:
            batches = file.iter_batches(
                ROWS_AT_ONCE,
                row_groups=None if self.groups is None else list(self.groups),
                columns=_present(columns, file.schema_arrow.names),
                use_threads=False,
            )
            # A file without rows has no batch, but its columns are checked all the same.
            yield declared_table(file.schema_arrow.empty_table(), "parquet", schema, columns, zoned=True)
            for batch in batches:
                yield declared_table(batch, "parquet", schema, columns, zoned=True)

    def stored(self) -> Any:
        """Return the names and types of the columns, as a schema of Arrow."""
        return require("pyarrow.parquet", "arrow").read_schema(self.path, memory_map=False)

    def empty(self) -> RawTable:
        """Return the columns without records, as a whole file is read."""
        from syntabula.table.files.parquet_reading import read_parquet

        return RawTable(read_parquet(self.path, empty=True)[0], 0, Origin("parquet", {}))


@dataclass(frozen=True)
class ArrowPart:
    """An Arrow file."""

    path: str

    @property
    def place(self) -> str:
        """What a message calls it."""
        return repr(self.path)

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
        with arrow.OSFile(self.path, "rb") as source, ipc.open_file(source) as file:
            yield declared_table(file.schema.empty_table(), "arrow", schema, columns)
            for position in range(file.num_record_batches):
                batch = file.get_batch(position)
                for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                    yield declared_table(batch.slice(start, ROWS_AT_ONCE), "arrow", schema, columns)

    def stored(self) -> Any:
        """Return the names and types of the columns, as a schema of Arrow."""
        arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
        with arrow.OSFile(self.path, "rb") as source, ipc.open_file(source) as file:
            return file.schema

    def empty(self) -> RawTable:
        """Return the columns without records, as a whole file is read."""
        from syntabula.table.frames.frames import from_frame

        ipc = require("pyarrow.ipc", "arrow")
        with ipc.open_file(self.path) as file:
            return from_frame(file.schema.empty_table())


@dataclass(frozen=True, eq=False, repr=False)
class ArrowStream:
    """A table whose library gives its batches one after the other.

    Attributes:
        place: What a message calls it.
        container: What kind of table it is.
        batches: Begins to read it anew; the argument is the columns to read, or None for all.
    """

    place: str
    container: Container
    batches: Callable[[list[str] | None], Iterable[Any]]

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records; see `Part.tables`."""
        for batch in self.batches(None if columns is None else list(columns)):
            for start in range(0, max(batch.num_rows, 1), ROWS_AT_ONCE):
                yield declared_table(batch.slice(start, ROWS_AT_ONCE), self.container, schema, columns)


def declared_table(
    batch: Any,
    container: Container,
    schema: Schema | None,
    columns: Sequence[str] | None = None,
    *,
    zoned: bool = False,
) -> RawTable:
    """Return a batch, or a table, of Arrow as a raw table whose columns are read as declared.

    Args:
        batch: What a library gives.
        container: What kind of table it is.
        schema: Declares all columns, or some; None for none.
        columns: The columns to read; None for all.
        zoned: Whether the zones of declared columns count, as those that a file notes; those of other tables may be the
            zone of their library's session.
    """
    arrow = require("pyarrow", "arrow")
    table = batch if isinstance(batch, arrow.Table) else arrow.Table.from_batches([batch])
    check_names(table.column_names)
    pairs = zip(table.column_names, table.columns, strict=True)
    kept = set(schema) if zoned and schema is not None else set[str]()
    read = {n: _column(n, chunks, zoned=n in kept) for n, chunks in pairs if columns is None or n in columns}
    raw = RawTable(read, table.num_rows, Origin(container, {}))
    return raw if schema is None else typed_as_declared(raw, schema)


def _present(columns: Sequence[str] | None, names: Sequence[str]) -> list[str] | None:
    return None if columns is None else [name for name in names if name in columns]


def _column(name: str, chunks: Any, *, zoned: bool) -> RawColumn:
    arrow = require("pyarrow", "arrow")
    types, kind = arrow.types, chunks.type
    if types.is_timestamp(kind) and kind.tz is not None and not zoned:
        # Parts may differ in the zone they are noted in, and not in the moments that they mean.
        return read_chunks(name, chunks.cast(arrow.timestamp(kind.unit, "UTC")))
    if types.is_dictionary(kind) and not types.is_string(kind.value_type):
        return read_chunks(name, chunks.cast(kind.value_type))
    if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
        return _texts(chunks)
    return read_chunks(name, chunks)


def _texts(chunks: Any) -> RawColumn:
    """Return a column of texts, in which cells of the same text share one."""
    arrow = require("pyarrow", "arrow")
    coded = chunks if arrow.types.is_dictionary(chunks.type) else chunks.dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks()
    if isinstance(coded, arrow.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else arrow.array([], type=coded.type)
    missing = coded.is_null().to_numpy(zero_copy_only=False).astype(np.bool_)
    texts = [*coded.dictionary.to_pylist(), None]
    rows = coded.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    missing |= np.fromiter((text is None for text in texts), np.bool_, count=len(texts))[rows]
    cells = RepeatedTexts.placed([text or "" for text in texts], rows)
    return RawColumn(cells, missing, PhysicalType("text", "string"))
