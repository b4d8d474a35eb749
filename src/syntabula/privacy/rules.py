"""The rule of each event: its cost in every currency, its failure probability, the noise that a cost buys, and words.

Costs are `Fraction`s computed from the exact parameters, so three thirds make a whole; costs in mu^2 contain roots,
which are rounded up at 128 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Currency
from syntabula.privacy.conversion import float_above, float_below, nonzero, shown_above, shown_below
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TrainingEvent,
    TreeEvent,
)
from syntabula.privacy.gdp import (
    exponential_epsilon,
    gaussian_cost,
    gaussian_sigma,
    laplace_epsilon,
    laplace_scale,
    ranged_cost,
    ranged_cost_before,
)

_THRESHOLD_STEP = 1e-9
"""Relative precision of the smallest threshold."""
_DIGITS = 4
_FINE = 1024
"""Steps from which on it is said how far one record moves an answer: some counts it moves by a few units at most."""
_ROUNDING = 1e-9
_NO_PURE_COST = "Gaussian noise has no cost in pure differential privacy; use Laplace noise, or a delta"


@dataclass(frozen=True)
class Price:
    """The allowed cost of one event.

    Attributes:
        cost: Above 0.
        currency: Its unit; not "none".
        left: Rest of the total before the event; it only matters in mu^2.
        rows: Rows of one unit, at most (`privacy.units`): the event must cover all of them together.
    """

    cost: Fraction
    currency: Currency
    left: Fraction
    rows: int = 1


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Facts about one kind of event; each function except `bought` takes the event first.

    Attributes:
        bought: Takes a `Price` and, by name, the parameters that the query fixes, for one row; returns the affordable
            event with the least noise, for all rows of a unit.
        is_answer: Whether numbers have the type, length and range of an answer.
        covers: Whether noise of a scale allows one record, or one unit, to change an exact statistic by this much
            [cells].
        words: The mechanism in words, followed by its parameter.
        parameter: Name of the parameter that follows the words; empty for none.
        promises_more: Whether a larger parameter means less privacy, so that it is rounded up for display.
        rho: Cost in zCDP.
        epsilon: Cost in pure differential privacy; None if there is none.
        mu_squared: Cost in Gaussian privacy; None if `loss_range` gives the cost.
        loss_range: Length of an interval that holds the privacy loss.
        failure: Failure probability: that with which the event may break its guarantee, beyond its cost.
        deviation: Standard deviation of noise on a vector, in integer steps.
        tail: Level that noise on a vector exceeds with at most a given probability, in integer steps.
        derived: Facts that follow from the parameters and are written beside them for readers.
    """

    bought: Callable[..., Event]
    is_answer: Callable[[Any, NDArray[Any]], bool]
    covers: Callable[[Any, NDArray[np.float64], float], bool]
    words: Callable[[Any], str]
    parameter: str = ""
    promises_more: bool = False
    rho: Callable[[Any], Fraction] | None = None
    epsilon: Callable[[Any], Fraction] | None = None
    mu_squared: Callable[[Any], Fraction] | None = None
    loss_range: Callable[[Any], Fraction] | None = None
    failure: Callable[[Any], Fraction] = lambda event: Fraction(0)
    deviation: Callable[[Any], float] = lambda event: 0.0
    tail: Callable[[Any, float], float] = lambda event, probability: 0.0
    derived: Literal["", "epsilon", "delta"] = ""

    def in_pure_privacy(self, event: Event) -> Fraction:
        """Return the exact cost of an event in pure differential privacy; raises BudgetError if it has none."""
        if self.epsilon is None:
            raise BudgetError(_NO_PURE_COST)
        return self.epsilon(event)

    def in_zcdp(self, event: Event) -> Fraction:
        """Return the exact cost of an event in zCDP: epsilon^2 / 2 for a pure epsilon, unless a smaller cost is known.

        Bun and Steinke (2016), Proposition 1.4.
        """
        return self.in_pure_privacy(event) ** 2 / 2 if self.rho is None else self.rho(event)

    def range_of_losses(self, event: Event) -> Fraction:
        """Return the length of an interval that holds the privacy loss: at most twice the pure epsilon."""
        return 2 * self.in_pure_privacy(event) if self.loss_range is None else self.loss_range(event)


