"""Resuming: an interrupted run gets back the answers that it already had, and only draws the rest.

Why this is sound: composition is adaptive, so a later query may depend on all earlier answers, and on nothing else that
is private. A run's queries are functions of public facts and its answers, so a second run with the same answers asks
the same queries. A recorded answer is returned as it was released, which is post-processing and costs nothing; the
remaining draws are charged as in the first run. In total, each charge pays for one answer that anyone sees.

A spend without an outcome was drawn by a process that ended before the answer was returned, or it was never drawn. The
draw is made again, by the same mechanism with fresh noise, and charged once. This is sound for every event:

- The first answer had no influence. `answer` returns an answer only when its outcome is on disk. Before that, nothing
  is printed, written, chosen or computed from it, and it is lost with the process. Trees and categories draw many
  times for one spend, and return nothing in between. A partly written outcome line is removed when the journal is
  opened, before another draw.
- Losing it reveals nothing about it. A process is killed, or a disk fails, at moments that do not depend on the answer,
  except through the time and memory of a draw (which are not covered anywhere). A full disk refuses all possible
  answers of a spend or none (`privacy.journal`).

So for any number of tries, the returned answer has the distribution of a single draw: with probability
p(lost)^k (1 - p(lost)) p(answer) it comes from try k + 1, and the sum over k is p(answer). One answer is released
for one charge.

Training is one spend with an answer at each step. Its checkpoint holds its state after some of them, computed from
released values, and a resumed run continues from there with the remaining steps. Steps after the last checkpoint are
made again: only later steps of the same process used them, and they were lost with it. A release needs a checkpoint
after the last step that was made (`Ledger.require_all_replayed`). So everything that anyone sees comes from as many steps
as were paid for, each drawn once.

The second run may get another table, because no fingerprint of the table is kept: it would reveal something about the
records. Then earlier answers describe the first table and later ones the second, and the privacy loss of each record
of either is at most the sum of all charges, which is the budget.

A run must have only one journal. With two copies, or after restoring an older copy, the remaining draws would be made
twice, and nothing in a file can show this. The lock only keeps two runs from using one file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula.errors import BudgetError, ReleaseFileError, ResumeError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import Event, ExactEvent
from syntabula.privacy.ledger import REMEDY, Ledger, Token
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.rules import RULES, failure_of
from syntabula.privacy.units import RECORD, Unit, column_stated

if TYPE_CHECKING:
    from syntabula.privacy.journal import MemoryJournal, NoisyArray

_LENGTH = 32
_MOST_NAMED = 5
"""Largest number of differences that a message names."""


def open_ledger(
    budget: Budget,
    journal: MemoryJournal | None,
    facts: Mapping[str, str],
    *,
    resume: bool,
    unit: Unit = RECORD,
) -> Ledger:
    """Return the ledger of a new run, or of the last run in the journal, to resume it.

    Args:
        budget: The allowed total of this run and earlier runs in the journal.
        journal: Receives the spends.
        facts: Public description of the run, in words by name, such as method and noise.
        resume: Whether to resume. With an empty journal a new run begins.
        unit: Whom the budget protects; a single record by default.

    Raises:
        BudgetError: If earlier runs had no privacy, seeded noise or another unit, so that no budget holds for all of
            them.
        BudgetExceededError: If earlier runs left less than a hundredth; nothing was written.
        ResumeError: If the last run of the journal differs from this one, or the journal does not describe it.
    """
    resumed = resume and journal is not None and _is_begun(journal, facts)
    first = journal.runs[-1].first if journal is not None and resumed else None
    if journal is not None and budget.currency != "none":
        _check_earlier(journal, first, facts, unit)
    ledger = Ledger(budget, journal, replay_from=first, unit=unit)
    ledger.require_allowance()
    if journal is not None and not resumed:
        journal.record_run(facts)
    return ledger


def _check_earlier(journal: MemoryJournal, first: int | None, facts: Mapping[str, str], unit: Unit) -> None:
    """Refuse to add up what runs before the spend number `first` cost, where they promised something else."""
    earlier, runs = journal.records[:first], journal.runs
    ends = [*(run.first for run in runs[1:]), len(earlier)]
    found = [run.facts for run, end in zip(runs, ends, strict=False) if run.first < end]
    if earlier and (not runs or runs[0].first):
        found.append({})  # spends from before runs were recorded, which protect a record
    others = {column_stated(run.get("unit", "")) for run in found} - {unit.column or ""}
    seeded = SeededNoise.name
    problem = ""
    if any(isinstance(record.event, ExactEvent) for record in earlier):
        problem = "exact answers of an earlier run without privacy"
    elif facts.get("noise") != seeded and any(run.get("noise") == seeded for run in found):
        problem = "answers of an earlier run with seeded noise, which protects nobody"
    elif others:
        other = Unit(min(others) or None)
        problem = (
            f"answers of an earlier run that protects {other.short}, where this one protects {unit.short}"
        )
    if problem:
        raise BudgetError(
            f"the journal has {problem}, so that no budget holds for all of its runs; give this run a journal of its own"
        )


def failure_before(journal: MemoryJournal | None, *, resume: bool) -> Fraction:
    """Return the failure probabilities of all draws of earlier runs in a journal; 0 without one."""
    if journal is None:
        return Fraction(0)
    first = journal.runs[-1].first if resume and journal.runs else None
    return sum((failure_of(record.event) for record in journal.records[:first]), Fraction(0))


def _is_begun(journal: MemoryJournal, facts: Mapping[str, str]) -> bool:
    if not journal.runs:
        if journal.records:
            raise ResumeError(
                f"the journal comes from a version that did not record enough to resume; {REMEDY}"
            )
        return False
    recorded = journal.runs[-1].facts
    differ = sorted(name for name in facts.keys() | recorded.keys() if recorded.get(name) != facts.get(name))
    if not differ:
        return True
    # Another method has other options, so only the difference in words is useful.
    if named := [name for name in differ if not is_fingerprint(recorded.get(name, facts.get(name, "")))]:
        there, here = (_in_words(f.get(named[0])) for f in (recorded, facts))
        difference = f"its {named[0]} is {there}, but here it is {here}"
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
    """Return the answer of one spend: the recorded one, or a new draw, which is recorded first.

    Args:
        ledger: Pays, unless it paid in the run that is resumed.
        noise: Moves on to the noise of this spend, so that a seeded source draws alike in both runs.
        event: The draw.
        step: Name of this spend in the ledger.
        query: The query in JSON form, made from public facts and released values. Step, event and query together
            identify a spend of a run.
        draw: Draws with the token, which must pay for all noise in the result. It must have no other effect.
        longest: Size in bytes of the longest possible answer, from public facts and released values; None if the event
            fixes its length.
        is_readable: Returns whether a recorded answer fits this query, beyond the checks of its event.

    Raises:
        BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        ReleaseFileError: If the recorded answer does not fit this query.
        ResumeError: If the resumed run made another query here; nothing was drawn.
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
            f"the journal is damaged: its answer for step {step!r} does not fit the query; put back the file "
            "as the run left it"
        )
    return token.outcome


def fingerprint(query: Any) -> str:
    """Return a short text that identifies a query, which must depend only on public facts and released values.

    Args:
        query: JSON values, arrays of numbers, and other objects, which are identified by their text.
    """
    text = json.dumps(query, default=_written)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def is_fingerprint(text: str) -> bool:
    """Return whether a text looks like a fingerprint, which means nothing to a reader."""
    return re.fullmatch(f"[0-9a-f]{{{_LENGTH}}}", text) is not None


def _written(part: object) -> object:
    """Return a JSON value that identifies an object that JSON cannot hold."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        # The text of a long array leaves out the middle.
        content = hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()
        return [part.dtype.str, part.shape, content]
    return part.tolist() if isinstance(part, np.ndarray | np.generic) else str(part)
