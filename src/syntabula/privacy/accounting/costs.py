"""What one event costs, exactly, and the noise that a given cost buys.

Costs are `Fraction`s computed from the parameters as they are, so three thirds are a whole; those in mu^2 hold
roots, which are rounded up at 128 bits. The inverse functions return a float next to the ideal parameter, whose
exact cost is not above what was given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from syntabula.errors import BudgetError
from syntabula.privacy.accounting.gdp import (
    gaussian_cost,
    gaussian_precision,
    range_bought,
    ranged_cost,
    ranged_cost_before,
)
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)

Currency = Literal["mu_squared", "rho", "epsilon", "none"]
"""Units of cost: mu^2 of Gaussian privacy, rho of zCDP, epsilon of pure privacy."""


def rho_of(event: Event) -> Fraction:
    """Compute the exact cost of an event in zCDP.

    Discrete Gaussian: Delta^2 / (2 sigma^2) (Canonne, Kamath and Steinke 2020, Theorem 4). Discrete Laplace:
    pure epsilon = Delta / b, hence epsilon^2 / 2 (Bun and Steinke 2016, Proposition 1.4). Exponential
    mechanism: epsilon^2 / 8, by bounded range (Cesar and Rogers 2021; Dong, Durfee and Rogers 2020). A tree:
    its pure epsilon as for Laplace. A threshold: as its Gaussian noise; its delta is counted apart.

    Raises:
        BudgetError: If the event is an exact answer.
    """
    match event:
        case GaussianEvent():
            return Fraction(event.l2_sensitivity_squared) / (2 * Fraction(event.sigma) ** 2)
        case LaplaceEvent():
            return (event.l1_sensitivity / Fraction(event.scale)) ** 2 / 2
        case ExponentialEvent():
            return Fraction(event.epsilon) ** 2 / 8
        case TreeEvent():
            return epsilon_of(event) ** 2 / 2
        case ThresholdEvent():
            return 1 / (2 * Fraction(event.sigma) ** 2)
    raise _no_cost(event, "zCDP")


def epsilon_of(event: Event) -> Fraction:
    """Compute the exact cost of an event in pure differential privacy.

    Raises:
        BudgetError: If the event is Gaussian, which has no pure cost, or an exact answer.
    """
    match event:
        case LaplaceEvent():
            return event.l1_sensitivity / Fraction(event.scale)
        case ExponentialEvent():
            return Fraction(event.epsilon)
        case TreeEvent():
            return 3 / Fraction(event.scale)
        case GaussianEvent() | ThresholdEvent():
            raise BudgetError(
                "Gaussian noise has no cost in pure differential privacy; use Laplace noise, or a delta"
            )
    raise _no_cost(event, "pure differential privacy")


def mu_squared_of(event: Event, left: Fraction) -> Fraction:
    """Compute the cost of an event in Gaussian privacy; `accounting.gdp` has the proofs.

    Args:
        event: What was drawn.
        left: What of the total is left before it. Choices and Laplace noise cost a little less where more is.

    Raises:
        BudgetError: If the event is an exact answer.
    """
    noise = _noise_cost(event)
    return ranged_cost(_loss_range(event), left) if noise is None else noise


def mu_squared_together(events: Iterable[Event]) -> Fraction:
    """Compute the smallest total in Gaussian privacy that would have covered these events in this order.

    Raises:
        BudgetError: If one of them is an exact answer.
    """
    total = Fraction(0)
    for event in reversed(list(events)):
        noise = _noise_cost(event)
        total += ranged_cost_before(_loss_range(event), total) if noise is None else noise
    return total


def mu_above(mu_squared: Fraction) -> float:
    """Return the smallest float mu whose square is at least this.

    Raises:
        BudgetError: If it is beyond float64.
    """
    return _root_above(mu_squared)


def _noise_cost(event: Event) -> Fraction | None:
    """Cost in mu^2 of discrete Gaussian noise; None for other events."""
    match event:
        case GaussianEvent():
            return Fraction(event.l2_sensitivity_squared) * gaussian_cost(event.sigma)
        case ThresholdEvent():
            return gaussian_cost(event.sigma)
    return None


def _loss_range(event: Event) -> Fraction:
    """Length of an interval that holds the privacy loss of a choice, or of a draw with a pure epsilon."""
    match event:
        case ExponentialEvent():
            return Fraction(event.epsilon)
        case LaplaceEvent() | TreeEvent():
            return 2 * epsilon_of(event)
    raise _no_cost(event, "Gaussian differential privacy")


def delta_of(event: Event) -> Fraction:
    """Return the probability with which an event may fail outright, beyond its cost; 0 for most."""
    return Fraction(event.delta) if isinstance(event, ThresholdEvent) else Fraction(0)


def cost_of(event: Event, currency: Currency, left: Fraction = Fraction(0)) -> Fraction:
    """Compute the cost of an event in a currency; 0 under no privacy, where nothing is counted.

    Args:
        event: What was drawn.
        currency: The unit.
        left: What of the total is left before it; it only matters in mu^2.

    Raises:
        BudgetError: If the event has no cost in the currency.
    """
    match currency:
        case "none":
            return Fraction(0)
        case "mu_squared":
            return mu_squared_of(event, left)
        case "rho":
            return rho_of(event)
    return epsilon_of(event)


def gaussian_sigma(
    cost: Fraction | float, l2_sensitivity_squared: Fraction | int, currency: Currency
) -> float:
    """Find the smallest float sigma whose cost is at most `cost`.

    Args:
        cost: What may be spent, above 0.
        l2_sensitivity_squared: Square of the L2 sensitivity, above 0.
        currency: "mu_squared" or "rho".

    Raises:
        BudgetError: If an argument is outside its range, the currency has no Gaussian noise, or sigma would not
            be a finite float.
    """
    exact, squared = _exact("cost", cost), _exact("l2_sensitivity_squared", l2_sensitivity_squared)
    if currency == "rho":
        return _root_above(squared / (2 * exact))
    if currency != "mu_squared":
        raise BudgetError(f"the currency is {currency!r}; Gaussian noise needs a budget with a delta")
    sigma = _root_above(1 / gaussian_precision(exact / squared))
    while squared * gaussian_cost(sigma) > exact:
        sigma = _finite(math.nextafter(sigma, math.inf))
    return sigma


def laplace_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> Fraction:
    """Find the pure epsilon that a Laplace draw may have for this cost.

    In zCDP that is sqrt(2 rho), rounded down; in pure privacy the cost itself; in Gaussian privacy almost
    sqrt(mu^2) where `left`, what of the total is left before, is much more.

    Raises:
        BudgetError: If the cost is not above 0, or the currency is "none".
    """
    exact = _exact("cost", cost)
    _require_counted(currency)
    match currency:
        case "epsilon":
            return exact
        case "rho":
            return Fraction(_root_below(2 * exact))
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
    return scale if Fraction(scale) >= ideal else _finite(math.nextafter(scale, math.inf))


def exponential_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> float:
    """Find the largest float parameter of the exponential mechanism whose cost is at most `cost`.

    Args:
        cost: What may be spent, above 0.
        currency: "mu_squared" gives almost sqrt(4 mu^2) where much is left, "rho" sqrt(8 rho), and "epsilon" the
            cost itself; all rounded down.
        left: What of the total is left before; it only matters in mu^2.

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
            return _root_below(8 * exact)
    try:
        epsilon = float(exact)
    except OverflowError:
        raise BudgetError("the cost is too large for a float") from None
    return _nonzero(epsilon if Fraction(epsilon) <= exact else math.nextafter(epsilon, 0.0))


