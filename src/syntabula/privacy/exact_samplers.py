"""Exact samplers with cryptographic randomness over numpy arrays: OpenDP's, and our own for many draws at once.

**OpenDP.** Only its feature flag `contrib` is set, without which the library makes no measurement at all; it means
that the vetting of proofs is not complete. Flags that weaken the guarantee (`honest-but-curious`,
`idealized-numerics`) are not set: counts are int64, and scores and scales are taken as exact rationals.

Counts get a vectorised `make_gaussian` or `make_laplace` over i64 (Canonne, Kamath and Steinke, 2020);
OpenDP adds in exact arithmetic and saturates at the range of i64. A vector call costs about 10 (Gaussian) or 6
(Laplace) microseconds per cell on one core; a call per cell costs 60 to 70. From twenty cells on Gaussian noise is of
our own sampler, which takes some hundredths of a microsecond (`privacy.vector_samplers`). Their number need not be
public, as both draw from the same distribution. A choice is `make_noisy_max` under
zero-concentrated divergence, which is the exponential mechanism (a candidate is drawn uniformly and kept with
probability exp((score - largest score) / scale), exactly); under max divergence it would be permute-and-flip, which
has another distribution.

**Choices among many.** If a few scores are far above all others, OpenDP needs a trial of 3 microseconds for each
candidate. Above a thousand candidates (their number is public; each spend states it) `choose_among_many` takes over,
with about one trial in total. Candidate i must have a probability proportional to p_i = 2^32 exp(-d_i), with
d_i = (largest score - score i) / scale a rational number, as floats are (McSherry and Talwar, 2007). Von Neumann's
rejection (1951):

1. Candidate i gets a segment of w_i units, an integer of at least p_i. All segments lie end to end.
2. Draw a unit uniformly from all of them: unit u = 0 .. w_i - 1 of candidate i.
3. Draw a point uniformly in that unit, u + V. If it is below p_i, choose candidate i; otherwise repeat from 2.

A trial chooses i with probability p_i / (w_1 + ... + w_n), so the result is i with probability p_i / (p_1 + ... + p_n),
exactly, however far w_i exceeds p_i. An excess only costs trials, here three in a hundred. No probability is rounded,
because rounded ones can distinguish neighbouring tables (Mironov, 2012; Ilvento, 2020).

Arithmetic that could do harm is exact or bounded:

- w_i >= p_i. Float64 only finds the step of 1/64 in which d_i lies; w_i is the power of the step below it, from a
  table whose entries are bounded in decimal arithmetic. Up to 23, where the table ends, IEEE 754 rounds a difference
  and a quotient by at most 2^-47; a difference beyond float64 counts as its largest number, which is less.
- w_1 + ... + w_n <= 2^62 fits int64, because there are at most 2^30 candidates of 2^32 units.
- u + V < p_i is decided with as many binary digits of V as necessary, against bounds of p_i whose quotient is rounded
  outwards and whose exponential, which `decimal` rounds correctly, is moved outwards by a unit in its last place.

Units and digits of V come from `secrets`, that is, from the operating system's generator.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.vector_samplers import exponential_bounds, gaussian_draws

LARGEST_SCALE = 2.0**40
"""Largest scale of counting noise; float64 holds such noise exactly, and it hides any table."""

Counts = NDArray[np.int64]

_CELLS_PER_CALL = 1 << 20
"""Longer arrays are drawn in parts, because OpenDP returns a list of Python integers."""

_MEASUREMENTS_KEPT = 64

_FEWEST_BY_TABLE = 20
"""Least number of cells of our sampler of Gaussian noise, whose table takes as long as so many draws of OpenDP."""

_MOST_BY_OPENDP = 1000
"""Largest choice made by OpenDP, in 0.06 to 3 milliseconds; the library's sampler is preferred where it suffices."""

MOST_CANDIDATES = 1 << 30
"""This many scores fill 8 GB."""

_UNIT_BITS = 32
"""The candidate with the largest score has 2^32 units, so even 10^6 candidates of one unit hardly cost a trial."""

_STEPS = 64
"""Steps of the table for each unit of d. It is a power of two, so multiplying by it is exact."""

_LARGEST = float(np.finfo(np.float64).max)


def gaussian(counts: Counts, sigma: float) -> Counts:
    """Return counts, of any shape, plus noise of probability proportional to exp(-x^2 / (2 sigma^2)); sigma above 0."""
    if counts.size >= _FEWEST_BY_TABLE and sigma >= 1:
        return saturating_sum(counts, gaussian_draws(counts.size, sigma, os.urandom).reshape(counts.shape))
    return _draw_in_parts(_gaussian_measurement(sigma), counts)


def laplace(counts: Counts, scale: float) -> Counts:
    """Return counts, of any shape, plus noise of probability proportional to exp(-|x| / scale); scale above 0."""
    return _draw_in_parts(_laplace_measurement(scale), counts)


