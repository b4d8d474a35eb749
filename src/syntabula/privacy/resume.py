"""Resuming: a run that broke off is given the answers that it already had, and draws only what is left.

Why that is sound. Composition is adaptive: a later query may depend on all earlier answers, and on nothing
else that is private. A run's queries are functions of public facts and its answers, so that a second run
with the same answers asks the same queries. A recorded answer is handed on as it was released, which is
post-processing and costs nothing; what is left to draw is charged as in the first run. In all, each charge
pays for one answer that anyone sees.

A spend without an outcome was drawn by a process that ended before the answer was handed on, or not at all. Its
draw is made again, by the same mechanism with fresh noise, and charged once. That is sound for every event:

- The first answer had no influence. `answer` hands an answer on when its outcome is on the disk, and not
  before: nothing was printed, written, chosen or computed from it but the answer itself, which went with the
  process. Trees and categories draw many times for one spend, and hand on nothing in between. What was written of
  an outcome line is taken out of the journal when it is opened, before another draw.
- That it was lost says nothing about it. A process is killed, or a disk fails, at moments that do not depend on the
  answer, but for the time and memory that a draw takes (not covered here or elsewhere). A full disk refuses all
  answers of a spend or none (`privacy.journal`).

So, whatever the number of tries, the answer that is handed on is distributed as a single draw: with probability
p(lost)^k (1 - p(lost)) p(answer) it is the one of try k + 1, and the sum over k is p(answer). One answer is released
for one charge.

Training is one spend with an answer at each step. Its checkpoint holds what had been learned after some of them, which
are released values, and a resumed run goes on from there with the steps that are left. Steps after the last checkpoint
are made again: nothing of them had left the process but later steps, which went with it. So all that anyone sees
comes from as many steps as were paid for, each drawn once.

The second run may be given another table, as no mark of a table is kept: it would tell of the records. Then
earlier answers are about the first table and later ones about the second, and each record of either has lost
no more than the sum of all charges, which is the budget.

There must be one journal of a run. Of two copies, each would draw what is left, and so would one that is put
back from an older copy: nothing in a file can tell. Its lock only keeps two runs from one file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from syntabula.errors import ReleaseFileError, ResumeError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import Event
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.rules import RULES
from syntabula.privacy.spends import REMEDY, MemoryJournal, NoisyArray

_LENGTH = 32
_MOST_NAMED = 5
"""Differences that a message names."""


def open_ledger(
    budget: Budget, journal: MemoryJournal | None, facts: Mapping[str, str], *, resume: bool
) -> Ledger:
    """Return the ledger of a run that begins, or of the last one in the journal, to resume it.

    Args:
        budget: What the run may spend, with what earlier runs of the journal spent.
        journal: Where spends are written.
        facts: What the run is, in words by name: method and noise, say. They are public.
        resume: Whether to resume. A journal that holds nothing begins a run.

    Raises:
        BudgetExceededError: If earlier runs left less than a hundredth; nothing was written.
        ResumeError: If the last run of the journal is another than this one, or nothing says what it was.
    """
    resumed = resume and journal is not None and _is_begun(journal, facts)
    first = journal.runs[-1].first if journal is not None and resumed else None
    ledger = Ledger(budget, journal, replay_from=first)
    ledger.require_allowance()
    if journal is not None and not resumed:
        journal.record_run(facts)
    return ledger


def _is_begun(journal: MemoryJournal, facts: Mapping[str, str]) -> bool:
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
        ledger: Pays, unless it did so in the run that is resumed.
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
        ResumeError: If the run that is resumed asked for something else here; nothing was drawn.
    """
    token = ledger.spend(event, step=step, query=fingerprint(query))
    noise.begin_draw()
    if token.outcome is None:
        values = draw(token)
        ledger.record_outcome(token, values, longest=longest)
        return values
    if not RULES[type(event)].is_answer(event, token.outcome) or (
        is_readable and not is_readable(token.outcome)
    ):
        raise ReleaseFileError(
            f"the journal is damaged: what it holds for step {step!r} cannot be an answer to it; put back the file "
            "as the run left it"
        )
    return token.outcome


def fingerprint(query: Any) -> str:
    """Return a short text that tells one query from another; it must rest on public facts and released values.

    Args:
        query: Anything that JSON holds, arrays of numbers, and other objects, which are told apart by their text.
    """
    text = json.dumps(query, default=_written)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def is_fingerprint(text: str) -> bool:
    """Say whether a text looks like a fingerprint, which tells a reader nothing."""
    return re.fullmatch(f"[0-9a-f]{{{_LENGTH}}}", text) is not None


def _written(part: object) -> object:
    """Return what tells an object apart where JSON does not hold it."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        # Its text leaves out the middle.
        content = hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
        return [part.dtype.str, part.shape, content]
    return part.tolist() if isinstance(part, np.ndarray | np.generic) else str(part)
