"""Which records a step of training takes.

A record is taken if a number of 72 bits lies below floor(rate 2^72): with probability `rate` or, for rates that are no
such fraction, by less than 2^-72 smaller. Eight bits decide nearly all.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.vector_samplers import RandomBytes


def sampled_records(n_records: int, rate: float, random_bytes: RandomBytes) -> NDArray[np.intp]:
    """Return the positions, rising, of the records that are taken, each with probability `rate` on its own."""
    first, rest = _digits(rate)
    drawn = np.frombuffer(random_bytes(n_records), dtype=np.uint8)
    found = np.flatnonzero(drawn <= first)
    open_ones = np.flatnonzero(drawn[found] == first)
    digits = np.frombuffer(random_bytes(8 * open_ones.size), dtype="<u8")
    taken = np.ones(found.size, np.bool_)
    taken[open_ones[digits >= np.uint64(rest)]] = False
    return found[taken]


@lru_cache(maxsize=8)
def _digits(rate: float) -> tuple[int, int]:
    """Return the first 8 bits of a rate of 72, and the other 64."""
    whole = math.floor(Fraction(rate) * 2**72)
    return whole >> 64, whole & (2**64 - 1)
