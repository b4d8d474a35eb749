"""The statement of a run that has just ended: what its ledger paid for, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from syntabula.privacy.events import Event
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.rounding import float_above
from syntabula.privacy.rules import in_words, parameters_in_words
from syntabula.privacy.statement import PrivacyStatement
from syntabula.privacy.statement_facts import MethodChoice, StatedEvent, StatementLine


def statement_of(
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
    """State what a run spent and rests on; see the attributes of `StatementFacts`."""
    private = ledger.budget.kind != "none"
    return PrivacyStatement(
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
