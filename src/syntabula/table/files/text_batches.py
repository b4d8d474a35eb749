"""Delimited files batch by batch: cells as written, and as values of which each distinct text is read once.

DuckDB cuts the text into records, in one thread, so that batches come in the order of the file and take little memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from syntabula._extras import require
from syntabula._memory import memory_for, ran_out
from syntabula.table.database import at_hand, connection, in_order, interruptible
from syntabula.table.files.cell_types import found_value
from syntabula.table.files.declared_cells import read_as
from syntabula.table.files.delimited import found_header, in_forms, typed_columns
from syntabula.table.files.formats import check_readable, file_format
from syntabula.table.files.text_reader import TextReader, encoding_in, text_reader
from syntabula.table.frames.arrow_tables import read_chunks
from syntabula.table.raw import Dialect, PhysicalType, RawColumn, check_names
from syntabula.table.schema.schema import Schema

_BUFFER = 2**22
"""Bytes of text that are read at once: twice the longest record. DuckDB's usual 32 MB take 80 MB more."""

_TEXT = PhysicalType("text", "VARCHAR")

_FEW_TEXTS = 2**14
"""Columns of at most so many distinct texts in a batch are read apart: all that are read together get as many rows."""


@dataclass(frozen=True)
class TextFile:
    """A delimited file whose header was read.

    Attributes:
        path: The file.
        names: Names of its columns, in order.
        delimiter: Character between cells.
        dialect: Its form, if it is not the usual one of its suffix.
        encoding: Its encoding, if it is declared.
    """

    path: str
    names: tuple[str, ...]
    delimiter: str
    dialect: Dialect | None
    encoding: str | None = None

    @classmethod
    def of(cls, path: str, schema: Schema | None) -> TextFile:
        """Read the header of a file.

        Args:
            path: The file.
            schema: Declares columns, by whose names the delimiter is known; or None.

        Raises:
            DataError: If the file is empty or cannot be read, or repeats a name.
        """
        kind = file_format(path)
        check_readable(path)
        stated = "\t" if kind.container == "tsv" else None
        with memory_for(f"read {path!r}"), _opened(path, stated, encoding_in(schema)) as reader:
            names, found = found_header(reader, stated, schema, by_header=True)
        check_names(names)
        return cls(
            path, tuple(names), found.delimiter, None if found == kind.dialect else found, encoding_in(schema)
        )

    def n_rows(self) -> int:
        """Return the number of records (sensitive)."""
        with memory_for(f"read {self.path!r}"), _opened(self.path, self.delimiter, self.encoding) as reader:
            query = f"SELECT count(*) FROM {self._source(reader)}"
            found = interruptible(reader.database, lambda: reader.database.execute(query).fetchall())
        return int(found[0][0])

    def batches(
        self, columns: Sequence[str], rows_at_once: int, begin: int = 0, end: int | None = None
    ) -> Iterator[Any]:
        """Yield the texts of the records from one position to another as Arrow tables.

        Args:
            columns: Those to read, in this order. Of others, bytes that are not UTF-8 go unnoticed.
            rows_at_once: Records of a table.
            begin: Position of the first record.
            end: Position behind the last; None for all that follow.
        """
        arrow = require("pyarrow", "arrow")
        with _opened(self.path, self.delimiter, self.encoding) as reader:
            limit = "" if end is None else f" LIMIT {end - begin}"
            places = ", ".join(f"c{self.names.index(name)}" for name in columns)
            query = f"SELECT {places} FROM {self._source(reader)}{limit} OFFSET {begin}"
            stream = interruptible(
                reader.database, lambda: reader.database.sql(query).to_arrow_reader(rows_at_once)
            )
            while (batch := interruptible(reader.database, lambda: _next(stream))) is not None:
                yield arrow.Table.from_batches([batch]).rename_columns([*columns])

    def _source(self, reader: TextReader) -> str:
        columns = [f"c{i}" for i in range(len(self.names))]
        more = f", buffer_size={_BUFFER}"
        return reader.source(self.delimiter, quote='"', names=columns, header=True, more=more)


