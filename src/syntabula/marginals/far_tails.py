"""How many records the far codes of an ordered column hold, where noise hides each: as many as a smooth decline leaves.

In a skewed column a few records far out hold most of the variance. Cut off where noise begins to hide them, they take a
quarter of the spread with them; kept as they were counted, noise far out is worth more than all of them. But tails
decline smoothly, and the counts of the codes before them tell how fast. All of it is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_RATES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""By how much the logarithm of a density falls with that of the distance: 1 is a tail without a mean."""
_BENDS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 13.0, 20.0)
"""How much faster it falls farther out, as that of lognormal, exponential and bounded tails does."""
_ENDING = 0.5
"""Chance, before anything is counted, that a column ends at one of the far codes."""
_MOST_ENDS = 16
_ROUGH = 0.4
"""Part of a count by which real columns differ from a smooth decline."""
_FEWEST, _LEAST_SIGMAS = 3, 15.0
"""A decline is learned from so many codes before the far ones, and from further ones until all hold so many standard
deviations of noise together; from all of them if there are fewer."""
_NARROWEST, _BESIDE = 0.02, 0.1
"""A code is a single value, of which a decline tells nothing, if it is narrower than this part of its distance from the
centre, and than this part of the widest code nearer to the centre. Where all bins have one width, none is."""
_MOST_CODES = 1_000
"""Codes from which a decline is learned, at most; it takes 30 kilobytes for each."""
_CLEAR = 500.0
"""Records for each standard deviation of noise from which far codes are told: where there are fewer, columns that end
seem to go on, and their spread comes out too wide."""
_LONGEST = 1.2
"""Most that a code with far records may be long, in the logarithm of the distance; a doubling is .7. What is known of a
longer one says little of the column's spread."""
_LEAST_RECORDS = 0.1
"""Expected records below which a code is empty."""
_STEPS, _ROUNDS = 8, 4


def far_counts(values: FloatArray, sigma: float, edges: FloatArray, first: int) -> FloatArray | None:
    """Return expected numbers of records of the codes from one on outwards.

    With t, the logarithm of the distance from the median, the density of t is proportional to exp(-a t - b t^2), up to
    an end that may come sooner. Every a, b and end of a grid is weighed by the likelihood of the noisy counts of these
    codes, and of as many before them as tell a decline. Given each, a code holds the expected count, drawn towards the
    noisy one by the part that noise does not explain. Roots of these are averaged: a mean would follow the few guesses
    that reach far out, which are worth more than all others.

    Args:
        values: Noisy counts [codes], from the inside out; also those of codes on the other side of the median.
        sigma: Standard deviation of the noise on each.
        edges: Ends of the codes, ascending [codes + 1].
        first: The first code whose records noise hides.

    Returns:
        The numbers [codes - first]; None if no codes before tell a decline, far codes are too long or single values,
        noise is too much, or codes are too many.
    """
    if values.sum() < _CLEAR * sigma:
        return None
    # By their largest, so that distances stay finite whatever the unit.
    edges = edges / np.abs(edges).max()
    held = np.cumsum(np.maximum(values, 0.0))
    middle = int(np.searchsorted(held, held[-1] / 2))
    away = edges - (edges[middle] + edges[middle + 1]) / 2
    outside, widths = away[:-1] > 0, np.diff(edges)
    nearer = np.maximum.accumulate(np.where(outside, widths, 0.0))
    wide = outside & (widths >= np.minimum(_NARROWEST * away[:-1], _BESIDE * nearer))
    before = np.flatnonzero(wide[:first])[::-1]
    enough = np.flatnonzero(np.cumsum(values[before]) >= _LEAST_SIGMAS * sigma)
    if not before.size or not wide[first:].any():
        return None
    n_before = max(_FEWEST, int(enough[0]) + 1 if enough.size else before.size)
    start = int(before[:n_before][-1])
    codes = start + np.flatnonzero(wide[start:])
    if codes.size > _MOST_CODES:
        return None
    places = np.log(away[start:]) - math.log(away[start])
    shapes, log_chances = _shapes(
        places[codes - start], places[codes - start + 1], int((codes < first).sum())
    )
    counted = values[codes]
    variances = sigma**2 + np.maximum(counted, 0.0) + np.square(_ROUGH * np.maximum(counted, 0.0))
    expected, spread = np.zeros(shapes.shape), np.broadcast_to(variances, shapes.shape)
    for _ in range(_ROUNDS):
        heights = (shapes * counted / spread).sum(axis=1) / (np.square(shapes) / spread).sum(axis=1)
        expected = np.maximum(heights, 1e-9)[:, None] * shapes
        own = expected + np.square(_ROUGH * expected)
        spread = sigma**2 + own
    log_chances = log_chances - (np.square(counted - expected) / spread + np.log(spread)).sum(axis=1) / 2
    chances = np.exp(log_chances - log_chances.max())
    likely = np.maximum(expected + (counted - expected) * own / spread, 0.0)
    found = np.square((chances / chances.sum()) @ np.sqrt(likely))
    holds = (codes >= first) & (found >= _LEAST_RECORDS)
    if (places[codes - start + 1] - places[codes - start])[holds].max(initial=0.0) > _LONGEST:
        return None
    far = np.zeros(values.size - first)
    far[codes[holds] - first] = found[holds]
    return far


def _shapes(lows: FloatArray, highs: FloatArray, n_sure: int) -> tuple[FloatArray, FloatArray]:
    """Return how many records each decline leaves for each code, up to a factor [declines, codes], and log chances
    [declines].

    Args:
        lows: Where codes begin, in the logarithm of the distance [codes].
        highs: Where they end.
        n_sure: How many of them have records for sure.
    """
    within = lows[:, None] + (highs - lows)[:, None] * (np.arange(_STEPS) + 0.5) / _STEPS
    rates, bends = (grid.ravel()[:, None, None] for grid in np.meshgrid(_RATES, _BENDS))
    falls = rates * within + bends * np.square(within)
    # From its least on, so that a code of very many doublings has more than zero.
    whole = np.exp(falls.min(axis=(1, 2), keepdims=True) - falls).mean(axis=2) * (highs - lows)
    whole = np.maximum(whole, 1e-300)
    ends = np.unique(np.linspace(n_sure, lows.size - 1, _MOST_ENDS).astype(np.int64))
    ending = np.where(np.arange(lows.size) >= ends[:, None, None], 1e-300, whole)
    shapes = np.concatenate([whole, ending.reshape(-1, lows.size)])
    chances = np.full(shapes.shape[0], math.log(_ENDING / ends.size))
    chances[: whole.shape[0]] = math.log(1 - _ENDING)
    return shapes, chances
