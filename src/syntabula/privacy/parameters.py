"""The noise that a given cost buys: inverses of `privacy.rules`.

Each returns a float next to the ideal parameter, whose exact cost does not exceed the given one.
"""

from __future__ import annotations

import math
from fractions import Fraction

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Currency
from syntabula.privacy.gdp import gaussian_cost, gaussian_precision, range_bought, ranged_cost
from syntabula.privacy.rounding import finite, nonzero, root_above, root_below
from syntabula.privacy.sampled import training_mu

_CLOSE = 1e-7
_SHORT = 1e-6
"""Noise for training is bought for so much less than its price, relative, that the last digits, in which Fourier
transforms of two machines differ, do not matter to a ledger."""


def gaussian_sigma(
    cost: Fraction | float, l2_sensitivity_squared: Fraction | int, currency: Currency
) -> float:
    """Find the smallest float sigma whose cost is at most `cost`.

    Args:
        cost: Largest cost, above 0.
        l2_sensitivity_squared: Square of the L2 sensitivity, above 0.
        currency: "mu_squared" or "rho".

    Raises:
        BudgetError: If an argument is outside its range, the currency has no Gaussian noise, or sigma would not
            be a finite float.
    """
    exact, squared = _exact("cost", cost), _exact("l2_sensitivity_squared", l2_sensitivity_squared)
    if currency == "rho":
        return root_above(squared / (2 * exact))
    if currency != "mu_squared":
        raise BudgetError(f"the currency is {currency!r}; Gaussian noise needs a budget with a delta")
    sigma = root_above(1 / gaussian_precision(exact / squared))
    while squared * gaussian_cost(sigma) > exact:
        sigma = finite(math.nextafter(sigma, math.inf))
    return sigma


def laplace_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> Fraction:
    """Find the pure epsilon of a Laplace draw for this cost.

    In zCDP that is sqrt(2 rho), rounded down; in pure privacy the cost itself; in Gaussian privacy almost
    sqrt(mu^2) if `left`, the rest of the total before the draw, is much larger.

    Raises:
        BudgetError: If the cost is not above 0, or the currency is "none".
    """
    exact = _exact("cost", cost)
    _require_counted(currency)
    match currency:
        case "epsilon":
            return exact
        case "rho":
            return Fraction(root_below(2 * exact))
    return Fraction(_widest(exact, left)) / 2


def laplace_scale(epsilon: Fraction | float, l1_sensitivity: int) -> float:
    """Find the smallest float scale whose exact pure epsilon is at most `epsilon`.

    Args:
        epsilon: Pure epsilon of the draw, above 0; from a cost in zCDP by `laplace_epsilon`.
        l1_sensitivity: L1 sensitivity, at least 1.

    Raises:
        BudgetError: If an argument is outside its range, or the scale would not be a finite float.
    """
    ideal = _exact("l1_sensitivity", l1_sensitivity) / _exact("epsilon", epsilon)
    try:
        scale = float(ideal)
    except OverflowError:
        raise BudgetError("the cost is too small: the noise it buys would be infinite") from None
    return scale if Fraction(scale) >= ideal else finite(math.nextafter(scale, math.inf))


def exponential_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> float:
    """Find the largest float parameter of the exponential mechanism whose cost is at most `cost`.

    Args:
        cost: Largest cost, above 0.
        currency: "mu_squared" gives almost sqrt(4 mu^2) if much is left, "rho" sqrt(8 rho), and "epsilon" the
            cost itself; all rounded down.
        left: Rest of the total before the draw; it only matters in mu^2.

    Raises:
        BudgetError: If the cost is not above 0, the currency is "none", or the parameter would be 0 as a
            float.
    """
    exact = _exact("cost", cost)
    _require_counted(currency)
    match currency:
        case "mu_squared":
            return _widest(exact, left)
        case "rho":
            return root_below(8 * exact)
    try:
        epsilon = float(exact)
    except OverflowError:
        raise BudgetError("the cost is too large for a float") from None
    return nonzero(epsilon if Fraction(epsilon) <= exact else math.nextafter(epsilon, 0.0))


def training_noise(cost: Fraction, rate: float, steps: int, delta: float) -> float:
    """Return the least noise multiplier, to some millionths, whose mu^2 is at most `cost`.

    Args:
        cost: mu^2 that may be spent, above 0.
        rate: Probability with which a step takes a record, above 0 and at most 1.
        steps: Number of steps, at least 1.
        delta: Chance to fail, between 0 and 1, both excluded.

    Raises:
        BudgetError: If the cost is so small that no useful noise is found.
    """
    mu = root_below(cost) * (1 - _SHORT)
    # mu is about rate sqrt(steps) / z where z is large, and falls as z grows.
    low, high = 0.0, max(rate * math.sqrt(steps) / mu, 0.3)
    while (spent := _mu_or_infinite(high, rate, steps, delta)) > mu:
        low, high = high, high * max(1.05, min(2.0, spent / mu))
        if high > 1e9:
            raise BudgetError("the cost is too small: the noise it buys would drown any gradient")
    bought = spent
    if not low:
        low = high
        while (spent := _mu_or_infinite(low, rate, steps, delta)) <= mu:
            low, high, bought = low * 0.7, low, spent
    while bought < mu * (1 - 3 * _CLOSE) and high - low > _CLOSE * high:
        # A little above the secant, so that the bound from above comes near too.
        spent_low = _mu_or_infinite(low, rate, steps, delta)
        if math.isfinite(spent_low):
            part = math.log(spent_low / mu) / math.log(spent_low / bought)
            middle = low * (high / low) ** min(max(part + _CLOSE, 0.02), 1.0)
            middle = middle if low < middle < high else 0.5 * (low + high)
        else:
            middle = 0.5 * (low + high)
        spent = _mu_or_infinite(middle, rate, steps, delta)
        if spent > mu:
            low = middle
        else:
            high, bought = middle, spent
    return high


def _widest(cost: Fraction, left: Fraction) -> float:
    """Return the widest range of a privacy loss, as a float, whose cost in mu^2 is at most `cost`."""
    width = root_below(range_bought(cost, left))
    while ranged_cost(Fraction(width), left) > cost:
        width = nonzero(math.nextafter(width, 0.0))
    return width


def _mu_or_infinite(noise_multiplier: float, rate: float, steps: int, delta: float) -> float:
    try:
        return training_mu(noise_multiplier, rate, steps, delta)
    except BudgetError:
        return math.inf


def _require_counted(currency: Currency) -> None:
    if currency == "none":
        raise BudgetError(f"the currency is {currency!r}; noise is scaled only where a cost is counted")


def _exact(name: str, value: Fraction | float) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    if (isinstance(value, float) and not math.isfinite(value)) or value <= 0:
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return Fraction(value)
