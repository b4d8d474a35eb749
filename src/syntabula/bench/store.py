"""The results of studies: one JSON line for each finished cell, appended whole; and all of them as one Parquet table."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from syntabula._files import check_is_file, lock_exclusively, whole_file
from syntabula._version import __version__
from syntabula.bench.cell import Cell, plain
from syntabula.errors import ArgumentError, StudyError

FORMAT = 1
_FINAL = ("done", "failed", "cut off")

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_TRIES, _PAUSE = 30, 0.1  # seconds between two tries


@dataclass(frozen=True, kw_only=True)
class Record:
    """The result of one cell.

    Attributes:
        study: Name of the study that ran it.
        cell: The cell.
        status: "done", "failed", "cut off" by a limit, or "left out" as something was missing.
        reason: Why it is not done, in a sentence; empty if it is.
        scores: Its numbers by name; NaN where a score cannot be computed.
        facts: Further facts, such as the total of the privacy statement (`epsilon_spent`).
        seconds: Seconds by the clock.
        processor_seconds: Seconds on all processors; None if the process was ended.
        peak_mb: Largest memory of the process in megabytes, the interpreter's included.
        limits: Limits of time and memory that it ran under.
        version: Version of this library.
        code: Digest of this library's code, as `content.code_state` returns it; empty if it is unknown.
        machine: What it ran on.
        finished: When it ended, in UTC.
    """

    study: str
    cell: Cell
    status: str
    reason: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    processor_seconds: float | None = None
    peak_mb: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    version: str = __version__
    code: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""

    @property
    def is_final(self) -> bool:
        """Whether the next run does not run it again: it is done, or it failed, or a limit cut it off."""
        return self.status in _FINAL

    def to_line(self) -> str:
        """Return it as one line of JSON."""
        facts = {name: value for name, value in vars(self).items() if name not in ("cell", "scores")}
        scores = plain(dict(self.scores))
        line = {
            "format": FORMAT,
            "key": self.cell.key,
            "cell": self.cell.to_json(),
            **facts,
            "scores": scores,
        }
        return json.dumps(line, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Return the record of a line; raises ValueError, KeyError or TypeError for anything else."""
        facts = json.loads(line)
        if facts.pop("format") != FORMAT:
            raise _OtherFormat
        facts.pop("key")
        scores = {
            name: math.nan if value is None else float(value) for name, value in facts["scores"].items()
        }
        return cls(**{**facts, "cell": Cell.from_json(facts["cell"]), "scores": scores})


class _OtherFormat(ValueError):
    """A line was written in another format."""


@dataclass(frozen=True)
class Store:
    """A file of results; the last line of a cell counts.

    Attributes:
        path: The file, named .jsonl.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.path.suffix != ".jsonl":
            raise ArgumentError(f"the store {str(self.path)!r} must end in .jsonl")

    def records(self) -> dict[str, Record]:
        """Return the results by the key of their cell; a last line that was not written whole is left out.

        Raises:
            StudyError: If the file holds something else, or was written by another format; says which line.
            OSError: If it cannot be read.
        """
        if not self.path.exists():
            return {}
        check_is_file(self.path)
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1].decode("utf-8", "replace")
        found = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                record = Record.from_line(line)
            except _OtherFormat:
                raise StudyError(
                    f"the store {str(self.path)!r} was written by another version of syntabula, in a format that this "
                    f"one ({__version__}) cannot read; name another store, or use that version"
                ) from None
            except (ValueError, KeyError, TypeError, AttributeError):
                raise StudyError(
                    f"line {number} of the store {str(self.path)!r} is not a result of a study; name another file, or "
                    "remove the line"
                ) from None
            found[record.cell.key] = record
        return found

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open the file for this run alone; what a killed run left of its last line is removed.

        Raises:
            StudyError: If another run is writing to it.
            OSError: If it cannot be written.
        """
        check_is_file(self.path)
        with self.path.open("ab+") as file:
            if not _locked_soon(file.fileno()):
                raise StudyError(
                    f"another run is writing to the store {str(self.path)!r}; wait for it, or name another store"
                )
            _drop_partial_line(file)
            yield Writer(file, self.path)


