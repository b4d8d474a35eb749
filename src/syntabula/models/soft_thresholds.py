"""Probabilities that soft rows pass linear thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.threshold import CrossedThresholds, LinearThreshold, positions

if TYPE_CHECKING:
    from torch import Tensor

STEEPEST = 2.0**11
"""Steepness of a threshold that is queried rather than fitted."""
_AT_ONCE = 64
_PROBIT = 1.702
"""The normal distribution function at z is close to the logistic function at 1.702 z."""


@dataclass(frozen=True, eq=False)
class SoftThresholds:
    """The probability that each soft row passes each of some thresholds.

    RAP++ (Vietri et al. 2022) has rows of plain numbers, where a threshold h.x > b becomes a sigmoid of t (h.x
    - b) with a steepness t. Here a column of a row is a distribution: h.x is a sum of independent terms with
    some mean and variance, and under a normal approximation it exceeds b with probability about the sigmoid of
    (mean - b) / sqrt(1 / t^2 + variance / 1.702^2). If rows are single codes, both are the same.

    Attributes:
        codes: Positions of the codes of all columns that occur in a threshold.
        moments: What each of these codes adds to the mean position, and to the mean squared position, of
            each such column [2 * columns, codes].
        weights: Weight of each column in each sum [thresholds, columns].
        offsets: Value that each sum has to exceed [thresholds, 1].
    """

    codes: Any
    moments: Any
    weights: Any
    offsets: Any

    @classmethod
    def over(cls, domain: Domain, thresholds: Mapping[str, LinearThreshold]) -> SoftThresholds:
        """Arrange thresholds over the codes of a domain."""
        named = {c for t in thresholds.values() for c in t.columns}
        columns = [c for c in domain.columns if c in named]
        weights = np.zeros((len(thresholds), len(columns)))
        for number, threshold in enumerate(thresholds.values()):
            weights[number, [columns.index(c) for c in threshold.columns]] = threshold.weights
        return cls.of(domain, columns, weights, np.array([t.offset for t in thresholds.values()]))

    @classmethod
    def of(
        cls, domain: Domain, columns: Sequence[str], weights: FloatArray, offsets: FloatArray
    ) -> SoftThresholds:
        """Arrange thresholds over the same columns: weights [thresholds, columns] and offsets [thresholds]."""
        places = [domain.index(c) for c in columns]
        owner = np.repeat(np.arange(len(domain)), domain.sizes)
        codes = np.flatnonzero(np.isin(owner, places))
        place = np.concatenate([positions(size) for size in domain.sizes])[codes]
        belongs = owner[codes] == np.array(places, dtype=np.intp)[:, None]
        return cls(
            codes,
            np.concatenate([belongs * place, belongs * place**2]).astype(np.float32),
            weights.astype(np.float32),
            offsets.astype(np.float32).reshape(-1, 1),
        )

    def on(self, device: Any) -> SoftThresholds:
        """Return the same on a torch device."""
        torch = require("torch", "neural")
        arrays = (self.codes, self.moments, self.weights, self.offsets)
        return SoftThresholds(*(torch.tensor(a, device=device) for a in arrays))

    def beside(self, rows: Tensor, steepness: float) -> Tensor:
        """Return the distributions of rows [codes, rows], followed by those over no and yes of all thresholds."""
        torch = require("torch", "neural")
        if not len(self.offsets):
            return rows
        passed = self._margin(rows[self.codes], steepness).sigmoid()
        table: Tensor = torch.cat([rows, torch.stack([1 - passed, passed], dim=1).flatten(0, 1)])
        return table

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Return the probabilities of no and yes for each threshold, at full steepness, of numpy rows [rows,
        codes]."""
        margin = self._margin(rows.T[self.codes], STEEPEST)
        passed = 1 / (1 + np.exp(-np.clip(margin, -60, 60)))
        return np.stack([1 - passed, passed], axis=1).reshape(-1, len(rows)).T.astype(np.float32)

    def _margin(self, codes: Any, steepness: float) -> Any:
        """Return the distance of each sum's mean beyond its offset, in units of its spread; numpy or torch."""
        mean, variance = self._mean_and_variance(codes)
        spread = (self.weights**2) @ variance / _PROBIT**2 + steepness**-2
        return (self.weights @ mean - self.offsets) * spread**-0.5

    def _mean_and_variance(self, codes: Any) -> tuple[Any, Any]:
        """Return the mean and variance of the position in each column [columns, rows]; numpy or torch."""
        moments = self.moments @ codes
        mean, square = moments[: len(moments) // 2], moments[len(moments) // 2 :]
        return mean, (square - mean**2).clip(min=0)


def crossed_parts(domain: Domain, thresholds: CrossedThresholds, rows: np.ndarray) -> FloatArray:
    """Return the fraction of soft rows that pass each threshold and have each code of its other column.

    Args:
        domain: Domain of the rows.
        thresholds: The thresholds to evaluate.
        rows: Distributions [rows, codes], float32.

    Returns:
        Fractions [thresholds, codes of the widest other column].
    """
    # Moments of all rows are computed once, so that a threshold takes few passes.
    soft = SoftThresholds.of(domain, thresholds.columns, thresholds.weights, thresholds.offsets)
    mean, variance = soft._mean_and_variance(rows.T[soft.codes])
    ends = np.cumsum([0, *domain.sizes])
    others = [domain.index(c) for c in thresholds.others]
    blocks = [rows[:, ends[i] : ends[i + 1]] for i in others] or [np.ones((len(rows), 1), np.float32)]
    found = np.zeros((len(thresholds), max(b.shape[1] for b in blocks)))
    for position, having in enumerate(blocks):
        some = np.flatnonzero(thresholds.crossed == position)
        whole = having.sum(axis=0)
        for first in range(0, some.size, _AT_ONCE):
            part = some[first : first + _AT_ONCE]
            weights = soft.weights[part]
            spread = (weights**2) @ (variance / _PROBIT**2)
            spread += STEEPEST**-2
            passed = weights @ mean
            passed -= soft.offsets[part]
            passed /= np.sqrt(spread, out=spread)
            # The logistic function at x is (1 + tanh(x / 2)) / 2.
            passed *= 0.5
            found[part, : having.shape[1]] = 0.5 * (np.tanh(passed, out=passed) @ having + whole)
    return found / len(rows)
