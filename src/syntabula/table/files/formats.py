"""File formats by suffix, and checks shared by readers and writers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeGuard

from syntabula._arguments import path as file_path
from syntabula._files import not_a_file
from syntabula.errors import ArgumentError, DataError
from syntabula.table.raw import TEXT_FORMATS, Container, Dialect

Compression = Literal["none", "gzip", "zstd"]
_SUFFIXES: dict[str, Container] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
MOST_SHEET_ROWS = 2**20 - 1
"""Rows that a sheet of a workbook holds below the names of its columns."""
SUPPORTED = ".csv, .tsv, .jsonl or .ndjson (each also with .gz or .zst), .parquet, .arrow, .feather or .ipc"


@dataclass(frozen=True)
class FileFormat:
    """The format that a file's suffix gives.

    Attributes:
        container: Format.
        compression: Compression of the whole file; only for text formats.
    """

    container: Container
    compression: Compression

    @property
    def dialect(self) -> Dialect:
        """The usual form of its delimited text."""
        return Dialect("\t" if self.container == "tsv" else ",")


def file_format(path: str | os.PathLike[str]) -> FileFormat:
    """Return a file's format by its suffix, in any case; raises ArgumentError listing what is supported."""
    shown = os.fspath(file_path("path", path))
    suffixes = [s.lower() for s in Path(shown).suffixes]
    compression: Compression = "none"
    if suffixes and suffixes[-1] in _COMPRESSED:
        compression = _COMPRESSED[suffixes.pop()]
    container = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if container is None or (compression != "none" and container not in TEXT_FORMATS):
        also = "; .xlsx is read and written alone" if suffixes[-1:] == [".xlsx"] else ", and .xlsx"
        if shown.startswith("/dev/") or (not_a_file(shown) or "a folder") != "a folder":
            also = ". It is a pipe or a device, whose name shows no format; give a file, such as table.csv"
        raise ArgumentError(f"the suffix of {shown!r} is not supported; supported are {SUPPORTED}{also}")
    return FileFormat(container, compression)


def output_format(path: str | os.PathLike[str]) -> FileFormat:
    """Return the format that a table is written in, a workbook too; raises as `file_format`, also for a folder."""
    if is_workbook(path):
        return FileFormat("xlsx", "none")
    try:
        return file_format(path)
    except ArgumentError:
        shown = os.fspath(path)
        if not os.path.isdir(shown):
            raise
        file = os.path.join(shown, "synthetic.csv")
        raise ArgumentError(f"{shown!r} is a folder; name a file in it, such as {file!r}") from None


def check_readable(path: str, *, once: bool = False) -> None:
    """Refuse the path of a file that cannot be opened, without waiting for the writer of a pipe.

    Args:
        path: Path of an input.
        once: Whether it is read once from beginning to end, as this process's standard input can be.

    Raises:
        DataError: If it is not a file, does not exist, or may not be read.
    """
    if kind := not_a_file(path, standard_input=once):
        raise DataError(f"{path!r} is {kind}, not a file; save the table to a file and give its path")
    if not os.path.exists(path):
        raise DataError(f"there is no file {path!r}; check the path")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror}") from None


def is_workbook(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether the source of a table is the path of an Excel workbook."""
    return isinstance(source, str | os.PathLike) and Path(os.fspath(source)).suffix.lower() == ".xlsx"