def _gaussian(price: Price, *, l2_sensitivity_squared: int, cells: int) -> GaussianEvent:
    squared = l2_sensitivity_squared * price.rows**2
    return GaussianEvent(gaussian_sigma(price.cost, squared, price.currency), squared, cells)


def _laplace(price: Price, *, l1_sensitivity: int, cells: int) -> LaplaceEvent:
    epsilon = laplace_epsilon(price.cost, price.currency, price.left)
    l1_sensitivity *= price.rows
    return LaplaceEvent(laplace_scale(epsilon, l1_sensitivity), l1_sensitivity, cells)


def _exponential(price: Price, *, candidates: int) -> ExponentialEvent:
    epsilon = exponential_epsilon(price.cost, price.currency, price.left)
    if price.rows > 1:
        epsilon = nonzero(float_below(Fraction(epsilon) / price.rows))
    return ExponentialEvent(epsilon, candidates, price.rows)


def _tree(price: Price) -> TreeEvent:
    epsilon = laplace_epsilon(price.cost, price.currency, price.left)
    return TreeEvent(laplace_scale(epsilon, TreeEvent.sensitivity * price.rows), price.rows)


def _threshold(price: Price, *, failure: Fraction | float) -> ThresholdEvent:
    sigma = gaussian_sigma(price.cost, price.rows**2, price.currency)
    return smallest_threshold(sigma, failure, price.rows)


def smallest_threshold(sigma: float, failure: Fraction | float, rows: int = 1) -> ThresholdEvent:
    """Return the smallest threshold of bounded noise that fails with at most this probability."""
    # Each of the terms of `ThresholdEvent.delta` is then at most the last, over a sum of at least 1.
    enough = rows + sigma * math.sqrt(2 * math.log(rows / float(failure)))
    event = ThresholdEvent(sigma=sigma, threshold=enough, rows=rows, bounded=True)
    while Fraction(event.delta) > Fraction(failure):
        enough *= 1 + 1e-9
        event = ThresholdEvent(sigma=sigma, threshold=enough, rows=rows, bounded=True)
    little = float(rows)
    while enough - little > _THRESHOLD_STEP * enough:
        threshold = (little + enough) / 2
        tried = ThresholdEvent(sigma=sigma, threshold=threshold, rows=rows, bounded=True)
        if Fraction(tried.delta) > Fraction(failure):
            little = threshold
        else:
            enough, event = threshold, tried
    return event


def _training(price: Price, *, rate: float, **query: Any) -> Event:
    # A step takes one row of a unit alone (`training.records`), and a unit is in as many steps as all of its rows.
    event: Event = _prices().training_event(price.cost, price.currency, rate=rate * price.rows, **query)
    return event


def _prices() -> Any:
    # A release of marginals loads no file of `privacy.training`.
    from syntabula.privacy.training import prices

    return prices


def _no_price(price: Price) -> Event:
    raise BudgetError("exact answers cannot be bought; they need Budget.none()")


