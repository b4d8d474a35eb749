"""Going through the pieces of a table so that each is let go before the next one is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

PieceT = TypeVar("PieceT")


def drained(begun: list[PieceT], rest: Iterator[PieceT]) -> Iterator[PieceT]:
    """Give the pieces that were taken already, and empty their list in doing so, then the others."""
    while begun:
        yield begun.pop(0)
    yield from rest


def release_each(work: Callable[[PieceT], object], pieces: Iterator[PieceT]) -> None:
    """Call a function with each piece; a plain loop would hold the last piece while the next is made."""
    deque(map(work, pieces), maxlen=0)
