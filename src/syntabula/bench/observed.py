"""Which marginals a method measures, and how near its model comes to them, seen from outside."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syntabula.marginals.measurement import Measurement


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
