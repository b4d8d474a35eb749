"""The lines of a journal: JSON, each with a hash of itself and of the line before it.

A line that was changed, taken out or put elsewhere does not fit the hashes, so that spends are not left out of a
sum by accident. It is no defence against somebody who computes the hashes anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np

from syntabula.errors import ReleaseFileError
from syntabula.privacy.events import event_from_json
from syntabula.privacy.spend_records import MemoryJournal, NoisyArray

_LENGTH = 32
_MARK = b', "chain": "'
_BEGINNINGS = (b'{"run": {', b'{"spend": "')
_AROUND_AN_ANSWER = 512
"""Bytes of an outcome line beside its answer, at most: names, a number, a type, a shape and the hash."""

START = hashlib.sha256(b"syntabula journal 2").hexdigest()[:_LENGTH]
"""What the first line takes for the hash before it; it names the format."""


def outcome_line(number: int, values: NoisyArray) -> dict[str, Any]:
    """Return the line of an answer, of numbers as `plain_numbers` returns them."""
    encoded = base64.b64encode(values.tobytes()).decode("ascii")
    return {"outcome": encoded, "of": number, "dtype": values.dtype.str, "shape": list(values.shape)}


def longest_outcome_line(longest: int) -> int:
    """Return what the line of an answer of at most so many bytes takes, at most."""
    return 4 * -(-longest // 3) + _AROUND_AN_ANSWER


def written(line: dict[str, Any], last: str) -> tuple[bytes, str]:
    """Return the text of a line, its end included, and its hash, which the next line is given as the last."""
    body = json.dumps(line, ensure_ascii=True).encode("ascii")[:-1]
    here = _hash(body, last)
    return body + _MARK + here.encode("ascii") + b'"}\n', here


def read_lines(memory: MemoryJournal, content: bytes) -> tuple[int, str]:
    """Read a journal into memory.

    What follows the last line end is left out: the writer of a line without its end never returned, so that
    nothing was drawn or released for it. More than one line cannot follow it, unless something changed the ends.

    Returns:
        Where the last line ends, and its hash.

    Raises:
        ReleaseFileError: If this is no journal, or it is damaged before its last line end.
    """
    end = content.rfind(b"\n") + 1
    if not end and not any(content.startswith(text[: len(content)]) for text in _BEGINNINGS):
        raise ReleaseFileError("it is not a journal; name another file, which is made if it does not exist")
    if content.count(_MARK, end) > 1:
        raise ReleaseFileError(
            "its lines do not end with LF, as those of a run do, so that what was spent cannot be known from it; put back "
            "the file as the run left it"
        )
    last = START
    for position, line in enumerate(content[:end].split(b"\n")[:-1], start=1):
        try:
            last = _checked(line, last)
            _read_line(memory, json.loads(line))
        except Exception:
            # Hostile text raises many kinds of error, and all mean the same here.
            raise ReleaseFileError(
                f"line {position} of the journal is damaged, not preceded by the line that it was written after, or "
                "from another version; what was spent cannot be known from it. Put back the file as the run left it"
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
    else:
        raw = base64.b64decode(line["outcome"], validate=True)
        values = np.frombuffer(raw, dtype=np.dtype(line["dtype"])).reshape(line["shape"])
        MemoryJournal.record_outcome(memory, line["of"], values)
