"""Output files: checked before budget is spent, written whole or not at all, and nothing paid for is lost."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from syntabula._whole_file import check_is_file, whole_file
from syntabula.cli.exits import CommandError, Exit
from syntabula.errors import ReleaseFileError

if TYPE_CHECKING:
    from syntabula import Release


def check_outputs(
    outputs: Mapping[str, Path | None], *, inputs: Sequence[Path | None] = (), force: bool
) -> None:
    """Make sure that every output can be written, before anything is read or spent.

    Args:
        outputs: Path of each output by the name of its option; None where it was not asked for.
        inputs: Files that are read, which no output may replace.
        force: Whether existing files may be replaced.

    Raises:
        CommandError: If two paths are the same, a file exists, or its folder cannot be written to.
    """
    taken = {_identity(path): "a file that is read" for path in inputs if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        place = _identity(path)
        if place in taken:
            raise CommandError(
                f"{option} {str(path)!r} is also {taken[place]}; choose another name", Exit.ARGUMENTS
            )
        taken[place] = f"the file of {option}"
        _check_output(option, path, force)


def _check_output(option: str, path: Path, force: bool) -> None:
    shown = f"{option} {str(path)!r}"
    try:
        check_is_file(path)
    except OSError as error:
        raise CommandError(f"{shown} cannot be written: {error.strerror}", Exit.FILE) from None
    if os.path.lexists(path) and not force:
        raise CommandError(
            f"{shown} exists already; choose another name, or replace it with --force", Exit.FILE
        )
    if not path.parent.is_dir():
        raise CommandError(f"the folder of {shown} does not exist; make it first", Exit.FILE)
    try:
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
    except OSError as error:
        raise CommandError(
            f"the folder of {shown} cannot be written to: {error.strerror}", Exit.FILE
        ) from None


def _identity(path: Path) -> str:
    return os.path.realpath(path)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all; raises CommandError if that fails."""
    with failures_of(path), whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def failures_of(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a file into one line with exit code 6."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the disk refused it"
        raise CommandError(f"cannot write {str(path)!r}: {reason}; choose another place", Exit.FILE) from None


@dataclass(kw_only=True)
class Keeper:
    """Saves a release whose budget is spent if anything fails before its table has been written.

    Attributes:
        release: What was paid for.
        out: File that the table should go to.
        rows: Rows that were asked for, or None.
        seed: Seed of the rows, or None.
        saved: Where the release lies already, or None.
    """

    release: Release
    out: Path
    rows: int | None
    seed: int | None
    saved: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        place = self.saved or self._recovered()
        if place is None:
            print(
                "warning: the budget was spent, and the release could not be saved anywhere", file=sys.stderr
            )
            return
        again = ["syntabula", "sample", str(place), "-o", str(self.out)]
        again += [] if self.rows is None else ["--rows", str(self.rows)]
        again += [] if self.seed is None else ["--seed", str(self.seed)]
        print(
            f"note: the budget was spent, and the release is safe in {str(place)!r}; when there is room, "
            f"draw the table from it at no further cost: {shlex.join(again)}",
            file=sys.stderr,
        )

    def _recovered(self) -> Path | None:
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            place = _free_name(folder / f"{self.out.name}.recovered.syn")
            try:
                self.release.save(place)
            except (ReleaseFileError, OSError):
                continue
            return place
        return None


def _free_name(path: Path) -> Path:
    """Return the path, numbered if needed, so that an earlier rescue is not replaced by a later one."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate
