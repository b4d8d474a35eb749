"""The noise that a share of the budget buys: the one place where a share becomes an event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.parameters import exponential_epsilon, gaussian_sigma, laplace_epsilon, laplace_scale

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
        raise ArgumentError(f"share must be a fraction of the budget in (0, 1]; got {float(share):g}")
    assert ledger.allowance is not None
    return exact * ledger.allowance


def vector_event(
    ledger: Ledger,
    share: Fraction | float,
    *,
    l1_sensitivity: int,
    l2_sensitivity_squared: int,
    cells: int,
    what: str = "counts",
) -> CountingEvent:
    """Return the noise that a share buys for a vector of integers.

    Args:
        ledger: Says the currency: pure privacy buys Laplace noise, the others Gaussian noise.
        share: Part of the whole budget.
        l1_sensitivity: Most that one record changes the vector by, in all.
        l2_sensitivity_squared: Square of the same in L2.
        cells: Length of the vector.
        what: What a statement calls it where privacy is switched off.
    """
    currency = ledger.budget.currency
    if currency == "none":
        return ExactEvent(what)
    cost = cost_of_share(ledger, share)
    if currency == "epsilon":
        scale = laplace_scale(cost, l1_sensitivity)
        return LaplaceEvent(scale=scale, l1_sensitivity=l1_sensitivity, cells=cells)
    sigma = gaussian_sigma(cost, l2_sensitivity_squared, currency)
    return GaussianEvent(sigma=sigma, l2_sensitivity_squared=l2_sensitivity_squared, cells=cells)


def counting_event(ledger: Ledger, share: Fraction | float, *, sensitivity: int, cells: int) -> CountingEvent:
    """Return the noise for a vector of which one record changes one cell, by at most so many steps."""
    return vector_event(
        ledger, share, l1_sensitivity=sensitivity, l2_sensitivity_squared=sensitivity**2, cells=cells
    )


def choice_event(
    ledger: Ledger, share: Fraction | float, *, candidates: int, what: str = "choice"
) -> ExponentialEvent | ExactEvent:
    """Return the choice among so many candidates that a share buys."""
    currency = ledger.budget.currency
    if currency == "none":
        return ExactEvent(what)
    epsilon = exponential_epsilon(cost_of_share(ledger, share), currency, ledger.remaining or Fraction(0))
    return ExponentialEvent(epsilon=epsilon, candidates=candidates)


def laplace_epsilon_of_share(ledger: Ledger, share: Fraction | float) -> Fraction:
    """Return the pure epsilon that Laplace draws for this share may have."""
    cost = cost_of_share(ledger, share)
    return laplace_epsilon(cost, ledger.budget.currency, ledger.remaining or Fraction(0))


def tree_event(ledger: Ledger, share: Fraction | float, *, sensitivity: int) -> TreeEvent | ExactEvent:
    """Return the tree that a share buys; all of its decisions together cost `sensitivity` / scale."""
    if ledger.budget.currency == "none":
        return ExactEvent("tree")
    return TreeEvent(scale=laplace_scale(laplace_epsilon_of_share(ledger, share), sensitivity))


def threshold_event(
    ledger: Ledger, share: Fraction | float, delta: Fraction | float
) -> ThresholdEvent | ExactEvent:
    """Return the noise that a share buys, and the smallest threshold with at most this chance to fail.

    Args:
        ledger: Of a budget with a delta, part of which is set aside.
        share: Part of the whole budget.
        delta: Probability, at most, that a label of a single record passes.
    """
    currency = ledger.budget.currency
    if currency == "none":
        return ExactEvent("categories")
    return smallest_threshold(gaussian_sigma(cost_of_share(ledger, share), 1, currency), delta)


def smallest_threshold(sigma: float, delta: Fraction | float) -> ThresholdEvent:
    """Return the smallest threshold that a single record's label passes with at most this probability."""
    threshold = 1 + sigma * math.sqrt(-2 * math.log(float(delta)))
    event = ThresholdEvent(sigma=sigma, threshold=threshold)
    while Fraction(event.delta) > Fraction(delta):
        threshold = threshold * (1 + 1e-9)
        event = ThresholdEvent(sigma=sigma, threshold=threshold)
    return event
