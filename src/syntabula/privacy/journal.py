"""The journal: what was spent, on disk before the noise is drawn, and what came of it.

A file of JSON lines. A spend line is written and forced to disk before its token exists, an outcome line
before the noisy answer is handed on. After a crash a spend without an outcome stays spent, and an answered
one is read back and never drawn again: two draws under one charge could be averaged. All values are noisy, so
the file tells no more than the release does; it is readable by its owner only all the same.
Where privacy was switched off the values are exact, and the file is as sensitive as the table.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, BudgetError, ReleaseFileError
from syntabula.privacy.events import Event, event_from_json
from syntabula.privacy.file_lock import lock_exclusively

NoisyArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class JournalRecord:
    """One spend, and what was drawn for it.

    Attributes:
        step: Name of the step that spent.
        event: What was drawn.
        outcome: The noisy answer, or None if none was written; the spend counts either way.
    """

    step: str
    event: Event
    outcome: NoisyArray | None = None


class JournalProtocol(Protocol):
    """What a ledger needs of a journal."""

    @property
    def records(self) -> tuple[JournalRecord, ...]:
        """All spends so far, in order, those read back at opening included."""

    def record_spend(self, step: str, event: Event) -> int:
        """Write down a spend before its noise is drawn; return its number."""

    def record_outcome(self, number: int, values: NoisyArray) -> None:
        """Write down what was drawn for the spend of this number."""


class MemoryJournal:
    """A journal without a file, for tests that record and replay.

    Args:
        records: Spends to begin with, as if read back.
    """

    def __init__(self, records: tuple[JournalRecord, ...] = ()) -> None:
        self._records = list(records)
        self._lock = threading.RLock()

    @property
    def records(self) -> tuple[JournalRecord, ...]:
        """All spends so far, in order."""
        with self._lock:
            return tuple(self._records)

    def record_spend(self, step: str, event: Event) -> int:
        """Keep a spend; return its number, counted from 0."""
        with self._lock:
            self._records.append(JournalRecord(step, event))
            return len(self._records) - 1

    def record_outcome(self, number: int, values: NoisyArray) -> None:
        """Keep a copy of what was drawn for a spend.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are no plain
                numbers.
        """
        with self._lock:
            self._require_open(number)
            self._records[number] = replace(self._records[number], outcome=_plain(values).copy())

    def _require_open(self, number: int) -> None:
        if not 0 <= number < len(self._records):
            raise ArgumentError(f"the journal has no spend of number {number}")
        if self._records[number].outcome is not None:
            raise ArgumentError(f"spend {number} already has an outcome; each spend pays for one draw")


class Journal(MemoryJournal):
    """A journal in an append-only file, locked while it is open: two runs at once could overspend together.

    Opening an existing file reads it back, drops a last line that was cut short, and goes on after it.

    Args:
        path: File to append to; made with mode 0600 if it does not exist.

    Raises:
        ReleaseFileError: If the file cannot be opened, another run holds it, or it is damaged before its last
            line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise ReleaseFileError(
                f"the journal {str(self.path)!r} cannot be opened: {error.strerror}; choose another place"
            ) from None
        try:
            if not lock_exclusively(self._descriptor):
                raise ReleaseFileError(
                    f"the journal {str(self.path)!r} is in use by another run; wait for its end, or name "
                    "another file"
                )
            content = self.path.read_bytes()
            super().__init__(_parse(content))
            # The writer of a line without its end never returned, so nothing was drawn or released for it.
            os.ftruncate(self._descriptor, content.rfind(b"\n") + 1)
            os.fsync(self._descriptor)
            _sync_folder(self.path.parent)
        except BaseException:
            os.close(self._descriptor)
            raise

    @staticmethod
    def replay(path: str | os.PathLike[str]) -> tuple[JournalRecord, ...]:
        """Read the spends of a file and their outcomes, without opening it for writing.

        Raises:
            ReleaseFileError: If the file is damaged before its last line.
        """
        return _parse(Path(path).read_bytes())

    def record_spend(self, step: str, event: Event) -> int:
        """Write a spend and force it to disk; return its number, counted from 0."""
        with self._lock:
            self._append({"spend": step, "event": event.to_json()})
            return super().record_spend(step, event)

    def record_outcome(self, number: int, values: NoisyArray) -> None:
        """Write what was drawn for a spend and force it to disk.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are no plain
                numbers.
        """
        with self._lock:
            self._require_open(number)
            plain = _plain(values)
            encoded = base64.b64encode(plain.tobytes()).decode("ascii")
            line = {"outcome": encoded, "of": number, "dtype": plain.dtype.str, "shape": list(plain.shape)}
            self._append(line)
            super().record_outcome(number, plain)

    def close(self) -> None:
        """Close the file; a closed journal refuses to be written."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _append(self, line: dict[str, Any]) -> None:
        if self._descriptor < 0:
            raise ArgumentError("the journal is closed; open it again to go on")
        data = memoryview(json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
        start = os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError:
            # Half a line in the middle would make the file unreadable; the caller counts the spend anyway.
            os.ftruncate(self._descriptor, start)
            raise


def _plain(values: NoisyArray) -> NoisyArray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ArgumentError(
            f"an outcome of dtype {array.dtype} cannot be recorded; it must hold plain numbers"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _parse(content: bytes) -> tuple[JournalRecord, ...]:
    memory = MemoryJournal()
    lines = content.split(b"\n")[:-1]  # what follows the last line end is a line cut short, or nothing
    for position, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            if "spend" in record:
                memory.record_spend(str(record["spend"]), event_from_json(record["event"]))
            else:
                raw = base64.b64decode(record["outcome"], validate=True)
                values = np.frombuffer(raw, dtype=np.dtype(record["dtype"])).reshape(record["shape"])
                memory.record_outcome(record["of"], values)
        except (ValueError, TypeError, KeyError, AttributeError, ArgumentError, BudgetError):
            text = f"line {position} of the journal is damaged; what was spent cannot be known from it"
            raise ReleaseFileError(text) from None
    return memory.records


def _sync_folder(folder: Path) -> None:
    """Force the folder entry of a new file to disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
