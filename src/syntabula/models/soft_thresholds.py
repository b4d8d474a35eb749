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
        codes: Positions of the codes of all columns that are in a sum.
        moments: What each of these codes adds to the mean place, and to the mean squared place, of each such
            column [2 * columns, codes].
        weights: Weight of each column in each sum [thresholds, columns].
        offsets: What each sum has to exceed [thresholds, 1].
    """

    codes: Any
    moments: Any
    weights: Any
    offsets: Any

    @classmethod
    def over(cls, domain: Domain, thresholds: Mapping[str, LinearThreshold]) -> SoftThresholds:
        """Arrange thresholds over the codes of a domain."""
        named = {c for t in thresholds.values() for c in t.columns}
        columns = [i for i, c in enumerate(domain.columns) if c in named]
        owner = np.repeat(np.arange(len(domain)), domain.sizes)
        codes = np.flatnonzero(np.isin(owner, columns))
        places = np.concatenate([positions(size) for size in domain.sizes])[codes]
        belongs = owner[codes] == np.array(columns, dtype=np.intp)[:, None]
        weights = np.zeros((len(thresholds), len(columns)))
        for number, threshold in enumerate(thresholds.values()):
            weights[number, [columns.index(domain.index(c)) for c in threshold.columns]] = threshold.weights
        return cls(
            codes,
            np.concatenate([belongs * places, belongs * places**2]).astype(np.float32),
            weights.astype(np.float32),
            np.array([[t.offset] for t in thresholds.values()], dtype=np.float32).reshape(-1, 1),
        )

    def on(self, device: Any) -> SoftThresholds:
        """Return the same on a device of torch."""
        torch = require("torch", "neural")
        arrays = (self.codes, self.moments, self.weights, self.offsets)
        return SoftThresholds(*(torch.tensor(a, device=device) for a in arrays))

    def beside(self, rows: Tensor, steepness: float) -> Tensor:
        """Return distributions of rows [codes, rows] and below them those over no and yes of all thresholds."""
        torch = require("torch", "neural")
        if not len(self.offsets):
            return rows
        passed = self._margin(rows[self.codes], steepness).sigmoid()
        table: Tensor = torch.cat([rows, torch.stack([1 - passed, passed], dim=1).flatten(0, 1)])
        return table

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return how likely rows [rows, codes] of numpy answer no and yes to each of the steepest thresholds."""
        margin = self._margin(rows.T[self.codes], STEEPEST)
        passed = 1 / (1 + np.exp(-np.clip(margin, -60, 60)))
        return np.stack([1 - passed, passed], axis=1).reshape(-1, len(rows)).T.astype(np.float32)

    def _margin(self, codes: Any, steepness: float) -> Any:
        """Return how far the mean of each sum is beyond its offset, in units of its spread; numpy or torch."""
        moments = self.moments @ codes
        mean, square = moments[: len(moments) // 2], moments[len(moments) // 2 :]
        variance = (self.weights**2) @ (square - mean**2).clip(min=0)
        return (self.weights @ mean - self.offsets) * (variance / _PROBIT**2 + steepness**-2) ** -0.5
