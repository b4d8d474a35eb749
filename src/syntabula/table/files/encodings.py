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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Literal

from syntabula._extras import require, require_installed
from syntabula.errors import DataError

_AT_ONCE = 2**20


@contextmanager
def as_utf8(path: str, compression: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield the path of a copy in UTF-8 that nobody else can open, and its compression, which is none.

    The copy is in memory, or else a file without a name, so that nothing is left of it even if this process is killed.

    Raises:
        DataError: If the file is not in its encoding or compression, or this system has no such copies.
        MissingExtraError: If it is compressed with zstd, and pyarrow is not installed.
    """
    if os.name != "posix":
        raise DataError(f"{path!r} is in {encoding}, which this system cannot read; save it in UTF-8")
    with _without_name() as copy:
        try:
            with opened(path, compression) as raw:
                _copy_as(raw, copy, encoding, path)
        except (OSError, EOFError, zlib.error):
            if compression == "none":
                raise
            raise DataError(
                f"{path!r} is damaged, or not compressed with {compression}; save it again, or rename it if it is not "
                "compressed"
            ) from None
        copy.flush()
        yield f"/dev/fd/{copy.fileno()}", "none"


def opened(path: str, compression: str, mode: Literal["rb", "wb"] = "rb") -> Any:
    """Open a file of text, compressed or not, to read or write its bytes.

    Raises:
        MissingExtraError: If it is compressed with zstd, and pyarrow is not installed.
    """
    if compression == "zstd":
        arrow = require("pyarrow", "arrow")
        return (arrow.input_stream if mode == "rb" else arrow.output_stream)(path, compression="zstd")
    return (gzip.open if compression == "gzip" else open)(path, mode)


def _without_name() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("text"), "w+b")
    return tempfile.TemporaryFile()


def _copy_as(raw: IO[bytes], copy: IO[bytes], encoding: str, path: str) -> None:
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    seen = _SeenAsUtf8(encoding)
    try:
        while piece := raw.read(_AT_ONCE):
            seen.add(piece)
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
    if seen.is_so:
        raise DataError(
            f"{path!r} is in UTF-8, though its encoding is stated as {encoding}, in which each of its letters beyond "
            "English would become two or three others; leave the encoding out, and if other files of the table have "
            "it, save all of them in UTF-8"
        )


class _SeenAsUtf8:
    """Whether bytes in an encoding of one byte a character are UTF-8, with characters of several bytes among them.

    A text in such an encoding hardly ever consists of sequences of UTF-8: its letters beyond English would all have to
    stand beside signs.
    """

    def __init__(self, encoding: str) -> None:
        self._has_one_byte_each = len(bytes(range(256)).decode(encoding, "replace")) == 256
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._has_several = False

    def add(self, piece: bytes) -> None:
        """Look at the next bytes."""
        if self._has_one_byte_each:
            self._has_several |= not piece.isascii()
            try:
                self._decoder.decode(piece)
            except UnicodeDecodeError:
                self._has_one_byte_each = False

    @property
    def is_so(self) -> bool:
        """Whether all bytes so far are UTF-8, and some beyond ASCII."""
        return self._has_one_byte_each and self._has_several and not self._decoder.getstate()[0]


def check_writable(compression: str, encoding: str) -> None:
    """Raise MissingExtraError if files in an encoding cannot be compressed so without pyarrow."""
    if compression == "zstd" and not codecs.lookup(encoding).name.startswith("utf-8"):
        require_installed("pyarrow", "arrow")


def encode_file(path: str, compression: str, encoding: str) -> None:
    """Write a file in UTF-8 anew in another encoding, at the same path.

    Raises:
        DataError: If a character does not exist in it.
        MissingExtraError: If it is compressed with zstd, and pyarrow is not installed.
    """
    encoded = f"{path}.encoded"
    try:
        with opened(path, compression) as raw, opened(encoded, compression, "wb") as target:
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
