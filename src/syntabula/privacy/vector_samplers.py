"""Exact discrete Gaussian draws, thousands and millions at once.

OpenDP's sampler takes 10 microseconds a draw. A release needs one for each cell of a marginal, and training one for
each parameter of every step. This is von Neumann's rejection from a staircase (1951; Marsaglia and Tsang, 2000, for the
idea of a table):

1. The whole numbers from -R to R - 1, R = 512 W >= 16 sigma, lie in 1024 blocks of W, a power of two. Block j has w_j
   units, at least S f(x) for all its x, with f(x) = exp(-x^2 / (2 sigma^2)). One unit more stands for all numbers
   beyond; all units together are 2^32.
2. 32 bits name a unit, and blocks lie end to end along the units. The first 16 bits name 2^16 units in a row, which
   mostly belong to one block; the other 16 are drawn where they do not.
3. Other bits are the place in the block, and others again begin a point u in 0 .. 1: x is kept if u < S f(x) / w_j. The
   first 16 bits of u are enough where they are below those of the least such bound of the block; more are drawn where
   they are not.
4. The unit for the numbers beyond tries one of them. Blocks of W go on to both sides; the side and the place in the
   block are drawn evenly, and the k-th block, from 0 on, with probability 2^-(k + 1). It is kept if u < 2^(k + 2) S f(x).

So in each trial x is drawn with probability w_j / 2^32 / W * S f(x) / w_j, or 2^-32 / 2 / 2^(k + 1) / W *
2^(k + 2) S f(x): both are f(x) but for one constant, exactly and for every whole number, whatever w_j is. The bound of
step 4 is less than 1, for with S <= 2^32, W >= sigma / 32 and |x| >= R + k W its logarithm is at most
(k + 34) log 2 - (16 + k / 32)^2 / 2 < -80. So a number beyond, of probability 2 exp(-128) at most, is hardly ever seen,
but it is as likely as it must be, and nothing is left out for which a run would have to set delta aside.

About one trial in fifty is lost, and another takes its place; which one does not depend on the numbers that are kept.
Float64 decides step 3 where u is clear of its bound by more than all rounding; the rest, one in 10^9 or so, is decided
with as many digits as it takes (`exponential_bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RandomBytes = Callable[[int], bytes]
"""Returns so many random bytes."""

_BLOCK_BITS = 10
_BLOCKS = 1 << _BLOCK_BITS
_ROW_BITS = 16
_REACH = 16
_AT_ONCE = 1 << 16
"""Trials that are decided at once: with fewer, calls cost more than the arithmetic; what more need leaves the cache."""

_SPARE = 32
"""There is one trial more for so many numbers: enough to replace those that are lost, mostly."""

_MARGIN = 2.0**-40
"""More than what float64 is off by in step 3, relative: some units in its last place times an exponent of up to 512. A
larger exponent, which blocks have where sigma is below 32, makes the bound less than the last bit of a point."""


@dataclass(frozen=True, eq=False)
class _Staircase:
    """The blocks of one sigma.

    Attributes:
        sigma: Scale of the noise.
        width_bits: W = 2^width_bits.
        scale: S.
        units: [1024] w_j; one less than 2^32 in all.
        ends: [1024] number of units of each block and of those before it.
        block_of: [65536] the block of each row of 2^16 units; -1 where it has units of several, as the last row has.
        sure: [1024] numbers of 16 bits: points u that begin with a lower one are kept, wherever in the block x lies.
    """

    sigma: float
    width_bits: int
    scale: int
    units: NDArray[np.int64]
    ends: NDArray[np.int64]
    block_of: NDArray[np.int16]
    sure: NDArray[np.uint32]

    @property
    def within(self) -> np.uint64:
        """W - 1."""
        return np.uint64((1 << self.width_bits) - 1)

    @property
    def word(self) -> np.dtype[Any]:
        """Type of the words that hold a block and a place in it: of 32 bits where these are enough."""
        return np.dtype("<u4" if self.width_bits + _BLOCK_BITS <= 32 else "<u8")

    @cached_property
    def of_row(self) -> NDArray[np.uint32]:
        """What most trials need to know of a row of 2^16 units, in one word [65536].

        The lower 16 bits are its block, less 512. The upper are the largest number below `sure`: a word that is lower
        than this one, and whose upper 16 bits begin a point u, is that of a point that is kept. All bits are 0, so that
        no word is lower, where no point is sure, as in rows with units of several blocks.
        """
        lower = np.arange(-_BLOCKS // 2, _BLOCKS // 2).astype(np.int16).view(np.uint16).astype(np.uint32)
        words = np.where(self.sure > 0, (np.maximum(self.sure, 1) - 1) << np.uint32(16) | lower, 0)
        # Rows of several blocks, which have number -1, find the last word.
        return np.append(words, 0).astype("<u4").take(self.block_of)


def gaussian_draws(size: int, sigma: float, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return so many draws of probability proportional to exp(-x^2 / (2 sigma^2)).

    Args:
        size: At least 0.
        sigma: At least 1, and at most 2^40.
        random_bytes: Where bits come from.
    """
    trials = np.empty(size + size // _SPARE, dtype=np.int64)
    drawn, spare = trials[:size], trials[size:]
    if not size:
        return drawn
    staircase = _staircase(sigma)
    starts = range(0, trials.size, _AT_ONCE)
    unsure = [_tried(trials[start : start + _AT_ONCE], start, staircase, random_bytes) for start in starts]
    # All at once, as they are few.
    lost = _lost(trials, _Unsure(*map(np.concatenate, zip(*unsure, strict=True))), staircase, random_bytes)
    n_lost = int(np.searchsorted(lost, size))
    kept = np.delete(spare, lost[n_lost:] - size)[:n_lost]
    drawn[lost[: kept.size]] = kept
    if left := n_lost - kept.size:
        drawn[lost[kept.size : n_lost]] = gaussian_draws(left, sigma, random_bytes)
    return drawn


class _Unsure(NamedTuple):
    """Trials that the first bits of their points do not decide.

    Attributes:
        places: Where they stand among all, rising [trials].
        firsts: The first 16 bits of their units, which are the lower ones, and of their points [trials].
        within: Bits of which the upper are the place in the block [trials].
    """

    places: NDArray[np.intp]
    firsts: NDArray[np.uint32]
    within: NDArray[np.unsignedinteger[Any]]


def _tried(
    numbers: NDArray[np.int64], start: int, staircase: _Staircase, random_bytes: RandomBytes
) -> _Unsure:
    """Fill an array with one trial for each place, and return those that may be lost, at places from `start` on."""
    size, word = numbers.size, staircase.word
    drawn = random_bytes((word.itemsize + 4) * size)
    within = np.frombuffer(drawn, word, size)
    firsts = np.frombuffer(drawn, "<u4", size, word.itemsize * size)
    found = staircase.of_row.take(firsts.view("<u2")[0::2].astype(np.intp))
    unsure = np.flatnonzero(firsts >= found)
    # The block comes to the top of the word, with its sign, and the place behind it; both go down together.
    room = 8 * word.itemsize - _BLOCK_BITS
    words = found.astype(word, copy=False)
    words <<= word.type(room)
    words |= within >> word.type(_BLOCK_BITS)
    numbers[:] = words.view(word.str.replace("u", "i")) >> (room - staircase.width_bits)
    return _Unsure(unsure + start, firsts[unsure], within[unsure])


def _lost(
    drawn: NDArray[np.int64], unsure: _Unsure, staircase: _Staircase, random_bytes: RandomBytes
) -> NDArray[np.intp]:
    """Finish the trials that are unsure, and return the places of those that are lost, rising."""
    # For each 16 bits more of its unit, which few need, and 48 of its point.
    more = np.frombuffer(random_bytes(8 * unsure.places.size), dtype="<u8")
    rows = (unsure.firsts & np.uint32((1 << _ROW_BITS) - 1)).astype(np.int64)
    blocks = staircase.block_of[rows].astype(np.intp)
    divided = np.flatnonzero(blocks < 0)
    units = (rows[divided] << _ROW_BITS) + more[divided].astype("<u2")
    blocks[divided] = np.searchsorted(staircase.ends, units, side="right")
    beyond = np.flatnonzero(blocks == _BLOCKS)
    blocks[beyond] = 0
    bits = 8 * unsure.within.dtype.itemsize - _BLOCK_BITS - staircase.width_bits
    within = (unsure.within >> _BLOCK_BITS >> bits).astype(np.int64)
    numbers = ((blocks - _BLOCKS // 2) << staircase.width_bits) + within
    points = (unsure.firsts >> np.uint32(16)).astype(np.uint64) << np.uint64(48) | more >> np.uint64(16)
    kept = _are_kept(numbers, blocks, points, staircase, random_bytes)
    for trial in beyond:
        numbers[trial], kept[trial] = _tried_beyond(staircase, random_bytes)
    drawn[unsure.places] = numbers
    return unsure.places[~kept]


def _tried_beyond(staircase: _Staircase, random_bytes: RandomBytes) -> tuple[int, bool]:
    """Try one number that lies in no block, and say whether it is kept (step 4)."""
    # Bits from the lowest on are coins; a word without a 1 is 64 of them that go on.
    block, coins = 0, _word(random_bytes)
    while not coins:
        block, coins = block + 64, _word(random_bytes)
    block += (coins & -coins).bit_length() - 1
    drawn = _word(random_bytes)
    within = drawn & int(staircase.within)
    distance = ((_BLOCKS // 2 + block) << staircase.width_bits) + within
    number = -1 - distance if drawn >> 63 else distance
    exponent = Fraction(number) ** 2 / (2 * Fraction(staircase.sigma) ** 2)
    ratio = Fraction(staircase.scale << (block + 2))
    return number, _is_below(_word(random_bytes), 64, ratio, exponent, random_bytes)


def _word(random_bytes: RandomBytes) -> int:
    return int.from_bytes(random_bytes(8), "little")


def _are_kept(
    numbers: NDArray[np.int64],
    blocks: NDArray[np.intp],
    points: NDArray[np.uint64],
    staircase: _Staircase,
    random_bytes: RandomBytes,
) -> NDArray[np.bool_]:
    """Say of each trial whether u, of which `points` are the first 64 bits, is below S f(x) / w_j."""
    units = staircase.units[blocks]
    bounds = math.ldexp(staircase.scale, 64) / units * np.exp(-0.5 * np.square(numbers / staircase.sigma))
    # Points are whole numbers below 2^64, which float64 moves by less than the margin.
    lower = points.astype(np.float64)
    kept = (lower + 1) <= bounds * (1 - _MARGIN)
    for place in np.flatnonzero(~kept & (lower <= bounds * (1 + _MARGIN) + 1)):
        exponent = Fraction(int(numbers[place])) ** 2 / (2 * Fraction(staircase.sigma) ** 2)
        ratio = Fraction(staircase.scale, int(units[place]))
        kept[place] = _is_below(int(points[place]), 64, ratio, exponent, random_bytes)
    return kept


def _is_below(drawn: int, bits: int, ratio: Fraction, exponent: Fraction, random_bytes: RandomBytes) -> bool:
    """Say whether a point whose first bits were drawn is below ratio exp(-exponent)."""
    while True:
        low, high = exponential_bounds(exponent, bits + 64)
        if (drawn + 1) << 64 <= ratio * low:
            return True
        if drawn << 64 >= ratio * high:
            return False
        drawn, bits = (drawn << 64) + _word(random_bytes), bits + 64


@lru_cache(maxsize=16)
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
    while (units := heights(scale)).sum() >= 2**32:
        scale -= max(1, scale >> 20)
    # What is left but for one makes a block higher than it need be, which costs trials alone.
    units[half] += 2**32 - 1 - int(units.sum())
    # A whole number: a point whose first bits are less lies below it.
    sure = np.floor(2.0**16 * np.minimum(scale / units * least, 1) * (1 - _MARGIN))
    ends = np.cumsum(units)
    return _Staircase(
        sigma, width_bits, scale, units, ends, _blocks_of_rows(units, ends), sure.astype(np.uint32)
    )


def _blocks_of_rows(units: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return `_Staircase.block_of`."""
    row = 1 << _ROW_BITS
    firsts = (ends - units + row - 1) // row
    # A block within one row has no whole one, and the next begins where its own would.
    stops = np.maximum(firsts, ends // row)
    marks = np.zeros(2 * _BLOCKS + 2, dtype=np.int64)
    marks[1:-1:2], marks[2:-1:2], marks[-1] = firsts, stops, row
    values = np.full(2 * _BLOCKS + 1, -1, dtype=np.int16)
    values[1::2] = np.arange(_BLOCKS)
    return values.repeat(np.diff(marks))


def exponential_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers around 2^bits exp(-exponent), for an exponent of at least 0.

    They are equal for exponent 0, and otherwise at most two apart.
    """
    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent > bits:
        return 0, 1
    # 10^(bits / 3) > 2^bits; the other digits are for the size of the exponent.
    digits = bits // 3 + len(str(bits)) + 5
    lower, upper = (_decimals(digits, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    parts = Decimal(exponent.numerator), Decimal(exponent.denominator)
    least = lower.next_minus(lower.exp(upper.divide(*parts).copy_negate()))
    most = upper.next_plus(upper.exp(lower.divide(*parts).copy_negate()))
    return math.floor(Fraction(least) * 2**bits), math.ceil(Fraction(most) * 2**bits)


def _decimals(digits: int, rounding: str) -> Context:
    """Return arithmetic with this many digits that raises nothing and comes nowhere near over- or underflow."""
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[], flags=[])
