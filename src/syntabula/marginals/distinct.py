"""The distinct values of a column with how often each occurs, and how those of several parts are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class CountedPoints:
    """Values with the number of records of each (sensitive).

    Attributes:
        values: [n] numbers, in any order; one may occur several times.
        counts: [n] numbers of records, at least 1, as int64.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[Any]) -> CountedPoints:
        """Return the distinct values of an array, in ascending order."""
        found, counts = np.unique(values, return_counts=True)
        return cls(found, counts.astype(np.int64))

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> CountedPoints:
        """Return what a function of each value gives."""
        return CountedPoints(function(self.values), self.counts)

    def where(self, kept: NDArray[np.bool_]) -> CountedPoints:
        """Return the values under a mask [n]."""
        return CountedPoints(self.values[kept], self.counts[kept])

    def ascending(self) -> CountedPoints:
        """Return each value once, in ascending order."""
        order = np.argsort(self.values, kind="stable")
        values, counts = self.values[order], self.counts[order]
        if not values.size:
            return CountedPoints(values, counts)
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        return CountedPoints(values[first], np.add.reduceat(counts, first))

    def joined(self, other: CountedPoints) -> CountedPoints:
        """Return the values of this part and another, each once and in ascending order."""
        values = np.concatenate([self.values, other.values])
        return CountedPoints(values, np.concatenate([self.counts, other.counts])).ascending()
