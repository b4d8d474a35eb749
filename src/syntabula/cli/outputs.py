"""Output files: checked before budget is spent, written atomically, and saved if a later step fails.

A command that fails after its budget is spent saves its release. One that is killed may leave some of its outputs
behind. The same command with `--resume` reuses a saved release instead of fitting again, and replaces the other
outputs.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from syntabula._files import check_is_file, whole_file
from syntabula.cli.console import CommandError, Exit
from syntabula.errors import DataError, ReleaseFileError

if TYPE_CHECKING:
    from syntabula import Release, Schema
    from syntabula.cli.request import Request


def check_outputs(
    outputs: Mapping[str, Path | None],
    *,
    inputs: Sequence[Path | None] = (),
    table: Path | None = None,
    force: bool,
    replaceable: Collection[Path] = (),
) -> None:
    """Check that every output can be written, before anything is read or spent.

    Args:
        outputs: Path of each output by the name of its option; None if not requested.
        inputs: Files that are read, which no output may replace.
        table: One of them that may be a folder, which no output may be in.
        force: Whether existing files may be replaced.
        replaceable: Existing files that may be replaced without `force`.

    Raises:
        CommandError: If two paths are the same, a file exists or is a device or pipe, or its folder cannot be
            written to or is the table.
    """
    taken = {_identity(path): "an input file" for path in inputs if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        place = _identity(path)
        if place in taken:
            raise CommandError(
                f"{option} {str(path)!r} is also {taken[place]}; choose another name", Exit.ARGUMENTS
            )
        taken[place] = f"the file of {option}"
        if table is not None and table.is_dir() and table.resolve() in path.resolve().parents:
            raise CommandError(
                f"{option} {str(path)!r} lies in the folder of the table; choose another place",
                Exit.ARGUMENTS,
            )
        _check_output(option, path, force or path in replaceable)


def _check_output(option: str, path: Path, force: bool) -> None:
    shown = f"{option} {str(path)!r}"
    try:
        check_is_file(path)
    except OSError as error:
        raise CommandError(f"{shown} cannot be written: {error.strerror}; name a file", Exit.FILE) from None
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


def check_rows(rows: int | None, out: Path) -> None:
    """Refuse a number of rows that no file can hold, before anything is spent."""
    from syntabula._planning import MOST_ROWS

    if rows is None:
        return
    if not 0 <= rows <= MOST_ROWS:
        raise CommandError(f"--rows must be at least 0 and at most {MOST_ROWS}; got {rows}", Exit.ARGUMENTS)
    plain = out.suffix.lower() in (".csv", ".tsv", ".jsonl", ".ndjson")
    free = shutil.disk_usage(out.parent).free if plain and out.parent.is_dir() else rows
    if rows > free:
        raise CommandError(
            f"{rows:,} rows have as many line ends at least, and {free:,} bytes are free on the disk of --out "
            f"{str(out)!r}; ask for fewer --rows",
            Exit.FILE,
        )


def check_table_file(path: Path, encoding: str | None = None, *, rows: int | None = None) -> None:
    """Refuse a file name whose format is unknown, has no such encoding, or holds not so many rows, before a spend."""
    from syntabula.table.files.formats import MOST_SHEET_ROWS, output_format

    kind = output_format(path)
    if kind.container == "xlsx":
        from syntabula._extras import require_installed

        require_installed("openpyxl", "excel")
        require_installed("pandas", "excel")
        if rows is not None and rows > MOST_SHEET_ROWS:
            raise CommandError(
                f"a sheet of {str(path)!r} holds at most {MOST_SHEET_ROWS:,} rows, and --rows is {rows:,}; ask for "
                "fewer, or write CSV or Parquet",
                Exit.ARGUMENTS,
            )
    if encoding is not None and kind.container in ("csv", "tsv"):
        from syntabula.table.files.encodings import check_writable

        check_writable(kind.compression, encoding)


def check_parts(folder: Path, part: int | None, of: int, *, force: bool) -> None:
    """Check the files of a table in parts before anything is read.

    Args:
        folder: The folder of the parts.
        part: The only part to write, or None for all.
        of: Number of parts.
        force: Whether existing files may be replaced.

    Raises:
        ArgumentError: If there cannot be so many parts, or the folder's suffix is unknown.
        CommandError: If a file exists.
    """
    from syntabula.table.files.row_parts import RowPart, checked_parts

    of, numbers = checked_parts(of, part)
    files = [RowPart(number, of, 0).file(folder) for number in numbers]
    check_table_file(files[0])
    if not force and (found := next((file for file in files if os.path.lexists(file)), None)):
        raise CommandError(
            f"the part {str(found)!r} exists already; choose another folder, or replace it with --force",
            Exit.FILE,
        )


@contextmanager
def written() -> Iterator[None]:
    """Report a file that cannot be written within the block with exit code 6."""
    try:
        yield
    except (DataError, ReleaseFileError) as error:
        raise CommandError(str(error), Exit.FILE) from None


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a text file as `output` does."""
    with output(path, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def output(
    path: Path,
    *,
    force: bool,
    replaceable: Collection[Path] = (),
    before_naming: Callable[[Path], None] | None = None,
) -> Iterator[Path]:
    """Yield a temporary file that replaces the output at the end, if nothing fails.

    Args:
        path: The output. If it is a symbolic link, the link is replaced, not its target.
        force: Whether to replace a file that exists by then. Without it, the later of two commands with the same
            output would replace the work of the earlier one.
        replaceable: Existing files that may be replaced without `force`.
        before_naming: Called with the finished file just before it is renamed.

    Yields:
        An empty file of the same name in a folder of its own.

    Raises:
        CommandError: With exit code 6, if a file exists by then or the output cannot be written.
    """
    temporary: Path | None = None
    try:
        with whole_file(path, replace=force or path in replaceable) as temporary:
            yield temporary
            if before_naming is not None:
                before_naming(temporary)
    except FileExistsError:
        raise CommandError(
            f"{str(path)!r} was written by another program in the meantime and was not replaced; choose another name",
            Exit.FILE,
        ) from None
    except (DataError, ReleaseFileError) as error:
        # The user knows the output's name, not that of the temporary file.
        raise CommandError(str(error).replace(repr(str(temporary)), repr(str(path))), Exit.FILE) from None
    except OSError as error:
        reason = error.strerror or "the disk refused it"
        raise CommandError(f"cannot write {str(path)!r}: {reason}; choose another place", Exit.FILE) from None


@dataclass(kw_only=True)
class SavedOnFailure:
    """Saves the release, whose budget is spent, if anything fails before its table is written.

    Attributes:
        release: The release to save.
        out: File for the table.
        rows: Number of rows requested, or None.
        seed: Seed of the rows, or None.
        saved: Where the release is already saved, or None.
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
        print(
            f"note: the budget was spent, and the release is safe in {str(place)!r}; draw the table "
            f"from it at no further cost: {sample_command(place, self.out, rows=self.rows, seed=self.seed)}",
            file=sys.stderr,
        )

    def _recovered(self) -> Path | None:
        for folder in (Path.cwd(), Path(tempfile.gettempdir())):
            for place in _names(folder / f"{self.out.name}.recovered.syn"):
                try:
                    # Another command may be saving the release of a table of the same name.
                    with whole_file(place, replace=False) as temporary:
                        self.release.save(temporary)
                except FileExistsError:
                    continue
                except (ReleaseFileError, OSError):
                    break
                return place
        return None


def sample_command(release: Path, out: Path, *, rows: int | None, seed: int | None) -> str:
    """Return the command that draws a table from a release file to the output, or to a similar name that is free."""
    free = next(name for name in _names(out) if not os.path.lexists(name))
    words = ["syntabula", "sample", str(release), "-o", str(free)]
    words += [] if rows is None else ["--rows", str(rows)]
    words += [] if seed is None else ["--seed", str(seed)]
    return shlex.join(words)


def _names(path: Path) -> Iterator[Path]:
    """Yield a path, then the path with rising numbers before its suffixes, endlessly."""
    yield path
    stem, dot, suffixes = path.name.partition(".")
    yield from (path.with_name(f"{stem}-{number}{dot}{suffixes}") for number in itertools.count(2))


@dataclass(frozen=True)
class FilesOfRun:
    """Recognises the files that one command wrote, by the last run of its journal.

    Before a file is renamed, a hash of its content and of the command is written to the journal. So a file belongs
    to the run if its hash is there, whenever the process was killed, unless somebody has changed it since.

    Attributes:
        journal: The journal, or None, with which no file is recognised.
        command: Identifies the command.
    """

    journal: Path | None
    command: str

    @classmethod
    def of(cls, request: Request, table: Path, schema: Schema | None, *, strict: bool) -> FilesOfRun:
        """Return the files of a command that fits a synthesizer to a table."""
        from syntabula.cli.request import read_options
        from syntabula.privacy.resume import fingerprint

        asked = {f.name: getattr(request, f.name) for f in fields(request) if f.name not in _MAY_DIFFER}
        if request.options_file is not None:
            asked["options_file"] = read_options(request.options_file, "--options")
        declared = None if schema is None else schema.to_json()
        return cls(request.journal, fingerprint([asked, declared, str(table.absolute()), strict]))

    def among(self, paths: Iterable[Path | None]) -> set[Path]:
        """Return the paths that hold a file of the last run.

        Raises:
            ReleaseFileError: If the journal is damaged.
        """
        if self.journal is None or not self.journal.is_file():
            return set()
        from syntabula.privacy.journal import Journal

        runs = Journal.read(self.journal).runs
        known = runs[-1].files if runs else ()
        return {
            path for path in paths if path is not None and path.is_file() and self._identity(path) in known
        }

    def record(self, file: Path) -> None:
        """Note in the journal, if there is one, that a finished file is about to be renamed.

        Raises:
            ReleaseFileError: If the journal is gone, damaged or in use.
        """
        if self.journal is not None:
            from syntabula.privacy.journal import Journal

            with Journal(self.journal, must_exist=True) as journal:
                journal.record_file(self._identity(file))

    def _identity(self, path: Path) -> str:
        from syntabula.privacy.resume import fingerprint

        with path.open("rb") as file:
            return fingerprint([self.command, hashlib.file_digest(file, "sha256").hexdigest()])


_MAY_DIFFER = ("journal", "resume", "schema_file", "workers")
"""Fields of a request that may differ between a run and the one that resumes it; the content of files may not."""
