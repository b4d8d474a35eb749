"""Replay: a run that broke off is given the answers that it already had, and draws only what is left.

Why that is sound. Composition is adaptive: a later query may depend on all earlier answers, and on nothing
else that is private. A run's queries are functions of public facts and its answers, so that a second run
with the same answers asks the same queries. A recorded answer is handed on as it was released, which is
post-processing and costs nothing; what is left to draw is charged as in the first run. In all, each charge
pays for one answer that anyone sees.

A spend without an outcome was drawn by a process that ended before the answer was handed on, or not at all. Its
draw is made again, by the same mechanism with fresh noise, and charged once. That is sound for every event:

- The first answer had no influence. `privacy.run.answer` hands an answer on when its outcome is on the disk, and not
  before: nothing was printed, written, chosen or computed from it but the answer itself, which went with the
  process. Trees and categories draw many times for one spend, and hand on nothing in between. What was written of
  an outcome line is taken out of the journal when it is opened, before another draw.
- That it was lost says nothing about it. A process is killed, or a disk fails, at moments that do not depend on the
  answer, but for the time and memory that a draw takes (not covered here or elsewhere). A full disk refuses all
  answers of a spend or none (`privacy.journal`).

So, whatever the number of tries, the answer that is handed on is distributed as a single draw: with probability
p(lost)^k (1 - p(lost)) p(answer) it is the one of try k + 1, and the sum over k is p(answer). One answer is released
for one charge.

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
from collections.abc import Sequence
from typing import Any

import numpy as np

from syntabula.errors import ResumeError
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.spend_records import JournalRecord, NoisyArray

REMEDY = (
    "nothing was drawn. Resume with the method, options, schema, budget and version of that run; or begin without "
    "resume, which makes do with what is left of the budget"
)
_LENGTH = 32


class Replay:
    """The spends of a run that broke off, to be asked for again in their order.

    Args:
        records: What the journal holds of that run.
    """

    def __init__(self, records: Sequence[JournalRecord] = ()) -> None:
        self._records = tuple(records)
        self._next = 0

    @property
    def left(self) -> int:
        """Number of spends that were not asked for again so far."""
        return len(self._records) - self._next

    @property
    def answered(self) -> int:
        """Number of recorded answers that were handed on so far."""
        return sum(record.outcome is not None for record in self._records[: self._next])

    def take(self, event: Event, step: str, query: str | None) -> JournalRecord | None:
        """Return the next recorded spend, which must be this one; None if all were taken.

        Raises:
            ResumeError: If it is another spend. It is not taken.
        """
        if not self.left:
            return None
        record = self._records[self._next]
        if (record.step, record.event, record.query) != (step, event, query):
            differs = "another query" if (record.step, record.event) == (step, event) else "another draw"
            raise ResumeError(
                f"the journal belongs to another run: its spend {self._next + 1} is for step {record.step!r}, and "
                f"this run asks for {differs} in step {step!r}; {REMEDY}"
            )
        self._next += 1
        return record


def may_answer(event: Event, values: NoisyArray) -> bool:
    """Say whether a recorded answer has the type, length and range that the event fixes."""
    match event:
        case GaussianEvent() | LaplaceEvent():
            return values.dtype == np.int64 and values.shape == (event.cells,)
        case ExponentialEvent():
            return values.dtype == np.int64 and values.shape == (1,) and 0 <= values[0] < event.candidates
        case TreeEvent():
            return values.dtype == np.int64 and values.ndim == 1 and bool(np.isin(values, (0, 1)).all())
        case ThresholdEvent():
            return values.dtype == np.uint8 and values.ndim == 1
    return values.dtype.kind in "iu"


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
