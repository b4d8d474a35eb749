"""What one event costs, exactly.

Costs are `Fraction`s computed from the parameters as they are, so three thirds are a whole; those in mu^2 hold
roots, which are rounded up at 128 bits. What noise a cost buys is worked out in `accounting.parameters`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from syntabula.errors import BudgetError
from syntabula.privacy.accounting.gdp import gaussian_cost, ranged_cost, ranged_cost_before
from syntabula.privacy.accounting.roots import root_above
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
    return root_above(mu_squared)


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


def _no_cost(event: object, currency: str) -> BudgetError:
    what = event.what if isinstance(event, ExactEvent) else type(event).__name__
    return BudgetError(f"{what!r} has no cost in {currency}; exact answers need Budget.none()")
