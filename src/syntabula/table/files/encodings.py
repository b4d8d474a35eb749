"""Text files in other encodings than UTF-8: read as UTF-8 from memory, and written in their own.

An encoding is declared, or shown by a byte order mark before the header, which is public as the header is; it is never
guessed from cells.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from syntabula.errors import DataError

_OPENERS: dict[str, Callable[..., Any]] = {"none": open, "gzip": gzip.open}
_AT_ONCE = 2**20


@contextmanager
def as_utf8(path: str, compression: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield the path of a copy in UTF-8 that nobody else can open, and its compression, which is none.

    The copy is in memory, or else a file without a name, so that nothing is left of it even if this process is killed.

    Raises:
        DataError: If the file is not in its encoding or compression, or this system has no such copies.
    """
    if compression not in _OPENERS:
        raise DataError(
            f"{path!r} is compressed with zstd and in {encoding}; decompress it, or save it in UTF-8"
        )
    if os.name != "posix":
        raise DataError(f"{path!r} is in {encoding}, which this system cannot read; save it in UTF-8")
    with _without_name() as copy:
        try:
            with _OPENERS[compression](path, "rb") as raw:
                _copy_as(raw, copy, encoding, path)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise DataError(
                f"{path!r} is damaged, or not compressed with gzip; save it again, or rename it if it is not compressed"
            ) from None
        copy.flush()
        yield f"/dev/fd/{copy.fileno()}", "none"


def _without_name() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("text"), "w+b")
    return tempfile.TemporaryFile()


def _copy_as(raw: IO[bytes], copy: IO[bytes], encoding: str, path: str) -> None:
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    try:
        while piece := raw.read(_AT_ONCE):
            text = decoder.decode(piece)
            copy.write(text.encode())
            line += text.count("\n")
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].decode(encoding, "ignore").count("\n")
        raise DataError(
            f"{path!r} is not in the encoding {encoding}, from line {line} on; state its own, or save the file in UTF-8"
        ) from None


def check_writable(compression: str, encoding: str) -> None:
    """Raise DataError if files in an encoding cannot be compressed so."""
    if compression not in _OPENERS and not codecs.lookup(encoding).name.startswith("utf-8"):
        raise DataError(f"a file in {encoding} cannot be compressed with zstd; write it without, or with .gz")


def encode_file(path: str, compression: str, encoding: str) -> None:
    """Write a file in UTF-8 anew in another encoding, at the same path.

    Raises:
        DataError: If a character does not exist in it, or it is compressed with zstd.
    """
    check_writable(compression, encoding)
    encoded = f"{path}.encoded"
    opened = _OPENERS[compression]
    try:
        with opened(path, "rb") as raw, opened(encoded, "wb") as target:
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            encoder = codecs.getincrementalencoder(encoding)()
            while piece := text.read(_AT_ONCE):
                target.write(encoder.encode(piece))
    except UnicodeError:
        raise DataError(
            f"a name or a category has a character that {encoding} lacks; write another format, such as Parquet, or "
            "declare an encoding that has it"
        ) from None
    os.replace(encoded, path)
