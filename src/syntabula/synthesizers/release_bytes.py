"""A release as the bytes of its file, for copies of it and for other processes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

_FILE = "release.syn"
ReleaseT = TypeVar("ReleaseT")


class Saved(Protocol):
    """What is asked of a release."""

    def save(self, path: Path) -> None:
        """Write it to a file."""
        ...


def to_bytes(release: Saved) -> bytes:
    """Return the bytes of a release's file; raises as `Release.save`."""
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / _FILE)
        return (Path(folder) / _FILE).read_bytes()


def from_bytes(content: bytes, load: Callable[[Path], ReleaseT]) -> ReleaseT:
    """Return a release from the bytes of its file, with the function that reads one; raises as `load`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / _FILE).write_bytes(content)
        return load(Path(folder) / _FILE)
