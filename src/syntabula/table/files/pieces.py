"""Iterate over the pieces of a table so that each is freed before the next one is made, or concatenate them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from syntabula.table.raw import RawColumn, RepeatedTexts, joined

PieceT = TypeVar("PieceT")


def drained(begun: list[PieceT], rest: Iterator[PieceT]) -> Iterator[PieceT]:
    """Yield the pieces that were already taken, removing them from their list, then the others."""
    while begun:
        yield begun.pop(0)
    yield from rest


def release_each(work: Callable[[PieceT], object], pieces: Iterator[PieceT]) -> None:
    """Call a function with each piece; a plain loop would keep the last piece while the next is made."""
    deque(map(work, pieces), maxlen=0)


def together(pieces: Iterator[Mapping[str, RawColumn]], n_rows: int) -> dict[str, RawColumn]:
    """Concatenate the pieces of a table, in arrays that are allocated once and filled as pieces arrive.

    Args:
        pieces: At least one; all have the same columns and types, and no unreadable cells.
        n_rows: Their total number of rows.
    """
    first = next(pieces)
    if all(column.missing.size == n_rows for column in first.values()):
        return dict(first)
    whole = {
        name: RawColumn(
            np.empty(n_rows, column.values.dtype),
            np.empty(n_rows, np.bool_),
            column.physical,
            beside=column.beside
            and RepeatedTexts(column.beside.distinct, np.empty(n_rows, column.beside.places.dtype)),
        )
        for name, column in first.items()
        if not isinstance(column.cells, RepeatedTexts)
    }
    # Joined at the end, when all texts are known; the positions of their cells are small.
    texts: dict[str, list[RawColumn]] = {name: [] for name in first if name not in whole}
    start = 0

    def fill(piece: Mapping[str, RawColumn]) -> None:
        nonlocal start
        stop = start
        for name, column in piece.items():
            stop = start + column.missing.size
            if name in texts:
                texts[name].append(column)
                continue
            assert column.values.dtype == whole[name].values.dtype
            whole[name].values[start:stop] = column.values
            whole[name].missing[start:stop] = column.missing
            if (beside := whole[name].beside) is not None and column.beside is not None:
                beside.places[start:stop] = column.beside.places
        start = stop

    release_each(fill, drained([first], pieces))
    return {name: whole[name] if name in whole else _joined(texts[name]) for name in first}


def _joined(columns: list[RawColumn]) -> RawColumn:
    missing = np.concatenate([column.missing for column in columns])
    return RawColumn(joined([column.cells for column in columns]), missing, columns[0].physical)
