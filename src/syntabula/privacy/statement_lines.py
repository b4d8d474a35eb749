"""What each step of a fit ran and cost, in words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from syntabula.privacy.accounting.zcdp import float_above
from syntabula.privacy.events import Event, event_class, event_from_json
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.rules import RULES, derived_facts, in_words, parameters_in_words

_OF_COLUMN = re.compile(r"""(.+?) of (['"]).*\2""", re.DOTALL)
_MOST_APART = 3
"""Steps for one column each, otherwise alike, that are still listed one by one."""


@dataclass(frozen=True, kw_only=True)
class StatedEvent:
    """Equal draws of one step, one right after the other.

    Attributes:
        event: What was drawn, with the mechanism's own parameters.
        number: Position of the first of these draws among all that the budget pays for, counted from 1.
        repetitions: Number of these draws.
        cost: Their cost together in the budget's currency, rounded up; None where privacy was switched off.
    """

    event: Event
    number: int
    repetitions: int
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the parameters, and what follows from them, as values that JSON can hold."""
        counted = {"number": self.number, "repetitions": self.repetitions, "cost": self.cost}
        return counted | self.event.to_json() | derived_facts(self.event)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StatedEvent:
        """Rebuild what `to_json` returned.

        Raises:
            BudgetError, KeyError, TypeError, ValueError: If facts are missing or malformed.
        """
        beside = ("number", "repetitions", "cost", RULES[event_class(facts["kind"])].derived)
        return cls(
            event=event_from_json({name: value for name, value in facts.items() if name not in beside}),
            number=int(facts["number"]),
            repetitions=int(facts["repetitions"]),
            cost=None if facts["cost"] is None else float(facts["cost"]),
        )


@dataclass(frozen=True, kw_only=True)
class StatementLine:
    """One step of a fit and what it cost.

    Attributes:
        step: Name of the step.
        mechanism: What was run, with its parameters, in words.
        share: Part of the whole budget, 0 .. 1; None where privacy was switched off.
        events: The draws of the step, in order; None in a release of a version that did not record them.
    """

    step: str
    mechanism: str
    share: float | None
    events: tuple[StatedEvent, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the step as values that JSON can hold."""
        events = None if self.events is None else [event.to_json() for event in self.events]
        return {"step": self.step, "mechanism": self.mechanism, "share": self.share, "events": events}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StatementLine:
        """Rebuild what `to_json` returned, in this version or an earlier one; raises as `StatedEvent.from_json`."""
        events = facts.get("events")
        return cls(
            step=str(facts["step"]),
            mechanism=str(facts["mechanism"]),
            share=facts["share"],
            events=None if events is None else tuple(map(StatedEvent.from_json, events)),
        )


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
    stated: dict[str, list[StatedEvent]] = {}
    numbered = enumerate(ledger.entries, start=1)
    for (step, event), alike in groupby(numbered, key=lambda one: (one[1].step, one[1].event)):
        draws = list(alike)
        cost = float_above(sum((entry.cost for _, entry in draws), Fraction(0))) if private else None
        group = StatedEvent(event=event, number=draws[0][0], repetitions=len(draws), cost=cost)
        stated.setdefault(step, []).append(group)
    return tuple(
        StatementLine(
            step=step,
            mechanism=_in_words([s.event for s in stated[step] for _ in range(s.repetitions)]),
            share=share if private else None,
            events=tuple(stated[step]),
        )
        for step, _, share in ledger.by_step()
    )


def _in_words(events: list[Event]) -> str:
    """Say what was run; where one mechanism ran with several parameters, their range."""
    alike: dict[str, list[Event]] = {}
    for event in events:
        alike.setdefault(in_words(event), []).append(event)
    return ", and ".join(_times(len(found)) + m + parameters_in_words(found) for m, found in alike.items())


def _times(number: int) -> str:
    return "" if number == 1 else f"{number} times "
