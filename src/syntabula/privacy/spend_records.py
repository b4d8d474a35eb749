"""What a journal holds: spends, what came of them, and where runs began; in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.events import Event

NoisyArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class JournalRecord:
    """One spend, and what was drawn for it.

    Attributes:
        step: Name of the step that spent.
        event: What was drawn.
        outcome: The noisy answer, or None if none was written; the spend counts either way.
        query: What was asked, as `privacy.replay.fingerprint` writes it; None if that was not said.
    """

    step: str
    event: Event
    outcome: NoisyArray | None = None
    query: str | None = None


@dataclass(frozen=True)
class JournalRun:
    """The beginning of a run, and the files that came of it.

    Attributes:
        facts: What the run is, in words by name; nothing that depends on a table, but for a hash of the domains
            where these were read off it.
        first: Number of its first spend.
        files: Identities of the files to which it gave their names, or was about to.
    """

    facts: Mapping[str, str]
    first: int
    files: tuple[str, ...] = ()


class JournalProtocol(Protocol):
    """What a ledger needs of a journal."""

    @property
    def records(self) -> tuple[JournalRecord, ...]:
        """All spends so far, in order, those read back at opening included."""

    @property
    def runs(self) -> tuple[JournalRun, ...]:
        """Where runs began, in order, those read back at opening included."""

    def record_run(self, facts: Mapping[str, str]) -> None:
        """Write down that a run begins."""

    def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
        """Write down a spend before its noise is drawn; return its number."""

    def record_outcome(self, number: int, values: NoisyArray, *, longest: int | None = None) -> None:
        """Write down what was drawn for the spend of this number, of at most so many bytes."""


class MemoryJournal:
    """A journal without a file, for tests that record and replay."""

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
        """Keep that a run begins with the next spend."""
        with self._lock:
            self._runs.append(JournalRun(dict(facts), len(self._records)))

    def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
        """Keep a spend; return its number, counted from 0."""
        with self._lock:
            self._records.append(JournalRecord(step, event, query=query))
            return len(self._records) - 1

    def record_outcome(self, number: int, values: NoisyArray, *, longest: int | None = None) -> None:
        """Keep a copy of what was drawn for a spend; memory has room for the longest.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are no plain
                finite numbers.
        """
        del longest
        with self._lock:
            self._require_open(number)
            self._records[number] = replace(self._records[number], outcome=plain_numbers(values).copy())

    def record_file(self, identity: str) -> None:
        """Keep that the last run is about to give a file its name; raises ArgumentError if no run has begun."""
        with self._lock:
            self._require_run()
            self._runs[-1] = replace(self._runs[-1], files=(*self._runs[-1].files, identity))

    def _require_run(self) -> None:
        if not self._runs:
            raise ArgumentError("the journal holds no run that a file could come from")

    def _require_open(self, number: int) -> None:
        if not 0 <= number < len(self._records):
            raise ArgumentError(f"the journal has no spend of number {number}")
        if self._records[number].outcome is not None:
            raise ArgumentError(f"spend {number} already has an outcome; each spend pays for one draw")


def plain_numbers(values: NoisyArray) -> NoisyArray:
    """Return an answer as an array laid out alike on every machine; raises ArgumentError if it is no numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ArgumentError(
            f"an outcome of dtype {array.dtype} cannot be recorded; it must hold plain numbers, all finite"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
