"""A noisy marginal, as released by the Curator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain

FloatArray = NDArray[np.float64]

HALF_NORMAL = math.sqrt(2 / math.pi)
"""Mean absolute value of standard normal noise, which one cell's noise adds to an L1 distance."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of one clique.

    Attributes:
        clique: The columns that were counted.
        values: Noisy counts, one axis per column of the clique.
        sigma: Standard deviation of the noise: one number for all cells, or an array of the shape of
            `values` if cells were summed after the draw. 0 only if privacy was switched off.

    Raises:
        ArgumentError: If values or sigma are not finite, shapes disagree, or sigma is negative.
    """

    clique: Clique
    values: FloatArray
    sigma: float | FloatArray

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        sigma = np.asarray(self.sigma, dtype=np.float64)
        if values.ndim != len(self.clique):
            raise ArgumentError(
                f"values of clique {self.clique} have {values.ndim} axes, not {len(self.clique)}"
            )
        if not np.isfinite(values).all():
            raise ArgumentError(f"values of clique {self.clique} must be finite")
        if sigma.ndim and sigma.shape != values.shape:
            raise ArgumentError(
                f"sigma of clique {self.clique} must be one number, or an array of the shape of values"
            )
        if not np.isfinite(sigma).all() or (sigma < 0).any():
            raise ArgumentError(f"sigma of clique {self.clique} must be finite and not negative")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "sigma", sigma if sigma.ndim else float(sigma))

    @property
    def variances(self) -> FloatArray:
        """Noise variance of each cell, in the shape of `values`; 1 everywhere if no noise was added."""
        variances = np.broadcast_to(np.square(np.asarray(self.sigma)), self.values.shape)
        return np.where(variances == 0, 1.0, variances)

    def averaged(self, other: Measurement) -> Measurement:
        """Return the mean of two noisy measurements of one clique, weighted by inverse variance."""
        if self.clique != other.clique or self.values.shape != other.values.shape:
            raise ArgumentError(f"measurements of {self.clique} and of {other.clique} cannot be averaged")
        first, second = 1 / self.variances, 1 / other.variances
        values = (first * self.values + second * other.values) / (first + second)
        return Measurement(self.clique, values, 1 / np.sqrt(first + second))


def check_measurements(domain: Domain, measurements: Sequence[Measurement]) -> None:
    """Check that there is a measurement, and that all values have the shape of their clique.

    Raises:
        ArgumentError: If there is no measurement, or a shape differs.
        SchemaError: If a clique names an unknown column.
    """
    if not measurements:
        raise ArgumentError("fit needs at least one measurement")
    for m in measurements:
        shape = domain.shape(m.clique)
        if m.values.shape != shape:
            raise ArgumentError(
                f"the measurement of {m.clique} has shape {m.values.shape}; the domain needs {shape}"
            )
