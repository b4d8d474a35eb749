"""Linear thresholds of soft rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Domain
from syntabula.marginals.threshold import LinearThreshold, positions

if TYPE_CHECKING:
    from torch import Tensor

STEEPEST = 2.0**11
"""Steepness of a threshold that is asked for rather than fitted."""
_PROBIT = 1.702
"""The normal distribution function at z is near the logistic one at 1.702 z."""


@dataclass(frozen=True, eq=False)
class SoftThresholds:
    """How likely each soft row passes each of some thresholds.

    RAP++ (Vietri et al. 2022) has rows of plain numbers, where a threshold h.x > b becomes a sigmoid of
    t (h.x - b) with a steepness t. Here a column of a row is a distribution: h.x is a sum of independent parts
    with some mean and variance, and if taken for normal it exceeds b with about the sigmoid of
    (mean - b) / sqrt(1 / t^2 + variance / 1.702^2). Where rows are single codes both say the same.

    Attributes:
        means: Part that each code has in each sum [sum of sizes, thresholds].
        offsets: What each sum has to exceed [thresholds].
        owner: 1 where a code belongs to a column [sum of sizes, columns].
        weights: Squared weight of each column in each sum [columns, thresholds].
        places: Place of each code between 0 and 1 [sum of sizes].
    """

    means: Any
    offsets: Any
    owner: Any
    weights: Any
    places: Any

    @classmethod
    def over(cls, domain: Domain, thresholds: Mapping[str, LinearThreshold]) -> SoftThresholds:
        """Arrange thresholds over the codes of a domain."""
        places = np.concatenate([positions(size) for size in domain.sizes])
        owner = np.repeat(np.eye(len(domain)), domain.sizes, axis=0)
        weights = np.zeros((len(domain), len(thresholds)))
        for number, threshold in enumerate(thresholds.values()):
            weights[[domain.index(c) for c in threshold.columns], number] = threshold.weights
        arrays = (
            (owner @ weights) * places[:, None],
            np.array([t.offset for t in thresholds.values()]),
            owner,
            np.square(weights),
            places,
        )
        return cls(*(a.astype(np.float32) for a in arrays))

    def on(self, device: Any) -> SoftThresholds:
        """Return the same on a device of torch."""
        torch = require("torch", "neural")
        arrays = (self.means, self.offsets, self.owner, self.weights, self.places)
        return SoftThresholds(*(torch.tensor(a, device=device) for a in arrays))

    def table(self, rows: Tensor, steepness: float) -> Tensor:
        """Return the distributions over no and yes of all thresholds side by side [rows, 2 * thresholds]."""
        passed = self._margin(rows, steepness).sigmoid()
        table: Tensor = (passed[:, :, None] * passed.new_tensor([-1, 1]) + passed.new_tensor([1, 0])).flatten(
            1
        )
        return table

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the same table for rows of numpy, with the steepest thresholds."""
        margin = self._margin(rows, STEEPEST)
        passed = 1 / (1 + np.exp(-np.clip(margin, -60, 60)))
        return np.stack([1 - passed, passed], axis=2).reshape(len(rows), -1).astype(np.float32)

    def _margin(self, rows: Any, steepness: float) -> Any:
        """Return how far the mean of each sum is beyond its offset, in units of its spread; numpy or torch."""
        mean = (rows * self.places) @ self.owner
        # Of each column alone: its weights are the thresholds'.
        variance = ((rows * self.places**2) @ self.owner - mean**2) @ self.weights
        spread = variance.clip(min=0) / _PROBIT**2 + steepness**-2
        return (rows @ self.means - self.offsets) / spread**0.5
