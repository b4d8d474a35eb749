"""One run: the ledger that it begins or goes on with, and how each of its answers comes about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syntabula.errors import ReleaseFileError, ResumeError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import Event
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.replay import REMEDY, fingerprint, is_fingerprint, may_answer
from syntabula.privacy.spend_records import JournalProtocol, NoisyArray
from syntabula.privacy.spend_token import Token

_MOST_NAMED = 5
"""Differences that a message names."""


def open_ledger(
    budget: Budget, journal: JournalProtocol | None, facts: Mapping[str, str], *, resume: bool
) -> Ledger:
    """Return the ledger of a run that begins, or of the last one in the journal, to go on with it.

    Args:
        budget: What the run may spend, with what earlier runs of the journal spent.
        journal: Where spends are written.
        facts: What the run is, in words by name: method and noise, say. They are public.
        resume: Whether to go on. A journal that holds nothing begins a run.

    Raises:
        BudgetExceededError: If earlier runs left less than a hundredth; nothing was written.
        ResumeError: If the last run of the journal is another than this one, or nothing says what it was.
    """
    goes_on = resume and journal is not None and _is_begun(journal, facts)
    first = journal.runs[-1].first if journal is not None and goes_on else None
    ledger = Ledger(budget, journal, replay_from=first)
    ledger.require_allowance()
    if journal is not None and not goes_on:
        journal.record_run(facts)
    return ledger


def _is_begun(journal: JournalProtocol, facts: Mapping[str, str]) -> bool:
    if not journal.runs:
        if journal.records:
            raise ResumeError(
                f"the journal comes from a version that did not record what it takes to resume; {REMEDY}"
            )
        return False
    recorded = journal.runs[-1].facts
    differ = sorted(name for name in facts.keys() | recorded.keys() if recorded.get(name) != facts.get(name))
    if not differ:
        return True
    # Another method has other options, so that what is said in words is all there is to say.
    if named := [name for name in differ if not is_fingerprint(recorded.get(name, facts.get(name, "")))]:
        there, here = (_in_words(f.get(named[0])) for f in (recorded, facts))
        difference = f"its {named[0]} is {there}, and here it is {here}"
    else:
        difference = f"this one has another {', another '.join(differ[:_MOST_NAMED])}"
    raise ResumeError(f"the journal belongs to another run: {difference}; {REMEDY}")


def _in_words(fact: str | None) -> str:
    if fact is None:
        return "not stated"
    return "another one" if is_fingerprint(fact) else fact


def answer(
    ledger: Ledger,
    noise: NoiseSource,
    event: Event,
    *,
    step: str,
    query: Any = None,
    draw: Callable[[Token], NoisyArray],
    longest: int | None = None,
    is_readable: Callable[[NoisyArray], bool] | None = None,
) -> NoisyArray:
    """Return the answer of one spend: the recorded one, or else what is drawn now and recorded first.

    Args:
        ledger: Pays, unless it did so in the run that is gone on with.
        noise: Turns to the noise of this spend, so that a seeded source draws alike in both runs.
        event: What is about to be drawn.
        step: What the ledger calls this spend.
        query: What is asked, of public facts and released values, as JSON holds it. Step, event and query
            together tell the spends of a run apart.
        draw: Draws with the token, which must pay for all noise in what it returns. Nothing else may come of it.
        longest: Bytes of the longest answer that there can be, from public facts and released values; None where
            the event fixes its length.
        is_readable: Says whether a recorded answer can be one of this query, beyond what its event says.

    Raises:
        BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        ReleaseFileError: If the recorded answer cannot be one of this query.
        ResumeError: If the run that is gone on with asked for something else here; nothing was drawn.
    """
    token = ledger.spend(event, step=step, query=fingerprint(query))
    noise.begin_draw()
    if token.outcome is None:
        values = draw(token)
        ledger.record_outcome(token, values, longest=longest)
        return values
    if not may_answer(event, token.outcome) or (is_readable and not is_readable(token.outcome)):
        raise ReleaseFileError(
            f"the journal is damaged: what it holds for step {step!r} cannot be an answer to it; put back the file "
            "as the run left it"
        )
    return token.outcome
