"""What a release knows of its own privacy: what each step ran and cost, and what the guarantee rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syntabula.privacy.budget import Budget
from syntabula.privacy.events import Event, event_class, event_from_json
from syntabula.privacy.rules import RULES, derived_facts

_MOST_NAMED = 10
"""Columns that a warning names; all are listed below it."""


def finite(fact: Any) -> float | None:
    """Return a number of a statement's JSON, or None for none; raises TypeError or ValueError if it is no number."""
    if fact is None:
        return None
    if not math.isfinite(number := float(fact)):
        raise ValueError("a number of a statement is infinite or none")
    return number


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
            cost=finite(facts["cost"]),
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
            share=finite(facts["share"]),
            events=None if events is None else tuple(map(StatedEvent.from_json, events)),
        )


@dataclass(frozen=True, kw_only=True)
class MethodChoice:
    """Which method a run chose by itself, and why.

    Attributes:
        method: Key of the method that learned the table.
        reason: One sentence that rests on declared facts and released values alone.
    """

    method: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class StatementFacts:
    """The guarantee of a release, what it rests on, and what it does not cover.

    What is promised is what was allowed. A run whose steps follow from its answers may end with less spent, but that
    it does is one of its answers: composition is proven for a limit that was fixed before.

    Attributes:
        method: Name of the synthesizer.
        budget: What was allowed.
        epsilon_spent: Epsilon of the steps alone, rounded up, at the budget's delta, and at most the budget's; None
            without privacy.
        lines: What each step spent.
        relation: Which tables count as neighbours.
        noise: Which source the noise came from.
        noise_is_private: Whether that source protects a release.
        provenance: For each column, where its domain came from: public, private or observed.
        version: Version of the library that made the release.
        choice: What `method` chose by itself; None if it leaves no choice.
        replayed: Number of answers that came from the journal of a run that broke off.
        types_read: Whether the types of columns, or of JSON which there are, were read off the cells of the table.
        stored_types: Columns that are not declared and whose types were taken as the table stores them.
        made_anew: Columns of text of which noise hides every category: their values are running numbers.
    """

    method: str
    budget: Budget
    epsilon_spent: float | None
    lines: tuple[StatementLine, ...]
    relation: str
    noise: str
    noise_is_private: bool
    provenance: Mapping[str, str]
    version: str
    choice: MethodChoice | None = None
    replayed: int = 0
    types_read: bool = False
    stored_types: tuple[str, ...] = ()
    made_anew: tuple[str, ...] = ()

    @property
    def observed_columns(self) -> tuple[str, ...]:
        """Columns whose domain was read off the sensitive table."""
        return tuple(self.columns_of("observed"))

    def columns_of(self, provenance: str) -> list[str]:
        """Return the columns whose domain came from there."""
        return [c for c, p in self.provenance.items() if p == provenance]

    @property
    def is_private(self) -> bool:
        """Whether the whole release, domains included, holds the stated guarantee."""
        return not self.reasons_against

    @property
    def reasons_against(self) -> tuple[str, ...]:
        """Why the release does not hold the stated guarantee; empty if it does."""
        reasons = []
        if self.budget.kind == "none":
            reasons.append("not private: privacy was switched off (epsilon is infinite)")
        elif not self.noise_is_private:
            reasons.append("not private: seeded noise; whoever learns or guesses the seed can remove it")
        if self.observed_columns:
            reasons.append(
                "not end-to-end private: bounds or categories were read off the sensitive table for "
                f"{self._named(self.observed_columns)}"
            )
        if self.types_read:
            reasons.append(
                "not end-to-end private: which columns are numbers, dates or texts (and of JSON, which there are) was "
                "read off the cells, which a single record may change; a schema of all columns says so, and for a CSV "
                "file it is found privately"
            )
        if self.stored_types:
            reasons.append(
                f"not end-to-end private unless the stored types of {self._named(self.stored_types)} are public: "
                "where a library inferred them from the cells, as pandas.read_csv does, a single record may have decided "
                "them, as one blank makes floats of whole numbers; a schema declares them, and for a CSV file that is "
                "given by its path they are found privately"
            )
        return tuple(reasons)

    def _named(self, columns: Sequence[str]) -> str:
        """Say how many columns these are, and which."""
        names = ", ".join(columns[:_MOST_NAMED]) + (" and others" if len(columns) > _MOST_NAMED else "")
        return f"{len(columns)} of {len(self.provenance)} columns ({names})"
