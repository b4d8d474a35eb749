"""Values that are frequent in an ordered column, found under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import first_multiples, levels_of, multiples_at
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector

FALSE_ZEROS = 0.01
"""Largest chance that a value is taken for an atom by noise alone, be it 0."""

MOST_POINTS = 4096
"""Largest number of grid points that are all counted; their noise needs no delta, and its threshold is lower."""

FALSE_ALARMS = 0.5
"""Expected number of points that are taken for atoms by noise alone."""

AROUND = 8
"""Number of points on either side that an atom is compared with."""

MOST_ALONE = 3
"""0 and both bounds."""

CLEAR = 3.0
"""Standard deviations of noise above which a value that holds as much as an average bin is an atom, whatever is around
it. A bin of several such values would be drawn as if they were alike, or as its neighbours' slope says."""

LEAST_OF_BIN = 0.25
"""Part of the records of an average bin that an atom holds at least."""

LEAST_SOUGHT = 2.0**-15
"""Part of the records that a value holds at least to be sought among exact values; an atom of 250 bins holds 33 times as
many. Of a table beyond memory, the others need not be known."""

LEAST_OF_NOISE = 0.1
"""Part of the noise's standard deviation that a value holds at least to be sought among exact values. A value is released
from some four or five deviations on, so that fewer records would hardly ever be; most values of a column of many have one
or two, and each that is sought takes a draw of noise."""

MOST_ATOMS = 250
"""Most atoms of a column that holds nothing else."""

MOST_SPARSE = 500
"""The same if they lie far apart on the column's grid, such as 300 prices in cents: bins would be drawn anywhere between
them."""

SPARSE = 2
"""Times as many values come into question between such atoms as there are atoms; otherwise bins keep them together."""

MOSTLY = 0.5
"""Part of the records that frequent values hold together, from which on the number of bins does not limit theirs."""

MOVED = 1.75
"""Times as many records as may lie beyond found bounds, below which a frequent bound is taken for where these were moved.
Of six tables at epsilon 1, bounds that hardly any record had held .4 to 1.5 times as many, and those that many had 2.3
and more."""

NEARLY_ALL = 0.99
"""Part of the records that atoms hold at least in such a column."""


@dataclass(frozen=True)
class Atoms:
    """Released frequent values of a column.

    Attributes:
        points: The values, ascending: integers of a grid, or floats.
        counts: Their noisy counts.
        is_all: Whether the column seems to hold nothing else.
        deviation: Standard deviation of the noise of the counts; 0 if it is not known.
    """

    points: tuple[int | float, ...] = ()
    counts: tuple[float, ...] = ()
    is_all: bool = False
    deviation: float = 0.0

    def if_all(self, n_estimated: float, *, most: int = MOST_ATOMS) -> Atoms | None:
        """Return these atoms if they are all that a column of so many records holds, and at most so many; None if not, or
        if the number of records is unknown (0)."""
        if not 0 < NEARLY_ALL * n_estimated <= sum(self.counts) or len(self.points) > most:
            return None
        return replace(self, is_all=True)

    def without_moved(
        self, bounds: Sequence[int | float], n_moved: float
    ) -> tuple[Atoms, tuple[int | float, ...]]:
        """Return the atoms without found bounds that are frequent because values beyond were moved to them, and these.

        Such a bound would be drawn as a value that hardly any record has. 0 is often frequent by itself, and stays.

        Args:
            bounds: The bounds of the column, as points.
            n_moved: Released number of values that may lie beyond them; 0 if the bounds were declared.
        """
        gone = [
            i
            for i, (p, count) in enumerate(zip(self.points, self.counts, strict=True))
            if p in bounds and p != 0 and 0 < count < MOVED * n_moved
        ]
        kept = [i for i in range(len(self.points)) if i not in gone]
        points, counts = (tuple(every[i] for i in kept) for every in (self.points, self.counts))
        return replace(self, points=points, counts=counts), tuple(self.points[i] for i in gone)

    @property
    def are_sparse(self) -> bool:
        """Whether other values come into question between them."""
        first, *_, last = self.points if len(self.points) > 1 else (0, 0)
        return isinstance(first, float) or last - first >= SPARSE * len(self.points)

    def largest(self, most: int) -> Atoms:
        """Return the atoms with the largest noisy counts."""
        kept = sorted(sorted(range(len(self.points)), key=lambda i: -self.counts[i])[:most])
        points, counts = (tuple(every[i] for i in kept) for every in (self.points, self.counts))
        return replace(self, points=points, counts=counts)


@dataclass(frozen=True)
class Others:
    """What is known of values that are no multiples of the step that most values are multiples of.

    Attributes:
        finest: Step whose multiples are all counted where exact values cannot be asked for; None if there are too many.
        n_values: Released number of values of the column.
    """

    finest: Fraction | None
    n_values: float


def needs_delta(lower: float, upper: float, integer: bool) -> bool:
    """Return whether frequent values of a domain can only be found by a question that may fail."""
    return not integer or int(upper) - int(lower) >= MOST_POINTS