def _widest(cost: Fraction, left: Fraction) -> float:
    """Widest range of a privacy loss, as a float, whose cost in mu^2 is at most `cost`."""
    width = _root_below(range_bought(cost, left))
    while ranged_cost(Fraction(width), left) > cost:
        width = _nonzero(math.nextafter(width, 0.0))
    return width


def _no_cost(event: object, currency: str) -> BudgetError:
    what = event.what if isinstance(event, ExactEvent) else type(event).__name__
    return BudgetError(f"{what!r} has no cost in {currency}; exact answers need Budget.none()")


def _require_counted(currency: Currency) -> None:
    if currency == "none":
        raise BudgetError(f"the currency is {currency!r}; noise is scaled only where a cost is counted")


def _exact(name: str, value: Fraction | float) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    if (isinstance(value, float) and not math.isfinite(value)) or value <= 0:
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return Fraction(value)


def _near_root(square: Fraction) -> float:
    """Square root as a float, off by a few units in the last place; the exponent is taken out first."""
    half_exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square / Fraction(4) ** half_exponent
    try:
        return math.ldexp(math.sqrt(scaled), half_exponent)
    except OverflowError:
        return math.inf


def _root_above(square: Fraction) -> float:
    """Smallest float whose square is at least `square`."""
    root = _finite(_near_root(square))
    while Fraction(root) ** 2 < square:
        root = _finite(math.nextafter(root, math.inf))
    while (lower := math.nextafter(root, 0.0)) > 0 and Fraction(lower) ** 2 >= square:
        root = lower
    return root


def _root_below(square: Fraction) -> float:
    """Largest float whose square is at most `square`."""
    root = _root_above(square)
    return root if Fraction(root) ** 2 == square else _nonzero(math.nextafter(root, 0.0))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise BudgetError("the cost is too small: the noise it buys would be infinite")
    return value


def _nonzero(value: float) -> float:
    if value <= 0:
        raise BudgetError("the cost is too small: the parameter it buys is 0 as a float")
    return value