RULES: dict[type[Event], Rule] = {
    # Canonne, Kamath and Steinke (2020), Theorem 4, and its sub-Gaussian tail; `privacy.gdp` for mu^2.
    GaussianEvent: Rule(
        words=lambda event: (
            f"{_moved_by(math.sqrt(event.l2_sensitivity_squared), 'L2')}discrete Gaussian noise, standard deviation"
        ),
        parameter="sigma",
        rho=lambda event: Fraction(event.l2_sensitivity_squared) / (2 * Fraction(event.sigma) ** 2),
        mu_squared=lambda event: Fraction(event.l2_sensitivity_squared) * gaussian_cost(event.sigma),
        bought=_gaussian,
        deviation=lambda event: event.sigma,
        tail=lambda event, probability: event.sigma * math.sqrt(-2 * math.log(probability)),
        is_answer=lambda event, values: values.dtype == np.int64 and values.shape == (event.cells,),
        covers=lambda event, moved, scale: (
            np.square(moved).sum() <= event.l2_sensitivity_squared and scale == event.sigma
        ),
    ),
    LaplaceEvent: Rule(
        words=lambda event: f"{_moved_by(event.l1_sensitivity, 'L1')}discrete Laplace noise, scale",
        parameter="scale",
        epsilon=lambda event: event.l1_sensitivity / Fraction(event.scale),
        derived="epsilon",
        bought=_laplace,
        deviation=lambda event: float(np.sqrt(2 * np.exp(-1 / event.scale)) / -np.expm1(-1 / event.scale)),
        tail=lambda event, probability: -event.scale * math.log(probability),
        is_answer=lambda event, values: values.dtype == np.int64 and values.shape == (event.cells,),
        covers=lambda event, moved, scale: moved.sum() <= event.l1_sensitivity and scale == event.scale,
    ),
    # Bounded range: Cesar and Rogers (2021); Dong, Durfee and Rogers (2020).
    ExponentialEvent: Rule(
        words=lambda event: f"exponential mechanism,{_for_each_row(event.rows)} epsilon",
        parameter="epsilon",
        promises_more=True,
        epsilon=lambda event: event.rows * Fraction(event.epsilon),
        rho=lambda event: (event.rows * Fraction(event.epsilon)) ** 2 / 8,
        loss_range=lambda event: event.rows * Fraction(event.epsilon),
        bought=_exponential,
        is_answer=lambda event, values: (
            values.dtype == np.int64 and values.shape == (1,) and 0 <= values[0] < event.candidates
        ),
        # If a score changes by half of scale times epsilon, its odds change by exp(epsilon / 2).
        covers=lambda event, moved, scale: (
            moved.max(initial=0) <= event.rows * scale * event.epsilon / 2 * (1 + _ROUNDING) + _ROUNDING
        ),
    ),
    # Zhang, Xiao and Xie (2016), for binary splits.
    TreeEvent: Rule(
        words=lambda event: "private tree, Laplace noise on each decision, scale",
        parameter="scale",
        epsilon=lambda event: event.rows * event.sensitivity / Fraction(event.scale),
        derived="epsilon",
        bought=_tree,
        is_answer=lambda event, values: (
            values.dtype == np.int64 and values.ndim == 1 and bool(np.isin(values, (0, 1)).all())
        ),
        # A record lies in one node per level.
        covers=lambda event, moved, scale: moved.sum() * event.scale <= event.rows * scale,
    ),
    # The cost of its Gaussian noise, and the probability of what only the rows of one record, or unit, tell.
    ThresholdEvent: Rule(
        words=lambda event: (
            f"noisy counts, kept from {shown_below(event.threshold, _DIGITS)}; delta {shown_above(event.delta, 2)}; "
            "standard deviation"
        ),
        parameter="sigma",
        rho=lambda event: event.rows**2 / (2 * Fraction(event.sigma) ** 2),
        mu_squared=lambda event: event.rows**2 * gaussian_cost(event.sigma),
        failure=lambda event: Fraction(event.delta),
        derived="delta",
        bought=_threshold,
        is_answer=lambda event, values: values.dtype == np.uint8 and values.ndim == 1,
        covers=lambda event, moved, scale: np.square(moved).sum() <= event.rows**2 and scale == event.sigma,
    ),
    # Abadi et al. (2016), for the mechanism; `privacy.training` for its cost.
    TrainingEvent: Rule(
        words=lambda event: (
            f"{event.steps} steps on records sampled at rate {event.rate:.{_DIGITS}g}, the gradient of each clipped to "
            f"L2 length {event.clip:.{_DIGITS}g}; delta {shown_above(event.delta, 2)}; discrete Gaussian noise on their "
            "sums, standard deviation"
        ),
        parameter="deviation",
        rho=lambda event: _prices().refuse_training("rho"),
        epsilon=lambda event: _prices().refuse_training("epsilon"),
        mu_squared=lambda event: _prices().training_cost(event),
        failure=lambda event: _prices().training_failure(event),
        bought=_training,
        is_answer=lambda event, values: values.dtype == np.float64 and values.ndim == 1,
        covers=lambda event, moved, scale: _prices().training_covers(event, moved, scale),
    ),
    ExactEvent: Rule(
        words=lambda event: f"exact {event.what}, no noise",
        bought=_no_price,
        is_answer=lambda event, values: values.dtype.kind in "iu",
        covers=lambda event, moved, scale: True,
    ),
}


