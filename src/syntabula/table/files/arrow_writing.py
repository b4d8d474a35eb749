"""Raw columns to an Arrow file, in one piece or many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from syntabula._extras import require
from syntabula.table.files.pieces import drained, release_each
from syntabula.table.frames.arrow_columns import make_array
from syntabula.table.raw import RawColumn

_ROWS_OF_A_BATCH = 65_536
"""What `pyarrow.feather` writes by default."""


def write_arrow(parts: Iterable[Mapping[str, RawColumn]], path: str) -> None:
    """Write an Arrow file, compressed by LZ4, from the pieces of a table; at least one.

    Such a file holds the categories of a column once and before its first row. Several pieces are therefore
    gathered in a file beside the target until all categories are known, so that memory is that of a few pieces.
    """
    arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
    tables = map(_table, parts)
    begun = list(islice(tables, 2))
    lz4 = ipc.IpcWriteOptions(compression="lz4")
    if len(begun) == 1:
        with ipc.new_file(path, begun[0].schema, options=lz4) as writer:
            writer.write_table(begun[0], max_chunksize=_ROWS_OF_A_BATCH)
        return
    gathered = f"{path}.parts"
    try:
        categories = _gather(drained(begun, tables), gathered, begun[0].schema)
        # Read as a file and not mapped into memory, where each page that was read would count.
        with (
            arrow.OSFile(gathered, "rb") as source,
            ipc.open_stream(source) as pieces,
            ipc.new_file(path, categories.schema, options=lz4) as writer,
        ):
            for piece in pieces:
                united = _united(categories, arrow.Table.from_batches([piece]))
                writer.write_table(united.combine_chunks(), max_chunksize=_ROWS_OF_A_BATCH)
    finally:
        if os.path.lexists(gathered):
            os.unlink(gathered)


def _table(columns: Mapping[str, RawColumn]) -> Any:
    return require("pyarrow", "arrow").table({n: make_array(c) for n, c in columns.items()})


def _gather(tables: Iterator[Any], path: str, schema: Any) -> Any:
    """Write pieces to a stream; return a table without rows that has the categories of all of them."""
    arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
    categories = schema.empty_table()

    def keep(table: Any) -> None:
        nonlocal categories
        categories = _united(categories, table.slice(0, 0)).slice(0, 0)
        writer.write_table(table, max_chunksize=_ROWS_OF_A_BATCH)

    with arrow.OSFile(path, "wb") as sink, ipc.new_stream(sink, schema) as writer:
        release_each(keep, tables)
    return categories


def _united(categories: Any, table: Any) -> Any:
    """Return a table whose categories are those given, followed by any of its own that are new."""
    return require("pyarrow", "arrow").concat_tables([categories, table]).unify_dictionaries()
