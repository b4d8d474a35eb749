"""What a release says about its own privacy: the facts, in memory and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syntabula.privacy.accounting.zcdp import float_above
from syntabula.privacy.budget import Budget
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.rules import failure_of
from syntabula.privacy.statement_lines import StatementLine, lines_of
from syntabula.privacy.statement_text import UNIT, statement_sections

STATEMENT_VERSION = 2
"""Of the JSON; see docs/recompose.md. Version 1, which was not written down, had no events and no composition."""

_MOST_NAMED = 10
"""Columns that a warning names; all are listed below it."""


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
class PrivacyStatement:
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

    @classmethod
    def of_run(
        cls,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        method: str,
        provenance: Mapping[str, str],
        version: str,
        choice: MethodChoice | None,
        types_read: bool,
        stored_types: Sequence[str] = (),
        made_anew: Sequence[str] = (),
    ) -> PrivacyStatement:
        """State what a run spent and rests on; see the attributes."""
        private = ledger.budget.kind != "none"
        return cls(
            method=method,
            budget=ledger.budget,
            epsilon_spent=ledger.epsilon_spent if private else None,
            lines=lines_of(ledger),
            relation=ledger.relation,
            noise=noise.name,
            noise_is_private=noise.is_private,
            provenance=dict(provenance),
            version=version,
            choice=choice,
            replayed=ledger.replayed,
            types_read=types_read,
            stored_types=tuple(stored_types),
            made_anew=tuple(made_anew),
        )

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
