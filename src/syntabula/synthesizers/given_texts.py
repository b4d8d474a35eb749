"""Given cells of columns that come out as texts keep their spelling, such as 3.40."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from syntabula.table.raw import RawColumn, RepeatedTexts
from syntabula.table.read import read
from syntabula.table.schema.columns import Identifier, Numeric
from syntabula.table.schema.schema import Schema

Draw = Callable[[int, int, np.random.Generator], dict[str, RawColumn]]


def as_spelled(draw: Draw, given: Mapping[str, RawColumn], source: Any, schema: Schema) -> Draw:
    """Return a draw whose given cells of numbers with texts beside them are the texts that were given.

    Args:
        draw: Draws rows, with the given columns as numbers.
        given: The given columns, as the schema reads them.
        source: The given table.
        schema: The released columns.
    """
    mixed = [name for name in given if isinstance(column := schema[name], Numeric) and column.texts]
    if not mixed:
        return draw
    # Cells of identifiers are read as they are written.
    read_as_texts = read(source, Schema({name: Identifier(nullable=True) for name in mixed}, others="find"))
    texts = {
        name: RawColumn(
            RepeatedTexts.of(raw.values.tolist(), raw.missing),
            given[name].missing & ~_held(given[name]),
            raw.physical,
        )
        for name in mixed
        if (raw := read_as_texts.columns[name]).physical.kind == "text"
    }

    def drawn(start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        return draw(start, stop, rng) | {
            name: column.take(slice(start, stop)) for name, column in texts.items()
        }

    return drawn


def _held(column: RawColumn) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which cells hold a text in place of a number."""
    return np.zeros(column.missing.size, np.bool_) if column.beside is None else column.beside.places > 0
