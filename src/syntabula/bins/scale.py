"""The scale of a column whose range spans decades: even around its centre, logarithmic further out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import multiples_at
from syntabula.bins.uniform import Bins, UniformBins

LEAST_SPAN = 10_000
"""A range that is at least this many units wide spans decades."""

CELLS = 4096
"""Largest number of cells. Beside 270 units on either side of the centre, a cell is less than half a percent wide."""

LONGEST = math.log(2)
"""Length on the logarithmic part of a scale above which an outermost bin is cut: a doubling."""

_INSIDE = 0.75
"""Part of the scale within the usual range, if one is declared."""


@dataclass(frozen=True)
class Scale:
    """A map from a range to an even scale, s(x), made of public facts alone.

    With t = (x - centre) / half, s is `stretch` * t for |t| up to 1, and `stretch` + log |t| beyond, with the sign of t.
    Its cells have about equal lengths in s, and whole numbers as ends in a column of integers.

    Attributes:
        lower: Lower end of the range.
        upper: Upper end, above the lower one.
        integer: Whether the points of the range are integers.
        centre: The centre of the even part.
        half: Half of its width.
        stretch: Length of that half on the scale.
        edges: Ends of the cells, ascending, from the lower end to the upper one, or for integers to that plus 1.
    """

    lower: int | float
    upper: int | float
    integer: bool
    centre: float = 0.0
    half: float = 1.0
    stretch: float = 1.0
    edges: tuple[int, ...] | tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", (self.lower, *_inner_edges(self), self.upper + self.integer))

    @classmethod
    def of(
        cls,
        lower: int | float,
        upper: int | float,
        *,
        integer: bool,
        unit: float = 1.0,
        usual: tuple[float, float] | None = None,
    ) -> Scale | None:
        """Return the scale of a range; None if an even one is as good.

        Args:
            lower: Lower end.
            upper: Upper end.
            integer: Whether its points are integers.
            unit: How many points the number 1 has.
            usual: The part of the range that holds most values, if it is known.
        """
        if usual is not None and usual[0] < usual[1]:
            centre, half = (usual[0] + usual[1]) / 2, (usual[1] - usual[0]) / 2
            beyond = sum(math.log(max(abs(end - centre) / half, 1.0)) for end in (lower, upper))
            stretch = max(_INSIDE / (1 - _INSIDE) * beyond / 2, 1.0)
            return cls(lower, upper, integer, centre, half, stretch) if beyond else None
        if (float(upper) - float(lower)) / unit < LEAST_SPAN:
            return None
        # Integers are no finer than 1, whatever their unit.
        return cls(lower, upper, integer, half=max(unit, 1.0) if integer else unit)

    def at(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return s of values [n]."""
        t = (np.asarray(values, dtype=np.float64) - self.centre) / self.half
        far = np.sign(t) * (self.stretch + np.log(np.maximum(np.abs(t), 1.0)))
        found: NDArray[np.float64] = np.where(np.abs(t) <= 1, self.stretch * t, far)
        return found

    def steepness(self, value: float) -> float:
        """Return the derivative of s at a value."""
        return (
            self.stretch / self.half
            if abs(value - self.centre) <= self.half
            else 1 / abs(value - self.centre)
        )

    def back(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values [n] at places of the scale."""
        beyond = np.maximum(np.abs(places) - self.stretch, 0.0)
        t = np.where(beyond > 0, np.sign(places) * np.exp(beyond), places / self.stretch)
        found: NDArray[np.float64] = self.centre + self.half * t
        return found

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    def cells(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """Return the cell of each point [n] of the range, counted from 0."""
        return Bins(self.edges, integer=self.integer).codes(points)

    def bins(self, cells: Bins) -> Bins:
        """Return the bins of the range that hold the same points as bins of its cells."""
        edges = tuple(self.edges[int(e)] for e in cells.edges)
        return Bins(edges, integer=self.integer)

    def with_short_ends(self, cells: Bins, most: int) -> Bins:
        """Return bins of cells whose outermost ones are cut into doublings, without a look at what they hold.

        A bin of a few hundred records up to a far bound may span three powers of ten, and in a skewed column hold nearly
        all the variance. On either side bins are cut from the outside in, up to the first that is no longer than a
        doubling. The even part of the scale is left as it is.

        Args:
            cells: Bins of the cells.
            most: Largest number of further bins; if doublings are more, the cuts lie farther apart.
        """
        places = self.at(np.array(self.edges, dtype=np.float64))
        ends = places[[int(e) for e in cells.edges]]
        long: list[tuple[float, float]] = []
        for side in (1, -1):
            beyond = np.maximum(ends[::side] * side, self.stretch).tolist()
            outwards = takewhile(lambda b: b[1] - b[0] > LONGEST, reversed([*pairwise(beyond)]))
            long += [(side * inner, side * outer) for inner, outer in outwards]
        length = max(LONGEST, sum(abs(b - a) for a, b in long) / max(most, 1))
        cuts = [np.linspace(a, b, math.floor(abs(b - a) / length) + 2)[1:-1] for a, b in long]
        further = np.searchsorted(places, np.concatenate(cuts)).tolist() if cuts else []
        return Bins(tuple(sorted({*map(int, cells.edges), *further})), integer=True)


# A fit makes the scale of a column a few times.
@lru_cache(maxsize=16)
def _inner_edges(scale: Scale) -> list[Any]:
    """Return the edges of the cells of a scale between its ends, ascending."""
    first, end = scale.lower, scale.upper + scale.integer
    ends = scale.at(np.array([first, end], dtype=np.float64))
    inner = scale.back(np.linspace(ends[0], ends[1], CELLS + 1)[1:-1])
    # Zero begins a cell, and a cell of its own where only it is 0.
    cuts: list[Any] = [0, 1] if scale.integer else [0.0]
    cuts += [round(x) for x in inner.tolist()] if scale.integer else inner.tolist()
    return sorted({c for c in cuts if first < c < end})


def even_bins(count: int, lower: Any, upper: Any, *, integer: bool, scale: Scale | None) -> Bins:
    """Return at most `count` bins of equal width on a scale, or on that of the values if it is None.

    An integer domain with at most that many values has one bin per value.
    """
    if scale is None or (integer and int(upper) - int(lower) < count):
        return UniformBins(count).bins(lower, upper, integer=integer)
    return scale.bins(UniformBins(count).bins(0, scale.size - 1, integer=True))


def parts_of(
    bins: Bins, code: int, ranks: NDArray[np.float64], scale: Scale | None, unit: Fraction | None = None
) -> list[int] | list[float]:
    """Return the edges of the parts of a bin.

    Args:
        bins: The bins.
        code: Which of them.
        ranks: Where it is cut on the scale, from 0 to 1; there are fewer cuts in a bin of few points.
        scale: The scale; None for the values themselves.
        unit: Cuts are multiples of this number; None for any.
    """
    low, high = bins.edges[code], bins.edges[code + 1]
    ends = np.array([low, high], dtype=np.float64)
    if scale is not None:
        ends = scale.at(ends)
    inner = ends[0] * (1 - ranks) + ends[1] * ranks
    if scale is not None:
        inner = scale.back(inner)
    if unit is not None:
        inner = multiples_at(np.rint(inner / float(unit)).astype(np.int64), unit, integer=bins.integer)
    cuts: Any = [round(x) for x in inner.tolist()] if bins.integer else inner.tolist()
    return [low, *sorted({c for c in cuts if low < c < high}), high]
