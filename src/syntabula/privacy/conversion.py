"""Rounding to the safe side, and conversion of zCDP, Gaussian privacy and the best of several trials to (epsilon, delta).

**Rounding.** Allowances are never rounded up, spends and guarantees never down.

**zCDP.** A rho-zCDP mechanism is (epsilon, delta)-DP for every order alpha > 1 with

    epsilon = alpha rho + ln(1 - 1/alpha) + (ln(1/delta) - ln(alpha)) / (alpha - 1),

which is delta = exp((alpha - 1)(alpha rho - epsilon) + alpha ln(1 - 1/alpha)) / (alpha - 1) solved for
epsilon (Bun and Steinke 2016; Canonne, Kamath and Steinke 2020, Proposition 7 and Corollary 13). With t =
alpha - 1 the best order solves rho t^2 + ln(1 + t) = ln(1/delta), whose left side increases. Each order gives a sound
epsilon, so a slightly wrong root only costs tightness, never soundness. The rounding error of the formula itself is
bounded and added.

**Gaussian privacy.** The Gaussian with sensitivity Delta and standard deviation sigma has mu = Delta / sigma,
composition adds mu^2, and delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018,
Theorem 8; Dong, Roth and Su 2019). That difference cancels in the tails. With a = epsilon/mu - mu/2 and phi the
normal density it equals

    delta = phi(a) * integral over s > 0 of exp(-a s - s^2/2) (1 - exp(-mu s)) ds,

whose terms are all positive, so it keeps its digits for every epsilon and mu, and its logarithm never underflows.
`privacy.gdp` derives the cost of discrete noise and other events in Gaussian privacy.

**The best of several trials.** A trial draws options without a look at the table, learns the table with them, and
measures by noise how good it is; all of it together is rho-zCDP. After each trial the search stops with probability
1 / m, so that m trials are made on average, and the best is released; how many there were is not. If a trial has Renyi
divergences e(a) of order a, the release has those of

    e(a) + 2 (1 - 1/b) e(b) + 2 ln(m) / b + ln(m) / (a - 1)      for every order b >= 1

(Papernot and Steinke 2022, "Hyperparameter Tuning with Renyi Differential Privacy", Theorem 2, with eta = 1 and gamma =
1 / m, which is this geometric number; Liu and Talwar 2019 have the pure case). With e(a) = rho a, the two middle terms
are 2 (rho (b - 1) + ln(m) / b), which is least at b = sqrt(ln(m) / rho): twice 2 sqrt(rho ln m) - rho. If ln m is below
rho, b = 1 is best, which gives twice ln m. The last term adds ln(m) to ln(1/delta) in the conversion of zCDP. So the
release has the epsilon that rho-zCDP has at delta / m, plus

    2 min(2 sqrt(rho ln m) - rho, ln m)   (the first where rho <= ln m).

Draws that may fail beyond their cost would fail in any of the trials, so none is allowed.

In all functions delta lies between 0 and 1, both excluded, mu is finite and above 0, rho finite and at least 0, epsilon
finite, and above 0 where a budget is computed from it; they raise BudgetError for any other."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from syntabula._arguments import shown
from syntabula.errors import BudgetError

Number = float | Fraction | Decimal


def shown_above(value: float, digits: int = 6) -> str:
    """Print an upper bound: rounded up to this many significant digits, never down."""
    return _shown(value, digits, ROUND_CEILING)


def shown_below(value: float, digits: int = 6) -> str:
    """Print a lower bound, such as the scale of noise: rounded down, never up."""
    return _shown(value, digits, ROUND_FLOOR)


def float_above(value: Fraction) -> float:
    """Round an exact number up to the next float."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above a positive fraction."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, 0.0)