def bins_beside(count: int, n_atoms: int) -> int:
    """Return the largest number of bins for the other values."""
    return max(count - n_atoms, count // 2)


def find_atoms(
    column: ColumnCurator,
    lower: float,
    upper: float,
    *,
    unit: Fraction | None,
    others: Others | None = None,
    steps: Sequence[Fraction] = (),
    count: int,
    n_estimated: float,
    n_present: float = 0.0,
    share: Fraction,
    delta: Fraction,
    step: str,
) -> Atoms:
    """Find values that many records share.

    Where few values come into question, because they are few or most records lie at round numbers, each of these is
    counted with noise, and so are 0 and both bounds. An atom then holds more than twice what is usual around it, by more
    than noise explains, or clearly as much as an average bin. Otherwise the question that finds categories is asked of
    the exact values (`ColumnCurator.frequent`), for which a part of delta is set aside; without one, 0 and both bounds
    alone are counted. That question also counts round numbers, as many as are few, for the same share: that they come
    into question is public. Other values must be far more frequent, as no one record may decide that they are told.

    Args:
        column: The values, within the bounds.
        lower: Lower bound, an integer for a column on a grid.
        upper: Upper bound.
        unit: Public or released step whose multiples come into question; None if there are too many.
        others: Tells of other values if they are worth a question; None if not.
        steps: Public steps of round numbers, each a multiple of the next. Where exact values are asked for, multiples
            come into question of the finest of them that has few within the bounds.
        count: Largest number of bins.
        n_estimated: Released number of records; 0 if it is not known.
        n_present: Released number of values; 0 if it is not known. The sum of all counts is less exact, and where noise
            lowers it, some frequent values seem to be all that there are.
        share: Fraction of the whole budget.
        delta: Part of the budget's delta; 0 for none.
        step: Name of the spend in the ledger.
    """
    points = candidates(lower, upper, unit, integer=column.integer)
    fits = partial(_Judge, steps=steps, integer=column.integer, count=count, is_private=column.is_private)
    if (unit is not None and others is None) or (column.is_private and not delta):
        finer = None if others is None else others.finest
        every = points if finer is None else candidates(lower, upper, finer, integer=column.integer)
        return _counted(column, every, np.isin(every, points), fits, n_present, share=share, step=step)
    most = max(MOST_SPARSE + 1, count)
    noise = column.noise_for(share)
    least = max(int(n_estimated * LEAST_SOUGHT), int(noise.sigma * LEAST_OF_NOISE), 1)
    ask = partial(column.frequent, most, share=share, delta=delta, step=step, least=least)
    # What is public need not hide that there is any, and only has to exceed noise.
    few = few_multiples(steps, lower, upper)
    finest = few[-1] if few else None
    public = candidates(lower, upper, finest, integer=column.integer) if column.is_private else []
    if unit is not None and others is not None:
        public = public if len(public) > len(points) else points
        values, counts = ask(public=public)
        judge, is_listed = fits(noise, others.n_values), np.isin(values, public)
        return judge.atoms(values, counts.astype(np.float64), np.isin(values, points), is_listed)
    values, counts = ask(public=public)
    if public:
        is_public = np.isin(values, public)
        above = counts > 0
        above[is_public] = counts[is_public] > above_noise(public, steps, noise, integer=column.integer)
        kept = np.flatnonzero(above).tolist()
        values, counts = [values[i] for i in kept], counts[kept]
    found = Atoms(tuple(values), tuple(counts.astype(np.float64).tolist()))
    # Noise hides up to a percent of other values, without which a column of one value is constant: bins are to tell.
    may_be_all = len(found.points) > 1 or not column.is_private
    most_of_all = MOST_SPARSE if found.are_sparse else MOST_ATOMS
    if may_be_all and (every_value := found.if_all(n_estimated, most=most_of_all)):
        return every_value
    # Where they hold most of the records, those that became bins would be drawn anywhere between the others.
    mostly = sum(found.largest(max(MOST_ATOMS + 1, count)).counts) >= MOSTLY * n_estimated > 0
    most_kept = MOST_ATOMS if mostly else 3 * count // 4
    return found.largest(min(most_kept, int((counts >= n_estimated * LEAST_OF_BIN / count).sum())))


def few_multiples(steps: Sequence[Fraction], lower: float, upper: float) -> list[Fraction]:
    """Return those of some steps whose multiples within bounds are few enough to be all counted, in the same order."""
    width = Fraction(upper) - Fraction(lower)
    return [step for step in steps if int(width / step) < MOST_POINTS]


def candidates(
    lower: float, upper: float, unit: Fraction | None, *, integer: bool
) -> list[int] | list[float]:
    """Return the multiples of a step within bounds, 0 if it is within them, and the bounds, in ascending order."""
    dtype = np.int64 if integer else np.float64
    ends = [p for p in (lower, 0, upper) if lower <= p <= upper]
    if unit is None:
        return sorted({int(p) if integer else float(p) for p in ends})
    first, after = first_multiples(np.array([lower, upper], dtype=dtype), unit, integer=integer).tolist()
    inner = multiples_at(np.arange(first, after), unit, integer=integer)
    points: list[int] | list[float] = np.unique(np.concatenate([inner, np.array(ends, dtype=dtype)])).tolist()
    return points


def above_noise(
    points: Sequence[int | float], steps: Sequence[Fraction], noise: NoisyVector, *, integer: bool
) -> NDArray[np.float64]:
    """Return the count [n] from which on each of some points has more records than noise explains.

    Each kind of round numbers has an equal part in the false alarms, and so has 0. The rounder numbers are, the fewer
    there are, and the sooner one is believed: otherwise thousands of cents would hide a frequent half.

    Args:
        points: The points in ascending order, at least one.
        steps: Steps of round numbers, each a multiple of the next.
        noise: The noise of the counts.
        integer: Whether points are integers.
    """
    # Whole numbers beyond 64 bits stay whole.
    kind: type = np.float64 if not integer else np.int64 if max(map(abs, points)) < 2**63 else object
    levels = levels_of(np.array(points, dtype=kind), steps, integer=integer)
    sizes = np.bincount(levels)
    n_levels = np.count_nonzero(sizes)
    least = {
        level: noise.above_noise(min(float(FALSE_ALARMS / n_levels / sizes[level]), FALSE_ZEROS))
        for level in np.flatnonzero(sizes).tolist()
    }
    return np.array([least[level] for level in levels.tolist()])


def _counted(
    column: ColumnCurator,
    points: Sequence[int | float],
    is_multiple: NDArray[np.bool_],
    fits: Callable[[NoisyVector, float], _Judge],
    n_present: float,
    *,
    share: Fraction,
    step: str,
) -> Atoms:
    """Count points [n], and return those that stand out among multiples of a step [n], or among the others."""
    ends = [p + 1 if column.integer else math.nextafter(p, math.inf) for p in points]
    edges = sorted({*points, *ends})
    answer = column.histogram(edges, share=share, step=step)
    counts = answer.values[np.searchsorted(np.array(edges), np.array(points))]
    return fits(answer, n_present or float(answer.values.sum())).atoms(
        points, counts, is_multiple, np.ones_like(is_multiple)
    )


@dataclass(frozen=True)
class _Judge:
    """Chooses the atoms among points by their noisy counts.

    Attributes:
        noise: The noise of their counts.
        n_values: Released number of values.
        steps: Steps of round numbers.
        integer: Whether points are integers.
        count: Largest number of bins.
        is_private: Whether there is noise.
    """

    noise: NoisyVector
    n_values: float
    steps: Sequence[Fraction]
    integer: bool
    count: int
    is_private: bool

    def atoms(
        self,
        points: Sequence[int | float],
        counts: NDArray[np.float64],
        is_multiple: NDArray[np.bool_],
        is_listed: NDArray[np.bool_],
    ) -> Atoms:
        """Return the points that stand out from noise and from what is usual around them, or are as frequent as a bin.

        Args:
            points: The points [n], in ascending order.
            counts: Their noisy counts [n].
            is_multiple: Which are multiples of the step that most values are multiples of, or 0 or a bound [n].
            is_listed: Which came into question before they were counted, as multiples of a step or of a finer one [n];
                others were released as frequent ones, and nothing is known of what lies around them.
        """
        usual = np.zeros_like(counts)
        for alike in (is_multiple, is_listed & ~is_multiple):
            usual[alike] = _usual(counts[alike])
        noise = np.zeros_like(counts)
        listed = [points[i] for i in np.flatnonzero(is_listed).tolist()]
        noise[is_listed] = above_noise(listed, self.steps, self.noise, integer=self.integer)
        above = counts > noise
        places = np.flatnonzero(above[is_multiple])
        is_sparse = places.size and places[-1] - places[0] >= SPARSE * places.size
        if is_sparse and (every := self._at(points, counts, above).if_all(self.n_values, most=MOST_SPARSE)):
            return every
        of_bin = counts * self.count / max(self.n_values, 1.0)
        kept = (counts - 2 * usual > noise) & (of_bin >= LEAST_OF_BIN)
        kept |= above & (of_bin >= 1) & (counts > CLEAR * self.noise.sigma)
        return self._at(points, counts, kept).largest(3 * self.count // 4)

    def _at(
        self, points: Sequence[int | float], counts: NDArray[np.float64], kept: NDArray[np.bool_]
    ) -> Atoms:
        chosen = tuple(points[i] for i in np.flatnonzero(kept).tolist())
        return Atoms(chosen, tuple(counts[kept].tolist()), deviation=self.noise.sigma)


def _usual(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what is usual around each of some neighbouring points [n], at least 0."""
    if counts.size <= MOST_ALONE:
        # Those that are counted alone have nothing around them.
        return np.zeros_like(counts)
    padded = np.pad(counts, AROUND, constant_values=np.nan)
    usual = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1), axis=1)
    return np.asarray(np.maximum(usual, 0.0), dtype=np.float64)
