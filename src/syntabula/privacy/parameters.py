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


def _widest(cost: Fraction, left: Fraction) -> float:
    """Return the widest range of a privacy loss, as a float, whose cost in mu^2 is at most `cost`."""
    width = root_below(range_bought(cost, left))
    while ranged_cost(Fraction(width), left) > cost:
        width = nonzero(math.nextafter(width, 0.0))
    return width


def _require_counted(currency: Currency) -> None:
    if currency == "none":
        raise BudgetError(f"the currency is {currency!r}; noise is scaled only where a cost is counted")


def _exact(name: str, value: Fraction | float) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    if (isinstance(value, float) and not math.isfinite(value)) or value <= 0:
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return Fraction(value)