def number_below(name: str, value: object, allowed: str) -> float:
    """Read a number as a float, rounded down; raises BudgetError for NaN, texts, bools and None."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise BudgetError(f"{name} is {shown(value)}; it must be {allowed}")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BudgetError(f"{name} is {shown(value)}, which is not a float; it must be {allowed}") from None
    if math.isnan(number):
        raise BudgetError(f"{name} is NaN; it must be {allowed}")
    exact = _exact(value)
    if exact is None:
        return number
    if math.isinf(number):
        raise BudgetError(f"{name} is {shown(value)}, too large for a float; it must be {allowed}")
    return number if Fraction(number) <= exact else math.nextafter(number, -math.inf)


def positive(name: str, value: Any) -> Fraction:
    """Return an int, float or Fraction exactly; raises BudgetError if it is not a finite number above 0."""
    is_number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)) or value <= 0:
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return Fraction(value)


def root_above(square: Fraction) -> float:
    """Return the smallest float whose square is at least `square`; raises BudgetError if it is beyond float64."""
    root = finite(_near_root(square))
    while Fraction(root) ** 2 < square:
        root = finite(math.nextafter(root, math.inf))
    while (lower := math.nextafter(root, 0.0)) > 0 and Fraction(lower) ** 2 >= square:
        root = lower
    return root


def root_below(square: Fraction) -> float:
    """Return the largest float whose square is at most `square`; raises BudgetError if that is 0."""
    root = root_above(square)
    return root if Fraction(root) ** 2 == square else nonzero(math.nextafter(root, 0.0))


def finite(value: float) -> float:
    """Return a scale of noise unchanged; raises BudgetError if it is infinite."""
    if not math.isfinite(value):
        raise BudgetError("the cost is too small: the noise it buys would be infinite")
    return value


def nonzero(value: float) -> float:
    """Return a parameter unchanged; raises BudgetError if it is 0."""
    if value <= 0:
        raise BudgetError("the cost is too small: the parameter it buys is 0 as a float")
    return value


def _shown(value: float, digits: int, rounding: str) -> str:
    # From the shortest text of the float, so that 1e-5 stays 1e-05.
    rounded = Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def _exact(value: Any) -> Fraction | None:
    """Return a real number exactly, whatever its type; None if it is infinite."""
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    try:
        return Fraction(*value.as_integer_ratio())
    except OverflowError:
        return None


def _near_root(square: Fraction) -> float:
    """Return the square root as a float, off by a few units in the last place; the exponent is split off first."""
    half_exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square / Fraction(4) ** half_exponent
    try:
        return math.ldexp(math.sqrt(scaled), half_exponent)
    except OverflowError:
        return math.inf


_LARGEST_ORDER = 1e300
# Each term is accurate to a few units in the last place; sixteen cover them all.
_ROUNDING_OF_ORDERS = 16 * 2.0**-53

# Trapezoid in ln(s): the integrand is analytic in a strip of half-width pi/4, so the error is about
# exp(-pi^2 / (2 step)).
_STEP = 0.0625
_NODES = np.exp(np.arange(-43.0, 4.0, _STEP))
# 752 positive terms, each accurate to some units in the last place: below 2e-13 in any order of addition.
_ROUNDING_OF_CURVE = 1e-12
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)

_ROUNDING_OF_TRIALS = 2.0**-48
"""Bound on the relative error of a few roundings of terms that are all positive, or subtracted at their full size."""


def epsilon_from_rho(rho: float | Fraction, delta: float) -> float:
    """Convert a zCDP cost to the smallest epsilon of at least 0 that it proves at this delta, rounded up."""
    _require_delta(delta)
    if isinstance(rho, Fraction):
        rho = float_above(rho)
    if not (math.isfinite(rho) and rho >= 0):
        raise BudgetError(f"rho is {rho!r}; it must be a finite number of at least 0")
    if rho == 0:
        return 0.0
    log_inverse = -math.log(delta)
    largest = min(math.sqrt(log_inverse) / math.sqrt(rho), _order_at_zero_rho(log_inverse))
    t = _crossing(lambda t: rho * t * t + math.log1p(t) - log_inverse, largest)
    value, error = _epsilon_at(t, rho, log_inverse)
    return max(0.0, math.nextafter(value + error, math.inf))


def rho_from_epsilon(epsilon: float, delta: float) -> float:
    """Convert an (epsilon, delta) guarantee to the largest zCDP cost that keeps it, rounded down.

    Returns:
        A rho above 0 with `epsilon_from_rho(rho, delta) <= epsilon`.

    Raises:
        BudgetError: Also if epsilon is too small for a positive float rho.
    """
    _require_delta(delta)
    positive("epsilon", epsilon)
    log_inverse = -math.log(delta)

    def missing(t: float) -> float:
        # At the best order rho = (ln(1/delta) - ln(1 + t)) / t^2; the epsilon of that rho falls as t grows.
        rho = (log_inverse - math.log1p(t)) / t / t
        return epsilon - ((1 + 2 * t) * rho - math.log1p(1 / t))

    t = _crossing(missing, _order_at_zero_rho(log_inverse))
    rho = (epsilon + math.log1p(1 / t) - (log_inverse - math.log1p(t)) / t) / (1 + t)
    step = 2.0**-52
    while rho > 0 and epsilon_from_rho(rho, delta) > epsilon:
        rho *= 1 - step
        step = min(2 * step, 0.5)
    if not (math.isfinite(rho) and rho > 0):
        raise BudgetError(
            f"epsilon {epsilon!r} with delta {delta!r} is outside the range that can be converted"
        )
    return rho


def delta_of_gaussian(epsilon: float, mu: float) -> float:
    """Compute the smallest delta for which mu-Gaussian privacy is (epsilon, delta)-DP.

    Args:
        epsilon: At least 0.
        mu: Sensitivity over standard deviation; for a composition the root of the sum of squares.

    Returns:
        delta, with a relative error of about 1e-12; 0.0 if it is below the smallest float.
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise BudgetError(f"epsilon is {epsilon!r}; it must be a finite number of at least 0")
    positive("mu", mu)
    return math.exp(_log_delta(epsilon, mu)[0])


