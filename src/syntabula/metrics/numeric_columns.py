"""Distances between the real and the synthetic distribution of each numeric column."""

from __future__ import annotations

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
