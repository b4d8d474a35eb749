"""The facts about a release's privacy, which anybody can check; docs/recompose.md describes their JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

from syntabula.errors import ReleaseFileError
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import float_above
from syntabula.privacy.events import Event, event_class, event_from_json
from syntabula.privacy.rules import RULES, derived_facts, failure_of, in_words, parameters_in_words
from syntabula.privacy.units import RECORD, Unit

if TYPE_CHECKING:
    from syntabula.privacy.ledger import Ledger

STATEMENT_VERSION = 3
"""Version of the JSON. Version 1, which did not state its version, had no events and no composition; 2 had no unit but
records, and statements without one are still written as 2."""

_MOST_NAMED = 10
"""Largest number of columns that a warning names; all are listed below it."""


def _finite(fact: Any) -> float | None:
    """Return a number of a statement's JSON, or None for none; raises TypeError or ValueError if it is no number."""
    if fact is None:
        return None
    if not math.isfinite(number := float(fact)):
        raise ValueError("a number of a statement is infinite or none")
    return number


@dataclass(frozen=True, kw_only=True)
class StatedEvent:
    """Equal, consecutive draws of one step.

    Attributes:
        event: The draw, with the mechanism's own parameters.
        number: Position of the first of these draws among all that the budget pays for, counted from 1.
        repetitions: Number of these draws.
        cost: Their total cost in the budget's currency, rounded up; None if privacy was switched off.
    """

    event: Event
    number: int
    repetitions: int
    cost: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the parameters, and the facts that follow from them, as JSON values."""
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
            cost=_finite(facts["cost"]),
        )


@dataclass(frozen=True, kw_only=True)
class StatementLine:
    """One step of a fit and what it cost.

    Attributes:
        step: Name of the step.
        mechanism: The mechanisms and their parameters, in words.
        share: Fraction of the whole budget, 0 .. 1; None if privacy was switched off.
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
            share=_finite(facts["share"]),
            events=None if events is None else tuple(map(StatedEvent.from_json, events)),
        )