def _locked_soon(descriptor: int) -> bool:
    """Lock a file; a cell that a killed run was just starting may hold it for a moment longer."""
    for _ in range(_TRIES):
        if lock_exclusively(descriptor):
            return True
        time.sleep(_PAUSE)
    return lock_exclusively(descriptor)


@dataclass(frozen=True)
class Writer:
    """Appends results to an open store.

    Attributes:
        file: The locked file.
        path: Its path.
    """

    file: IO[bytes]
    path: Path

    def append(self, record: Record) -> None:
        """Append a result as one line, whole and on disk.

        Raises:
            StudyError: If it cannot be written, as when the disk is full; results until then are kept.
        """
        line = record.to_line().encode("utf-8") + b"\n"
        self.file.seek(0, os.SEEK_END)
        before = self.file.tell()
        try:
            self.file.write(line)
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            with suppress(OSError):
                self.file.truncate(before)
            remedy = "free some space there" if error.errno in _FULL else "see to that"
            raise StudyError(
                f"the store {str(self.path)!r} cannot be written: {error.strerror}; {remedy} and give the same command "
                "again, which goes on where this run was"
            ) from None


def _drop_partial_line(file: IO[bytes]) -> None:
    file.seek(0)
    text = file.read()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
        file.truncate(whole)


def export_parquet(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write results as one tidy Parquet table: a row for each score of each cell, and one for a cell without scores.

    Raises:
        ArgumentError: If the file is not named .parquet.
        OSError: If it cannot be written.
    """
    if Path(path).suffix != ".parquet":
        raise ArgumentError(f"{str(path)!r} must end in .parquet")
    import duckdb

    rows = [row for record in records for row in _tidy(record)]
    with whole_file(path) as temporary:
        lines = temporary.with_suffix(".jsonl")
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        with duckdb.connect() as connection:
            columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
            source = f"read_json('{lines}', format = 'newline_delimited', columns = {{{columns}}})"
            connection.execute(f"copy (select * from {source}) to '{temporary}' (format parquet)")


_COLUMNS = {
    "key": "varchar", "study": "varchar", "dataset": "varchar", "method": "varchar", "label": "varchar",
    "options": "varchar", "discretizer": "varchar", "bins": "varchar", "domain": "varchar", "epsilon": "double",
    "delta": "double", "seed": "bigint", "score": "varchar", "value": "double", "status": "varchar",
    "reason": "varchar", "epsilon_spent": "double", "seconds": "double", "processor_seconds": "double",
    "peak_mb": "double", "version": "varchar", "code": "varchar", "machine": "varchar", "finished": "varchar",
}  # fmt: skip


def _tidy(record: Record) -> Iterator[dict[str, Any]]:
    cell = record.cell
    facts = {
        "key": cell.key, "study": record.study, "dataset": cell.dataset, "method": cell.method, "label": cell.label,
        "options": json.dumps(cell.to_json()["options"]), "discretizer": cell.binning.discretizer,
        "bins": str(cell.binning.bins), "domain": cell.binning.domain,
        "epsilon": None if math.isinf(cell.epsilon) else cell.epsilon, "delta": cell.delta, "seed": cell.seed,
        "status": record.status, "reason": record.reason, "epsilon_spent": record.facts.get("epsilon_spent"),
        "seconds": record.seconds, "processor_seconds": record.processor_seconds, "peak_mb": record.peak_mb,
        "version": record.version, "code": record.code, "machine": json.dumps(record.machine),
        "finished": record.finished,
    }  # fmt: skip
    for name, value in record.scores.items() or [(None, math.nan)]:
        yield facts | {"score": name, "value": None if math.isnan(value) else value}
