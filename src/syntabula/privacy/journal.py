"""The journal: what was spent, on disk before the noise is drawn, and what came of it.

A file of lines. A run line begins a run. A spend line is written and forced to disk before its token exists, an
outcome line before the noisy answer is handed on. After a crash a spend without an outcome stays spent, and an
answered one is read back and never drawn again: two draws under one charge could be averaged. All values are noisy,
so the file tells no more than the release does; it is readable by its owner only all the same. Where privacy was
switched off the values are exact, and the file is as sensitive as the table.

A spend without an outcome was never answered, and its one draw may still be made (`privacy.resume`). That rests on
this: whether an outcome can be written does not depend on it. A draw that is repeated until its answer fits on
the disk would be another mechanism than the one that was paid for. The event fixes the length of most answers. Those
of a tree or of categories have none, and are written together with padding, up to the longest answer that there
could have been: they fit where that one would. The end of the line is written when all of this lies on the disk, and
then the padding is cut off.

Training answers once a step, and each answer depends on the one before. What it has learned by some step is written in
a checkpoint line; the last one counts.

Lines are JSON, each with a hash of itself and of the line before it. A line that was changed, taken out or put
elsewhere does not fit the hashes, so that spends are not left out of a sum by accident. It is no defence against
somebody who computes the hashes anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from syntabula._files import lock_exclusively, sync_folder
from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.privacy.events import Event, event_from_json
from syntabula.privacy.spends import Checkpoint, MemoryJournal, NoisyArray, plain_numbers

_LENGTH = 32
_MARK = b', "chain": "'
_BEGINNINGS = (b'{"run": {', b'{"spend": "')
_AROUND_AN_ANSWER = 512
"""Bytes of an outcome line beside its answer, at most: names, a number, a type, a shape and the hash."""

_START = hashlib.sha256(b"syntabula journal 2").hexdigest()[:_LENGTH]
"""What the first line takes for the hash before it; it names the format."""


class Journal(MemoryJournal):
    """A journal in a file that grows, locked while it is open: two runs at once could overspend together.

    Opening an existing file reads it back, drops a last line that was cut short, and goes on after it.

    Args:
        path: File to append to; made with mode 0600 if it does not exist. It may not be a symbolic link, which
            would let one journal go by two names.
        must_exist: Whether a missing file is refused instead.

    Raises:
        ReleaseFileError: If the file cannot be opened, another run holds it, or it is no journal or a damaged one;
            later, if it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False) -> None:
        self.path = Path(path)
        self._descriptor = _opened(self.path, must_exist)
        try:
            if not lock_exclusively(self._descriptor):
                raise ReleaseFileError(
                    f"the journal {str(self.path)!r} is in use by another run; wait for its end, or name "
                    "another file"
                )
            super().__init__()
            with open(self._descriptor, "rb", closefd=False) as file:
                self._end, self._last = _read_into(self, file.read(), self.path)
            os.ftruncate(self._descriptor, self._end)
            os.fsync(self._descriptor)
            sync_folder(self.path.parent)
        except BaseException:
            os.close(self._descriptor)
            raise

    @staticmethod
    def read(path: str | os.PathLike[str]) -> MemoryJournal:
        """Read a file without opening it for writing.

        Raises:
            ReleaseFileError: If it is no journal or a damaged one.
        """
        memory = MemoryJournal()
        _read_into(memory, Path(path).read_bytes(), Path(path))
        return memory

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

    def record_outcome(self, number: int, values: NoisyArray, *, longest: int | None = None) -> None:
        """Write what was drawn for a spend and force it to disk.

        Args:
            number: Of the spend.
            values: The answer.
            longest: Bytes of the longest answer that there could have been; None where all have one length.

        Raises:
            ArgumentError: If there is no such spend, it already has an outcome, or the values are no plain
                finite numbers.
        """
        with self._lock:
            self._require_open(number)
            plain = plain_numbers(values)
            self._append(
                _answer_line("outcome", number, plain),
                room=None if longest is None else _longest_outcome_line(longest),
            )
            super().record_outcome(number, plain)

    def record_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        """Write what a training learned so far and force it to disk; raises as `MemoryJournal.record_checkpoint`."""
        with self._lock:
            super().record_checkpoint(number, checkpoint)
            kept = self.records[number].checkpoint
            assert kept is not None
            self._append(_answer_line("checkpoint", number, kept.values) | {"steps": kept.steps})

    def record_file(self, identity: str) -> None:
        """Write that the last run is about to give a file its name, and force it to disk."""
        with self._lock:
            self._require_run()
            self._append({"file": identity})
            super().record_file(identity)

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

    def _append(self, line: dict[str, Any], *, room: int | None = None) -> None:
        """Write a line and force it to disk; with room, where so many bytes fit and only there."""
        if self._descriptor < 0:
            raise ArgumentError("the journal is closed; open it again to go on")
        text, last = _written(line, self._last)
        end = self._end + len(text)
        try:
            if room is None:
                self._write(text, self._end)
            else:
                if len(text) > room:
                    raise ArgumentError("an answer is longer than the longest that there could have been")
                # Random, as some file systems compress; without a line end, as this is no whole line yet.
                padding = os.urandom(room - len(text) + 1).replace(b"\n", b"\0")
                self._write(text[:-1] + padding, self._end)
                self._write(b"\n", end - 1)
                os.ftruncate(self._descriptor, end)
        except OSError as error:
            # Half a line in the middle would make the file unreadable; the caller counts the spend anyway.
            os.ftruncate(self._descriptor, self._end)
            raise ReleaseFileError(
                f"the journal {str(self.path)!r} cannot be written: {error.strerror}; what it holds counts. Make room "
                "for some megabytes beside it, and go on with resume"
            ) from None
        self._end, self._last = end, last

    def _write(self, text: bytes, place: int) -> None:
        data = memoryview(text)
        os.lseek(self._descriptor, place, os.SEEK_SET)
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)


