"""What a cell keeps beside its scores: of its tables, for pictures that scores cannot draw, and of its model's fits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syntabula.marginals.measurement import Measurement
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


@dataclass(frozen=True, kw_only=True)
class Fit:
    """One fit of a model.

    Attributes:
        cliques: Columns of each marginal that had been measured by then.
        loss: Mean over these of the squared error of a cell in units of its noise's variance; 1 is as near as noise.
    """

    cliques: tuple[tuple[str, ...], ...]
    loss: float


def observed(synthesizer: Any, fits: list[Fit]) -> Any:
    """Return a method that adds each fit of its model to a list; one that measures no marginals as it is."""
    selector = getattr(synthesizer, "selector", None)
    if selector is None:
        return synthesizer
    kind = type(selector)

    def learn(self: Any, curator: Any, model: Any, **settings: Any) -> Any:
        seen = _as(copy.copy(model), _observing(type(model), fits))
        fitted, choice = kind.learn(self, curator, seen, **settings)
        return _as(fitted, type(model)) if isinstance(fitted, type(model)) else fitted, choice

    return replace(
        synthesizer, selector=_as(copy.copy(selector), type(kind.__name__, (kind,), {"learn": learn}))
    )


def _observing(kind: Any, fits: list[Fit]) -> type:
    """Return a class of models that are observed, as are copies that they make of themselves."""

    def fit(self: Any, measurements: Sequence[Measurement]) -> Any:
        fitted = kind.fit(self, measurements)
        cliques = tuple(m.clique for m in measurements)
        errors = [
            float(np.mean((m.values - expected) ** 2 / np.square(m.sigma)))
            for m, expected in zip(measurements, fitted.marginals(cliques), strict=True)
            if np.all(np.asarray(m.sigma) > 0)
        ]
        fits.append(Fit(cliques=cliques, loss=float(np.mean(errors)) if errors else 0.0))
        return fitted

    return type(kind.__name__, (kind,), {"fit": fit})


def _as(value: Any, kind: type) -> Any:
    """Give a frozen object another class of the same fields."""
    object.__setattr__(value, "__class__", kind)
    return value
