"""Whether numeric columns are as wide as the real ones, and have no values far outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score

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
