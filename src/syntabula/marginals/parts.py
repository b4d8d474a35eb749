"""The seam between exact questions and where records lie: a fold over parts, whose state is arrays of integers.

A part holds some records as they are, and each record lies in one part. The seam protects nothing: its states are
exact, so only the curators of `privacy` ask for one, and answer with noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain, EncodedTable, code_dtype

State = dict[str, NDArray[Any]]
"""Arrays of integers by name."""

PartT = TypeVar("PartT")
PartT_co = TypeVar("PartT_co", covariant=True)
AskedT = TypeVar("AskedT", contravariant=True)


class Fold(ABC, Generic[AskedT]):
    """Adds up records part by part.

    A fold is made of public facts and released values, is never changed, and can be pickled, so that it runs where
    the records lie. Its sums are exact, so neither the order of parts nor where they are cut changes the result.
    """

    @abstractmethod
    def start(self) -> State:
        """Return the state of no records."""

    @abstractmethod
    def add(self, state: State, part: AskedT) -> None:
        """Add the records of a part to a state, in place."""

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records to a state, in place; by default the sum of their arrays."""
        for name, array in other.items():
            state[name] += array


class RowParts(Protocol[PartT_co]):
    """Records in parts, wherever they lie; only curators ask them."""

    @property
    def states_at_once(self) -> int:
        """How many states of one fold are in memory at once."""
        ...

    def fold(self, fold: Fold[PartT_co]) -> State:
        """Return the state of all records, in one pass."""
        ...

    def pieces(self) -> Iterator[PartT_co]:
        """Yield the records piece by piece, in this process, in one pass."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class HeldParts(Generic[PartT]):
    """Parts in memory, folded one after the other."""

    parts: tuple[PartT, ...]

    @property
    def states_at_once(self) -> int:
        """One: parts are added to the same state."""
        return 1

    def fold(self, fold: Fold[PartT]) -> State:
        """Return the state of all records."""
        state = fold.start()
        for part in self.parts:
            fold.add(state, part)
        return state

    def pieces(self) -> Iterator[PartT]:
        """Yield the parts."""
        yield from self.parts


CHUNK_ROWS = 65_536
"""Rows whose keys are computed at once; the keys (0.6 MB) stay in the cache."""

HELD_VALUES = 2**18
"""Distinct values of a column that are held, with their counts (4 MB); of more, only what is asked is counted."""

BYTES_PER_KEY = 32
"""Two keys being computed, the final one as an index, and the one of the chunk before."""


@dataclass(frozen=True)
class CountFold(Fold[EncodedTable]):
    """Counts joint histograms of encoded records.

    Attributes:
        domain: Columns and sizes of the records.
        blocks: The columns of each histogram, in the order of the domain.
    """

    domain: Domain
    blocks: tuple[Clique, ...]

    def start(self) -> State:
        """Return a histogram of zeros for each block, by its position."""
        return {
            str(i): np.zeros(self.domain.cells(block), dtype=np.int64) for i, block in enumerate(self.blocks)
        }

    def add(self, state: State, part: EncodedTable) -> None:
        """Count the records of a part."""
        for position, block in enumerate(self.blocks):
            counts = state[str(position)]
            for keys in _keys(part, block):
                np.add.at(counts, keys, 1)  # in place; np.bincount would allocate a histogram for every chunk

    def histograms(self, state: State) -> list[NDArray[np.int64]]:
        """Return the histogram of each block, one axis per column."""
        return [state[str(i)].reshape(self.domain.shape(block)) for i, block in enumerate(self.blocks)]


def _keys(part: EncodedTable, block: Clique) -> Iterator[NDArray[np.intp]]:
    """Yield the cell of each row [rows of a chunk], chunk by chunk."""
    domain = part.domain
    # A column of one code does not move the cell; without it every factor fits the type of the key.
    columns = [(part.column(c), domain.size(c)) for c in block if domain.size(c) > 1]
    for start in range(0, part.n_rows, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, part.n_rows)
        key: NDArray[np.unsignedinteger] = np.zeros(stop - start, dtype=np.uint8)
        cells = 1
        for codes, size in columns:
            if cells == 1:
                key = codes[start:stop]
            else:
                key = np.multiply(key, size, dtype=code_dtype(cells * size))
                key += codes[start:stop]
            cells *= size
        yield key.astype(np.intp)
