"""What a cell keeps beside its scores, for pictures that scores cannot draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bench.observed import Fit
from syntabula.metrics.association import associations
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.plane import lay_out
from syntabula.metrics.total_variation import TotalVariation

_ROWS = 400
"""Rows of each table that a plane shows."""
_DIGITS = 4


def kept(names: Sequence[str], tables: Comparison, fits: Sequence[Fit], seed: int) -> dict[str, Any]:
    """Return what a study wants kept, by name, as values of JSON."""
    return {name: KEPT[name](tables, fits, seed) for name in names}


def _marginals(tables: Comparison, fits: Sequence[Fit], seed: int) -> list[list[Any]]:
    """Return the distance of each pair of columns, and whether it was measured as such or within a larger marginal."""
    details = TotalVariation(way=2)(tables, np.random.default_rng(seed)).details
    measured = [set(clique) for clique in fits[-1].cliques] if fits else []
    return [
        [*pair, round(value, _DIGITS), any(set(pair) <= clique for clique in measured)]
        for pair, value in details.items()
    ]


def _plane(tables: Comparison, fits: Sequence[Fit], seed: int) -> dict[str, list[list[float]]]:
    """Return rows of both tables by t-SNE, within a square."""
    del fits
    placed = lay_out(tables.sampled(_ROWS, np.random.default_rng(seed)), "tsne", seed)
    low, high = placed.limits
    return {
        role: np.round((rows - low) / (high - low), 3).tolist()
        for role, rows in (("real", placed.real), ("synthetic", placed.synthetic))
    }


def _associations(tables: Comparison, fits: Sequence[Fit], seed: int) -> list[list[Any]]:
    """Return how strongly each pair of columns depends on each other, in the real and in the synthetic table."""
    del fits, seed
    real, synthetic = (associations(tables, view) for view in (tables.real, tables.synthetic))
    return [
        [*pair, *(round(float(np.mean(found[pair])), _DIGITS) for found in (real, synthetic))]
        for pair in real
    ]


def _rounds(tables: Comparison, fits: Sequence[Fit], seed: int) -> list[float]:
    """Return the loss at the end of each fit."""
    del tables, seed
    return [round(fit.loss, _DIGITS) for fit in fits]


KEPT: Mapping[str, Callable[[Comparison, Sequence[Fit], int], Any]] = {
    "marginals": _marginals,
    "plane": _plane,
    "associations": _associations,
    "rounds": _rounds,
}
"""What can be kept, by name."""
