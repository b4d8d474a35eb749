"""Exact draws by the million: discrete Gaussian noise for every parameter of a step, and which records it takes.

**Noise.** OpenDP's sampler takes 10 microseconds a draw, and training needs a draw for every parameter of every step.
This is von Neumann's rejection from a staircase (1951; Marsaglia and Tsang, 2000, for the idea of a table):

1. The whole numbers from -R to R - 1, R = 512 W >= 16 sigma, lie in 1024 blocks of W, a power of two. Block j has w_j
   units, at least S f(x) for all its x, with f(x) = exp(-x^2 / (2 sigma^2)); all blocks together have 2^32.
2. 32 bits name a unit, and blocks lie end to end along the units. The first 16 bits name 2^16 units in a row, which
   mostly belong to one block; the other 16 are drawn where they do not.
3. Of 64 bits more, some are the place in the block, and the others begin a point u in 0 .. 1: x is kept if
   u < S f(x) / w_j. Its first 16 bits are enough where they are below those of the least such bound of the block.

So x is drawn with probability w_j / 2^32 / W * S f(x) / w_j in each trial, which is f(x) but for a constant: exactly,
whatever w_j is. About one trial in fifty is lost. Float64 decides step 3 where u is clear of its bound by more than all
rounding; the rest, one in 10^9 or so, is decided with as many digits as it takes (`privacy.exact_samplers`).

**Distance from the exact distribution.** Only the numbers beyond 16 sigma are missing, which have probability of at most
p = 2 exp(-128) (the noise is sub-Gaussian: Canonne, Kamath and Steinke, 2020). A run with k draws is within k p of one
with exact draws, in total variation, whatever the table; so where that has delta at an epsilon, the run has at most
(1 + exp(epsilon)) k p more. `MISSING` is that of a draw for an epsilon of 60, and is added to the chance to fail.

**Records.** A record is taken if a number of 72 bits lies below floor(rate 2^72): with probability `rate` or, for rates
that are no such fraction, by less than 2^-72 smaller. Eight bits decide nearly all.

Bits come from the noise source: those of OpenSSL's generator, which the operating system's seeds, or of a seeded one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.exact_samplers import exponential_bounds

RandomBytes = Callable[[int], bytes]
"""Returns so many random bytes."""

MISSING = 4 * math.exp(60 - 128)
"""What one draw adds to delta, at most, as numbers beyond 16 sigma are never drawn."""

_BLOCKS = 1024
_ROW_BITS = 16
_REACH = 16
_AT_ONCE = 1 << 15
"""Trials that are decided at once: with fewer, calls cost more than the arithmetic; what more need leaves the cache."""

_MARGIN = 2.0**-40
"""More than what float64 is off by in step 3, relative, some units in its last place times an exponent of 512."""


@dataclass(frozen=True, eq=False)
class _Staircase:
    """The blocks of one sigma.

    Attributes:
        sigma: Scale of the noise.
        width_bits: W = 2^width_bits.
        scale: S.
        units: [1024] w_j.
        ends: [1024] number of units of each block and of those before it.
        block_of: [65536] the block of each row of 2^16 units; -1 where it has units of several.
        sure: [1024] numbers of 64 - width_bits bits below which u is kept wherever in the block x lies.
    """

    sigma: float
    width_bits: int
    scale: int
    units: NDArray[np.int64]
    ends: NDArray[np.int64]
    block_of: NDArray[np.int16]
    sure: NDArray[np.uint64]

    @property
    def within(self) -> np.uint64:
        """W - 1."""
        return np.uint64((1 << self.width_bits) - 1)

    @cached_property
    def of_row(self) -> NDArray[np.uint32]:
        """What most trials need to know of a row of 2^16 units, in one word [65536].

        The upper 16 bits are its block, less 512. The lower are a number of 16 bits: points u that begin with a lower one
        are kept, wherever in the block x lies. It is 0 where the row has units of several blocks.
        """
        whole = self.block_of >= 0
        blocks = np.where(whole, self.block_of, _BLOCKS // 2)
        # Rounded down, so that nothing is kept that `sure` does not keep.
        sure = np.where(whole, self.sure[blocks] >> np.uint64(48 - self.width_bits), np.uint64(0))
        upper = (blocks - _BLOCKS // 2).astype(np.int16).view(np.uint16).astype(np.uint32)
        return (upper << np.uint32(16) | sure.astype(np.uint32)).astype("<u4")


def gaussian_draws(size: int, sigma: float, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return so many draws of probability proportional to exp(-x^2 / (2 sigma^2)), but for `MISSING`.

    Args:
        size: At least 0.
        sigma: At least 1, and at most 2^40.
        random_bytes: Where bits come from.
    """
    drawn = np.empty(size, dtype=np.int64)
    if not size:
        return drawn
    staircase = _staircase(sigma)
    starts = range(0, size, _AT_ONCE)
    unsure = [_tried(drawn[start : start + _AT_ONCE], start, staircase, random_bytes) for start in starts]
    # All at once, as they are few.
    lost = _lost(drawn, _Unsure(*map(np.concatenate, zip(*unsure, strict=True))), staircase, random_bytes)
    if lost.size:
        drawn[lost] = gaussian_draws(lost.size, sigma, random_bytes)
    return drawn


def farthest_draw(sigma: float) -> int:
    """Return a distance from 0 beyond which `gaussian_draws` draws nothing."""
    return _BLOCKS // 2 << _staircase(sigma).width_bits


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


class _Unsure(NamedTuple):
    """Trials that the first bits of their points do not decide.

    Attributes:
        places: Where they stand among all [trials].
        rows: Their first 16 bits [trials].
        bits: Their place in the block and the point [trials].
        units: The other 16 bits, for the trials whose row has units of several blocks alone.
    """

    places: NDArray[np.intp]
    rows: NDArray[np.uint16]
    bits: NDArray[np.uint64]
    units: NDArray[np.uint16]


