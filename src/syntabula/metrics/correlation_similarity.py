"""Correlation similarity of Discretization."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from syntabula.metrics.association import correlation_matrix
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Part, Score


@dataclass(frozen=True, kw_only=True)
class CorrelationSimilarity:
    """Mean over all entries of min / max of the two correlation matrices, mapped to 0 .. 1 by (r + 1) / 2.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 5. The mean
    is over d x d entries, so the diagonal counts as 1. Numeric columns only: the correlation of categories
    depends on the order in which they are numbered, about which the paper says nothing.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "correlation-similarity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; nothing is drawn."""
        del rng
        if not tables.numeric:
            return Score.mean(self.key, {}, direction="higher", needed="there is no numeric column")
        views = (tables.real, tables.synthetic)
        real, synthetic = (
            (correlation_matrix([view.numbers[name] for name in tables.numeric]) + 1) / 2 for view in views
        )
        larger = np.maximum(real, synthetic)
        ratio = np.divide(np.minimum(real, synthetic), larger, out=np.ones_like(larger), where=larger > 0)
        pairs = itertools.combinations(range(len(tables.numeric)), 2)
        parts: dict[Part, float] = {
            (tables.numeric[i], tables.numeric[j]): float(ratio[i, j]) for i, j in pairs
        }
        return Score(metric=self.key, value=float(ratio.mean()), direction="higher", details=parts)
