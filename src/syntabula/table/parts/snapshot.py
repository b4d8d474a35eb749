"""The files of a table as they were found, so that a change between two passes is noticed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from syntabula.errors import DataError

Stamp = tuple[str, int, int]


class Checked(Protocol):
    """What a table was when it was first seen."""

    def check(self) -> None:
        """Raise DataError if it changed."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """Names, sizes and times of files. Two passes over a changing table would be passes over two tables.

    Attributes:
        listing: Lists the paths anew.
        stamps: Path, size in bytes and time of the last change of each, as they were first seen.
    """

    listing: Callable[[], list[str]]
    stamps: tuple[Stamp, ...]

    @classmethod
    def of(cls, listing: Callable[[], list[str]]) -> Snapshot:
        """Return the files as they are now."""
        return cls(listing, _stamps(listing))

    @property
    def paths(self) -> list[str]:
        """Paths of the files, in order."""
        return [path for path, _, _ in self.stamps]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for _, size, _ in self.stamps)

    def check(self) -> None:
        """Raise DataError if a file was added, removed or changed."""
        found = _stamps(self.listing)
        if found == self.stamps:
            return
        different = sorted({path for path, _, _ in set(found) ^ set(self.stamps)})
        shown = ", ".join(map(repr, different[:3])) + (" and others" if len(different) > 3 else "")
        raise DataError(
            f"the table changed while it was read: {shown} {'is' if len(different) == 1 else 'are'} not as at the start; "
            "fit a folder that nothing writes to, such as a copy"
        )


def _stamps(listing: Callable[[], list[str]]) -> tuple[Stamp, ...]:
    stamps = []
    for path in listing():
        try:
            found = os.stat(path)
        except OSError as error:
            raise DataError(f"cannot read {path!r}: {error.strerror}") from None
        stamps.append((path, found.st_size, found.st_mtime_ns))
    return tuple(stamps)
