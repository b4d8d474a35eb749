"""Tight conversion between zero-concentrated and approximate differential privacy.

A rho-zCDP mechanism is (epsilon, delta)-DP for every order alpha > 1 with

    epsilon = alpha rho + ln(1 - 1/alpha) + (ln(1/delta) - ln(alpha)) / (alpha - 1),

which is delta = exp((alpha - 1)(alpha rho - epsilon) + alpha ln(1 - 1/alpha)) / (alpha - 1) solved for
epsilon (Bun and Steinke 2016; Canonne, Kamath and Steinke 2020, Proposition 7 and Corollary 13). With t =
alpha - 1 the best order solves rho t^2 + ln(1 + t) = ln(1/delta), whose left side only grows. Each order
gives a sound epsilon, so a slightly wrong root costs tightness and never soundness; what is left is the
rounding of the formula itself, which is bounded and added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from syntabula.errors import BudgetError

_LARGEST_ORDER = 1e300
_ROUNDING = 16 * 2.0**-53  # each term is right to a few units in the last place; sixteen cover them all


def epsilon_from_rho(rho: float | Fraction, delta: float) -> float:
    """Convert a zCDP cost to the smallest epsilon that it proves at this delta, rounded up.

    Args:
        rho: Cost in zCDP, at least 0.
        delta: Between 0 and 1, both excluded.

    Returns:
        An epsilon of at least 0.

    Raises:
        BudgetError: If rho is negative or not finite, or delta is outside (0, 1).
    """
    _require_delta(delta)
    if isinstance(rho, Fraction):
        rho = float_above(rho)
    if not (math.isfinite(rho) and rho >= 0):
        raise BudgetError(f"rho is {rho!r}; it must be a finite number of at least 0")
    if rho == 0:
        return 0.0
    log_inverse = -math.log(delta)
    largest = min(math.sqrt(log_inverse) / math.sqrt(rho), _order_at_zero_rho(log_inverse))
    t = _root(lambda t: rho * t * t + math.log1p(t) - log_inverse, largest)
    value, error = _epsilon_at(t, rho, log_inverse)
    return max(0.0, math.nextafter(value + error, math.inf))


def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """Convert a promised (epsilon, delta) to the largest zCDP cost that keeps it, rounded down.

    Args:
        epsilon: Finite and above 0.
        delta: Between 0 and 1, both excluded.

    Returns:
        A rho above 0 with `epsilon_from_rho(rho, delta) <= epsilon`.

    Raises:
        BudgetError: If epsilon or delta is outside its range, or epsilon is too small for a positive float
            rho.
    """
    _require_delta(delta)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise BudgetError(f"epsilon is {epsilon!r}; it must be a finite number above 0")
    log_inverse = -math.log(delta)

    def missing(t: float) -> float:
        # At the best order rho = (ln(1/delta) - ln(1 + t)) / t^2; the epsilon of that rho falls as t grows.
        rho = (log_inverse - math.log1p(t)) / t / t
        return epsilon - ((1 + 2 * t) * rho - math.log1p(1 / t))

    t = _root(missing, _order_at_zero_rho(log_inverse))
    rho = (epsilon + math.log1p(1 / t) - (log_inverse - math.log1p(t)) / t) / (1 + t)
    step = 2.0**-52
    while rho > 0 and epsilon_from_rho(rho, delta) > epsilon:
        rho *= 1 - step
        step = min(2 * step, 0.5)
    if not (math.isfinite(rho) and rho > 0):
        raise BudgetError(
            f"epsilon {epsilon!r} with delta {delta!r} is out of the range that can be converted"
        )
    return rho


def float_above(value: Fraction) -> float:
    """Round an exact number up to the next float."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta!r}; it must lie between 0 and 1, both excluded")


def _order_at_zero_rho(log_inverse: float) -> float:
    """Largest useful alpha - 1, reached when rho goes to 0."""
    return math.expm1(log_inverse) if log_inverse < math.log(_LARGEST_ORDER) else _LARGEST_ORDER


def _epsilon_at(t: float, rho: float, log_inverse: float) -> tuple[float, float]:
    """Epsilon at order 1 + t, and a bound on the rounding error made in computing it."""
    terms = ((1 + t) * rho, math.log1p(1 / t), log_inverse / t, math.log1p(t) / t)
    value = terms[0] - terms[1] + (log_inverse - math.log1p(t)) / t
    return value, _ROUNDING * sum(terms)


def _root(rising: Callable[[float], float], largest: float) -> float:
    """Find where a rising function of t > 0 crosses zero, up to `largest`, by bisection of the exponent."""
    high = math.log(largest)
    low = high - 1.0
    while low > -700 and rising(math.exp(low)) > 0:
        high, low = low, low - 2 * (high - low)
    low = max(low, -700.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if rising(math.exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return math.exp(low)
