"""What training on samples of the records costs in Gaussian privacy, with proof: the sampled Gaussian, many times.

**One step.** Each record is taken with probability q on its own, and noise is added to a sum to which a record that
is taken adds a vector of L2 length at most 1, in units where the noise has standard deviation z. All else that a step
uses is public or released. Given which of the others were taken, a step with the record more is P = (1 - q) N(0, z^2)
+ q N(1, z^2) or a blurred image of it, and one without it Q = N(0, z^2): the noise is the same in all directions, a
shorter vector is a blurred longer one, and which of the others were taken blurs both alike. Discrete noise on a grid
is such an image too. It is mu-GDP, so one map takes N(0, 1) and N(mu, 1) to it, and takes the mixture with q to its
mixture: z = 1 / mu (`privacy.gdp` for mu).

**All steps.** H(g) = sup over S of P(S) - g Q(S), for P and Q after all steps, either way around. A later step may
depend on earlier answers, and the curve of fixed pairs holds for that too (Zhu, Dong and Wang, 2022, Theorem 10). The
cost is the pair of delta' and mu such that, for all g >= 0 and C(g) the curve of N(mu, 1) and N(0, 1),

    H(g) <= delta' + (1 - delta') C(g).                                                              (1)

g >= 1 is enough, both ways around: H(g) of one way is 1 - g + g H(1/g) of the other, for C as for H, and (1) passes
from 1/g to g.

**The filter** of `privacy.gdp` holds with (1), delta' being spent from what is set aside for chances to fail. Claim: a
run that has V and D left has a curve of at most D + C_V. Let the first event leave V' = V - m and D' = D - d, and let
o be its outcomes with odds l(o). The curve of the run is at most the sum of P(o) l(o) (D' + C_V'(g / l(o))), which is
D' and the curve of the event next to an independent Gaussian of mu^2 = V'. Given the outcome x of that Gaussian, of
odds k(x), that curve is E k(x) H(g / k(x)) <= E k(x) (d + (1 - d) C_m(g / k(x))) = d + (1 - d) C_V(g). In all, at most
D + C_V(g).

**Numbers.** The privacy loss of a step, ln dP/dQ, is held to multiples of h by taking each part of P and Q between two
of them to its ends so that both keep their mass: H then is the chord of a convex curve, never below it (Doroshenko,
Ghazi, Kamath, Kumar and Manurangsi, 2022). Losses of steps add, so their distribution under P is a power of a Fourier
transform (Koskela, Jalkoe and Honkela, 2020). H sums it beyond ln g, weighted by 1 - g / ratio. What can go wrong goes
to the safe side:

- Losses beyond the ends of one step's table count as infinite above, and as the end below; a window of sums leaves
  out a part of the upper tail that Chernoff's bound gives, which counts as infinite. What comes around the end of the
  window is mass too much.
- Values of the normal distribution are right to some units in the last place: 2^-48 a step counts as infinite. The
  division of parts is rounded up.
- A transform of n values is off by at most 5 log2(n) units in its last place, relative in L2, and a power by T times
  that; by Cauchy's inequality the sum of all errors is at most the L2 length of those of the transform. Far out that
  is too much, so the same is done with losses weighted by exp(s x), whose errors shrink by exp(-s x) in the end. The
  lesser of the two bounds counts.
- Between two multiples of h the curve H is a line. It lies below C where its ends lie below the tangent of C in the
  middle, which is a test of two normal distributions with a fixed threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import BudgetError

FloatArray = NDArray[np.float64]

_CUT = 1e-4
"""Part of delta' that each of the cut tails may take."""

_PER_DEVIATION = 24
"""Multiples of h in the standard deviation of one step's loss: the cost is then some parts in 10,000 too high."""

_MOST_VALUES = 1 << 22
_LONGEST_LOSS = 600.0
_UNIT = 2.0**-53
_OF_A_STEP = 2.0**-48
_CLOSE = 1e-7


