"""What each step of a fit ran and cost, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from syntabula.privacy.budget_numbers import shown_above, shown_below
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

_OF_COLUMN = re.compile(r"""(.+?) of (['"]).*\2""", re.DOTALL)
_DIGITS = 4
_MOST_APART = 3
"""Steps for one column each, otherwise alike, that are still listed one by one."""


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


def domain_step(name: str) -> str:
    """Return what a ledger calls the search for the domain of a column."""
    return f"find the domain of {name!r}"


def folded(steps: Sequence[tuple[str, Hashable]]) -> list[tuple[str, list[int]]]:
    """Put steps together that did the same for one column each, so that wide tables read like narrow ones.

    Args:
        steps: Name of each step, such as "fit the bins of 'age'", and what else two steps must have in common.

    Returns:
        Names, in order of the first step of each, and the positions of the steps; a few columns stay apart.
    """
    groups: dict[tuple[str, Hashable], list[int]] = {}
    for position, (name, common) in enumerate(steps):
        of_column = _OF_COLUMN.fullmatch(name)
        key = (of_column[1], common) if of_column else (name, (position, common))
        groups.setdefault(key, []).append(position)
    found: list[tuple[str, list[int]]] = []
    for (what, _), places in groups.items():
        if len(places) > _MOST_APART:
            found.append((f"{what} of {len(places)} columns", places))
        else:
            found += [(steps[place][0], [place]) for place in places]
    return sorted(found, key=lambda group: group[1][0])


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
    alike: dict[str, list[Event]] = {}
    for event in events:
        alike.setdefault(_mechanism(event), []).append(event)
    return ", and ".join(_times(len(found)) + m + _range(found) for m, found in alike.items())


def _times(number: int) -> str:
    return "" if number == 1 else f"{number} times "


def _range(events: list[Event]) -> str:
    """Return the parameters of events of one kind, rounded so that they promise no more than there was."""
    if isinstance(events[0], ExactEvent):
        return ""
    shown = shown_above if isinstance(events[0], ExponentialEvent) else shown_below
    parameters = [_parameter(event) for event in events]
    least, most = shown(min(parameters), _DIGITS), shown(max(parameters), _DIGITS)
    return f" {least}" if least == most else f" {least} to {most}"


def _parameter(event: Event) -> float:
    match event:
        case ExponentialEvent():
            return event.epsilon
        case GaussianEvent() | ThresholdEvent():
            return event.sigma
        case LaplaceEvent() | TreeEvent():
            return event.scale
    return math.nan


def _mechanism(event: Event) -> str:
    """Return a mechanism in words, to be followed by its parameter."""
    match event:
        case GaussianEvent():
            return "discrete Gaussian noise, standard deviation"
        case LaplaceEvent():
            return "discrete Laplace noise, scale"
        case ExponentialEvent():
            return "exponential mechanism, epsilon"
        case TreeEvent():
            return "private tree, Laplace noise on each decision, scale"
        case ThresholdEvent():
            kept = f"kept from {shown_below(event.threshold, _DIGITS)}; delta {shown_above(event.delta, 2)}"
            return f"noisy counts, {kept}; standard deviation"
        case ExactEvent():
            return f"exact {event.what}, no noise"
