"""Delimited text as DuckDB reads it: cells as written, of a file in any encoding."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from syntabula._memory import ran_out
from syntabula.errors import DataError, MissingExtraError
from syntabula.table.database import one_file, quoted
from syntabula.table.raw import DELIMITERS
from syntabula.table.schema.schema import Schema

_UTF_8 = "utf-8"
_MARKS = {
    codecs.BOM_UTF8: _UTF_8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by their byte order marks; that of UTF-32 begins as that of UTF-16 does."""
_LONGEST_HEADER = 2**20
_RECORD = re.compile(r"Invalid Input Error: CSV Error on Line: ([0-9]+)")


@dataclass(frozen=True)
class TextReader:
    """Reads a delimited file as a table of text, in a database; `text_reader` makes it.

    Attributes:
        database: The connection.
        path: The file, as messages call it.
        encoding: Its encoding, as Python names it.
        file: The same text in UTF-8: the file itself, unless its encoding is another.
        compression: "none", "gzip" or "zstd", of that text.
    """

    database: Any
    path: str
    encoding: str
    file: str
    compression: str

    def source(
        self, delimiter: str, *, quote: str, names: Sequence[str], header: bool, more: str = ""
    ) -> str:
        """Return the SQL of a table of text, with more options of DuckDB's reader."""
        columns = ", ".join(f"{quoted(n)}: 'VARCHAR'" for n in names)
        return (
            f"read_csv({one_file(self.file)}, auto_detect=false, header={header}, delim={quoted(delimiter)}, "
            f"quote={quoted(quote)}, escape={quoted(quote)}, nullstr='', allow_quoted_nulls=false, "
            f"compression={quoted(self.compression)}, columns={{{columns}}}, hive_partitioning=false, "
            f"strict_mode={bool(quote)}{more})"
        )

    def fetch(self, delimiter: str, *, quote: str, names: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        """Return the first records, including the header."""
        source = self.source(delimiter, quote=quote, names=names, header=False)
        rows: list[tuple[Any, ...]] = self.database.execute(
            f"SELECT * FROM {source} LIMIT {limit}"
        ).fetchall()
        return rows

    def start(self) -> bytes:
        """Return the header as it is stored, with what DuckDB leaves out; nothing of compressed files."""
        if self.compression != "none":
            return b""
        with open(self.file, "rb") as file:
            return file.readline(_LONGEST_HEADER)

    def refusal(self, error: Exception, delimiter: str | None) -> Exception:
        """Return what to raise if DuckDB refused the file: a DataError that names the line, or that memory ran out."""
        from syntabula.table.files.text_faults import delimited_fault

        if ran_out(error):
            return error
        # DuckDB's own message may hold cells, so it is not shown.
        record = _RECORD.match(str(error))
        where = f"{self.path!r}, near line {record[1]}," if record else f"{self.path!r}"
        return DataError(
            delimited_fault(self.path, self.compression, delimiter or DELIMITERS, file=self.file)
            or f"{where} cannot be read as delimited text in UTF-8; check its delimiter, quotes and compression"
        )


@contextmanager
def text_reader(database: Any, path: str, compression: str, encoding: str | None) -> Iterator[TextReader]:
    """Open a file for reading.

    Args:
        database: The connection.
        path: The file.
        compression: "none", "gzip" or "zstd".
        encoding: Its encoding, as a schema declares it; None for UTF-8. A byte order mark counts more.

    Raises:
        DataError: If it is not in this encoding.
    """
    found = _marked_encoding(path, compression) or encoding or _UTF_8
    found = codecs.lookup(found).name.removesuffix("-sig")
    if found == _UTF_8:
        yield TextReader(database, path, found, path, compression)
        return
    from syntabula.table.files.encodings import as_utf8

    with as_utf8(path, compression, found) as (file, of_file):
        yield TextReader(database, path, found, file, of_file)


def _marked_encoding(path: str, compression: str) -> str | None:
    """Return the encoding that the byte order mark of a text shows; None without one."""
    try:
        with _raw(path, compression) as file:
            head = bytes(file.read(4))
    except (OSError, EOFError, zlib.error, MissingExtraError):
        # Who reads the file says what is wrong with it.
        return None
    return next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), None)


def _raw(path: str, compression: str) -> Any:
    if compression != "zstd":
        return (gzip.open if compression == "gzip" else open)(path, "rb")
    from syntabula.table.files.encodings import opened

    return opened(path, compression)


def encoding_in(schema: Schema | None) -> str | None:
    """Return the encoding of text files that a schema declares."""
    return None if schema is None else schema.encoding