def _opened(path: Path, must_exist: bool) -> int:
    """Return the descriptor of a file that is open for reading and writing; anything else is refused."""
    flags = os.O_RDWR | (0 if must_exist else os.O_CREAT)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        # Opening some pipes and devices would wait, or do something.
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise ReleaseFileError(
                f"the journal {str(path)!r} is a symbolic link, a folder, a pipe or a device; name the file itself"
            )
        return os.open(path, flags, 0o600)
    except OSError as error:
        if must_exist and isinstance(error, FileNotFoundError):
            raise ReleaseFileError(
                f"there is no journal {str(path)!r} to resume; check its name, or begin without resume"
            ) from None
        raise ReleaseFileError(
            f"the journal {str(path)!r} cannot be opened: {error.strerror}; choose another place"
        ) from None


def _answer_line(kind: str, number: int, values: NoisyArray) -> dict[str, Any]:
    """Return the line of an answer, of numbers as `plain_numbers` returns them."""
    encoded = base64.b64encode(values.tobytes()).decode("ascii")
    return {kind: encoded, "of": number, "dtype": values.dtype.str, "shape": list(values.shape)}


def _longest_outcome_line(longest: int) -> int:
    """Return what the line of an answer of at most so many bytes takes, at most."""
    return 4 * -(-longest // 3) + _AROUND_AN_ANSWER


def _written(line: dict[str, Any], last: str) -> tuple[bytes, str]:
    """Return the text of a line, its end included, and its hash, which the next line is given as the last."""
    body = json.dumps(line, ensure_ascii=True).encode("ascii")[:-1]
    here = _hash(body, last)
    return body + _MARK + here.encode("ascii") + b'"}\n', here


def _read_into(memory: MemoryJournal, content: bytes, path: Path) -> tuple[int, str]:
    """Read the content of a file into memory.

    What follows the last line end is left out: the writer of a line without its end never returned, so that
    nothing was drawn or released for it.

    Returns:
        Where the last line ends, and its hash.

    Raises:
        ReleaseFileError: If this is no journal, or it is damaged before its last line end.
    """
    useless = f"the journal {str(path)!r} cannot be used:"
    end = content.rfind(b"\n") + 1
    if not end and not any(content.startswith(text[: len(content)]) for text in _BEGINNINGS):
        raise ReleaseFileError(
            f"{useless} it is not a journal; name another file, which is made if it does not exist"
        )
    last = _START
    for position, line in enumerate(content[:end].split(b"\n")[:-1], start=1):
        try:
            last = _checked(line, last)
            _read_line(memory, json.loads(line))
        except Exception:
            # Hostile text raises many kinds of error, and all mean the same here.
            raise ReleaseFileError(
                f"{useless} line {position} of the journal is damaged, not preceded by the line that it was written "
                "after, or from another version; what was spent cannot be known from it. Put back the file as the run "
                "left it"
            ) from None
    return end, last


def _hash(body: bytes, last: str) -> str:
    return hashlib.sha256(last.encode("ascii") + body).hexdigest()[:_LENGTH]


def _checked(line: bytes, last: str) -> str:
    """Return the hash of a line; raises ValueError if it is not the one that is written at its end."""
    body, _, rest = line.rpartition(_MARK)
    here = _hash(body, last)
    if rest != here.encode("ascii") + b'"}':
        raise ValueError("the line does not follow the one before it")
    return here


def _read_line(memory: MemoryJournal, line: dict[str, Any]) -> None:
    # By the class that keeps them only: the lines of a file are not to be written again.
    if "run" in line:
        MemoryJournal.record_run(memory, {str(name): str(fact) for name, fact in line["run"].items()})
    elif "spend" in line:
        MemoryJournal.record_spend(
            memory, str(line["spend"]), event_from_json(line["event"]), line.get("query")
        )
    elif "file" in line:
        MemoryJournal.record_file(memory, str(line["file"]))
    elif "checkpoint" in line:
        checkpoint = Checkpoint(line["steps"], _values(line, "checkpoint"))
        MemoryJournal.record_checkpoint(memory, line["of"], checkpoint)
    else:
        MemoryJournal.record_outcome(memory, line["of"], _values(line, "outcome"))


def _values(line: dict[str, Any], kind: str) -> NoisyArray:
    raw = base64.b64decode(line[kind], validate=True)
    return np.frombuffer(raw, dtype=np.dtype(line["dtype"])).reshape(line["shape"])