def saturating_sum(counts: Counts, noise: Counts) -> Counts:
    """Return the sum, clipped to int64 where it would wrap; it may take the place of the noise.

    An error would depend on the records; clipping is post-processing.

    Args:
        counts: Exact counts.
        noise: Of the same shape.
    """
    ends = np.iinfo(np.int64)
    if _farthest(counts) + _farthest(noise) <= ends.max:
        held: Counts = np.add(counts, noise, out=noise)
        return held
    highest_count = ends.max - np.maximum(noise, 0)
    lowest_count = ends.min - np.minimum(noise, 0)
    held = np.clip(counts, lowest_count, highest_count)
    return held + noise


def choice(scores: NDArray[np.float64], scale: float) -> int:
    """Return position i with probability proportional to exp(scores[i] / scale); scale above 0, scores finite."""
    if scores.size > _MOST_BY_OPENDP:
        return choose_among_many(scores, scale)
    return int(_invoke(_noisy_max_measurement(scale), scores))


def choose_among_many(scores: NDArray[np.float64], scale: float) -> int:
    """Make the same draw as `choice` with our own sampler, for any number of candidates up to MOST_CANDIDATES."""
    if scores.size > MOST_CANDIDATES:
        raise ArgumentError(f"a choice is among at most {MOST_CANDIDATES} candidates, not {scores.size}")
    largest = scores.max()
    table = _units_by_step(_UNIT_BITS)
    units = table[_steps_down(scores, largest, scale, table.size - 1)]
    ends = np.cumsum(units)
    while True:
        drawn = secrets.randbelow(int(ends[-1]))
        chosen = int(np.searchsorted(ends, drawn, side="right"))
        unit = drawn - int(ends[chosen] - units[chosen])
        exponent = (Fraction(float(largest)) - Fraction(float(scores[chosen]))) / Fraction(scale)
        if _is_below(unit, exponent, _UNIT_BITS):
            return chosen


# Single modules, because opendp.prelude loads scikit-learn and polars if they are installed.


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _gaussian_measurement(sigma: float) -> Any:
    from opendp import domains, measurements, metrics

    _allow_contributions()
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="i64")
    return measurements.make_gaussian(*space, scale=sigma)


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _laplace_measurement(scale: float) -> Any:
    from opendp import domains, measurements, metrics

    _allow_contributions()
    space = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    return measurements.make_laplace(*space, scale=scale)


@lru_cache(maxsize=_MEASUREMENTS_KEPT)
def _noisy_max_measurement(scale: float) -> Any:
    from opendp import domains, measurements, measures, metrics

    _allow_contributions()
    space = (
        domains.vector_domain(domains.atom_domain(T="f64", nan=False)),
        metrics.linf_distance(T="f64", monotonic=False),
    )
    return measurements.make_noisy_max(*space, measures.zero_concentrated_divergence(), scale=scale)


def _allow_contributions() -> None:
    """Allow OpenDP's samplers, which it classifies as contributions."""
    from opendp import mod

    mod.enable_features("contrib")


def _invoke(measurement: Callable[[Any], Any], statistic: NDArray[Any]) -> Any:
    try:
        return measurement(statistic)
    except Exception as error:
        # OpenDP's message may show its argument, which is exact.
        raise ArgumentError(f"OpenDP refused a draw ({type(error).__name__})") from None


def _draw_in_parts(measurement: Callable[[Any], Any], counts: Counts) -> Counts:
    flat = np.ascontiguousarray(counts).ravel()
    noisy = np.empty_like(flat)
    for start in range(0, flat.size, _CELLS_PER_CALL):
        stop = start + _CELLS_PER_CALL
        noisy[start:stop] = _invoke(measurement, flat[start:stop])
    return noisy.reshape(counts.shape)


def _farthest(counts: Counts) -> int:
    """Return the largest distance from 0."""
    return max(int(counts.max(initial=0)), -int(counts.min(initial=0)))


def _steps_down(
    scores: NDArray[np.float64], largest: np.float64, scale: float, last: int
) -> NDArray[np.intp]:
    """Return the whole steps in (largest - score) / scale, at most `last`; the error is less than one step too many."""
    with np.errstate(over="ignore", under="ignore"):
        distances = largest - scores
        np.minimum(distances, _LARGEST, out=distances)
        distances /= scale
        distances *= _STEPS
    steps: NDArray[np.intp] = np.minimum(distances, last, out=distances).astype(np.intp)
    return steps


@lru_cache(maxsize=8)
def _units_by_step(unit_bits: int) -> NDArray[np.int64]:
    """Return the units [steps] of a candidate this many steps down, computed for one step less; the last is 1."""
    units = [1 << unit_bits]
    while units[-1] > 1:
        units.append(exponential_bounds(Fraction(len(units) - 1, _STEPS), unit_bits)[1])
    table = np.array(units, dtype=np.int64)
    table.flags.writeable = False
    return table


def _is_below(unit: int, exponent: Fraction, unit_bits: int) -> bool:
    """Draw V uniformly from 0 .. 1 and return whether unit + V < 2^unit_bits exp(-exponent)."""
    drawn, bits = unit, unit_bits
    while True:
        # Here unit + V is known to lie between drawn and drawn + 1, in multiples of 2^(unit_bits - bits).
        low, high = exponential_bounds(exponent, bits)
        if drawn + 1 <= low:
            return True
        if drawn >= high:
            return False
        drawn, bits = (drawn << unit_bits) + secrets.randbits(unit_bits), bits + unit_bits