@dataclass(frozen=True, kw_only=True)
class MethodChoice:
    """The method that a run chose by itself, and why.

    Attributes:
        method: Key of the method that learned the table.
        reason: One sentence, based on declared facts and released values alone.
    """

    method: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return the choice as values that JSON can hold."""
        return {"method": self.method, "reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class StatementFacts:
    """The guarantee of a release, its basis, and its limits.

    The guarantee is the allowed budget. A run whose steps depend on its answers may spend less, but how much it spends is
    itself one of the answers: composition is proven for a limit that is fixed in advance.

    Attributes:
        method: Name of the synthesizer.
        budget: The allowed budget.
        epsilon_spent: Epsilon of the steps alone, rounded up, at the budget's delta, and at most the budget's; None
            without privacy.
        lines: The spends of each step.
        relation: Which tables count as neighbours.
        noise: Source of the noise.
        noise_is_private: Whether that source protects a release.
        provenance: For each column, the source of its domain: public, private or observed.
        version: Version of the library that made the release.
        choice: The method that `method` chose by itself; None if it makes no choice.
        replayed: Number of answers that came from the journal of an interrupted run.
        unit: Whom the guarantee protects.
        types_read: Whether the types of columns, or in JSON the set of columns, were inferred from the cells.
        stored_types: Undeclared columns whose stored types were used.
        made_anew: Columns whose values are running numbers, or keys of a pattern: keys, and texts in which noise hides
            every category.
        hidden: Columns of numbers, days and times whose bounds noise hides; each value is 0, or 1 January 1970.
        cut_off: For columns whose bounds were found, the noisy fraction of the values beyond them, if it is worth saying;
            these values were moved to the nearest bound.
        cut_off_at_most: The largest fraction of values beyond the bounds for which the noisy counts of any other such
            column leave room; more lie beyond in one column of twenty at most.
        rules: The schema's rules, which every row of the release satisfies.
        rules_observed: Whether these were read off the sensitive table.
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
    unit: Unit = RECORD
    types_read: bool = False
    stored_types: tuple[str, ...] = ()
    made_anew: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    cut_off: Mapping[str, float] = field(default_factory=dict)
    cut_off_at_most: float = 0.0
    rules: tuple[str, ...] = ()
    rules_observed: bool = False

    @property
    def observed_columns(self) -> tuple[str, ...]:
        """Columns whose domain was read off the sensitive table."""
        return tuple(self.columns_of("observed"))

    def columns_of(self, provenance: str) -> list[str]:
        """Return the columns with this provenance."""
        return [c for c, p in self.provenance.items() if p == provenance]

    @property
    def is_private(self) -> bool:
        """Whether the whole release, domains included, holds the stated guarantee."""
        return not self.reasons_against

    @property
    def reasons_against(self) -> tuple[str, ...]:
        """Why the release does not hold the stated guarantee; empty if it does."""
        if self.budget.kind == "none":
            # Nothing is protected, so that nothing else can weaken it.
            return ("not private: privacy was switched off (epsilon is infinite)",)
        reasons = []
        if not self.noise_is_private:
            reasons.append("not private: seeded noise; whoever learns or guesses the seed can remove it")
        if self.observed_columns:
            reasons.append(
                "not end-to-end private: bounds or categories were read off the sensitive table for "
                f"{self._named(self.observed_columns)}"
            )
        if self.rules_observed:
            reasons.append("not end-to-end private: rules were read off the sensitive table")
        if self.types_read:
            reasons.append(
                "not end-to-end private: the types of columns (and in JSON, the set of columns) were inferred from the "
                "cells, so a single record may change them; declare all columns in a schema, or give a CSV file, whose "
                "types are found privately"
            )
        if self.stored_types:
            reasons.append(
                f"not end-to-end private unless the stored types of {self._named(self.stored_types)} are public: "
                "if a library inferred them from the cells, as pandas.read_csv does, a single record may have decided "
                "them (one blank turns whole numbers into floats), and an order of categories; declare them in a schema, "
                "or give the path of a CSV file, whose types are found privately"
            )
        return tuple(reasons)

    def to_json(self) -> dict[str, Any]:
        """Return the facts as values that JSON can hold; `from_json` reads them back."""
        return {
            "statement_version": STATEMENT_VERSION if self.unit.column is not None else 2,
            "method": self.method,
            "budget": self.budget.to_json(),
            "epsilon_spent": self.epsilon_spent,
            "delta": self.budget.delta,
            "composition": self._composition(),
            "steps": [line.to_json() for line in self.lines],
            "unit": self.unit.words,
            **(
                {"unit_column": self.unit.column, "rows_per_unit": self.unit.rows} if self.unit.column else {}
            ),
            "neighbouring_relation": self.relation,
            "noise": self.noise,
            "noise_is_private": self.noise_is_private,
            "is_private": self.is_private,
            "reasons_against": list(self.reasons_against),
            "provenance": dict(self.provenance),
            "version": self.version,
            "choice": None if self.choice is None else self.choice.to_json(),
            "replayed": self.replayed,
            "types_read": self.types_read,
            "stored_types": list(self.stored_types),
            "made_anew": list(self.made_anew),
            **({"hidden": list(self.hidden)} if self.hidden else {}),
            **({"cut_off": dict(self.cut_off)} if self.cut_off else {}),
            **({"cut_off_at_most": self.cut_off_at_most} if self.cut_off_at_most else {}),
        } | self._rules_to_json()

    def _rules_to_json(self) -> dict[str, Any]:
        return {"rules": list(self.rules), "rules_observed": self.rules_observed} if self.rules else {}

    def _composition(self) -> dict[str, Any]:
        """Return the limit that was fixed before the first draw, and the total cost of all draws, rounded up."""
        budget = self.budget
        stated = [event for line in self.lines for event in line.events or ()]
        recorded = budget.total is not None and all(line.events is not None for line in self.lines)
        costs = sum((Fraction(event.cost or 0) for event in stated), Fraction(0))
        deltas = sum((failure_of(s.event) * s.repetitions for s in stated), Fraction(0))
        return {
            "currency": budget.currency,
            "limit": None if budget.total is None else float_above(budget.total),
            # The ledger kept the exact sums within their limits, which the sum of rounded terms may exceed.
            "spent": float_above(min(costs, budget.total or costs)) if recorded else None,
            "delta_limit": float(budget.failure_delta),
            "delta_spent": float_above(min(deltas, budget.failure_delta)) if recorded else None,
            "rule": f"the limits were fixed before the first draw; steps add up {budget.composition()}, even if "
            "a later one was chosen by earlier answers",
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild what `to_json` returned.

        Raises:
            ReleaseFileError: If the statement is of a later version than this one.
            KeyError, TypeError, ValueError: If facts are missing or malformed.
        """
        stated = facts.get("statement_version", 1)  # the first had none
        if type(stated) is not int or stated < 1:
            raise ValueError("no version of a statement")
        if stated > STATEMENT_VERSION:
            raise ReleaseFileError(
                f"the privacy statement has version {stated}, and this syntabula reads versions up to "
                f"{STATEMENT_VERSION}; upgrade syntabula"
            )
        choice = facts.get("choice")  # older files have none
        return cls(
            method=str(facts["method"]),
            budget=Budget.from_json(facts["budget"]),
            epsilon_spent=_finite(facts["epsilon_spent"]),
            lines=tuple(map(StatementLine.from_json, facts["steps"])),
            relation=str(facts["neighbouring_relation"]),
            noise=str(facts["noise"]),
            noise_is_private=bool(facts["noise_is_private"]),
            provenance={str(k): str(v) for k, v in facts["provenance"].items()},
            version=str(facts["version"]),
            choice=None
            if choice is None
            else MethodChoice(method=str(choice["method"]), reason=str(choice["reason"])),
            # Older files do not have these.
            replayed=int(facts.get("replayed", 0)),
            unit=Unit(facts.get("unit_column"), int(facts.get("rows_per_unit", 1))),
            types_read=bool(facts.get("types_read", False)),
            stored_types=tuple(str(name) for name in facts.get("stored_types", ())),
            made_anew=tuple(str(name) for name in facts.get("made_anew", ())),
            hidden=tuple(str(name) for name in facts.get("hidden", ())),
            cut_off={str(name): float(part) for name, part in facts.get("cut_off", {}).items()},
            cut_off_at_most=float(facts.get("cut_off_at_most", 0.0)),
            rules=tuple(str(rule) for rule in facts.get("rules", ())),
            rules_observed=bool(facts.get("rules_observed", False)),
        )

    def _named(self, columns: Sequence[str]) -> str:
        """Return the number and the names of columns, in words."""
        names = ", ".join(columns[:_MOST_NAMED]) + (" and others" if len(columns) > _MOST_NAMED else "")
        return f"{len(columns)} of {len(self.provenance)} columns ({names})"


def lines_of(ledger: Ledger) -> tuple[StatementLine, ...]:
    """Return the mechanisms and the cost of each step of a ledger, in order of its first spend."""
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
    """Return the mechanisms in words, with the range of their parameters."""
    alike: dict[str, list[Event]] = {}
    for event in events:
        alike.setdefault(in_words(event), []).append(event)
    return ", and ".join(_times(len(found)) + m + parameters_in_words(found) for m, found in alike.items())


def _times(number: int) -> str:
    return "" if number == 1 else f"{number} times "
