"""Keys of several patterns, each for its share of the rows, such as N102UW beside N14228."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError
from syntabula.table.schema.key_patterns import KeyPattern, alternatives_of, hashed, shuffled

_BLOCK = 1000
"""Of so many rows on end, each pattern has its share, and at least one."""


@dataclass(frozen=True)
class KeyMixture:
    """Patterns of which no two have a key in common, with the interface of one pattern.

    Attributes:
        patterns: At least two.
        counts: How many of a block of rows have each; their sum is that of the block.
        column: Name of the column; see `KeyPattern`.
    """

    patterns: tuple[KeyPattern, ...]
    counts: tuple[int, ...]
    column: str = ""

    @classmethod
    def of(cls, patterns: Sequence[str], shares: Sequence[float] | None, column: str = "") -> Self:
        """Read patterns and their shares; raises SchemaError that says what is wrong with them."""
        if len(patterns) > _BLOCK:
            raise SchemaError(
                f"pattern joins {len(patterns):,} patterns, more than {_BLOCK:,}; leave out those of few rows"
            )
        read = tuple(KeyPattern.of(pattern, column) for pattern in patterns)
        for i, one in enumerate(read):
            if any(overlap(one, other) for other in read[:i]):
                raise SchemaError(
                    "two patterns joined by | have keys in common, which would repeat; keep one of them"
                )
        return cls(read, _counts(np.ones(len(read)) if shares is None else np.asarray(shares)), column)

    @property
    def n_keys(self) -> int:
        """How many rows have different keys: until one pattern has none left."""
        used = [p.n_keys // n for p, n in zip(self.patterns, self.counts, strict=True)]
        return min(used) * _BLOCK

    @property
    def is_number(self) -> bool:
        """Whether all keys are whole numbers; see `KeyPattern.is_number`."""
        return all(pattern.is_number for pattern in self.patterns)

    def fits(self, text: str) -> bool:
        """Return whether a text is one of the keys."""
        return any(pattern.fits(text) for pattern in self.patterns)

    def positions(self, first: int, n: int) -> NDArray[np.uint64]:
        """Return the positions [n] of new keys; raises SchemaError as `KeyPattern.positions`."""
        if first + n > self.n_keys:
            raise SchemaError(
                f"pattern has different keys for {self.n_keys:,} rows, and more are drawn; declare longer ones, say by "
                "`distinct` that keys repeat, or draw fewer rows"
            )
        return np.arange(first, first + n, dtype=np.uint64)

    def at(self, positions: NDArray[np.uint64]) -> list[str]:
        """Return the keys of some positions [n]; see `KeyPattern.at`."""
        found = np.empty(positions.size, dtype=object)
        for pattern, rows, own in self._divided(positions):
            found[rows] = pattern.at(own)
        keys: list[str] = found.tolist()
        return keys

    def numbers_at(self, positions: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the same keys as whole numbers [n], if all are."""
        found = np.empty(positions.size, dtype=np.int64)
        for pattern, rows, own in self._divided(positions):
            found[rows] = pattern.numbers_at(own)
        return found

    def _divided(
        self, positions: NDArray[np.uint64]
    ) -> list[tuple[KeyPattern, NDArray[np.intp], NDArray[np.uint64]]]:
        """Return each pattern, which of the positions have it, and their positions among its keys."""
        blocks, within = np.divmod(positions, np.uint64(_BLOCK))
        # Its order in a block depends on nothing but the block and the column.
        places = shuffled(within, _BLOCK, blocks ^ hashed(self.column)).astype(np.int64)
        ends = np.cumsum(self.counts)
        which = np.searchsorted(ends, places, side="right")
        parts = []
        for i, (pattern, count) in enumerate(zip(self.patterns, self.counts, strict=True)):
            rows = np.flatnonzero(which == i)
            own = blocks[rows] * np.uint64(count) + (places[rows] - (ends[i] - count)).astype(np.uint64)
            parts.append((pattern, rows, own))
        return parts


def keys_of(pattern: str, shares: Sequence[float] | None = None, column: str = "") -> KeyPattern | KeyMixture:
    """Read one pattern, or several joined by |; raises SchemaError that says what is not understood."""
    several = alternatives_of(pattern)
    if len(several) > 1:
        if "" in several:
            raise SchemaError(
                r"pattern has no characters on one side of a |; drop this |, or write \| for the character itself"
            )
        return KeyMixture.of(several, shares, column)
    return KeyPattern.of(pattern, column)


def _counts(shares: NDArray[np.float64]) -> tuple[int, ...]:
    """Return how many of a block of rows have each of some patterns: by their shares, and at least one."""
    # Scaled by a power of two, so that their sum is finite.
    weights = np.ldexp(shares, -int(np.frexp(shares.max())[1]))
    ends = np.rint(np.cumsum(weights / weights.sum()) * _BLOCK).astype(int)
    counts = np.diff(ends, prepend=0)
    while not counts.all():
        counts[np.argmin(counts)] += 1
        counts[np.argmax(counts)] -= 1
    return tuple(counts.tolist())


def overlap(one: KeyPattern, other: KeyPattern) -> bool:
    """Return whether two patterns have a key in common."""
    if len(one.places) != len(other.places):
        return False
    return all({*a} & {*b} for a, b in zip(one.places, other.places, strict=True))
