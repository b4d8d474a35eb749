"""The journal: what was spent, on disk before the noise is drawn, and what came of it.

A file of JSON lines. A run line begins a run. A spend line is written and forced to disk before its token
exists, an outcome line before the noisy answer is handed on. After a crash a spend without an outcome stays
spent, and an answered one is read back and never drawn again: two draws under one charge could be averaged.
All values are noisy, so the file tells no more than the release does; it is readable by its owner only all the
same. Where privacy was switched off the values are exact, and the file is as sensitive as the table.

A spend without an outcome was never answered: its one draw may still be made (`privacy.replay`), unless a drawn
line follows. That is forced to disk before an outcome whose length the event does not fix, that of a tree say.
Whether such an outcome fits on the disk tells of the answer, and a draw that is repeated until it fits is
another mechanism than the one that was paid for. Whether the drawn line fits tells nothing: its length is fixed.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from syntabula.errors import ArgumentError, BudgetError, ReleaseFileError
from syntabula.privacy.events import Event, ThresholdEvent, TreeEvent, event_from_json
from syntabula.privacy.file_lock import lock_exclusively
from syntabula.privacy.spend_records import JournalRecord, MemoryJournal, NoisyArray, plain_numbers


class Journal(MemoryJournal):
    """A journal in an append-only file, locked while it is open: two runs at once could overspend together.

    Opening an existing file reads it back, drops a last line that was cut short, and goes on after it.

    Args:
        path: File to append to; made with mode 0600 if it does not exist.
        must_exist: Whether a missing file is refused instead.

    Raises:
        ReleaseFileError: If the file cannot be opened, another run holds it, or it is damaged before its last
            line.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_APPEND | (0 if must_exist else os.O_CREAT)
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            if must_exist and isinstance(error, FileNotFoundError):
                raise ReleaseFileError(
                    f"there is no journal {str(self.path)!r} to resume; check its name, or begin without resume"
                ) from None
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
            super().__init__()
            _read_into(self, content)
            # The writer of a line without its end never returned, so nothing was drawn or released for it.
            self._end = content.rfind(b"\n") + 1
            os.ftruncate(self._descriptor, self._end)
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
        memory = MemoryJournal()
        _read_into(memory, Path(path).read_bytes())
        return memory.records

    def record_run(self, facts: Mapping[str, str]) -> None:
        """Write that a run begins with the next spend, and force it to disk."""
        with self._lock:
            self._append({"run": dict(facts)})
            super().record_run(facts)

    def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
        """Write a spend and force it to disk; return its number, counted from 0."""
        with self._lock:
            asked = {} if query is None else {"query": query}
            self._append({"spend": step, "event": event.to_json(), **asked})
            return super().record_spend(step, event, query)

    def record_outcome(self, number: int, values: NoisyArray) -> None:
        """Write what was drawn for a spend and force it to disk.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are no plain
                numbers.
        """
        with self._lock:
            self._require_open(number)
            plain = plain_numbers(values)
            encoded = base64.b64encode(plain.tobytes()).decode("ascii")
            line = {"outcome": encoded, "of": number, "dtype": plain.dtype.str, "shape": list(plain.shape)}
            if self._records[number].drawn:
                raise ArgumentError(f"the answer of spend {number} is lost; each spend pays for one draw")
            if isinstance(self._records[number].event, TreeEvent | ThresholdEvent):
                self._append({"drawn": number})
                self._record_drawn(number)
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
        text = json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"
        data = memoryview(text)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError:
            # Half a line in the middle would make the file unreadable; the caller counts the spend anyway.
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(text)


def _read_into(memory: MemoryJournal, content: bytes) -> None:
    lines = content.split(b"\n")[:-1]  # what follows the last line end is a line cut short, or nothing
    for position, line in enumerate(lines, start=1):
        try:
            _read_line(memory, json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, ArgumentError, BudgetError):
            text = f"line {position} of the journal is damaged; what was spent cannot be known from it"
            raise ReleaseFileError(text) from None


def _read_line(memory: MemoryJournal, line: dict[str, Any]) -> None:
    # By the class that keeps them only: the lines of a file are not to be written again.
    if "run" in line:
        MemoryJournal.record_run(memory, {str(name): str(fact) for name, fact in line["run"].items()})
    elif "spend" in line:
        MemoryJournal.record_spend(
            memory, str(line["spend"]), event_from_json(line["event"]), line.get("query")
        )
    elif "drawn" in line:
        memory._record_drawn(line["drawn"])
    else:
        raw = base64.b64decode(line["outcome"], validate=True)
        values = np.frombuffer(raw, dtype=np.dtype(line["dtype"])).reshape(line["shape"])
        MemoryJournal.record_outcome(memory, line["of"], values)


def _sync_folder(folder: Path) -> None:
    """Force the folder entry of a new file to disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
