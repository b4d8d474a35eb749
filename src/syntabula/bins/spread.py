"""How values lie within bins (evenly, or as truncated normal distributions), and cutting bins into parts."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.errors import SchemaError

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
    ends = np.array(bins.edges[:-1], dtype=np.int64 if bins.integer else np.float64)
    if not bins.integer and math.nextafter(float(ends[-1]), math.inf) == bins.edges[-1]:
        ends[-1] = bins.edges[-1]
    return ends


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
