"""Exact privacy curve of the Gaussian mechanism, and of any composition of Gaussians.

The Gaussian with sensitivity Delta and standard deviation sigma has mu = Delta / sigma, composition adds
mu^2, and delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018, Theorem 8;
Dong, Roth and Su 2019). That difference cancels in the tails. With a = epsilon/mu - mu/2 and phi the normal
density it equals

    delta = phi(a) * integral over s > 0 of exp(-a s - s^2/2) (1 - exp(-mu s)) ds,

whose terms are all positive, so it keeps its digits for every epsilon and mu, and its logarithm never
underflows.

Budgets kept in Gaussian privacy are converted by this curve; what discrete noise and other events cost there is
worked out in `accounting.gdp`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from syntabula.errors import BudgetError

# Trapezoid in ln(s): the integrand is analytic in a strip of half-width pi/4, so the error is about
# exp(-pi^2 / (2 step)).
_STEP = 0.0625
_NODES = np.exp(np.arange(-43.0, 4.0, _STEP))
# 752 positive terms, each right to some units in the last place: below 2e-13 in whatever order they are added.
_ROUNDING = 1e-12
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def delta_of_gaussian(epsilon: float, mu: float) -> float:
    """Compute the smallest delta for which mu-Gaussian privacy is (epsilon, delta)-DP.

    Args:
        epsilon: Finite, at least 0.
        mu: Sensitivity over standard deviation, finite and above 0; for a composition the root of the sum of
            squares.

    Returns:
        delta, right to about 1e-12 relative; 0.0 where it is below the smallest float.

    Raises:
        BudgetError: If an argument is outside its range.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise BudgetError(f"epsilon is {epsilon!r}; it must be a finite number of at least 0")
    _require_mu(mu)
    return math.exp(_log_delta(epsilon, mu)[0])


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Find the largest mu that is (epsilon, delta)-DP, rounded down.

    Args:
        epsilon: Finite and above 0.
        delta: Between 0 and 1, both excluded.

    Returns:
        mu, sensitivity over standard deviation.

    Raises:
        BudgetError: If an argument is outside its range.
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise BudgetError(f"epsilon is {epsilon!r}; it must be a finite number above 0")
    if math.isinf(2 * epsilon):
        raise BudgetError(f"epsilon is {epsilon!r}, for which mu would be infinite; give a smaller one")
    _require_delta(delta)
    low = high = math.sqrt(2 * epsilon)
    while not _holds(epsilon, low, delta):
        low /= 2
    while _holds(epsilon, high, delta):
        high *= 2
    while (middle := 0.5 * (low + high)) not in (low, high):
        if _holds(epsilon, middle, delta):
            low = middle
        else:
            high = middle
    return low


def epsilon_from_mu(mu: float, delta: float) -> float:
    """Find the smallest epsilon for which mu-Gaussian privacy is (epsilon, delta)-DP, rounded up.

    Args:
        mu: Sensitivity over standard deviation, finite and above 0.
        delta: Between 0 and 1, both excluded.

    Returns:
        epsilon, at least 0.

    Raises:
        BudgetError: If an argument is outside its range.
    """
    _require_mu(mu)
    _require_delta(delta)
    if _holds(0.0, mu, delta):
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu
    while not _holds(high, mu, delta):
        high *= 2
    while (middle := 0.5 * (low + high)) not in (low, high):
        if _holds(middle, mu, delta):
            high = middle
        else:
            low = middle
    return high


def _require_mu(mu: float) -> None:
    if not (math.isfinite(mu) and mu > 0):
        raise BudgetError(f"mu is {mu!r}; it must be a finite number above 0")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta!r}; it must lie between 0 and 1, both excluded")


def _holds(epsilon: float, mu: float, delta: float) -> bool:
    """Whether delta is certainly enough, rounding included."""
    log_delta, error = _log_delta(epsilon, mu)
    return log_delta + error <= math.log(delta)


def _log_delta(epsilon: float, mu: float) -> tuple[float, float]:
    """Natural logarithm of delta, and a bound on its rounding error."""
    # a is a difference of nearly equal numbers where epsilon is about mu^2/2: exact until its one rounding.
    exact_mu = Fraction(mu)
    a = _nearest_float((2 * Fraction(epsilon) - exact_mu * exact_mu) / (2 * exact_mu))
    if a < -1:
        # delta is above a half here, and the difference keeps its digits.
        lost = math.exp(-0.5 * a * a - _LOG_ROOT_TWO_PI) * _integral(a + mu, None)
        return math.log(0.5 * math.erfc(a / math.sqrt(2)) - lost), _ROUNDING
    integral = _integral(a, mu)
    if integral == 0:
        return -math.inf, 0.0
    return -0.5 * a * a - _LOG_ROOT_TWO_PI + math.log(integral), _ROUNDING + 2.0**-50 * a * a


def _integral(slope: float, mu: float | None) -> float:
    """Integrate exp(-slope s - s^2/2), times 1 - exp(-mu s) unless mu is None, over s > 0, slope >= -1."""
    s = _NODES / max(1.0, slope)
    weight = np.ones_like(s) if mu is None else -np.expm1(-mu * s)
    return float(_STEP * np.sum(s * weight * np.exp(-slope * s - 0.5 * s * s)))


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(1.7e308, value)
