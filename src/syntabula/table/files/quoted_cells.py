"""Whether delimited files put all of their cells in quotes: known where privacy is off, as each record decides it."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from syntabula.table.database import connection, interruptible, quoted
from syntabula.table.files.formats import file_format
from syntabula.table.files.text_reader import text_reader
from syntabula.table.raw import Dialect, Origin


def with_quotes(origin: Origin, source: object) -> Origin:
    """Return the origin with the quotes of all cells, if all of its files have them; those of no quoted header have none.

    A cell that holds the end of a line ends the search, so that its file counts as one of texts in quotes.

    Args:
        origin: Where a table came from.
        source: The table as it was given.
    """
    dialect = origin.dialect
    if dialect is None or not dialect.quoted or not isinstance(source, str | os.PathLike):
        return origin
    from syntabula.table.parts.files import listed

    paths = listed(os.path.abspath(os.fspath(source)))
    every = all(_is_quoted(path, dialect) for path in paths)
    return replace(origin, dialect=replace(dialect, every=True)) if every else origin


def _is_quoted(path: str, dialect: Dialect) -> bool:
    """Return whether all lines of a file are of cells in quotes."""
    cell = '"([^"]|"")*"'
    every = f"{cell}({re.escape(dialect.delimiter)}{cell})*"
    compression = file_format(path).compression
    with connection() as database, text_reader(database, path, compression, dialect.encoding) as reader:
        lines = reader.source("\x01", quote="", names=["line"], header=True)
        query = f"SELECT 1 FROM {lines} WHERE NOT regexp_full_match(line, {quoted(every)}) LIMIT 1"
        return not interruptible(database, lambda: database.execute(query).fetchall())
