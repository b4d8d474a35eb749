"""How the distribution of each numeric column differs from the real one: as a whole, in its width and far out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score


@dataclass(frozen=True, kw_only=True)
class KolmogorovSmirnov:
    """Largest gap between the distribution functions of real and synthetic values, averaged over columns.

    The statistic of the two-sample test (Smirnov 1939), without its p-value, which makes every difference
    significant if there are many rows. Missing cells count as larger than all numbers. Between 0 and 1;
    SDMetrics' KSComplement is 1 minus the value of a column.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "ks"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        gaps: dict[Part, float] = {
            (name,): largest_gap(tables.real.numbers[name], tables.synthetic.numbers[name])
            for name in tables.numeric
        }
        return Score.mean(self.key, gaps, direction="lower", needed="there is no numeric column")


def largest_gap(real: Floats, synthetic: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples [rows each], NaN counting as the largest value."""
    first, second = np.sort(real), np.sort(synthetic)
    steps = np.concatenate([first, second])
    below = [np.searchsorted(part, steps, side="right") / part.size for part in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


_PERCENTILES = np.arange(1, 101)


@dataclass(frozen=True, kw_only=True)
class PercentileSimilarity:
    """1 minus the largest gap between the 1st to 100th percentiles, on columns scaled to 0 .. 1; their mean.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 2, there
    called maximum percentile distance (MPD) although 1 is best. Columns are scaled over both tables. Missing
    cells have no percentile: those that are present are compared, and a column without any in one of the
    tables alone has similarity 0.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "percentile-similarity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {
            (name,): _similarity(tables.scaled(tables.real, name), tables.scaled(tables.synthetic, name))
            for name in tables.numeric
        }
        return Score.mean(self.key, parts, direction="higher", needed="there is no numeric column")


def _similarity(real: Floats, synthetic: Floats) -> float:
    present = [part[~np.isnan(part)] for part in (real, synthetic)]
    if not all(part.size for part in present):
        return float(present[0].size == present[1].size)
    first, second = (np.percentile(part, _PERCENTILES) for part in present)
    return float(1 - np.abs(first - second).max())


_WORST = 100.0
"""Largest factor that is told apart, so that one constant column does not hide all others."""

_TAILS = (0.001, 0.999)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Factor by which the standard deviation of a synthetic column is too large or too small; the median over columns.

    1 is best; 2 means twice or half the real one. A factor above 100 counts as 100. One absurd tail would hide all
    other columns in a mean; the parts show it.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "spread"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name, real, synthetic in _held(tables):
            parts[name,] = _factor(float(real.std()), float(synthetic.std()))
        if not parts:
            return Score.mean(self.key, parts, direction="lower", needed="there is no numeric column")
        middle = float(np.median([*parts.values()]))
        return Score(metric=self.key, value=middle, direction="lower", details=parts)


@dataclass(frozen=True, kw_only=True)
class FarOut:
    """Difference between the shares of real and synthetic cells far outside the bulk of a column; the mean.

    The bulk lies between the real quantiles 0.001 and 0.999. Far outside is farther from it than the distance of
    these two; a share of 0.01 means that one in a hundred values is absurd.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "far-out"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name, real, synthetic in _held(tables):
            low, high = np.quantile(real, _TAILS)
            fence = low - (high - low), high + (high - low)
            parts[name,] = abs(_beyond(synthetic, *fence) - _beyond(real, *fence))
        return Score.mean(self.key, parts, direction="lower", needed="there is no numeric column")


def _held(tables: Comparison) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield each numeric column with its real and its synthetic values, where there are any of both."""
    for name in tables.numeric:
        real, synthetic = (view.numbers[name] for view in (tables.real, tables.synthetic))
        real, synthetic = real[~np.isnan(real)], synthetic[~np.isnan(synthetic)]
        if real.size and synthetic.size:
            yield name, real, synthetic


def _factor(real: float, synthetic: float) -> float:
    if real == synthetic:
        return 1.0
    small, large = sorted((real, synthetic))
    return _WORST if large > _WORST * small else large / small


def _beyond(column: Floats, low: float, high: float) -> float:
    return float(((column < low) | (column > high)).mean())
