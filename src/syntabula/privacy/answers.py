"""Noisy answers about one column, and the noise that a share of the budget buys for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.accounting.parameters import gaussian_sigma, laplace_scale
from syntabula.privacy.events import ExactEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger

CountingEvent = GaussianEvent | LaplaceEvent | ExactEvent


@dataclass(frozen=True, eq=False)
class NoisyVector:
    """Released numbers, and how far noise may have moved them.

    Attributes:
        values: [k] noisy counts, or noisy sums in the unit that was asked for.
        event: The noise that was drawn.
        unit: Value of one integer step of the noise; 1 for counts.
    """

    values: NDArray[np.float64]
    event: CountingEvent
    unit: float = 1.0

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on each value; 0 without privacy."""
        return standard_deviation(self.event) * self.unit

    def above_noise(self, tail: float) -> float:
        """Return a height that noise alone passes with probability at most `tail` on one value.

        Gaussian noise: sigma * sqrt(2 ln(1 / tail)), as discrete Gaussian noise is sub-Gaussian (Canonne,
        Kamath and Steinke, 2020). Laplace noise: scale * ln(1 / tail). Without privacy it is 0.
        """
        if not 0 < tail < 1:
            raise ArgumentError("tail must lie between 0 and 1")
        match self.event:
            case GaussianEvent():
                return self.event.sigma * math.sqrt(-2 * math.log(tail)) * self.unit
            case LaplaceEvent():
                return -self.event.scale * math.log(tail) * self.unit
        return 0.0


def standard_deviation(event: CountingEvent) -> float:
    """Return the standard deviation of the noise of an event, in integer steps."""
    match event:
        case GaussianEvent():
            return event.sigma
        case LaplaceEvent():
            return float(np.sqrt(2 * np.exp(-1 / event.scale)) / -np.expm1(-1 / event.scale))
    return 0.0


def cost_of_share(ledger: Ledger, share: Fraction | float) -> Fraction:
    """Return what a share of the ledger's allowance is in the budget's currency.

    Raises:
        ArgumentError: If the share is not above 0 and at most 1.
    """
    exact = Fraction(share)
    if not 0 < exact <= 1:
        raise ArgumentError("share is a part of the whole budget: above 0 and at most 1")
    assert ledger.allowance is not None
    return exact * ledger.allowance


def counting_event(ledger: Ledger, share: Fraction | float, *, sensitivity: int, cells: int) -> CountingEvent:
    """Return the noise for a vector of which one record changes one cell by at most `sensitivity` steps.

    Args:
        ledger: Says the currency: pure privacy buys Laplace noise, the others Gaussian noise.
        share: Part of the whole budget.
        sensitivity: L1 and L2 sensitivity, which agree as one cell changes.
        cells: Length of the vector.
    """
    currency = ledger.budget.currency
    if currency == "none":
        return ExactEvent("counts")
    cost = cost_of_share(ledger, share)
    if currency == "epsilon":
        return LaplaceEvent(scale=laplace_scale(cost, sensitivity), l1_sensitivity=sensitivity, cells=cells)
    squared = sensitivity**2
    sigma = gaussian_sigma(cost, squared, currency)
    return GaussianEvent(sigma=sigma, l2_sensitivity_squared=squared, cells=cells)
