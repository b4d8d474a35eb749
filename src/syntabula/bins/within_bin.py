"""Values drawn inside bins: how codes become values again."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins, integer_dtype


def normal_within(bins: Bins, spread: Spread, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Draw one value per code from the truncated normal distribution of its bin; see `uniform_within`."""
    index = np.asarray(codes, dtype=np.intp)
    places = spread.places(index, rng)
    if not bins.integer:
        return _floats_at(bins, index, places)
    lower, last = int(bins.edges[0]), int(bins.edges[-1]) - 1
    starts = [int(e) - lower for e in bins.edges]
    first = np.array(starts[:-1], dtype=np.uint64)[index]
    most = np.array([b - a - 1 for a, b in itertools.pairwise(starts)], dtype=np.uint64)[index]
    # A float64 place is too coarse to name each integer of a bin wider than 2^53, which only rounds it.
    steps = np.minimum((places * (most.astype(np.float64) + 1)).astype(np.uint64), most)
    return (first + steps + np.uint64(lower % 2**64)).view(integer_dtype(lower, last))


def uniform_within(bins: Bins, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Draw one value per code, uniformly inside its bin.

    Integer bins draw among the integers of the bin: rounding a real draw could leave the bin. Codes of all
    values drawn are the codes given.

    Args:
        bins: Bins of the column.
        codes: [n] codes from 0 to bins.size - 1.
        rng: Source of ordinary randomness; drawing values is post-processing and protects nothing.

    Returns:
        [n] values: float64, or for integer bins int64 where the bounds allow it, else uint64.
    """
    index = np.asarray(codes, dtype=np.intp)
    return _integers_within(bins, index, rng) if bins.integer else _floats_within(bins, index, rng)


def _integers_within(bins: Bins, index: NDArray[np.intp], rng: np.random.Generator) -> NDArray[Any]:
    lower, last = int(bins.edges[0]), int(bins.edges[-1]) - 1
    starts = [int(e) - lower for e in bins.edges]
    first = np.array(starts[:-1], dtype=np.uint64)
    # Width minus one, since a lone bin over all of uint64 is 2**64 wide.
    span = np.array([b - a - 1 for a, b in itertools.pairwise(starts)], dtype=np.uint64)
    if not span.any():
        offsets = first[index]
    else:
        offsets = first[index] + rng.integers(0, span[index], dtype=np.uint64, endpoint=True)
    # Wraps modulo 2**64, which is exact for signed values.
    return (offsets + np.uint64(lower % 2**64)).view(integer_dtype(lower, last))


def _floats_within(bins: Bins, index: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    return _floats_at(bins, index, rng.random(index.size))


def _floats_at(bins: Bins, index: NDArray[np.intp], share: NDArray[np.float64]) -> NDArray[np.float64]:
    edges = np.array(bins.edges, dtype=np.float64)
    low = edges[:-1]
    high = edges[1:].copy()
    # All bins but the last are open on the right.
    high[:-1] = np.nextafter(high[:-1], -np.inf)
    drawn = low[index] * (1 - share) + high[index] * share
    values: NDArray[np.float64] = np.clip(drawn, low[index], high[index]) + 0.0
    return values
