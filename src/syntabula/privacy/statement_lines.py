"""What each step of a fit ran and cost, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class StatementLine:
    """One step of a fit and what it cost.

    Attributes:
        step: Name of the step.
        mechanism: What was run, with its parameters, in words.
        share: Part of the whole budget, 0 .. 1; None where privacy was switched off.
    """

    step: str
    mechanism: str
    share: float | None


def lines_of(ledger: Ledger) -> tuple[StatementLine, ...]:
    """Say what each step of a ledger ran and cost, in order of its first spend."""
    private = ledger.budget.total is not None
    events: dict[str, list[Event]] = {}
    for entry in ledger.entries:
        events.setdefault(entry.step, []).append(entry.event)
    return tuple(
        StatementLine(step=step, mechanism=_in_words(events[step]), share=share if private else None)
        for step, _, share in ledger.by_step()
    )


def _in_words(events: list[Event]) -> str:
    """Say what was run; where one mechanism ran with several parameters, their range."""
    parameters: dict[str, list[float]] = {}
    for event in events:
        mechanism, parameter = _mechanism(event)
        parameters.setdefault(mechanism, []).append(parameter)
    return ", and ".join(_times(len(found)) + m + _range(found) for m, found in parameters.items())


def _times(number: int) -> str:
    return "" if number == 1 else f"{number} times "


def _range(numbers: list[float]) -> str:
    least, most = f"{min(numbers):.4g}", f"{max(numbers):.4g}"
    if math.isnan(numbers[0]):
        return ""
    return f" {least}" if least == most else f" {least} to {most}"


def _mechanism(event: Event) -> tuple[str, float]:
    """Return a mechanism in words and the parameter to follow; NaN if there is none."""
    match event:
        case GaussianEvent():
            return "discrete Gaussian noise, standard deviation", event.sigma
        case LaplaceEvent():
            return "discrete Laplace noise, scale", event.scale
        case ExponentialEvent():
            return "exponential mechanism, epsilon", event.epsilon
        case TreeEvent():
            return "private tree, Laplace noise on each decision, scale", event.scale
        case ThresholdEvent():
            kept = f"kept from {event.threshold:.4g}; delta {event.delta:.2g}"
            return f"noisy counts, {kept}; standard deviation", event.sigma
        case ExactEvent():
            return f"exact {event.what}, no noise", math.nan
