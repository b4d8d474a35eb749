"""The journal: spends, on disk before their noise is drawn, and their answers.

The file consists of lines. A run line begins a run. A spend line is written and forced to disk before its token
exists, an outcome line before the noisy answer is returned. After a crash a spend without an outcome stays spent, and
an answered one is read back and never drawn again: two draws for one charge could be averaged. All values are noisy,
so the file reveals no more than the release does; still, only its owner can read it. If privacy was switched off, the
values are exact, and the file is as sensitive as the table.

A spend without an outcome was never answered, and its one draw may still be made (`privacy.resume`). This requires
that an outcome does not influence whether it can be written: a draw that is repeated until its answer fits on the
disk would be another mechanism than the one paid for. The event fixes the length of most answers. Answers of trees
and of categories vary in length, so they are written with padding up to the longest possible answer: they fit only if
that one would. The end of the line is written when all of this is on disk, and then the padding is cut off.

Training answers once a step, and each answer depends on the previous one. Its state after some steps is written in a
checkpoint line; the last one counts. Without privacy this state is exact, as all answers are.

Lines are JSON, each with a hash of itself and of the line before it, so that none can be changed, removed or moved by
accident. This does not protect against somebody who recomputes the hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._files import cut_on_disk, lock_exclusively
from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.privacy.events import Event, event_from_json

NoisyArray = NDArray[Any]

_LENGTH = 32
_MARK = b', "chain": "'
_BEGINNINGS = (b'{"run": {', b'{"spend": "')
_AROUND_AN_ANSWER = 512
"""Largest size of an outcome line without its answer: names, a number, a type, a shape and the hash."""

_START = hashlib.sha256(b"syntabula journal 2").hexdigest()[:_LENGTH]
"""The hash before the first line; it names the format."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What a training had learned after some of its steps.

    Attributes:
        steps: Number of steps that were done, at least 1.
        values: All that the next step goes on from: parameters and what gradients made; all noisy with a budget.
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
        checkpoint: What a training last kept; None for other draws.
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
    """A journal in memory; `Journal` also writes it to a file."""

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
            self._append({"run": dict(facts)})
            self._runs.append(JournalRun(dict(facts), len(self._records)))

    def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
        """Record a spend; return its number, counted from 0."""
        with self._lock:
            asked = {} if query is None else {"query": query}
            self._append({"spend": step, "event": event.to_json(), **asked})
            self._records.append(JournalRecord(step, event, query=query))
            return len(self._records) - 1

    def record_outcome(self, number: int, values: NoisyArray, *, longest: int | None = None) -> None:
        """Record a copy of what was drawn for a spend.

        Args:
            number: Number of the spend.
            values: The answer.
            longest: Size in bytes of the longest possible answer; None if all have the same length.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are not plain
                finite numbers.
        """
        with self._lock:
            self._require_open(number)
            plain = _plain_numbers(values)
            # Three bytes are written as four characters.
            room = None if longest is None else 4 * -(-longest // 3) + _AROUND_AN_ANSWER
            self._append(_answer_line("outcome", number, plain), room=room)
            self._records[number] = replace(self._records[number], outcome=plain.copy())

    def record_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Record what a training learned so far, in the place of what was recorded before.

        Raises:
            ArgumentError: As `record_outcome`, or if later steps were recorded before.
        """
        with self._lock:
            self._require_open(number)
            before = self._records[number].checkpoint
            if checkpoint.steps < (1 if before is None else before.steps):
                raise ArgumentError(
                    "a checkpoint is of one step or more, and of no fewer than the one before"
                )
            plain = _plain_numbers(checkpoint.values)
            self._append(_answer_line("checkpoint", number, plain) | {"steps": checkpoint.steps})
            kept = replace(checkpoint, values=plain.copy())
            self._records[number] = replace(self._records[number], checkpoint=kept)

    def record_file(self, identity: str) -> None:
        """Record that the last run is about to name a file; raises ArgumentError if no run has begun."""
        with self._lock:
            if not self._runs:
                raise ArgumentError("the journal holds no run to which a file could belong")
            self._append({"file": identity})
            self._runs[-1] = replace(self._runs[-1], files=(*self._runs[-1].files, identity))

    def _append(self, line: dict[str, Any], *, room: int | None = None) -> None:
        """Write a line to a file, where there is one, before it is recorded in memory."""

    def _require_open(self, number: int) -> None:
        if not 0 <= number < len(self._records):
            raise ArgumentError(f"the journal has no spend of number {number}")
        if self._records[number].outcome is not None:
            raise ArgumentError(f"spend {number} already has an outcome; each spend pays for one draw")


class Journal(MemoryJournal):
    """A journal in a growing file, locked while it is open: two runs at once could overspend together.

    Opening an existing file reads it, drops a truncated last line, and continues after it. Whatever is recorded is forced
    to disk before `record_spend` and the others return.

    Args:
        path: File to append to; created with mode 0600 if missing. A symbolic link would give one journal two names.
        must_exist: Whether to refuse a missing file instead.

    Raises:
        ReleaseFileError: If the file cannot be opened, another run holds it, or it is not a journal or damaged; later,
            if it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = Path(path)
        self._descriptor = -1
        try:
            self._descriptor = _opened(self.path, must_exist)
            if not lock_exclusively(self._descriptor):
                raise ReleaseFileError(
                    f"the journal {str(self.path)!r} is in use by another run; wait for its end, or name "
                    "another file"
                )
            super().__init__()
            with open(self._descriptor, "rb", closefd=False) as file:
                # Through another one, which does not write: the lines are already in the file.
                known, self._end, self._last = _read(file.read(), self.path)
            self._records, self._runs = known._records, known._runs
            cut_on_disk(self._descriptor, self._end, self.path.parent)
        except BaseException as error:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            if isinstance(error, OSError):
                raise ReleaseFileError(
                    f"the journal {str(self.path)!r} cannot be opened: {error.strerror}; choose another place"
                ) from None
            raise

    @staticmethod
    def read(path: str | os.PathLike[str]) -> MemoryJournal:
        """Read a file without opening it for writing.

        Raises:
            ReleaseFileError: If it is not a journal or is damaged.
        """
        return _read(Path(path).read_bytes(), Path(path))[0]

    def close(self) -> None:
        """Close the file; a closed journal refuses writes."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _append(self, line: dict[str, Any], *, room: int | None = None) -> None:
        """Write a line and force it to disk; with `room`, only if this many bytes fit.

        Raises ArgumentError if the journal is closed, and ReleaseFileError if it cannot be written.
        """
        if self._descriptor < 0:
            raise ArgumentError("the journal is closed; open it again to continue")
        text, last = _written(line, self._last)
        end = self._end + len(text)
        try:
            if room is None:
                self._write(text, self._end)
            else:
                if len(text) > room:
                    raise ArgumentError("values are longer than `longest` allows")
                # Random, because some file systems compress; without a line end, because the line is not complete yet.
                padding = os.urandom(room - len(text) + 1).replace(b"\n", b"\0")
                self._write(text[:-1] + padding, self._end)
                self._write(b"\n", end - 1)
                os.ftruncate(self._descriptor, end)
        except OSError as error:
            # A partial line in the middle would make the file unreadable; the caller counts the spend anyway.
            os.ftruncate(self._descriptor, self._end)
            raise ReleaseFileError(
                f"the journal {str(self.path)!r} cannot be written: {error.strerror}; the spends in it count. Free some "
                "megabytes on its disk, and continue with resume"
            ) from None
        self._end, self._last = end, last

    def _write(self, text: bytes, place: int) -> None:
        data = memoryview(text)
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)


def _opened(path: Path, must_exist: bool) -> int:
    """Open a regular file for reading and writing and return its descriptor; anything else is refused, or an OSError."""
    flags = os.O_RDWR | (0 if must_exist else os.O_CREAT)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    is_there = os.path.lexists(path)
    if must_exist and not is_there:
        raise ReleaseFileError(
            f"there is no journal {str(path)!r} to resume; check its name, or begin without resume"
        )
    # Opening some pipes and devices would block, or have side effects.
    if is_there and not stat.S_ISREG(os.lstat(path).st_mode):
        raise ReleaseFileError(
            f"the journal {str(path)!r} is a symbolic link, a folder, a pipe or a device; name the file itself"
        )
    return os.open(path, flags, 0o600)


def _plain_numbers(values: NoisyArray) -> NoisyArray:
    """Return an answer as an array with the same layout on every machine; raises ArgumentError if it is not numeric."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ArgumentError(
            f"an outcome of dtype {array.dtype} cannot be recorded; it must hold plain numbers, all finite"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _answer_line(kind: str, number: int, values: NoisyArray) -> dict[str, Any]:
    """Return the line of an answer, given as numbers from `_plain_numbers`."""
    return {kind: values, "of": number, "dtype": values.dtype.str, "shape": list(values.shape)}


def _written(line: dict[str, Any], last: str) -> tuple[bytes, str]:
    """Return the text of a line, with its line end, and its hash, which goes into the next line."""
    body = json.dumps(line, ensure_ascii=True, default=_in_base64).encode("ascii")[:-1]
    here = _hash(body, last)
    return body + _MARK + here.encode("ascii") + b'"}\n', here


def _read(content: bytes, path: Path) -> tuple[MemoryJournal, int, str]:
    """Read the content of a file.

    Text after the last line end is ignored: the writer of an incomplete line never returned, so nothing was drawn or
    released for it. More than one line cannot follow it, unless something changed the line ends.

    Returns:
        What it holds, the position after the last line, and its hash.

    Raises:
        ReleaseFileError: If this is not a journal, or it is damaged before its last line end.
    """
    useless = f"the journal {str(path)!r} cannot be used:"
    end = content.rfind(b"\n") + 1
    if not end and not any(content.startswith(text[: len(content)]) for text in _BEGINNINGS):
        raise ReleaseFileError(
            f"{useless} it is not a journal; name another file, which is created if it does not exist"
        )
    if content.count(_MARK, end) > 1:
        raise ReleaseFileError(
            f"{useless} its lines do not end with LF, as those of a run do, so that what was spent cannot be known from "
            "it; put back the file as the run left it"
        )
    memory, last = MemoryJournal(), _START
    for position, line in enumerate(content[:end].split(b"\n")[:-1], start=1):
        try:
            body, _, rest = line.rpartition(_MARK)
            last = _hash(body, last)
            if rest != last.encode("ascii") + b'"}':
                raise ValueError("the line does not follow the one before it")
            _read_line(memory, json.loads(line))
        except Exception:
            # Hostile text raises many kinds of errors, which all mean the same here.
            raise ReleaseFileError(
                f"{useless} line {position} of the journal is damaged, does not follow the line that it was written "
                "after, or is from another version; so the spends cannot be known. Put back the file as the run "
                "left it"
            ) from None
    return memory, end, last


def _in_base64(values: NoisyArray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def _hash(body: bytes, last: str) -> str:
    return hashlib.sha256(last.encode("ascii") + body).hexdigest()[:_LENGTH]


def _read_line(memory: MemoryJournal, line: dict[str, Any]) -> None:
    if "run" in line:
        memory.record_run({str(name): str(fact) for name, fact in line["run"].items()})
    elif "spend" in line:
        memory.record_spend(str(line["spend"]), event_from_json(line["event"]), line.get("query"))
    elif "file" in line:
        memory.record_file(str(line["file"]))
    elif "checkpoint" in line:
        memory.record_checkpoint(line["of"], Checkpoint(line["steps"], _values(line, "checkpoint")))
    else:
        memory.record_outcome(line["of"], _values(line, "outcome"))


def _values(line: dict[str, Any], kind: str) -> NoisyArray:
    """Return the numbers of an answer."""
    raw = base64.b64decode(line[kind], validate=True)
    return np.frombuffer(raw, dtype=np.dtype(line["dtype"])).reshape(line["shape"])
