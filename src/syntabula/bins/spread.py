"""Truncated normal distributions within bins."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError

LEAST_COUNT = 10
LEAST_DEVIATION = 0.01
MOST_DEVIATION = 1.0
_BEYOND = 81.0
_NARROW = 1e-6
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class Spread:
    """For each bin, where its values lie: a normal distribution cut off at the ends of the bin.

    Attributes:
        means: Mean of each bin from 0 (lower end) to 1 (upper end).
        deviations: Standard deviation of each bin in widths of the bin, 0.01 to 1; 0 for even values.
        parts: Where each bin begins in a wider one, which its mean and deviation are of, and how wide it is, both in
            widths of that; None if the bins were not cut.

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
            raise SchemaError("a spread has one mean and one deviation per bin")
        if not all(0 <= m <= 1 for m in self.means):
            raise SchemaError("the means of a spread lie between 0 and 1")
        if not all(d == 0 or LEAST_DEVIATION <= d <= MOST_DEVIATION for d in self.deviations):
            raise SchemaError(
                f"the deviations of a spread are 0 or from {LEAST_DEVIATION} to {MOST_DEVIATION}"
            )

    def places(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw [n] places from 0 up to, but not including, 1 within the bins of [n] codes."""
        means, deviations = np.array(self.means), np.array(self.deviations)
        if self.parts is not None:
            return self._places_in_parts(codes, rng)
        drawn = rng.random(codes.size)
        open_places = np.flatnonzero(deviations[codes] > 0)
        # Rejection: with the mean inside and a deviation of at most 1, a third of the draws stay inside.
        while open_places.size:
            which = codes[open_places]
            tries = means[which] + deviations[which] * rng.standard_normal(which.size)
            inside = (tries >= 0) & (tries < 1)
            drawn[open_places[inside]] = tries[inside]
            open_places = open_places[~inside]
        return drawn

    def shares(self) -> NDArray[np.float64]:
        """Return the probability of each part within the wider bin that it is of [bins]."""
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
        """Draw evenly and reject, within so many deviations that no float64 would show what is beyond."""
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
    """Return the probability that a standard normal number lies between two, exactly in either tail."""
    if width < _NARROW:
        return width * math.exp(-((low + width / 2) ** 2) / 2) / math.sqrt(2 * math.pi)
    below = -low if low <= 0 else low + width
    above = low + width if low <= 0 else -low
    return (math.erfc(-above / math.sqrt(2)) - math.erfc(below / math.sqrt(2))) / 2
