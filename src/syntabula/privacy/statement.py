"""The privacy statement of a release: its facts in words, and as JSON that anybody can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syntabula.privacy.budget import Budget
from syntabula.privacy.rounding import float_above
from syntabula.privacy.rules import failure_of
from syntabula.privacy.statement_facts import MethodChoice, StatementFacts, StatementLine
from syntabula.privacy.statement_text import UNIT, statement_sections

STATEMENT_VERSION = 2
"""Of the JSON; see docs/recompose.md. Version 1, which was not written down, had no events and no composition."""


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(StatementFacts):
    """The guarantee of a release, what it rests on, and what it does not cover.

    What is promised is what was allowed. A run whose steps follow from its answers may end with less spent, but that
    it does is one of its answers: composition is proven for a limit that was fixed before.
    """

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return the statement as plain text for a reader without training in statistics."""
        parts = ["PRIVACY STATEMENT"]
        for heading, lines in self.sections():
            parts += ["", *([heading] if heading else []), *lines]
        return "\n".join(parts) + "\n"

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the headings of `text` and the lines below each; the verdict comes first and has none."""
        return statement_sections(self)

    def to_json(self) -> dict[str, Any]:
        """Return the statement as JSON-able facts; `from_json` reads them back."""
        return {
            "statement_version": STATEMENT_VERSION,
            "method": self.method,
            "budget": self.budget.to_json(),
            "epsilon_spent": self.epsilon_spent,
            "delta": self.budget.delta,
            "composition": self._composition(),
            "steps": [line.to_json() for line in self.lines],
            "unit": UNIT,
            "neighbouring_relation": self.relation,
            "noise": self.noise,
            "noise_is_private": self.noise_is_private,
            "is_private": self.is_private,
            "reasons_against": list(self.reasons_against),
            "provenance": dict(self.provenance),
            "version": self.version,
            "choice": None
            if self.choice is None
            else {"method": self.choice.method, "reason": self.choice.reason},
            "replayed": self.replayed,
            "types_read": self.types_read,
            "stored_types": list(self.stored_types),
            "made_anew": list(self.made_anew),
        }

    def _composition(self) -> dict[str, Any]:
        """Return the limit that was fixed before the first draw, and what all draws cost of it, rounded up."""
        budget = self.budget
        stated = [event for line in self.lines for event in line.events or ()]
        recorded = budget.total is not None and all(line.events is not None for line in self.lines)
        costs = sum((Fraction(event.cost or 0) for event in stated), Fraction(0))
        deltas = sum((failure_of(s.event) * s.repetitions for s in stated), Fraction(0))
        return {
            "currency": budget.currency,
            "limit": None if budget.total is None else float_above(budget.total),
            # The ledger has held the exact sums within their limits; rounding up each term may not show that.
            "spent": float_above(min(costs, budget.total or costs)) if recorded else None,
            "delta_limit": float(budget.selection_delta),
            "delta_spent": float_above(min(deltas, budget.selection_delta)) if recorded else None,
            "rule": f"the limits were fixed before the first draw; steps add up {budget.composition()}, also where "
            "a later one was chosen by earlier answers",
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> PrivacyStatement:
        """Rebuild a statement; raises KeyError, TypeError or ValueError if facts are missing or malformed."""
        choice = facts.get("choice")  # files from before there was one have none
        return cls(
            method=str(facts["method"]),
            budget=Budget.from_json(facts["budget"]),
            epsilon_spent=None if facts["epsilon_spent"] is None else float(facts["epsilon_spent"]),
            lines=tuple(map(StatementLine.from_json, facts["steps"])),
            relation=str(facts["neighbouring_relation"]),
            noise=str(facts["noise"]),
            noise_is_private=bool(facts["noise_is_private"]),
            provenance={str(k): str(v) for k, v in facts["provenance"].items()},
            version=str(facts["version"]),
            choice=None
            if choice is None
            else MethodChoice(method=str(choice["method"]), reason=str(choice["reason"])),
            # Earlier files do not have these.
            replayed=int(facts.get("replayed", 0)),
            types_read=bool(facts.get("types_read", False)),
            stored_types=tuple(str(name) for name in facts.get("stored_types", ())),
            made_anew=tuple(str(name) for name in facts.get("made_anew", ())),
        )
