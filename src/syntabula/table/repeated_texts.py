"""Texts of which many are equal: each distinct one is held once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedTexts:
    """The texts of a column as Arrow's dictionaries hold them, in one to four bytes a cell.

    Attributes:
        distinct: Texts as objects (str) [k], no two of them equal; at least one if there is a cell.
        places: For each cell, the position of its text among them [n], in any type of integers; arbitrary where the cell
            is missing.
    """

    distinct: NDArray[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, texts: Iterable[str | None], missing: NDArray[np.bool_]) -> RepeatedTexts:
        """Find the distinct texts of a column [n], in the order in which they first occur.

        Args:
            texts: The text of each cell; anything where it is missing.
            missing: True where a cell is missing [n].
        """
        position: dict[str, int] = {}
        cells = zip(texts, missing.tolist(), strict=True)
        found = (
            0 if gap or text is None else position.setdefault(text, len(position)) for text, gap in cells
        )
        places = np.fromiter(found, np.int64, count=missing.size)
        return cls.placed([*position], places)

    @classmethod
    def placed(cls, distinct: Sequence[str], places: NDArray[Any]) -> RepeatedTexts:
        """Return texts by their positions [n] among distinct ones [k], in the narrowest type of integers.

        Args:
            distinct: Distinct texts; none if every cell is missing.
            places: Positions, valid where a cell is not missing and k is not 0.
        """
        known = np.empty(max(len(distinct), 1), dtype=object)
        known[:] = distinct or [""]
        return cls(known, places.astype(np.min_scalar_type(known.size - 1), copy=False))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells, as an array of one dimension says it."""
        return self.places.shape

    def texts(self) -> NDArray[Any]:
        """Return the text of each cell as an object [n]; equal texts are one object."""
        found: NDArray[Any] = self.distinct[self.places]
        return found

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> RepeatedTexts:
        return RepeatedTexts(self.distinct, self.places[rows])

    def __repr__(self) -> str:
        return "RepeatedTexts()"


def joined(parts: Sequence[NDArray[Any] | RepeatedTexts]) -> NDArray[Any] | RepeatedTexts:
    """Concatenate the cells of a column's parts; texts stay repeated if those of all parts are."""
    repeated = [part for part in parts if isinstance(part, RepeatedTexts)]
    if len(repeated) < len(parts):
        return np.concatenate([p.texts() if isinstance(p, RepeatedTexts) else p for p in parts])
    position: dict[str, int] = {}
    placed = []
    for part in repeated:
        own = [position.setdefault(text, len(position)) for text in part.distinct.tolist()]
        placed.append(np.array(own, dtype=np.min_scalar_type(max(len(position) - 1, 0)))[part.places])
    return RepeatedTexts.placed([*position], np.concatenate(placed))
