"""A synthetic table as a folder of files: each part can be drawn alone, on any machine, and is the same file there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syntabula._arguments import count
from syntabula.errors import ArgumentError, DataError

MOST_PARTS = 100_000
"""Files in one folder; more are slow to list, and names have room for as many digits as all parts need."""

_SUFFIX = ".parquet"
_NAME = re.compile(r"part-(\d+)-of-(\d+)(\..+)")


@dataclass(frozen=True)
class RowPart:
    """One of the parts into which the rows of a table are divided, as equal as can be.

    Attributes:
        number: From 1 to `of`.
        of: Number of parts.
        rows: Number of rows of all parts.
    """

    number: int
    of: int
    rows: int

    @property
    def start(self) -> int:
        """Position of its first row in the whole table."""
        return self.rows * (self.number - 1) // self.of

    @property
    def stop(self) -> int:
        """Position after its last row in the whole table."""
        return self.rows * self.number // self.of

    def generator(self, seed: int) -> np.random.Generator:
        """Return the part's own source of randomness, which does not depend on the other parts."""
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(self.number,)))

    def file(self, folder: Path) -> Path:
        """Return the part's file in a folder, whose suffix gives the format; Parquet if it has none."""
        digits = len(str(self.of))
        compressed = folder.suffix in (".gz", ".zst")
        suffix = "".join(folder.suffixes[-1 - compressed :]) or _SUFFIX
        return folder / f"part-{self.number:0{digits}d}-of-{self.of}{suffix}"


def checked_parts(parts: object, part: object) -> tuple[int, list[int]]:
    """Return the number of parts, and the numbers of those to draw: one, or all if `part` is None.

    Raises:
        ArgumentError: If there is no such part.
    """
    number: int = count(1)("parts", parts)
    if number > MOST_PARTS:
        raise ArgumentError(
            f"parts must be at most {MOST_PARTS:,}, as each is a file of a folder; got {number:,}"
        )
    if part is None:
        return number, [*range(1, number + 1)]
    chosen: int = count(1)("part", part)
    if chosen > number:
        raise ArgumentError(f"part must be at most {number}, the number of parts; got {chosen}")
    return number, [chosen]


@contextmanager
def folder_of_parts(folder: Path, first: RowPart) -> Iterator[None]:
    """Make a folder for the parts of one table; it is removed again if nothing was written to it.

    Args:
        folder: The folder. It may exist, and hold files of the same number of parts and the same format.
        first: Any of the parts.

    Raises:
        DataError: If it cannot be made or read, or holds anything else.
    """
    made = False
    try:
        if not folder.exists():
            folder.mkdir()
            made = True
        # Hidden files are those of other writers at work, of a system, or of Spark.
        found = [entry for entry in os.listdir(folder) if not entry.startswith((".", "_"))]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(
            f"cannot write parts to {str(folder)!r}: {reason}; name a folder whose parent folder exists"
        ) from None
    if any(not _is_part_of(name, first, folder) for name in found):
        raise DataError(
            f"the folder {str(folder)!r} holds files that are no parts of a table in {first.of} parts; name a new folder"
        )
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):
                folder.rmdir()  # only if it is empty
        raise


def _is_part_of(name: str, part: RowPart, folder: Path) -> bool:
    matched = _NAME.fullmatch(name)
    if matched is None or not 1 <= int(matched[1]) <= part.of:
        return False
    return name == RowPart(int(matched[1]), part.of, part.rows).file(folder).name
