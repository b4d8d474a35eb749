"""Values apart from the density around them: frequent ones, with bins of their own, and multiples of round numbers."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins, lower_ends, uniform_within
from syntabula.errors import SchemaError

NEAR = 0.25
"""A part between an atom and an edge joins the bin beyond the edge if it is narrower than this fraction of it."""


def with_atoms(bins: Bins, atoms: Sequence[int | float], unit: Fraction | None = None) -> Bins:
    """Return bins over the same domain in which each atom is alone.

    An atom cuts the bin that holds it, which leaves a part on either side. A part that is small beside the next bin joins
    that one, so most atoms cost one more code and few two.

    Args:
        bins: Bins of the other values.
        atoms: Values of the domain, in ascending order, each once.
        unit: All values are multiples of this number, except atoms. Edges are then multiples too, and the bin of an atom
            reaches up to the next multiple. None for any point of the grid, or any float.
    """
    first, end = bins.edges[0], bins.edges[-1]
    if first == end or (not atoms and unit is None):
        # A constant is an atom already, and without atoms nothing changes.
        return bins
    fixed: set[int | float] = set()
    for atom in atoms:
        following = _after(atom, unit, integer=bins.integer)
        fixed |= {atom, min(following, end)}
        # Bins of floats hold the end, which gets one of its own if it is an atom, or the next value after one.
        if not bins.integer and end in (atom, following):
            fixed.add(math.nextafter(end, -math.inf))
    fixed -= {first, end}
    around, alone = sorted({first, end, *fixed}), set(atoms)
    kept: list[int | float] = []
    for i in range(1, bins.size):
        edge = bins.edges[i] if unit is None else _multiple(bins.edges[i], unit, integer=bins.integer)
        if not first < edge < end:
            continue
        place = bisect.bisect_right(around, edge)
        below, above = around[place - 1], around[place]
        if edge == below or below in alone:
            continue
        before, after = bins.edges[i] - bins.edges[i - 1], bins.edges[i + 1] - bins.edges[i]
        joins_next = below in fixed and edge - below < NEAR * after
        joins_last = above in fixed and above - edge < NEAR * before
        if not joins_next and not joins_last:
            kept.append(edge)
    return Bins(tuple(sorted({*around, *kept})), integer=bins.integer)


def between_atoms(
    lower: int | float, upper: int | float, atoms: Sequence[int | float], *, integer: bool
) -> Bins:
    """Return bins that each begin at an atom, for a column that holds nothing else; see `Roundness.of_lower_ends`.

    Args:
        lower: Lower bound, from which a further bin reaches to the first atom.
        upper: Upper bound.
        atoms: Values of the domain, in ascending order, each once.
        integer: Whether the domain holds integers.
    """
    end = int(upper) + 1 if integer else float(upper)
    begins = [a if integer or a < upper else math.nextafter(upper, -math.inf) for a in atoms]
    return Bins(tuple(sorted({int(lower) if integer else float(lower), *begins, end})), integer=integer)


def _after(atom: Any, unit: Fraction | None, *, integer: bool) -> Any:
    """Return where the bin of an atom ends."""
    following = atom + 1 if integer else math.nextafter(atom, math.inf)
    return following if unit is None else _multiple(following, unit, integer=integer)


def _multiple(value: Any, unit: Fraction, *, integer: bool) -> Any:
    """Return the first multiple of a unit that is not below a value."""
    if integer:
        return -(-int(value) // int(unit)) * int(unit)
    found = first_multiples(np.array([value], dtype=np.float64), unit, integer=False)
    return float(multiples_at(found, unit, integer=False)[0]) + 0.0


LARGEST = 2**50
"""Largest multiple of a step, in steps: up to it, the float nearest to a multiple stands for no other one."""


@dataclass(frozen=True)
class Roundness:
    """Values lie at multiples of round numbers, evenly among those that are equally round.

    A value has the level of the largest step that it is a multiple of. Wherever they lie, values of one level are
    equally likely, and those of another level more or less likely than these.

    Attributes:
        steps: Steps of the levels in descending order, each a multiple of the next; whole for integers.
        shares: For each step the share of the values that have its level, and last of those that have none, which must be
            0 for integers; at least 0. If all are 0, values are the lower ends of bins.

    Raises:
        SchemaError: If the numbers do not fit together.
    """

    steps: tuple[Fraction, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(map(Fraction, self.steps)))
        object.__setattr__(self, "shares", tuple(map(float, self.shares)))
        steps, shares = self.steps, self.shares
        if any(step <= 0 for step in steps) or not all(a > b and a % b == 0 for a, b in pairwise(steps)):
            raise SchemaError(
                "the steps of a roundness must descend and be above 0, each a multiple of the next"
            )
        if len(shares) != len(steps) + 1 or not all(0 <= s < math.inf for s in shares):
            raise SchemaError("a roundness needs one share of at least 0 for each step, and one more")

    @classmethod
    def of_counts(
        cls, steps: Sequence[Fraction], counts: NDArray[np.float64], hidden: NDArray[np.float64]
    ) -> Roundness | None:
        """Return the roundness by noisy counts of the levels; None if noise hides all.

        The values of a level that noise hides are taken to be as frequent as those of the next finer one that it does
        not, unless the count is too small for that: else no value of a column that is not round at all would be so.

        Args:
            steps: The steps of the levels.
            counts: Number of values of each level, and last of those that are multiples of none.
            hidden: Up to which count noise hides each.
        """
        shares = np.where(counts > hidden, counts, 0.0)
        if not shares.any():
            return None
        each = 0.0
        # Of the numbers between 0 and 1, so many are of each level.
        densities = np.diff([float(1 / step) for step in steps], prepend=0.0)
        for level in reversed(range(len(steps))):
            if shares[level]:
                each = shares[level] / densities[level]
            elif counts[level] + hidden[level] >= each * densities[level]:
                shares[level] = each * densities[level]
        return cls(tuple(steps), tuple((shares / shares.sum()).tolist()))

    @classmethod
    def of_lower_ends(cls) -> Roundness:
        """Return the distribution of which every bin has a single value, its lower end."""
        return cls((), (0.0,))

    @property
    def unit(self) -> Fraction | None:
        """The step that all values are multiples of; None if some are multiples of none."""
        if self.shares[-1] or not any(self.shares):
            return None
        return min(step for step, share in zip(self.steps, self.shares, strict=False) if share)

    def check(self, bins: Bins) -> None:
        """Raise SchemaError if bins and steps do not fit together."""
        if bins.integer and (self.shares[-1] or any(step.denominator != 1 for step in self.steps)):
            raise SchemaError("the steps of a roundness of integers must be whole, and it has no other level")
        if self.steps and max(abs(bins.edges[0]), abs(bins.edges[-1])) > LARGEST * self.steps[-1]:
            raise SchemaError("bounds this large cannot have a roundness")

    def masses(self, bins: Bins) -> NDArray[np.float64]:
        """Return how likely values of each level are within each bin [bins, levels], up to a common factor."""
        firsts = self._firsts(bins)
        alone = np.diff(np.diff(firsts, axis=0), axis=1, prepend=0)
        # Of the numbers between 0 and 1, so many are of each level.
        densities = np.diff([float(1 / step) for step in self.steps], prepend=0.0)
        of_steps = alone * np.array(self.shares[:-1]) / densities
        widths = np.diff(np.array(bins.edges, dtype=np.float64)) * self.shares[-1]
        return np.column_stack([of_steps, widths])

    def shares_of(self, parts: Bins, whole: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the probability that a value of a bin lies in each of its parts [parts].

        Args:
            parts: Bins that are parts of others.
            whole: Position of the bin that each part belongs to [parts].
        """
        masses = self.masses(parts).sum(axis=1)
        # A bin without any value of a level is drawn as its lower end.
        begins = np.append(True, np.diff(whole) > 0)
        masses = np.where(np.bincount(whole, masses)[whole] > 0, masses, begins)
        shares: NDArray[np.float64] = masses / np.bincount(whole, masses)[whole]
        return shares

    def within(self, bins: Bins, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Draw one value per code [n] from its bin; the lower end of a bin without any value of a level.

        Returns:
            [n] values: int64 for bins of integers, uint64 where that does not hold them, else float64.
        """
        index = np.asarray(codes, dtype=np.intp)
        masses, firsts = self.masses(bins), self._firsts(bins)
        drawn = lower_ends(bins)[index]
        ends = np.cumsum(masses, axis=1)
        chosen = (ends[index] <= (rng.random(index.size) * ends[index, -1])[:, None]).sum(axis=1)
        for level in range(len(self.steps)):
            # Rounding may choose a level that a bin has no value of.
            places = np.flatnonzero((chosen == level) & (masses[index, level] > 0))
            drawn[places] = self._multiples(level, firsts, index[places], bins, rng)
        places = np.flatnonzero((chosen == len(self.steps)) & (masses[index, -1] > 0))
        if places.size:
            drawn[places] = uniform_within(bins, index[places], rng)
        return drawn

    def _multiples(
        self,
        level: int,
        firsts: NDArray[np.int64],
        index: NDArray[np.intp],
        bins: Bins,
        rng: np.random.Generator,
    ) -> NDArray[Any]:
        """Draw multiples of a step that are not multiples of the one before."""
        step = self.steps[level]
        lows, highs = firsts[index, level], firsts[index + 1, level]
        found = rng.integers(lows, highs)
        if level:
            ratio = int(self.steps[level - 1] / step)
            while (wrong := np.flatnonzero(found % ratio == 0)).size:
                found[wrong] = rng.integers(lows[wrong], highs[wrong])
        return multiples_at(found, step, integer=bins.integer)

    def _firsts(self, bins: Bins) -> NDArray[np.int64]:
        """Return the first multiple of each step from each edge on [bins + 1, steps], in steps."""
        if not self.steps:
            # Then edges may be integers beyond 64 bits.
            return np.zeros((len(bins.edges), 0), dtype=np.int64)
        edges = np.array(bins.edges, dtype=np.int64 if bins.integer else np.float64)
        firsts = [first_multiples(edges, step, integer=bins.integer) for step in self.steps]
        if not bins.integer:
            for step, first in zip(self.steps, firsts, strict=True):
                # The last bin is closed.
                first[-1] += multiples_at(first[-1:], step, integer=False)[0] == edges[-1]
        return np.stack(firsts, axis=1)


def first_multiples(values: NDArray[Any], step: Fraction, *, integer: bool) -> NDArray[np.int64]:
    """Return for each value [n] the first multiple of a step that is not below it, in steps."""
    if integer:
        return np.asarray(-(-values // int(step)), dtype=np.int64)
    near = np.rint(values * float(step.denominator) / float(step.numerator)).astype(np.int64)
    # Floats are compared, because the nearest float stands for a multiple.
    return np.asarray(near + (multiples_at(near, step, integer=False) < values), dtype=np.int64)


def multiples_at(places: NDArray[np.int64], step: Fraction, *, integer: bool) -> NDArray[Any]:
    """Return multiples of a step, given in steps."""
    if integer:
        return places * int(step)
    return np.asarray(places * float(step.numerator) / float(step.denominator), dtype=np.float64)


def levels_of(points: NDArray[Any], steps: Sequence[Fraction], *, integer: bool) -> NDArray[np.int64]:
    """Return the first of the steps that each point is a multiple of; their number for none, and one more for 0."""
    levels = np.full(points.size, len(steps), dtype=np.int64)
    with np.errstate(over="ignore"):
        short = np.zeros(0) if integer else points.astype(np.float32)
    multiples = np.arange(points.size if integer else 0)
    for level, step in reversed(list(enumerate(steps))):
        if integer:
            # Each step is a multiple of the one after it.
            if step > 1:
                multiples = multiples[points[multiples] % int(step) == 0]
            levels[multiples] = level
            continue
        # The largest floats are multiples of no step.
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint(points * float(step.denominator) / float(step.numerator)).astype(np.int64)
            near = multiples_at(places, step, integer=False)
            near_short = near.astype(np.float32)
        # Numbers of 32 bits are round if they are the nearest to a round one.
        levels[(near == points) | ((short == points) & (near_short == short))] = level
    levels[points == 0] = len(steps) + 1
    return levels