@dataclass(frozen=True, eq=False)
class _Losses:
    """The privacy loss of one step under P, at multiples of h.

    Attributes:
        first: The least loss, in multiples of h.
        masses: [k] of each loss from there on.
        infinite: Mass whose loss counts as infinite.
    """

    first: int
    masses: FloatArray
    infinite: float


@lru_cache(maxsize=256)
def training_mu(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Return the least mu, rounded up, for which (1) holds.

    Args:
        noise_multiplier: Standard deviation of the noise over the L2 sensitivity of a sum, above 0.
        rate: Probability with which a step takes a record, above 0 and at most 1.
        steps: Number of steps, at least 1.
        delta: delta', between 0 and 1, both excluded.

    Raises:
        BudgetError: If the noise is so small, or the steps are so many for this delta, that no useful cost is found.
    """
    h, ways = _one_step(noise_multiplier, rate, steps, delta)
    curves = [_curve(losses, h, steps, delta) for losses in ways]
    longest = max(curve.size for curve in curves)
    above = np.zeros(longest)
    for curve in curves:
        np.maximum(above[: curve.size], curve, out=above[: curve.size])
    return _least_mu(above, h, delta)


def _one_step(z: float, rate: float, steps: int, delta: float) -> tuple[float, tuple[_Losses, _Losses]]:
    """Return h, and the losses of a step with the record over one without it, and the other way around."""
    reach = math.sqrt(2 * math.log(steps / (_CUT * delta)))
    h = _spacing(z, rate, reach, steps)
    ends = _loss(np.array([-z * reach, 1 + z * reach]), z, rate)
    edges = np.arange(math.floor(ends[0] / h), math.ceil(ends[1] / h) + 1)
    values = edges * h
    # Where the loss is so large; from minus infinity on, as it is nowhere below ln(1 - q).
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = (np.expm1(np.minimum(values, 700)) + rate) / rate
        places = 0.5 + z * z * np.where(odds > 0, np.log(odds), -np.inf)
    without, lower, upper = _between(places / z)
    taken, lower_taken, upper_taken = _between((places - 1) / z)
    mixed = (1 - rate) * without + rate * taken
    shrink = -math.expm1(-h)
    grow = np.exp(-values[1:])
    # Of the mass of an interval, what goes to the end with the larger loss.
    up = (mixed - np.exp(values[:-1]) * without) / shrink + 8 * _UNIT * mixed / shrink
    down = (without - grow * mixed) / shrink + 8 * _UNIT * without / shrink
    with_record = _split(mixed, up, (1 - rate) * lower + rate * lower_taken)
    infinite = (1 - rate) * upper + rate * upper_taken
    removed = _Losses(int(edges[0]), with_record, infinite + _OF_A_STEP)
    added = _Losses(-int(edges[-1]), _split(without[::-1], down[::-1], upper), lower + _OF_A_STEP)
    return h, (removed, added)


def _split(masses: FloatArray, up: FloatArray, below: float) -> FloatArray:
    """Return the masses at the ends of intervals: `up` at the upper one of each, the rest and `below` at the lower."""
    moved = np.clip(up, 0, masses)
    at = np.zeros(masses.size + 1)
    at[:-1] += masses - moved
    at[1:] += moved
    at[0] += below
    return at


def _spacing(z: float, rate: float, reach: float, steps: int) -> float:
    """Return h: a part of the standard deviation of the loss, but not so small that the sums fill the memory."""
    places = np.linspace(-z * reach, 1 + z * reach, 4001)
    losses: FloatArray = _loss(places, z, rate)
    if losses[-1] > _LONGEST_LOSS:
        raise BudgetError("so little noise protects nobody; train with fewer steps or a larger share")
    weights = (1 - rate) * np.exp(-0.5 * (places / z) ** 2) + rate * np.exp(-0.5 * ((places - 1) / z) ** 2)
    deviation = _deviation(losses, weights)
    span = losses[-1] - losses[0] + 2 * reach * deviation * math.sqrt(steps)
    return float(max(deviation / _PER_DEVIATION, span / _MOST_VALUES))


def _deviation(values: NDArray[np.floating[Any]], weights: NDArray[np.floating[Any]]) -> float:
    mean = np.average(values, weights=weights)
    return math.sqrt(float(np.average((values - mean) ** 2, weights=weights)))


def _loss(places: FloatArray, z: float, rate: float) -> FloatArray:
    """Return ln(1 - q + q exp((t - 1/2) / z^2)) of places t."""
    never = math.log1p(-rate) if rate < 1 else -math.inf
    found: FloatArray = np.logaddexp(never, math.log(rate) + (places - 0.5) / (z * z))
    return found


def _between(places: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the standard normal masses between places, below the first and above the last."""
    tails = 0.5 * _erfc(np.abs(places) / math.sqrt(2))
    positive = places > 0
    left, right = tails[:-1], tails[1:]
    inside = np.where(positive[:-1], left - right, np.where(positive[1:], 1 - left - right, right - left))
    below = 1 - tails[0] if positive[0] else tails[0]
    above = tails[-1] if positive[-1] else 1 - tails[-1]
    return np.maximum(inside, 0), float(below), float(above)


def _curve(losses: _Losses, h: float, steps: int, delta: float) -> FloatArray:
    """Return an upper bound of H at exp(0), exp(h), exp(2 h), ..., up to where it is below delta for good."""
    places = (losses.first + np.arange(losses.masses.size)) * h
    kept = losses.masses > 0
    logs, places = np.log(losses.masses[kept]), places[kept]
    cut = _CUT * delta
    tail = cut + steps * losses.infinite
    if tail >= delta:
        raise _delta_too_small(steps, delta)
    # Chernoff's bound at some slopes; each gives an end beyond which there is less than the cut.
    slopes = np.geomspace(0.01, 300, 80) / (max(_deviation(places, np.exp(logs)), h) * math.sqrt(steps))
    rising = steps * np.array([_cumulant(logs + s * places) for s in slopes])
    falling = steps * np.array([_cumulant(logs - s * places) for s in slopes])
    top = math.ceil(float(np.min((rising - math.log(cut)) / slopes)) / h) + 1
    bottom = math.floor(-float(np.min((falling - math.log(cut)) / slopes)) / h) - 1
    # The weights suit the losses that delta leaves out; those of the cut are so steep that errors before it count.
    weighing = float(slopes[np.argmin((rising - math.log(delta)) / slopes)])
    if top * h > _LONGEST_LOSS:
        raise BudgetError("so little noise protects nobody; train with fewer steps or a larger share")
    # Powers of two are fast, and a window that is too long is not wrong.
    size = 1 << max(top - bottom, 1).bit_length()
    if size > 4 * _MOST_VALUES:
        raise BudgetError("the noise is too small, or the steps are too many, for the cost to be computed")
    numbers = losses.first + np.flatnonzero(kept)
    n = max(top, 1)
    bounds = np.full(n, np.inf)
    for slope in (0.0, weighing):
        bounds = np.minimum(bounds, _hockey_stick(numbers, logs, h, steps, size, slope, n))
    bounds += tail
    enough = np.flatnonzero(bounds > delta)
    end = int(enough[-1]) + 2 if enough.size else 1
    if end > n:
        raise _delta_too_small(steps, delta)
    return bounds[:end]


def _delta_too_small(steps: int, delta: float) -> BudgetError:
    return BudgetError(
        f"{steps} steps need a delta above {delta:.2g} for their chance to fail; use fewer, or a larger delta"
    )


def _hockey_stick(
    numbers: NDArray[np.int64], logs: FloatArray, h: float, steps: int, size: int, slope: float, n: int
) -> FloatArray:
    """Return an upper bound of the sum over x > e of P(x) (1 - exp(e - x)), at e = 0, h, ..., (n - 1) h."""
    tilted = logs + slope * h * numbers
    cumulant = _cumulant(tilted)
    folded = np.zeros(size)
    np.add.at(folded, numbers % size, np.exp(tilted - cumulant))
    transform = np.fft.rfft(folded)
    power, errors = _power(transform, steps, 5 * math.log2(size) * _UNIT)
    masses = np.maximum(np.fft.irfft(power, size)[np.arange(n + 1) % size], 0)
    length = math.sqrt(2 * float(np.sum(np.abs(power) ** 2)))
    error = math.sqrt(2 * float(np.sum(errors**2))) + 5 * math.log2(size) * _UNIT * length
    # From the weighted masses back to those of the losses, in logarithms as far as they are common.
    ends = np.arange(n + 1) * h
    with np.errstate(over="ignore"):
        back = np.exp(np.minimum(steps * cumulant - slope * ends, 700))
    masses = masses * back
    mass = np.cumsum(masses[::-1])[::-1]
    weighted = np.exp(ends) * np.cumsum((masses * np.exp(-ends))[::-1])[::-1]
    found: FloatArray = mass - weighted + 4 * n * _UNIT * mass + back * error
    return np.maximum(found, 0)[:n]


def _power(
    transform: NDArray[np.complex128], steps: int, error: float
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return a power by squaring, and a bound of its error where each value is off by at most `error`."""
    result = np.ones_like(transform)
    square, left = transform, steps
    while left:
        if left & 1:
            result = result * square
        left >>= 1
        if left:
            square = square * square
    size = np.minimum(np.abs(transform) + error, 1 + error)
    return result, steps * (error + 4 * _UNIT) * size ** (steps - 1)


def _cumulant(logs: FloatArray) -> float:
    largest = float(logs.max())
    return largest + math.log(float(np.sum(np.exp(logs - largest))))


def _least_mu(curve: FloatArray, h: float, delta: float) -> float:
    """Return the least mu for which a curve, given at exp(0), exp(h), ... and a line between, satisfies (1)."""
    above = np.flatnonzero(curve[:-1] > delta)
    if not above.size:
        return _CLOSE
    few = above[:: max(1, above.size // 200)]
    low, high = 0.0, 1.0
    while True:
        while not _lies_below(curve, few, h, high, delta):
            low, high = high, 2 * high
            if high > 1e6:
                raise BudgetError("so little noise protects nobody; train with fewer steps or a larger share")
        while high - low > _CLOSE * high:
            middle = 0.5 * (low + high)
            if _lies_below(curve, few, h, middle, delta):
                high = middle
            else:
                low = middle
        high *= 1 + _CLOSE
        missed = above[~_below(curve, above, h, high, delta)]
        if not missed.size:
            return high
        few = np.union1d(few, missed[:: max(1, missed.size // 200)])


def _lies_below(curve: FloatArray, at: NDArray[np.int64], h: float, mu: float, delta: float) -> bool:
    return bool(_below(curve, at, h, mu, delta).all())


def _below(curve: FloatArray, at: NDArray[np.int64], h: float, mu: float, delta: float) -> NDArray[np.bool_]:
    """Say of intervals of the curve whether they lie below the tangent in their middle, rounding included."""
    middle = np.asarray((at + 0.5) * h)
    one = 0.5 * _erfc((middle / mu - mu / 2) / math.sqrt(2))
    other = 0.5 * _erfc((middle / mu + mu / 2) / math.sqrt(2))
    holds = np.ones(at.size, dtype=np.bool_)
    for end in (at, at + 1):
        tangent = one - np.exp(end * h) * other - 2.0**-44 * one
        holds &= curve[end] <= delta + (1 - delta) * tangent
    return holds


def _erfc(values: NDArray[np.floating[Any]]) -> FloatArray:
    return np.fromiter(map(math.erfc, values.tolist()), dtype=np.float64, count=values.size)
