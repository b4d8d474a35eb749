"""Bins over one ordered column, the uniform ones among them, how values lie within bins, and cutting bins into parts."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
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
        # Wide tables have a million edges.
        if len(edges) < 2 or {*map(type, edges)} != {wanted} or not all(map(math.isfinite, edges)):
            raise SchemaError(f"bins need at least two finite edges of type {wanted.__name__}")
        constant = len(edges) == 2 and not self.integer and edges[0] == edges[1]
        if not constant and any(map(operator.ge, edges, edges[1:])):
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


LEAST_COUNT = 10
LEAST_DEVIATION = 0.01
MOST_DEVIATION = 1.0
_BEYOND = 81.0
_NARROW = 1e-6
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class Spread:
    """The distribution of values within each bin: normal, truncated at the ends of the bin.

    Attributes:
        means: Mean of each bin from 0 (lower end) to 1 (upper end).
        deviations: Standard deviation of each bin in widths of the bin, 0.01 to 1; 0 for a uniform distribution.
        parts: If bins were cut: start and width of each bin within the wider bin that its mean and deviation
            describe, both in widths of the wider bin; else None.

    Raises:
        SchemaError: If lengths differ or a number is outside its range.
    """

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    parts: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", tuple(map(float, self.means)))
        object.__setattr__(self, "deviations", tuple(map(float, self.deviations)))
        if len(self.means) != len(self.deviations):
            raise SchemaError("a spread needs one mean and one deviation for each bin")
        if not all(0 <= m <= 1 for m in self.means):
            raise SchemaError("the means of a spread must lie between 0 and 1")
        if not all(d == 0 or LEAST_DEVIATION <= d <= MOST_DEVIATION for d in self.deviations):
            raise SchemaError(
                f"the deviations of a spread must be 0, or from {LEAST_DEVIATION} to {MOST_DEVIATION}"
            )

    def places(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw [n] places in [0, 1) within the bins of [n] codes."""
        means, deviations = np.array(self.means), np.array(self.deviations)
        if self.parts is not None:
            return self._places_in_parts(codes, rng)
        drawn = rng.random(codes.size)
        open_places = np.flatnonzero(deviations[codes] > 0)
        # Rejection sampling: with the mean inside and a deviation of at most 1, a third of the draws stay inside.
        while open_places.size:
            which = codes[open_places]
            tries = means[which] + deviations[which] * rng.standard_normal(which.size)
            inside = (tries >= 0) & (tries < 1)
            drawn[open_places[inside]] = tries[inside]
            open_places = open_places[~inside]
        return drawn

    def shares(self) -> NDArray[np.float64]:
        """Return the probability of each part within its wider bin [bins]."""
        assert self.parts is not None
        found = []
        for mean, deviation, (start, width) in zip(self.means, self.deviations, self.parts, strict=True):
            if deviation == 0:
                found.append(width)
                continue
            inside = _mass((start - mean) / deviation, width / deviation)
            found.append(inside / _mass(-mean / deviation, 1 / deviation))
        return np.array(found)

    def _places_in_parts(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw by rejection, within so many deviations that the rest is below float64 precision."""
        starts, widths = np.array(self.parts, dtype=np.float64).T
        deviations = np.array(self.deviations)
        even = deviations == 0
        scale = np.where(even, 1.0, deviations)
        low, width = (starts - np.array(self.means)) / scale, widths / scale
        nearest = np.clip(0.0, low, low + width)
        reach = np.where(even, np.inf, np.sqrt(nearest**2 + _BEYOND))
        first, last = np.maximum((-reach - low) / width, 0.0), np.minimum((reach - low) / width, 1.0)
        places = np.zeros(codes.size)
        open_places = np.arange(codes.size)
        while open_places.size:
            which = codes[open_places]
            tries = first[which] + (last - first)[which] * rng.random(which.size)
            heights = np.exp((nearest[which] ** 2 - (low[which] + width[which] * tries) ** 2) / 2)
            accepted = even[which] | (rng.random(which.size) < heights)
            places[open_places[accepted]] = tries[accepted]
            open_places = open_places[~accepted]
        return np.clip(places, 0.0, _BELOW_ONE)


def _mass(low: float, width: float) -> float:
    """Return the probability that a standard normal number lies between two numbers, accurate in both tails."""
    if width < _NARROW:
        return width * math.exp(-((low + width / 2) ** 2) / 2) / math.sqrt(2 * math.pi)
    below = -low if low <= 0 else low + width
    above = low + width if low <= 0 else -low
    return (math.erfc(-above / math.sqrt(2)) - math.erfc(below / math.sqrt(2))) / 2


def normal_within(bins: Bins, spread: Spread, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Draw one value per code from the truncated normal distribution of its bin; see `uniform_within`."""
    index = np.asarray(codes, dtype=np.intp)
    places = spread.places(index, rng)
    if not bins.integer:
        return _floats_at(bins, index, places)
    lower, last = int(bins.edges[0]), int(bins.edges[-1]) - 1
    starts = [int(e) - lower for e in bins.edges]
    first = np.array(starts[:-1], dtype=np.uint64)[index]
    most = np.array([b - a - 1 for a, b in itertools.pairwise(starts)], dtype=np.uint64)[index]
    # In a bin wider than 2^53, a float64 place cannot reach every integer; it only rounds the value.
    steps = np.minimum((places * (most.astype(np.float64) + 1)).astype(np.uint64), most)
    return (first + steps + np.uint64(lower % 2**64)).view(integer_dtype(lower, last))


def uniform_within(bins: Bins, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Draw one value per code, uniformly inside its bin.

    Integer bins draw among the integers of the bin, because rounding a real draw could leave the bin. The codes
    of the values are the codes given.

    Args:
        bins: Bins of the column.
        codes: [n] codes from 0 to bins.size - 1.
        rng: Source of ordinary randomness; drawing values is post-processing and protects nothing.

    Returns:
        [n] values: float64, or for integer bins int64 where the bounds allow it, else uint64.
    """
    index = np.asarray(codes, dtype=np.intp)
    return _integers_within(bins, index, rng) if bins.integer else _floats_within(bins, index, rng)


def _integers_within(bins: Bins, index: NDArray[np.intp], rng: np.random.Generator) -> NDArray[Any]:
    lower, last = int(bins.edges[0]), int(bins.edges[-1]) - 1
    starts = [int(e) - lower for e in bins.edges]
    first = np.array(starts[:-1], dtype=np.uint64)
    # Width minus one, because a single bin over all of uint64 is 2**64 wide.
    span = np.array([b - a - 1 for a, b in itertools.pairwise(starts)], dtype=np.uint64)
    if not span.any():
        offsets = first[index]
    else:
        offsets = first[index] + rng.integers(0, span[index], dtype=np.uint64, endpoint=True)
    # Wraps modulo 2**64, which is exact for signed values.
    return (offsets + np.uint64(lower % 2**64)).view(integer_dtype(lower, last))


def _floats_within(bins: Bins, index: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    return _floats_at(bins, index, rng.random(index.size))


def lower_ends(bins: Bins) -> NDArray[Any]:
    """Return the least value of each bin; the upper bound for a last bin that holds only one float beside it.

    That bin stands for the bound alone, as the last bin is closed.
    """
    kind = integer_dtype(int(bins.edges[0]), int(bins.edges[-1]) - 1) if bins.integer else np.float64
    ends = np.array(bins.edges[:-1], dtype=kind)
    if not bins.integer and math.nextafter(float(ends[-1]), math.inf) == bins.edges[-1]:
        ends[-1] = bins.edges[-1]
    return ends


def lone_values(bins: Bins | None) -> frozenset[float]:
    """Return the numbers of any precision that have a bin of their own; none of whole numbers, and none without bins."""
    if bins is None or bins.integer:
        return frozenset()
    pairs = zip(lower_ends(bins).tolist(), itertools.pairwise(bins.edges), strict=True)
    return frozenset(value for value, (low, high) in pairs if math.nextafter(low, math.inf) == high)


def _floats_at(bins: Bins, index: NDArray[np.intp], share: NDArray[np.float64]) -> NDArray[np.float64]:
    low = lower_ends(bins)
    high = np.array(bins.edges[1:], dtype=np.float64)
    # All bins but the last are open on the right.
    high[:-1] = np.nextafter(high[:-1], -np.inf)
    drawn = low[index] * (1 - share) + high[index] * share
    values: NDArray[np.float64] = np.clip(drawn, low[index], high[index]) + 0.0
    return values


@dataclass(frozen=True, eq=False)
class Parts:
    """Bins that were cut into parts.

    Attributes:
        bins: One bin per part.
        spread: How values lie within the parts; evenly if None.
        whole: The bin that each part belongs to [parts].
        shares: Probability that a value of that bin lies in the part [parts].
    """

    bins: Bins
    spread: Spread | None
    whole: NDArray[np.intp]
    shares: NDArray[np.float64]


def cut(bins: Bins, spread: Spread | None, cuts: Iterable[int | float]) -> Parts:
    """Cut bins into parts.

    Args:
        bins: The bins.
        spread: How values lie within them; evenly if None.
        cuts: Where new bins begin, strictly between the outer edges; existing edges are allowed.
    """
    old = list(bins.edges)
    new = sorted({*old, *cuts})
    if len(new) <= len(old):
        return Parts(bins, spread, np.arange(bins.size), np.ones(bins.size))
    whole = np.array([bisect.bisect_right(old, e, hi=len(old) - 1) - 1 for e in new[:-1]], dtype=np.intp)
    # Python integers are exact, even if a width exceeds 64 bits.
    widths = [b - a for a, b in itertools.pairwise(old)]
    parts = Bins(tuple(new), integer=bins.integer)
    of_each = list(zip(itertools.pairwise(new), whole.tolist(), strict=True))
    # Not the difference of two places, which is 0 for one integer among very many.
    portions = [(b - a) / widths[k] for (a, b), k in of_each]
    if spread is None:
        return Parts(parts, None, whole, np.array(portions))
    starts = [(a - old[k]) / widths[k] for (a, _), k in of_each]
    within = replace(
        spread,
        means=tuple(spread.means[k] for k in whole),
        deviations=tuple(spread.deviations[k] for k in whole),
        parts=tuple(zip(starts, portions, strict=True)),
    )
    return Parts(parts, within, whole, within.shares())
