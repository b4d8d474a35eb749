"""Rows written into places of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syntabula.table.raw import RawColumn, RepeatedTexts, joined


def place(
    found: dict[str, RawColumn],
    rows: Mapping[str, RawColumn],
    places: NDArray[np.intp],
    sources: NDArray[np.intp],
) -> None:
    """Write some rows into places of a table, whose columns must be its own."""
    for name, column in rows.items():
        own = found[name]
        own.missing[places] = column.missing[sources]
        if own.beside is not None and column.beside is not None:
            own.beside.places[places] = column.beside.places[sources]
        if isinstance(own.cells, RepeatedTexts):
            order = np.arange(own.missing.size)
            order[places] = own.missing.size + sources
            found[name] = replace(own, cells=joined([own.cells, column.cells])[order])
        else:
            own.cells[places] = column.values[sources]
