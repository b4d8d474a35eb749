"""File formats by suffix, and what every reader and writer of files shares."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from syntabula._arguments import path as file_path
from syntabula.errors import ArgumentError
from syntabula.table.raw import TEXT_FORMATS, Container

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
DELIMITERS = ",;\t|"
"""Characters that may lie between the cells of delimited text."""

SUPPORTED = (
    ".csv, .tsv, .jsonl or .ndjson (each also with .gz or .zst), .parquet, or .arrow, .feather or .ipc"
)


@dataclass(frozen=True)
class FileFormat:
    """What a file's suffix says.

    Attributes:
        container: Format.
        compression: Compression of the whole file; of text formats only.
    """

    container: Container
    compression: Compression


def file_format(path: str | os.PathLike[str]) -> FileFormat:
    """Tell a file's format from its suffix, in any case; raises ArgumentError listing what is supported."""
    shown = os.fspath(file_path("path", path))
    suffixes = [s.lower() for s in Path(shown).suffixes]
    compression: Compression = "none"
    if suffixes and suffixes[-1] in _COMPRESSED:
        compression = _COMPRESSED[suffixes.pop()]
    container = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if container is None or (compression != "none" and container not in TEXT_FORMATS):
        raise ArgumentError(f"the suffix of {shown!r} is not supported; supported are {SUPPORTED}")
    return FileFormat(container, compression)
