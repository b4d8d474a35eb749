"""Find out why a text file cannot be read: the first wrong line and what to do, never its content.

The reading library counts records instead of lines, gives no line for mixed line ends, and quotes cells in its
messages. So a file that it refused is checked again, line by line.
"""

from __future__ import annotations

import codecs
import csv
import functools
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NoReturn

import msgspec

MOST_CHARACTERS = 2_000_000
"""Largest record that DuckDB reads."""

_OPENERS: dict[str, Callable[..., Any]] = {"none": open, "gzip": gzip.open}
_COMPRESSED = {b"\x1f\x8b": ("gzip", ".gz"), b"\x28\xb5\x2f\xfd": ("zstd", ".zst")}
"""The first bytes of compressed files, with the name and the suffix of their format."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_UTF_8 = "is not UTF-8; save the file in UTF-8"
_OTHER_ENCODING = (
    f"{_NOT_UTF_8}, or state its encoding, as `encoding: cp1252` in a schema or, where a table is fitted or a schema "
    "drafted, --encoding cp1252 do for what Windows writes in western Europe and America"
)
_ENDS = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


class _Fault(Exception):
    """A line, counted from 1, and what is wrong with it."""


def delimited_fault(path: str, compression: str, delimiters: str, *, file: str | None = None) -> str | None:
    """Say what is wrong with a delimited file.

    Args:
        path: The file.
        compression: "none" or "gzip"; other files are not checked.
        delimiters: The possible separators of cells; the one that gives the header most names is used.
        file: The same text in UTF-8, if it was in another encoding.

    Returns:
        The first wrong line and what to do; None if nothing is found.
    """
    return _looked_through(path, compression, lambda raw: _check_delimited(raw, delimiters), file)


def json_fault(path: str, compression: str) -> str | None:
    """Say what is wrong with a file of JSON Lines; None if nothing is found."""
    return _looked_through(path, compression, _check_json)


def _looked_through(
    path: str, compression: str, check: Callable[[IO[bytes]], None], file: str | None = None
) -> str | None:
    if compression not in _OPENERS:
        return None
    try:
        with _OPENERS[compression](file or path, "rb") as raw:
            head = raw.read(4)
            for mark, (name, suffix) in _COMPRESSED.items():
                if head.startswith(mark):
                    raise _Fault(
                        1,
                        f"shows that the file is compressed with {name}; decompress it, or add {suffix!r} to its name",
                    )
            # Without a byte order mark, each of the first letters of a header has a zero byte.
            if head.startswith(_UTF_16) or b"\0" in head:
                raise _Fault(1, "shows that the file is UTF-16; save it in UTF-8")
            raw.seek(0)
            check(raw)
    except _Fault as fault:
        line, text = fault.args
        return f"line {line} of {path!r} {text}"
    except (OSError, EOFError, zlib.error):
        # Damaged or differently compressed.
        pass
    return None


class _Lines:
    """Lines of a text, for a reader of records.

    Attributes:
        number: Number of the last line, counted from 1.
        end: Line end of that line.
        record: Number of the first line of this record; set when a record begins.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        # Bytes that are not UTF-8 become surrogates, so that their line can be named.
        self._text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
        self.number = 0
        self.end = ""
        self.record = 1
        self._characters = 0

    def begin(self) -> None:
        """Note that a record begins."""
        self.record, self._characters = self.number + 1, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.number += 1
            self.end = line[len(line.rstrip("\r\n")) :]
            self._characters += len(line)
            if self._characters > MOST_CHARACTERS:
                raise _Fault(
                    self.record,
                    "begins a record of more than 2 MB; is a quote never closed, or is this another format?",
                )
            if not line.isascii() and any("\ud800" <= c <= "\udfff" for c in line):
                raise _Fault(self.number, _OTHER_ENCODING)
            yield line


def _check_delimited(raw: IO[bytes], delimiters: str) -> None:
    csv.field_size_limit(2**31 - 1)
    header = raw.readline(MOST_CHARACTERS).decode("utf-8-sig", "replace")
    raw.seek(0)
    # By its own line end, which may be another than that of the lines after it.
    first = functools.partial(io.StringIO, header, newline="")
    delimiter = max(delimiters, key=lambda mark: len(next(csv.reader(first(), delimiter=mark), [])))
    lines = _Lines(raw)
    usual, width = "", 0
    # A quote after spaces begins a quoted cell too, for DuckDB.
    records = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        lines.begin()
        try:
            record = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            open_quote = str(error).startswith("unexpected end")
            raise _Fault(
                *(lines.record, "has a quote that is never closed; close it, or double quotes within a cell")
                if open_quote
                else (lines.number, "has text after a closing quote; double the quotes within a cell")
            ) from None
        usual, width = usual or lines.end, width or len(record)
        if lines.end == "\r" != usual:
            raise _Fault(
                lines.number, "holds a carriage return (CR) within it; remove it, or put its cell in quotes"
            )
        if lines.end not in ("", usual):
            raise _Fault(
                lines.number,
                f"ends with {_ENDS[lines.end]} and the lines before it with {_ENDS[usual]}; save the file with one kind "
                "of line end",
            )
        # An empty line is ignored, and so is a delimiter at the end.
        if record and len(record) != width and not (len(record) == width + 1 and not record[-1]):
            cells = "1 cell" if len(record) == 1 else f"{len(record)} cells"
            raise _Fault(
                lines.record,
                f"has {cells}, the header has {width}; correct the line, and quote cells that hold the delimiter",
            )


def _check_json(raw: IO[bytes]) -> None:
    for number, line in enumerate(raw, start=1):
        if not line.strip():
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _Fault(number, _NOT_UTF_8) from None
        if text.lstrip().startswith("["):
            raise _Fault(
                number, "begins with an array; write one object per line, with a key for each column"
            )
        _check_object(text, number)


def _check_object(text: str, number: int) -> None:
    def refuse(constant: str) -> NoReturn:
        raise _Fault(number, f"holds {constant}, which is not valid JSON; write null for a missing cell")

    try:
        found = json.loads(text, parse_constant=refuse)
        json.dumps(found, ensure_ascii=False).encode()
        msgspec.json.decode(text)
    except UnicodeEncodeError:
        raise _Fault(
            number, "holds half of a surrogate pair, which is not a character; correct the text"
        ) from None
    except RecursionError:
        raise _Fault(number, "is nested too deep; write one object of plain values per line") from None
    except msgspec.DecodeError:
        raise _Fault(
            number, "holds a number that is too large for a float; write it as text, or null"
        ) from None
    except ValueError:
        raise _Fault(number, "is not valid JSON; write one object per line") from None
    if not isinstance(found, dict):
        raise _Fault(number, "is not a JSON object; write one object per line, with a key for each column")