def _next(stream: Any) -> Any:
    """Return the next batch, or None; what DuckDB refuses behind the first batch comes as Arrow's error."""
    import duckdb

    try:
        return next(stream, None)
    except OSError as error:
        if ran_out(error):
            raise
        raise duckdb.Error(str(error)) from None


@contextmanager
def _opened(path: str, delimiter: str | None, encoding: str | None) -> Iterator[TextReader]:
    """Open a file; what DuckDB refuses becomes a DataError that names the line and shows no cell."""
    import duckdb

    with connection() as database:
        in_order(database)
        with text_reader(database, path, file_format(path).compression, encoding) as reader:
            try:
                yield reader
            except duckdb.Error as error:
                raise reader.refusal(error, delimiter) from None


@dataclass(frozen=True)
class CellReader:
    """Reads the texts of batches as values.

    Attributes:
        database: A connection of its own, from `at_hand`.
        schema: Declares some of the columns, or all, or is None.
        physical: Types of the others.
    """

    database: Any
    schema: Schema | None
    physical: Mapping[str, PhysicalType]

    def columns(self, texts: Any) -> dict[str, RawColumn]:
        """Return the values of a table of texts, in the order of its columns."""
        read = {n: texts_as_written(texts[n], t) for n, t in self._types(texts).items() if t.kind == "text"}
        others = [name for name in texts.column_names if name not in read]
        return {**read, **self._parsed(texts.select(others))} if others else read

    def _types(self, texts: Any) -> dict[str, PhysicalType]:
        declared = {} if self.schema is None else self.schema.columns
        return {
            n: read_as(self.schema, n) if self.schema is not None and n in declared else self.physical[n]
            for n in texts.column_names
        }

    def _parsed(self, texts: Any) -> dict[str, RawColumn]:
        """Return the values of columns that are not text; each distinct text is read once."""
        coded = {name: _coded(texts[name]) for name in texts.column_names}
        few = {name: column for name, column in coded.items() if len(column.dictionary) <= _FEW_TEXTS}
        many = {name: column for name, column in coded.items() if name not in few}
        return {name: column for some in (few, many) if some for name, column in self._values(some).items()}

    def _values(self, columns: Mapping[str, Any]) -> dict[str, RawColumn]:
        """Return the values of columns of texts as Arrow's dictionaries."""
        arrow = require("pyarrow", "arrow")
        names, coded = [*columns], [*columns.values()]
        # As many rows for each column; the last one is of missing cells.
        n_rows = 1 + max(len(column.dictionary) for column in coded)
        distinct = [
            arrow.concat_arrays([c.dictionary, arrow.nulls(n_rows - len(c.dictionary), c.dictionary.type)])
            for c in coded
        ]
        places = [c.indices.fill_null(n_rows - 1).to_numpy(zero_copy_only=False) for c in coded]
        own = [name for name in names if name in self.physical]
        values = {name: found_value(f"c{names.index(name)}", self.physical[name]) for name in own}

        def read() -> dict[str, RawColumn]:
            self.database.register("written", arrow.table(distinct, [f"c{i}" for i in range(len(names))]))
            self.database.execute("DROP TABLE IF EXISTS cells")
            return typed_columns(self.database, names, values, self.schema)[0]

        found = in_forms(interruptible(self.database, read), self.physical)
        return {n: found[n].take(where) for n, where in zip(names, places, strict=True)}


def texts_as_written(chunks: Any, physical: PhysicalType = _TEXT) -> RawColumn:
    """Return a column of texts, in which cells of the same text share one."""
    return replace(read_chunks("", chunks), physical=physical)


def _coded(chunks: Any) -> Any:
    arrow = require("pyarrow", "arrow")
    coded = chunks.dictionary_encode().unify_dictionaries().combine_chunks()
    if not isinstance(coded, arrow.ChunkedArray):
        return coded
    return coded.chunk(0) if coded.num_chunks else arrow.array([], type=coded.type)


@contextmanager
def cell_reader(schema: Schema | None, physical: Mapping[str, PhysicalType]) -> Iterator[CellReader]:
    """Open what reads the texts of batches; see `CellReader`."""
    with at_hand() as database:
        yield CellReader(database, schema, physical)
