"""The noise that a share of the budget buys: the only place where a share becomes an event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, BudgetError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import Event, ExactEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.exact_samplers import LARGEST_SCALE
from syntabula.privacy.gdp import laplace_epsilon
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.rules import RULES, Price
from syntabula.privacy.units import Unit

CountingEvent = GaussianEvent | LaplaceEvent | ExactEvent
EventT = TypeVar("EventT", bound=Event)

_OF_A_SHARE = 2.0**14
"""How much more noise than on one count that takes the whole budget there may be on what takes a share."""


@dataclass(frozen=True, eq=False)
class NoisyVector:
    """Released numbers, and the noise on them.

    Attributes:
        values: [k] noisy counts, or noisy sums in the requested unit.
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
        """Return a level that noise alone exceeds with probability at most `tail` on one value; 0 without privacy."""
        if not 0 < tail < 1:
            raise ArgumentError("tail must lie between 0 and 1")
        return RULES[type(self.event)].tail(self.event, tail) * self.unit

    def times_to_tell(self, part: float, tail: float) -> Fraction:
        """Return how many times the share that bought the first value tells a part of it from noise.

        Noise falls with the share, or with its root.

        Args:
            part: Part of the value, above 0.
            tail: Probability with which noise alone may exceed it.
        """
        power = 1 if isinstance(self.event, LaplaceEvent) else 2
        return Fraction((self.above_noise(tail) / (part * max(float(self.values[0]), 1.0))) ** power)


def standard_deviation(event: CountingEvent) -> float:
    """Return the standard deviation of the noise of an event, in integer steps."""
    return RULES[type(event)].deviation(event)


def bought(
    ledger: Ledger,
    share: Fraction | float,
    kind: type[EventT],
    *,
    what: str,
    of_units: bool = False,
    **query: Any,
) -> EventT | ExactEvent:
    """Return the event of a kind that a share buys; without privacy, an exact answer.

    Args:
        ledger: Gives the currency and the rest of the budget.
        share: Fraction of the ledger's allowance, which is the whole budget unless earlier runs spent part of it.
        kind: Kind of the draw.
        what: Name of the answer in a statement, if privacy is switched off.
        of_units: Whether the parameters below hold for all rows of a unit; by default they hold for one row.
        query: Parameters of the event that the query fixes, such as its sensitivity; see the rule of the kind.

    Raises:
        ArgumentError: If the share is not above 0 and at most 1.
        BudgetError: If the budget has no such noise, or the noise would be infinite.
    """
    if ledger.budget.currency == "none":
        return ExactEvent(what)
    rule = RULES[kind]
    event = rule.bought(_price(ledger, share, of_units=of_units), **query)
    if rule.parameter in ("sigma", "scale") and getattr(event, rule.parameter) > LARGEST_SCALE:
        raise too_small(ledger.budget)
    return cast(EventT, event)


def enough(budget: Budget) -> Budget:
    """Return a budget, unless the smallest share of a method might buy noise that is too large to be drawn.

    Raises:
        BudgetError: If one count that took the whole budget had noise close to that.
    """
    try:
        deviation = standard_deviation(whole_count(budget, 1))
    except BudgetError:  # not even a float has such noise
        raise too_small(budget) from None
    if deviation * _OF_A_SHARE > LARGEST_SCALE:
        raise too_small(budget)
    return budget


def too_small(budget: Budget) -> BudgetError:
    """Return the error of a budget whose noise would hide any table."""
    return BudgetError(
        f"the budget, of epsilon {budget.epsilon:.3g}, is too small for any method: its noise would hide every table, "
        "and nothing was drawn for it; raise epsilon, or delta where the budget has one"
    )


def vector_event(
    ledger: Ledger,
    share: Fraction | float,
    *,
    l1_sensitivity: int,
    l2_sensitivity_squared: int,
    cells: int,
    what: str = "counts",
    of_units: bool = False,
) -> CountingEvent:
    """Return the noise that a share buys for a vector of integers: Laplace noise in pure privacy, else Gaussian noise.

    Args, beside those of `bought`:
        l1_sensitivity: L1 sensitivity of the vector to one record.
        l2_sensitivity_squared: Square of its L2 sensitivity.
        cells: Length of the vector.
    """
    query: dict[str, Any] = {"what": what, "of_units": of_units, "cells": cells}
    if ledger.budget.currency == "epsilon":
        return bought(ledger, share, LaplaceEvent, l1_sensitivity=l1_sensitivity, **query)
    return bought(ledger, share, GaussianEvent, l2_sensitivity_squared=l2_sensitivity_squared, **query)


def counting_event(
    ledger: Ledger, share: Fraction | float, *, sensitivity: int, cells: int, at_once: int = 1, **query: Any
) -> CountingEvent:
    """Return the noise for a vector in which one record changes `at_once` cells, each by at most `sensitivity` steps."""
    l1, l2_squared = at_once * sensitivity, at_once * sensitivity**2
    return vector_event(
        ledger, share, l1_sensitivity=l1, l2_sensitivity_squared=l2_squared, cells=cells, **query
    )


def whole_count(budget: Budget, rows: int) -> CountingEvent:
    """Return the noise on one count that takes a whole budget, where a unit has at most this many rows."""
    return counting_event(Ledger(budget, unit=Unit(rows=rows)), 1, sensitivity=1, cells=1)


def laplace_epsilon_of_share(ledger: Ledger, share: Fraction | float) -> Fraction:
    """Return the pure epsilon that Laplace draws for this share have for a single row."""
    price = _price(ledger, share)
    return laplace_epsilon(price.cost, price.currency, price.left) / price.rows


def _price(ledger: Ledger, share: Fraction | float, *, of_units: bool = False) -> Price:
    exact = Fraction(share)
    if not 0 < exact <= 1:
        raise ArgumentError(f"share must be a fraction of the budget in (0, 1]; got {float(share):g}")
    assert ledger.allowance is not None
    rows = 1 if of_units else ledger.unit.rows
    return Price(exact * ledger.allowance, ledger.budget.currency, ledger.remaining or Fraction(0), rows)