def _moved_by(length: float, norm: str) -> str:
    """Say how far one record moves sums in fine steps, or many counts, without which their noise tells nothing."""
    if length < _FINE:
        return ""
    return (
        "counts or sums of all records, none sampled; one record, or unit, moves them together by at most "
        f"{norm} length {shown_above(length, _DIGITS)}, in steps of the noise; "
    )


def _for_each_row(rows: int) -> str:
    return "" if rows == 1 else f" for each of {rows} rows"


def cost_of(event: Event, currency: Currency, left: Fraction = Fraction(0)) -> Fraction:
    """Compute the cost of an event in a currency; 0 without privacy, where nothing is counted.

    What is left of the total before it only matters in mu^2. Raises BudgetError if it has no cost in the currency.
    """
    match currency:
        case "none":
            return Fraction(0)
        case "mu_squared":
            return mu_squared_of(event, left)
        case "rho":
            return rho_of(event)
    return epsilon_of(event)


def rho_of(event: Event) -> Fraction:
    """Compute the exact cost of an event in zCDP; raises BudgetError for an exact answer."""
    return _counted(event, "zCDP").in_zcdp(event)


def epsilon_of(event: Event) -> Fraction:
    """Compute the exact cost of an event in pure privacy; raises BudgetError for Gaussian noise and an exact answer."""
    return _counted(event, "pure differential privacy").in_pure_privacy(event)


def mu_squared_of(event: Event, left: Fraction) -> Fraction:
    """Compute the cost of an event in Gaussian privacy (proofs in `privacy.gdp`); raises BudgetError for an exact answer.

    Choices and Laplace noise cost slightly less if more is left of the total before them.
    """
    rule = _counted(event, "Gaussian differential privacy")
    if rule.mu_squared is not None:
        return rule.mu_squared(event)
    return ranged_cost(rule.range_of_losses(event), left)


def mu_squared_together(events: Iterable[Event]) -> Fraction:
    """Compute the smallest total in Gaussian privacy that covers these events in this order; not exact answers."""
    total = Fraction(0)
    for event in reversed(list(events)):
        rule = _counted(event, "Gaussian differential privacy")
        if rule.mu_squared is not None:
            total += rule.mu_squared(event)
        else:
            total += ranged_cost_before(rule.range_of_losses(event), total)
    return total


def failure_of(event: Event) -> Fraction:
    """Return the failure probability of an event, beyond its cost; 0 for most. Those of a run add up."""
    return RULES[type(event)].failure(event)


def in_words(event: Event) -> str:
    """Return a mechanism in words, which its parameter follows."""
    return RULES[type(event)].words(event)


def parameters_in_words(events: list[Event]) -> str:
    """Return the parameters of events of one kind, rounded so that they never overstate privacy."""
    rule = RULES[type(events[0])]
    if not rule.parameter:
        return ""
    shown = shown_above if rule.promises_more else shown_below
    values = [getattr(event, rule.parameter) for event in events]
    least, most = shown(min(values), _DIGITS), shown(max(values), _DIGITS)
    return f" {least}" if least == most else f" {least} to {most}"


def derived_facts(event: Event) -> dict[str, float]:
    """Return facts that follow from an event's parameters and are written beside them for readers."""
    match RULES[type(event)].derived:
        case "epsilon":
            return {"epsilon": float_above(epsilon_of(event))}
        case "delta":
            return {"delta": float_above(failure_of(event))}
    return {}


def _counted(event: Event, currency: str) -> Rule:
    """Return the rule of an event that has a cost; raises BudgetError for an exact answer."""
    if isinstance(event, ExactEvent):
        raise BudgetError(f"{event.what!r} has no cost in {currency}; exact answers need Budget.none()")
    return RULES[type(event)]
