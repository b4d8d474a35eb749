"""Whether cells are missing as often as in the real table, and hold no value that it does not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.score import Part, Score


@dataclass(frozen=True, kw_only=True)
class MissingCells:
    """Difference between the shares of missing cells, averaged over the columns that have any in one of the tables."""

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "missing-cells"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name in tables.columns:
            real, synthetic = (_missing(tables, view, name) for view in (tables.real, tables.synthetic))
            if real or synthetic:
                parts[name,] = abs(real - synthetic)
        return Score.mean(self.key, parts, direction="lower", needed="no cell is missing in either table")


@dataclass(frozen=True, kw_only=True)
class InventedValues:
    """Share of the present cells of a categorical column whose value the real table does not have; the mean.

    Such a value is a declared category that nobody has, or the name for "all others".
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "invented-values"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name in tables.categorical:
            real, synthetic = (
                _counts(view.codes[name], tables.size(name)) for view in (tables.real, tables.synthetic)
            )
            parts[name,] = float(synthetic[real == 0].sum() / max(synthetic.sum(), 1))
        return Score.mean(self.key, parts, direction="lower", needed="there is no categorical column")


def _missing(tables: Comparison, view: View, name: str) -> float:
    if name in tables.categories:
        return float((view.codes[name] == tables.size(name) - 1).mean())
    return float(np.isnan(view.numbers[name]).mean())


def _counts(codes: Codes, size: int) -> NDArray[np.intp]:
    """Return how often each category occurs [categories], without missing cells, which have the last code."""
    counts: NDArray[np.intp] = np.bincount(codes, minlength=size)[:-1]
    return counts
