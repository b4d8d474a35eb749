"""Texts in memory to raw columns of the kinds that a schema declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syntabula.table.files.declared_cells import read_declared, written_cells
from syntabula.table.frames.duckdb_columns import connection, in_order
from syntabula.table.frames.object_columns import object_array
from syntabula.table.interrupts import interruptible
from syntabula.table.raw import RawColumn
from syntabula.table.schema.schema import Schema


def read_texts(texts: Mapping[str, Sequence[str | None]], schema: Schema) -> tuple[dict[str, RawColumn], int]:
    """Read columns of text as `declared_cells` says.

    Args:
        texts: The cells of each column [n], None where there is nothing.
        schema: Declares the columns.

    Returns:
        The columns, and the number of rows.
    """
    arrays, selected = {}, []
    for i, cells in enumerate(texts.values()):
        arrays[f"v{i}"] = object_array([text or "" for text in cells])
        arrays[f"m{i}"] = np.fromiter((text is None for text in cells), np.bool_, count=len(cells))
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE v{i}::VARCHAR END")
    with connection() as database:
        in_order(database)
        database.register("texts", arrays)
        database.execute(
            f"CREATE TABLE cells AS SELECT {written_cells(selected, [*texts], schema)} FROM texts"
        )
        return interruptible(database, lambda: read_declared(database, [*texts], schema))