def _tried(
    numbers: NDArray[np.int64], start: int, staircase: _Staircase, random_bytes: RandomBytes
) -> _Unsure:
    """Fill an array with one trial for each place, and return those that may be lost, at places from `start` on."""
    words = np.frombuffer(random_bytes(10 * numbers.size), dtype=np.uint8)
    bits, rows = words[: 8 * numbers.size].view("<u8"), words[8 * numbers.size :].view("<u2")
    held = rows.astype(np.intp)
    found = staircase.of_row.take(held)
    sure, blocks = found.view("<u2")[0::2], found.view("<i2")[1::2]
    np.bitwise_and(bits, staircase.within, out=numbers.view(np.uint64))
    # In place, as fresh memory costs more than the arithmetic.
    held[:] = blocks
    held <<= staircase.width_bits
    numbers += held
    unsure = np.flatnonzero(bits.view("<u2")[3::4] >= sure)
    rows = rows[unsure]
    n_divided = int(np.count_nonzero(staircase.block_of[rows] < 0))
    return _Unsure(
        unsure + start, rows, bits[unsure], np.frombuffer(random_bytes(2 * n_divided), dtype="<u2")
    )


def _lost(
    drawn: NDArray[np.int64], unsure: _Unsure, staircase: _Staircase, random_bytes: RandomBytes
) -> NDArray[np.intp]:
    """Finish the trials that are unsure, and return the places of those that are lost."""
    blocks = staircase.block_of[unsure.rows].astype(np.intp)
    divided = np.flatnonzero(blocks < 0)
    units = (unsure.rows[divided].astype(np.int64) << _ROW_BITS) + unsure.units
    blocks[divided] = np.searchsorted(staircase.ends, units, side="right")
    within = (unsure.bits & staircase.within).view(np.int64)
    numbers = ((blocks - _BLOCKS // 2) << staircase.width_bits) + within
    drawn[unsure.places] = numbers
    points = unsure.bits >> np.uint64(staircase.width_bits)
    return unsure.places[~_are_kept(numbers, blocks, points, staircase, random_bytes)]


def _are_kept(
    numbers: NDArray[np.int64],
    blocks: NDArray[np.intp],
    points: NDArray[np.uint64],
    staircase: _Staircase,
    random_bytes: RandomBytes,
) -> NDArray[np.bool_]:
    """Say of each trial whether u, of which `points` are the first bits, is below S f(x) / w_j."""
    bits = 64 - staircase.width_bits
    units = staircase.units[blocks]
    bounds = math.ldexp(staircase.scale, bits) / units * np.exp(-0.5 * np.square(numbers / staircase.sigma))
    # Points are whole numbers below 2^64, which float64 moves by less than the margin.
    lower = points.astype(np.float64)
    kept = (lower + 1) <= bounds * (1 - _MARGIN)
    for place in np.flatnonzero(~kept & (lower <= bounds * (1 + _MARGIN) + 1)):
        exponent = Fraction(int(numbers[place])) ** 2 / (2 * Fraction(staircase.sigma) ** 2)
        ratio = Fraction(staircase.scale, int(units[place]))
        kept[place] = _is_below(int(points[place]), bits, ratio, exponent, random_bytes)
    return kept


def _is_below(drawn: int, bits: int, ratio: Fraction, exponent: Fraction, random_bytes: RandomBytes) -> bool:
    """Say whether a point whose first bits were drawn is below ratio exp(-exponent)."""
    while True:
        low, high = exponential_bounds(exponent, bits + 64)
        if (drawn + 1) << 64 <= ratio * low:
            return True
        if drawn << 64 >= ratio * high:
            return False
        drawn, bits = (drawn << 64) + int.from_bytes(random_bytes(8), "little"), bits + 64


@lru_cache(maxsize=8)
def _staircase(sigma: float) -> _Staircase:
    half = _BLOCKS // 2
    width_bits = max(0, math.ceil(math.log2(_REACH * sigma / half)))
    while half << width_bits < _REACH * sigma:
        width_bits += 1
    width = 1 << width_bits
    # Block j and block -1 - j mirror each other but for one number; the nearer end of either is where f is largest.
    starts = np.arange(-half, half) * width
    nearest = np.where(starts >= 0, starts, -(starts + width - 1))
    farthest = np.where(starts >= 0, starts + width - 1, -starts)
    largest, least = (np.exp(-0.5 * np.square(ends / sigma)) for ends in (nearest, farthest))

    def heights(scale: int) -> NDArray[np.int64]:
        return np.floor(scale * largest * (1 + _MARGIN)).astype(np.int64) + 1

    scale = int(2**32 / float(largest.sum()))
    while (units := heights(scale)).sum() > 2**32:
        scale -= max(1, scale >> 20)
    # What is left makes one block higher than it need be, which costs trials alone.
    units[half] += 2**32 - int(units.sum())
    bits = 64 - width_bits
    sure = np.floor(
        np.minimum(math.ldexp(scale, bits) / units * least * (1 - _MARGIN), 2.0**bits * (1 - _MARGIN))
    )
    ends = np.cumsum(units)
    firsts = np.arange(1 << (32 - _ROW_BITS), dtype=np.int64) << _ROW_BITS
    lasts = firsts + ((1 << _ROW_BITS) - 1)
    block_of, last_of = (np.searchsorted(ends, some, side="right") for some in (firsts, lasts))
    block_of[block_of != last_of] = -1
    # `sure` is a whole number: a point whose first bits are less lies below it.
    return _Staircase(
        sigma, width_bits, scale, units, ends, block_of.astype(np.int16), sure.astype(np.uint64)
    )
