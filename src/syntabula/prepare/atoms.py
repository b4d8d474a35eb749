"""Values that are frequent in an ordered column, found under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import first_multiples, multiples_at
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector

FALSE_ZEROS = 0.01
"""Chance that 0 is taken for an atom by noise alone where exact values are asked for."""

MOST_POINTS = 4096
"""Largest number of grid points that are all counted; their noise needs no delta, and its threshold is lower."""

FALSE_ALARMS = 0.5
"""Expected number of points that are taken for atoms by noise alone."""

AROUND = 8
"""Number of points on either side that an atom is compared with."""

MOST_ALONE = 3
"""0 and both bounds."""

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
    than noise explains. Otherwise the question that finds categories is asked of the exact values
    (`ColumnCurator.frequent`), for which a part of delta is set aside; without one, 0 and both bounds alone are counted.
    0 comes into question anyway: other values must be far more frequent, as no one record may decide that they are told.
    Where most but not all records lie at round numbers, that question counts these too, for the same share.

    Args:
        column: The values, within the bounds.
        lower: Lower bound, an integer for a column on a grid.
        upper: Upper bound.
        unit: Public or released step whose multiples come into question; None if there are too many.
        others: Tells of other values if they are worth a question; None if not.
        count: Largest number of bins.
        n_estimated: Released number of records; 0 if it is not known.
        n_present: Released number of values; 0 if it is not known. The sum of all counts is less exact, and where noise
            lowers it, some frequent values seem to be all that there are.
        share: Fraction of the whole budget.
        delta: Part of the budget's delta; 0 for none.
        step: Name of the spend in the ledger.
    """
    points = candidates(lower, upper, unit, integer=column.integer)
    fits = partial(_Judge, count=count, is_private=column.is_private)
    if (unit is not None and others is None) or (column.is_private and not delta):
        finer = None if others is None else others.finest
        every = points if finer is None else candidates(lower, upper, finer, integer=column.integer)
        return _counted(column, every, np.isin(every, points), fits, n_present, share=share, step=step)
    most = max(MOST_SPARSE + 1, count)
    noise = column.noise_for(share)
    least = max(int(n_estimated * LEAST_SOUGHT), int(noise.sigma * LEAST_OF_NOISE), 1)
    ask = partial(column.frequent, most, share=share, delta=delta, step=step, least=least)
    if unit is not None and others is not None:
        values, counts = ask(public=points)
        judge = fits(noise, others.n_values)
        return judge.atoms(values, counts.astype(np.float64), np.isin(values, points), are_all=False)
    # That 0 comes into question is public, so that its count need not hide that there is any, and exceeds noise alone.
    values, counts = ask(public=[0] if column.is_private and lower <= 0 <= upper else [])
    if column.is_private:
        kept = [
            v != 0 or c > noise.above_noise(FALSE_ZEROS) for v, c in zip(values, counts.tolist(), strict=True)
        ]
        values, counts = [v for v, k in zip(values, kept, strict=True) if k], counts[kept]
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


def n_candidates(lower: float, upper: float, unit: Fraction) -> int:
    """Return about how many multiples of a step lie within bounds."""
    return int((Fraction(upper) - Fraction(lower)) / unit) + 1


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
        points, counts, is_multiple, are_all=True
    )


@dataclass(frozen=True)
class _Judge:
    """Chooses the atoms among points by their noisy counts.

    Attributes:
        noise: The noise of their counts.
        n_values: Released number of values.
        count: Largest number of bins.
        is_private: Whether there is noise.
    """

    noise: NoisyVector
    n_values: float
    count: int
    is_private: bool

    def atoms(
        self,
        points: Sequence[int | float],
        counts: NDArray[np.float64],
        is_multiple: NDArray[np.bool_],
        *,
        are_all: bool,
    ) -> Atoms:
        """Return the points that stand out from noise and from what is usual around them.

        Args:
            points: The points [n], in ascending order.
            counts: Their noisy counts [n].
            is_multiple: Which are multiples of the step that most values are multiples of, or 0 or a bound [n].
            are_all: Whether the others are all multiples of a finer step; if not, they were released as frequent ones,
                and nothing is known of what lies around them.
        """
        is_listed = is_multiple | are_all
        usual = np.zeros_like(counts)
        for alike in (is_multiple, is_listed & ~is_multiple):
            usual[alike] = _usual(counts[alike])
        noise = np.where(is_listed, self.noise.above_noise(FALSE_ALARMS / is_listed.sum()), 0.0)
        above = counts > noise
        places = np.flatnonzero(above[is_multiple])
        is_sparse = places.size and places[-1] - places[0] >= SPARSE * places.size
        if is_sparse and (every := self._at(points, counts, above).if_all(self.n_values, most=MOST_SPARSE)):
            return every
        of_bin = counts * self.count / max(self.n_values, 1.0)
        kept = (counts - 2 * usual > noise) & (of_bin >= LEAST_OF_BIN)
        if not self.is_private:
            # Under a budget bins describe neighbouring values that are alike in less noise.
            kept |= of_bin >= 1
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
