"""Modes of a number's distribution: a code becomes one of a few modes, and an offset from its centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray

Places = NDArray[np.intp]

_NARROWEST = 1 / 8
"""Least standard deviation of a mode, in codes: four of them stay within one code."""
_REACH = 4.0
_LARGEST_OFFSET = 0.99
_LEAST_WEIGHT = 0.005
_LEAST_CHANCE = 0.001
_SPIKE = 0.05
_ROUNDS, _SETTLED = 200, 1e-6


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of an ordered column; see `fitted_modes`.

    Attributes:
        centres: In codes [modes].
        reaches: How far from its centre each one's offset is 1, in codes [modes].
    """

    centres: FloatArray
    reaches: FloatArray

    def offsets(self, codes: NDArray[Any]) -> FloatArray:
        """Return how far codes lie from each mode's centre, in its reaches [codes, modes]."""
        return (codes[:, None] - self.centres) / self.reaches

    def nearest(self, codes: NDArray[np.integer], modes: Places, offsets: NDArray[np.floating]) -> Places:
        """Return the position of the code that lies nearest to an offset from a mode.

        Args:
            codes: The codes that there are, ascending.
            modes: One mode for each row.
            offsets: Likewise, taken as -1 or 1 where they lie beyond.
        """
        found = self.centres[modes] + self.reaches[modes] * np.clip(offsets, -1.0, 1.0)
        places: Places = np.searchsorted((codes[1:] + codes[:-1]) / 2, found)
        return places

    def code_chances(
        self, codes: NDArray[np.integer], modes: NDArray[np.floating], offsets: FloatArray, deviation: float
    ) -> FloatArray:
        """Return how probable each code is in each row [rows, codes].

        Args:
            codes: The codes that there are, ascending.
            modes: Probabilities of the modes [rows, modes].
            offsets: Mean of the offset in each row [rows]; the same for all modes.
            deviation: Its standard deviation; may be 0.
        """
        from scipy.special import ndtr  # type: ignore[import-untyped]

        below = np.zeros((len(modes), codes.size + 1))
        below[:, -1] = 1.0
        for mode, edges in enumerate(self.offsets((codes[1:] + codes[:-1]) / 2).T):
            # Offsets beyond 1 become 1, so that no code beyond it is reached, nor any below -1.
            within = (edges >= -1.0) & (edges < 1.0)
            apart = edges[within] - offsets[:, None]
            chances = ndtr(apart / deviation) if deviation > 0 else apart >= 0
            below[:, 1:-1][:, within] += modes[:, mode, None] * chances
            below[:, 1:-1][:, edges >= 1.0] += modes[:, mode, None]
        found: FloatArray = np.maximum(np.diff(below, axis=1), 0.0)
        found /= found.sum(1, keepdims=True)
        return found


def fitted_modes(codes: NDArray[np.integer], shares: FloatArray, most: int) -> tuple[Modes, FloatArray]:
    """Fit a mixture of normal distributions to the codes of a column; return its modes, and each code's chances of them.

    Xu et al. (2019) fit such a mixture to the values by variational inference and draw the mode of a
    value in proportion to its density there. Here it is fitted by expectation and maximisation to the one-way marginal,
    from the frequent codes and quantiles of the others, so that it is always the same. Modes of a weight up to .005 are
    left out, as theirs are. An offset of 1 is at least four standard deviations away from the centre, and so far
    that no code needs to be clipped, so each comes back from any of its modes.

    Args:
        codes: The codes that there are, ascending, at least one.
        shares: Their shares of all records, above 0; they sum to 1.
        most: Largest number of modes, at least 1.

    Returns:
        The modes, and a probability for each code and mode [codes, modes]; those of a code sum to 1.
    """
    x = codes.astype(np.float64)
    centres, deviations = _first(x, shares, min(most, codes.size))
    weights = np.full(centres.size, 1 / centres.size)
    before = -np.inf
    for _ in range(_ROUNDS):
        chances, likelihood = _chances(x, weights, centres, deviations, shares)
        if likelihood - before < _SETTLED:
            break
        before = likelihood
        held = chances * shares[:, None]
        weights = held.sum(0)
        safe = np.maximum(weights, 1e-300)
        centres = held.T @ x / safe
        spreads = (held * (x[:, None] - centres) ** 2).sum(0) / safe
        deviations = np.sqrt(np.maximum(spreads, _NARROWEST**2))
    kept = weights > min(_LEAST_WEIGHT, weights.max() / 2)
    weights, centres, deviations = weights[kept], centres[kept], deviations[kept]
    chances, _ = _chances(x, weights, centres, deviations, shares)
    chances[chances < _LEAST_CHANCE * chances.max(1, keepdims=True)] = 0.0
    chances /= chances.sum(1, keepdims=True)
    apart = np.abs(x[:, None] - centres) * (chances > 0)
    reaches = np.maximum(_REACH * deviations, apart.max(0) / _LARGEST_OFFSET)
    return Modes(centres, reaches), chances


def _first(x: FloatArray, shares: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return centres and deviations to begin with: frequent codes on their own, and parts of the others."""
    spikes = np.argsort(-shares, kind="stable")[: n // 2]
    spikes = spikes[shares[spikes] >= _SPIKE]
    rest = shares.copy()
    rest[spikes] = 0.0
    if not rest.any():
        return x[spikes], np.full(spikes.size, _NARROWEST)
    parts = n - spikes.size
    ranks = np.cumsum(rest) / rest.sum()
    ends = np.interp(np.arange(parts + 1) / parts, np.append(0.0, ranks), np.append(x[0] - 0.5, x + 0.5))
    centres = np.concatenate([x[spikes], (ends[1:] + ends[:-1]) / 2])
    widths = np.maximum(np.diff(ends) / 2, _NARROWEST)
    return centres, np.concatenate([np.full(spikes.size, _NARROWEST), widths])


def _chances(
    x: FloatArray, weights: FloatArray, centres: FloatArray, deviations: FloatArray, shares: FloatArray
) -> tuple[FloatArray, float]:
    """Return how probable each mode is given a code [codes, modes], and the mean log-likelihood up to a constant."""
    with np.errstate(divide="ignore"):
        heights = np.log(weights / deviations) - ((x[:, None] - centres) / deviations) ** 2 / 2
    highest = heights.max(1, keepdims=True)
    found = np.exp(heights - highest)
    sums = found.sum(1, keepdims=True)
    return found / sums, float(shares @ (highest + np.log(sums))[:, 0])
