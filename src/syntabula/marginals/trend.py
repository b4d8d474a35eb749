"""Trends: how two ordered columns rise together, as one number that has far less noise than the cells of their pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.recoding import Recoding

FEWEST_CODES = 3
"""Codes of each column of a trend, at least: where there are two, a pair's cells are as cheap to ask for."""

STEPS_PER_SCORE = 256
"""Scores are rounded to this many steps, so that a trend is a sum of whole numbers."""

_FARTHEST_LOGIT = 3.5
_FARTHEST_TILT = 15.0
_TILT_STEPS, _TILTED = 40, 0.1
"""Most steps towards the tilt of a pair, and standard deviations of a trend's noise that are near enough."""

_LEAST = 1e-9
"""Part of the records that each code counts as at least, so that codes without records lie between their neighbours."""


@dataclass(frozen=True, eq=False)
class Trend:
    """A noisy sum over all records of the product of the scores of both columns' codes.

    Attributes:
        clique: Both columns.
        scores: The score of each code of each column: -0.5 .. 0.5 [codes], and 0 of codes that stand apart.
        value: The noisy sum, in records times scores of both columns.
        sigma: Standard deviation of its noise, above 0.
    """

    clique: Clique
    scores: tuple[FloatArray, FloatArray]
    value: float
    sigma: float

    def merged(self, recoding: Recoding) -> Trend:
        """Return the trend over new codes, of which each has the mean score of its old codes, by their shares."""
        first, second = (merged_scores(c, s, recoding) for c, s in zip(self.clique, self.scores, strict=True))
        return Trend(self.clique, (first, second), self.value, self.sigma)

    def tilt(self, clique: Clique, believed: FloatArray) -> FloatArray:
        """Return the logarithm of factors by which the cells of the pair come to this trend, up to a constant.

        Of all distributions with the trend, this one is the nearest to what is believed: a factor exp(t x) for cells
        whose product of scores is x. Its t is found by Newton's steps, or halving where they lead out.

        Args:
            clique: Both columns, in the order of the axes.
            believed: Expected counts [codes, codes].
        """
        given = dict(zip(self.clique, self.scores, strict=True))
        products = np.outer(given[clique[0]], given[clique[1]])
        total = max(float(believed.sum()), _LEAST)
        farthest = _FARTHEST_TILT / max(float(np.abs(products).max()), _LEAST)
        low, high, at = -farthest, farthest, 0.0
        for _ in range(_TILT_STEPS):
            counts = believed * np.exp(at * products)
            counts *= total / max(float(counts.sum()), _LEAST)
            off = self.value - float((counts * products).sum())
            if abs(off) <= _TILTED * self.sigma:
                break
            low, high = (at, high) if off > 0 else (low, at)
            bend = float((counts * np.square(products)).sum()) - (self.value - off) ** 2 / total
            wanted = at + off / max(bend, _LEAST)
            at = wanted if low < wanted < high else (low + high) / 2
        return at * products


def merged_scores(column: str, scores: FloatArray, recoding: Recoding) -> FloatArray:
    """Return scores of new codes: the mean of their old codes, by their shares."""
    if column not in recoding.maps:
        return scores
    return np.bincount(recoding.maps[column], recoding.shares[column] * scores).astype(np.float64)


def scores_of(shares: FloatArray, inner: int) -> FloatArray:
    """Return scores of a column's codes that rise with its values: -0.5 .. 0.5 [codes], and 0 after the first `inner`.

    The score of a code is the mean logit of the ranks of its records, of which the largest is scaled to a half. Beside
    ranks, logits tell more of both ends of a column, which rule a correlation. They count as 3.5 at most, so that a code
    of few records leaves the scores of others large beside the noise.

    Args:
        shares: About how many records have each code, or which part of them [codes].
        inner: How many codes do not stand apart, as those of missing values do.
    """
    counts = np.maximum(shares[:inner], 0.0)
    within = counts / max(float(counts.sum()), _LEAST) + _LEAST
    ends = np.concatenate([[0.0], np.cumsum(within / within.sum())]).clip(0.0, 1.0)
    ends[-1] = 1.0
    # The integral of a logit.
    areas = _times_log(ends) + _times_log(1 - ends)
    means = np.clip(np.diff(areas) / np.diff(ends), -_FARTHEST_LOGIT, _FARTHEST_LOGIT)
    scores = np.zeros(shares.size)
    # All are 0 where one code holds all records.
    scores[:inner] = means / max(2 * float(np.abs(means).max()), _LEAST)
    return scores


def _times_log(numbers: FloatArray) -> FloatArray:
    found: FloatArray = numbers * np.log(np.maximum(numbers, 1e-300))
    return found


def whole_steps(scores: FloatArray) -> NDArray[np.int64]:
    """Return scores as whole numbers of steps [codes]."""
    return np.rint(scores * STEPS_PER_SCORE).astype(np.int64)