# A fit asks for the same a few times.
@lru_cache(maxsize=64, typed=True)
def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """Find the largest mu, sensitivity over standard deviation, that is (epsilon, delta)-DP, rounded down."""
    positive("epsilon", epsilon)
    if math.isinf(2 * epsilon):
        raise BudgetError(f"epsilon is {epsilon!r}, for which mu would be infinite; give a smaller one")
    _require_delta(delta)
    low = high = math.sqrt(2 * epsilon)
    while not _holds(epsilon, low, delta):
        low /= 2
    while _holds(epsilon, high, delta):
        high *= 2
    return _split(low, high, lambda mu: _holds(epsilon, mu, delta))[0]


def epsilon_from_mu(mu: float, delta: float) -> float:
    """Find the smallest epsilon of at least 0 for which mu-Gaussian privacy is (epsilon, delta)-DP, rounded up."""
    positive("mu", mu)
    _require_delta(delta)
    if _holds(0.0, mu, delta):
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu
    while not _holds(high, mu, delta):
        high *= 2
    return _split(low, high, lambda epsilon: not _holds(epsilon, mu, delta))[1]


def epsilon_from_trials(rho: float | Fraction, delta: float, trials: int) -> float:
    """Convert the cost of one trial to the epsilon of the best of them at this delta, rounded up.

    Args:
        rho: Cost of one trial in zCDP.
        delta: That of the best of them.
        trials: Average number of trials, m above; at least 2.
    """
    if trials < 2:
        raise BudgetError(f"trials is {trials}; the best of several needs 2 or more on average")
    cost = float_above(rho) if isinstance(rho, Fraction) else rho
    alone = epsilon_from_rho(cost, float_below(Fraction(delta) / trials))
    if cost == 0:
        return alone
    logarithm = math.log(trials)
    root = 2 * math.sqrt(cost * logarithm)
    choosing = 2 * (root - cost) if cost <= logarithm else 2 * logarithm
    error = _ROUNDING_OF_TRIALS * (2 * root + 2 * cost + 2 * logarithm + alone)
    return math.nextafter(alone + choosing + error, math.inf)


def rho_from_trials(epsilon: float, delta: float, trials: int) -> float:
    """Convert a guarantee of the best of several trials to the largest zCDP cost of one that keeps it, rounded down.

    The result is above 0, and `epsilon_from_trials` of it is at most epsilon.

    Raises:
        BudgetError: Also if epsilon is too small for a positive rho.
    """
    alone = rho_from_epsilon(epsilon, delta)
    low, _ = _split(0.0, alone, lambda rho: epsilon_from_trials(rho, delta, trials) <= epsilon)
    if not low > 0:
        raise BudgetError(
            f"epsilon {epsilon!r} is too small for the best of {trials} trials; make fewer, or raise it"
        )
    return low


def _split(low: float, high: float, belongs_to_low: Callable[[float], bool]) -> tuple[float, float]:
    """Return the neighbouring floats between which a property ends that holds at `low` and not at `high`."""
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if belongs_to_low(middle) else (low, middle)
    return low, high


def _order_at_zero_rho(log_inverse: float) -> float:
    """Return the largest useful alpha - 1, which is reached as rho goes to 0."""
    return math.expm1(log_inverse) if log_inverse < math.log(_LARGEST_ORDER) else _LARGEST_ORDER


def _epsilon_at(t: float, rho: float, log_inverse: float) -> tuple[float, float]:
    """Return epsilon at order 1 + t, and a bound on its rounding error."""
    terms = ((1 + t) * rho, math.log1p(1 / t), log_inverse / t, math.log1p(t) / t)
    value = terms[0] - terms[1] + (log_inverse - math.log1p(t)) / t
    return value, _ROUNDING_OF_ORDERS * sum(terms)


def _crossing(rising: Callable[[float], float], largest: float) -> float:
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


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta!r}; it must lie between 0 and 1, both excluded")


def _holds(epsilon: float, mu: float, delta: float) -> bool:
    """Return whether delta is certainly enough, rounding included."""
    log_delta, error = _log_delta(epsilon, mu)
    return log_delta + error <= math.log(delta)


def _log_delta(epsilon: float, mu: float) -> tuple[float, float]:
    """Return the natural logarithm of delta, and a bound on its rounding error."""
    # If epsilon is about mu^2/2, a is a difference of nearly equal numbers: computed exactly and rounded once.
    exact_mu = Fraction(mu)
    a = _nearest_float((2 * Fraction(epsilon) - exact_mu * exact_mu) / (2 * exact_mu))
    if a < -1:
        # delta is above a half here, and the difference keeps its digits.
        lost = math.exp(-0.5 * a * a - _LOG_ROOT_TWO_PI) * _integral(a + mu, None)
        return math.log(0.5 * math.erfc(a / math.sqrt(2)) - lost), _ROUNDING_OF_CURVE
    integral = _integral(a, mu)
    if integral == 0:
        return -math.inf, 0.0
    return -0.5 * a * a - _LOG_ROOT_TWO_PI + math.log(integral), _ROUNDING_OF_CURVE + 2.0**-50 * a * a


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
