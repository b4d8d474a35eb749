"""The records of a journal (spends, their answers and the starts of runs), and their replay in a resumed run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, ResumeError
from syntabula.privacy.events import Event

NoisyArray = NDArray[Any]

REMEDY = (
    "nothing was drawn. Resume with the method, options, schema, budget and version of that run; or start without "
    "resume, with the rest of the budget"
)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What a training had learned after some of its steps.

    Attributes:
        steps: Number of steps that were done, at least 1.
        values: All that the next step goes on from: noisy parameters, and what was computed from noisy gradients.
    """

    steps: int
    values: NoisyArray


@dataclass(frozen=True, eq=False)
class JournalRecord:
    """One spend, and its answer.

    Attributes:
        step: Name of the step that spent.
        event: The draw.
        outcome: The noisy answer, or None if none was written; the spend counts either way.
        query: Fingerprint of the query, by `privacy.resume.fingerprint`; None if not recorded.
    """

    step: str
    event: Event
    outcome: NoisyArray | None = None
    query: str | None = None
    checkpoint: Checkpoint | None = None

    @property
    def is_answered(self) -> bool:
        """Whether it holds noisy values that a resumed run is given."""
        return self.outcome is not None or self.checkpoint is not None


@dataclass(frozen=True)
class JournalRun:
    """The start of a run, and the files that it produced.

    Attributes:
        facts: Description of the run, in words by name; nothing that depends on a table, except a hash of the domains
            if they were taken from it.
        first: Number of its first spend.
        files: Identities of the files that it named, or was about to name.
    """

    facts: Mapping[str, str]
    first: int
    files: tuple[str, ...] = ()


class MemoryJournal:
    """A journal in memory; `privacy.journal.Journal` also writes it to a file."""

    def __init__(self) -> None:
        self._records: list[JournalRecord] = []
        self._runs: list[JournalRun] = []
        self._lock = threading.RLock()

    @property
    def records(self) -> tuple[JournalRecord, ...]:
        """All spends so far, in order."""
        with self._lock:
            return tuple(self._records)

    @property
    def runs(self) -> tuple[JournalRun, ...]:
        """Where runs began, in order."""
        with self._lock:
            return tuple(self._runs)

    def record_run(self, facts: Mapping[str, str]) -> None:
        """Record that a run begins with the next spend."""
        with self._lock:
            self._runs.append(JournalRun(dict(facts), len(self._records)))

    def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
        """Record a spend; return its number, counted from 0."""
        with self._lock:
            self._records.append(JournalRecord(step, event, query=query))
            return len(self._records) - 1

    def record_outcome(self, number: int, values: NoisyArray, *, longest: int | None = None) -> None:
        """Record a copy of a spend's answer; `longest` does not matter in memory.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are not plain finite
                numbers.
        """
        del longest
        with self._lock:
            self._require_open(number)
            self._records[number] = replace(self._records[number], outcome=plain_numbers(values).copy())

    def record_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Keep what a training learned so far, in the place of what was kept before.

        Raises:
            ArgumentError: If there is no such spend, it has an outcome, later steps were kept before, or the values are
                no plain finite numbers.
        """
        with self._lock:
            self._require_open(number)
            before = self._records[number].checkpoint
            if checkpoint.steps < (1 if before is None else before.steps):
                raise ArgumentError(
                    "a checkpoint is of one step or more, and of no fewer than the one before"
                )
            kept = replace(checkpoint, values=plain_numbers(checkpoint.values).copy())
            self._records[number] = replace(self._records[number], checkpoint=kept)

    def record_file(self, identity: str) -> None:
        """Record that the last run is about to name a file; raises ArgumentError if no run has begun."""
        with self._lock:
            self._require_run()
            self._runs[-1] = replace(self._runs[-1], files=(*self._runs[-1].files, identity))

    def _require_run(self) -> None:
        if not self._runs:
            raise ArgumentError("the journal holds no run to which a file could belong")

    def _require_open(self, number: int) -> None:
        if not 0 <= number < len(self._records):
            raise ArgumentError(f"the journal has no spend of number {number}")
        if self._records[number].outcome is not None:
            raise ArgumentError(f"spend {number} already has an outcome; each spend pays for one draw")


class Replay:
    """The spends of an interrupted run, to be requested again in their order.

    Args:
        records: The journal's records of that run.
    """

    def __init__(self, records: Sequence[JournalRecord] = ()) -> None:
        self._records = tuple(records)
        self._next = 0

    @property
    def left(self) -> int:
        """Number of spends that were not requested again so far."""
        return len(self._records) - self._next

    @property
    def answered(self) -> int:
        """Number of recorded answers that were returned so far."""
        return sum(record.is_answered for record in self._records[: self._next])

    def require_all_taken(self) -> None:
        """Refuse a release that leaves out spends of the resumed run, which its total would not include.

        Raises:
            ResumeError: If some spends were not requested again.
        """
        if self.left:
            raise ResumeError(
                f"the journal belongs to another run: {self.left} of its spends were not requested again; {REMEDY}"
            )

    def take(self, event: Event, step: str, query: str | None) -> JournalRecord | None:
        """Return the next recorded spend, which must match this one; None if all were taken.

        Raises:
            ResumeError: If it is another spend, which is then not taken.
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


def plain_numbers(values: NoisyArray) -> NoisyArray:
    """Return an answer as an array with the same layout on every machine; raises ArgumentError if it is not numeric."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ArgumentError(
            f"an outcome of dtype {array.dtype} cannot be recorded; it must hold plain numbers, all finite"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
