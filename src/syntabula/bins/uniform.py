"""Bins over one ordered column, and uniform bins: equal width, public, at no cost to the budget."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count as whole_number
from syntabula.errors import SchemaError

INT64_RANGE = (-(2**63), 2**63 - 1)
UINT64_RANGE = (0, 2**64 - 1)
MAX_BINS = 1_000_000
_MOST_LISTED = 2**20
"""Integers whose bins are listed: 8 MB."""


def integer_dtype(lower: int, upper: int) -> np.dtype[Any]:
    """Return the 64-bit type that holds every integer from lower to upper.

    Args:
        lower: Smallest integer.
        upper: Largest integer.

    Returns:
        int64 if it suffices, else uint64.

    Raises:
        SchemaError: If neither type holds both.
    """
    for dtype, (least, most) in ((np.int64, INT64_RANGE), (np.uint64, UINT64_RANGE)):
        if least <= lower and upper <= most:
            return np.dtype(dtype)
    raise SchemaError("the bounds do not fit a 64-bit integer, signed or unsigned; narrow them")


@dataclass(frozen=True)
class Bins:
    """Adjacent bins over an ordered domain, in ascending order.

    A discretisation method, private or not, only has to supply edges; coding and decoding follow from them.

    Attributes:
        edges: Number of bins + 1 ascending edges. Floats: bin i is [e_i, e_(i+1)), the last one is closed on
            the right; the two edges of a lone bin may be equal. Integers: bin i holds e_i .. e_(i+1) - 1, so
            that the last edge is the upper bound + 1.
        integer: Whether the bins hold integers (exact up to uint64) or floats.

    Raises:
        SchemaError: If the edges are too few, not finite, or not ascending.
    """

    edges: tuple[int, ...] | tuple[float, ...]
    integer: bool = False
    _cuts: NDArray[Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        edges = tuple(self.edges)
        object.__setattr__(self, "edges", edges)
        wanted = int if self.integer else float
        if len(edges) < 2 or any(type(e) is not wanted or not math.isfinite(e) for e in edges):
            raise SchemaError(f"bins need at least two finite edges of type {wanted.__name__}")
        constant = len(edges) == 2 and not self.integer and edges[0] == edges[1]
        if not constant and any(a >= b for a, b in itertools.pairwise(edges)):
            raise SchemaError("the edges of bins must ascend strictly")
        if self.integer:
            integer_dtype(int(edges[0]), int(edges[-1]) - 1)
            # Distances from the lower bound fit uint64, whatever the signs of the bounds.
            cuts: NDArray[Any] = np.array([int(e) - int(edges[0]) for e in edges[1:-1]], dtype=np.uint64)
        else:
            cuts = np.array(edges[1:-1], dtype=np.float64)
        object.__setattr__(self, "_cuts", cuts)

    @property
    def size(self) -> int:
        """Number of bins, at least 1."""
        return len(self.edges) - 1

    @property
    def cuts(self) -> tuple[int, ...] | tuple[float, ...]:
        """The inner edges; the two outer ones follow from the declared domain."""
        return self.edges[1:-1]

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each value.

        Args:
            values: [n] values inside the bounds; float64, or for integer bins the type of `integer_dtype`.

        Returns:
            [n] codes from 0 to size - 1.
        """
        if self.integer:
            values = self.offsets(values)
            span = int(self.edges[-1]) - int(self.edges[0])
            if span <= min(values.size, _MOST_LISTED):
                # The bin of each integer of the domain once, and not of each value.
                every = np.searchsorted(self._cuts, np.arange(span, dtype=np.uint64), side="right")
                return every.astype(np.int64, copy=False)[values]
        return np.searchsorted(self._cuts, values, side="right").astype(np.int64, copy=False)

    def offsets(self, values: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the exact distances [n] of 64-bit integers from the lower edge."""
        # Unsigned arithmetic wraps modulo 2**64, which makes the difference exact for signed values too.
        return values.view(np.uint64) - np.uint64(int(self.edges[0]) % 2**64)


class Discretizer(Protocol):
    """Chooses bins for one ordered column from its declared bounds."""

    def bins(self, lower: float, upper: float, *, integer: bool) -> Bins:
        """Return bins that cover exactly [lower, upper]; bounds are integers if `integer`."""
        ...


def check_bin_count(count: object) -> int:
    """Return a number of bins, or raise ArgumentError if it is not an integer from 1 to a million."""
    checked: int = whole_number(1, MAX_BINS)("bins", count)
    return checked


@dataclass(frozen=True)
class UniformBins:
    """Bins of equal width (tab_bench: 100 of them; "Discretization": 20), empty ones included.

    Attributes:
        count: Largest number of bins. An integer domain with at most that many values has one bin per value.
    """

    count: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", check_bin_count(self.count))

    def bins(self, lower: float, upper: float, *, integer: bool) -> Bins:
        """Return the bins of [lower, upper].

        Args:
            lower: Lower bound, an integer if `integer`.
            upper: Upper bound, at least `lower`; part of the domain.
            integer: Whether the domain holds only integers. The widths then differ by at most 1, exactly.

        Returns:
            At most `count` bins; fewer if the domain has too few integers or floats.
        """
        if integer:
            points = int(upper) - int(lower) + 1
            count = min(self.count, points)
            return Bins(tuple(int(lower) + i * points // count for i in range(count + 1)), integer=True)
        low, high = float(lower), float(upper)
        if low == high:
            return Bins((low, high))
        share = np.arange(1, self.count) / self.count
        # A weighted mean, because upper - lower may overflow; unique, because few floats may lie between.
        inner = np.unique(low * (1 - share) + high * share)
        inner = inner[(inner > low) & (inner < high)]
        return Bins((low, *inner.tolist(), high))
