"""Columns that are stored otherwise than a schema declares them, or in no type at all, read as it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syntabula._warnings import warn_caller
from syntabula.errors import CoercionWarning
from syntabula.table.frames.stored_values import (
    distinct_values,
    is_read_by_meaning,
    is_without_zone,
    text_of,
    without_empty,
)
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.columns import Column
from syntabula.table.schema.schema import Schema, listed


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose declared columns are of the kinds that the schema declares, however they are stored.

    The stored type of a column is what its library made of all cells: one of them may turn whole numbers into floats,
    texts or objects. Where a column is not of a kind that its declaration reads, each cell is therefore read on its own,
    by what it would be as text in a file (see `stored_values` and `declared_cells`); what has no such text, or none that
    the declaration reads, is unreadable. No stored type is refused, as the refusal would tell of the cell that made it.

    The origin keeps the stored types of the other columns alone: what comes out of the declared ones follows from
    their declaration (see `output_types`).
    """
    declared = {name: column for name, column in schema.columns.items() if name in table.columns}
    if not table.origin.is_text:
        found = {name: without_empty(table.columns[name], column) for name, column in declared.items()}
        table = replace(table, columns=table.columns | found)
    read = {name: column for name, column in declared.items() if not _is_kept(table, name, column)}
    _warn_of_zones([n for n, c in read.items() if table.columns[n].physical.timezone and is_without_zone(c)])
    columns = table.columns | _read_as_texts(table, read)
    stored = {name: p for name, p in table.origin.physical.items() if name not in schema}
    return replace(table, columns=columns, origin=replace(table.origin, physical=stored))


def _warn_of_zones(names: list[str]) -> None:
    if names:
        warn_caller(
            CoercionWarning(
                f"column {listed(names)}: times are stored with a time zone, which is left out, and count as its clock "
                "shows them; to keep it, declare them as datetime with a timezone"
            )
        )


def _is_kept(table: RawTable, name: str, column: Column) -> bool:
    physical = table.columns[name].physical
    # The cells of a file of text were read as declared before.
    guessed = physical.kind == "text" and not table.origin.is_text
    return column.objection(physical) is None and not (guessed and is_read_by_meaning(column))


def _read_as_texts(table: RawTable, declared: Mapping[str, Column]) -> dict[str, RawColumn]:
    """Read columns by their texts, each distinct one once."""
    from syntabula.table.files.declared_cells import read_texts

    texts: dict[str, list[str | None]] = {}
    rows: dict[str, NDArray[np.intp]] = {}
    for name, column in declared.items():
        raw = table.columns[name]
        values, places = distinct_values(raw)
        written = [*map(text_of(column), values)]
        # The first is that of missing cells, and of those without a text.
        texts[name] = [*dict.fromkeys([None, *written])]
        position = {text: row for row, text in enumerate(texts[name])}
        rows[name] = np.zeros(raw.missing.size, dtype=np.intp)
        rows[name][~raw.missing] = np.array([position[text] for text in written], dtype=np.intp)[places]
    longest = max(map(len, texts.values()), default=0)
    filled = {name: [*found, *[None] * (longest - len(found))] for name, found in texts.items()}
    read = read_texts(filled, Schema(declared))[0] if filled else {}
    return {name: _placed(read[name], rows[name], table.columns[name]) for name in read}


def _placed(read: RawColumn, rows: NDArray[np.intp], raw: RawColumn) -> RawColumn:
    """Return the cells of a column, each as it was read in its row, and which of them are unreadable."""
    unreadable = (rows == 0) & ~raw.missing
    for marks in (raw.unreadable, None if read.unreadable is None else read.unreadable[rows]):
        unreadable = unreadable if marks is None else unreadable | marks
    return replace(read.take(rows), unreadable=unreadable if unreadable.any() else None)
