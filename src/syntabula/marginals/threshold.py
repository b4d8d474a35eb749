"""Random linear thresholds: yes-or-no questions about several ordered columns at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable

YES = 1
"""Code of a threshold's column where it is passed; the other one is 0."""


@dataclass(frozen=True, eq=False)
class LinearThreshold:
    """Whether a weighted sum of columns is above an offset; a code c of m counts as (c + 1/2) / m.

    It is a function of one record, so as a further column of two codes it can be counted like any other.

    Attributes:
        columns: Distinct names.
        weights: One number per column [columns].
        offset: What the sum has to exceed.
    """

    columns: tuple[str, ...]
    weights: NDArray[np.float64]
    offset: float

    def __post_init__(self) -> None:
        if not self.columns or self.weights.shape != (len(self.columns),):
            raise ArgumentError("a threshold needs one weight for each of its columns, and at least one")

    def codes(self, table: EncodedTable) -> NDArray[np.uint8]:
        """Return 1 for each row [rows] that passes, 0 for the others."""
        sums = np.zeros(table.n_rows)
        for column, weight in zip(self.columns, self.weights, strict=True):
            sums += weight * positions(table.domain.size(column))[table.column(column)]
        return (sums > self.offset).astype(np.uint8)


def positions(size: int) -> NDArray[np.float64]:
    """Return the place of each code between 0 and 1 [size]."""
    return (np.arange(size) + 0.5) / size


def random_thresholds(columns: Sequence[str], n: int, rng: np.random.Generator) -> dict[str, LinearThreshold]:
    """Draw thresholds by name: weights N(0, 1 / columns) and an offset N(0, 1) (Vietri et al. 2022, RAP++)."""
    weights = rng.standard_normal((n, len(columns))) / np.sqrt(len(columns))
    offsets = rng.standard_normal(n)
    return {
        f"threshold {i}": LinearThreshold(tuple(columns), weights[i], float(offsets[i])) for i in range(n)
    }


def with_threshold_columns(domain: Domain, thresholds: Mapping[str, LinearThreshold]) -> Domain:
    """Return a domain with a column of two codes for each threshold, after its own."""
    sizes = (*domain.sizes, *(2 for _ in thresholds))
    return Domain((*domain.columns, *thresholds), sizes, domain.ordered)
