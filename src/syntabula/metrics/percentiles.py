"""Maximum percentile distance of Discretization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score

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
        """Score the synthetic table; nothing is drawn."""
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
