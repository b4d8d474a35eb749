"""A model restricted to the records that satisfy conditions on some of their columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray

Weights = Mapping[str, FloatArray]
"""For each column with a condition, the probability [codes] that a record with that code satisfies it, 0 .. 1."""

_TRIED = 200_000
_AT_ONCE = 250_000
_LEAST_ACCEPTED = 1e-4


@dataclass(frozen=True)
class Restricted:
    """A model restricted to the records that satisfy conditions.

    Attributes:
        probability: Probability that a record of the model satisfies them.
        draw: Draws n such records; must not be called if the probability is 0.
        records: If the model is a set of records: the number that may satisfy the conditions, and the number of all.
        tried: Whether this is rejection sampling: rows of the whole model are discarded if they fail the conditions.
        cheap: Number of rows that take no longer to draw than to estimate the probability did; None if none is discarded.
        error: Standard error of the probability; 0 where it is exact, but for rounding.
    """

    probability: float
    draw: Callable[[int, np.random.Generator], EncodedTable]
    records: tuple[int, int] | None = None
    tried: bool = False
    cheap: int | None = None
    error: float = 0.0


class Sampled(Protocol):
    """A model that can be restricted by rejection sampling."""

    @property
    def domain(self) -> Domain:
        """Columns and sizes of its rows."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> EncodedTable:
        """Draw n rows."""
        ...


def by_trying(model: Sampled, weights: Weights, *, tried: int = _TRIED) -> Restricted:
    """Restrict a model by rejection sampling: draw rows of the whole and keep those that satisfy the conditions.

    The rows kept have the exact distribution; only the probability is estimated.

    Args:
        model: The model.
        weights: The conditions.
        tried: Number of rows that the probability is estimated from; fewer for models that draw slowly.

    Raises:
        ResourceError: If fewer than one row in 10,000 would be kept.
    """
    trial = model.sample(tried, np.random.default_rng(0))
    probability = float(_chances(trial, weights).mean())
    if probability < _LEAST_ACCEPTED:
        raise ResourceError(
            f"{probability:.2%} of {tried:,} rows that were tried satisfy the conditions, and this model can be "
            "restricted in no other way; loosen the conditions, or give the values of these columns as a table"
        )

    def draw(n: int, rng: np.random.Generator) -> EncodedTable:
        kept: list[EncodedTable] = []
        missing = n
        while missing > 0:
            drawn = model.sample(min(_AT_ONCE, int(1.1 * missing / probability) + 100), rng)
            accepted = np.flatnonzero(rng.random(drawn.n_rows) < _chances(drawn, weights))[:missing]
            kept.append(EncodedTable(drawn.domain, tuple(codes[accepted] for codes in drawn.codes)))
            missing -= accepted.size
        pieces = zip(*(table.codes for table in kept), strict=True)
        return (
            EncodedTable(model.domain, tuple(np.concatenate(p) for p in pieces))
            if kept
            else model.sample(0, rng)
        )

    error = math.sqrt(probability * (1 - probability) / tried)
    return Restricted(probability, draw, tried=True, cheap=int(tried * probability), error=error)


def _chances(rows: EncodedTable, weights: Weights) -> FloatArray:
    chances = np.ones(rows.n_rows)
    for column, weight in weights.items():
        chances *= weight[rows.column(column)]
    return chances
