"""How text writes days and times: the directives of `strptime` that a schema may declare."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection

from syntabula._arguments import shown
from syntabula.errors import SchemaError

_PART_OF = {
    "%Y": "year", "%y": "year", "%m": "month", "%-m": "month", "%b": "month", "%B": "month",
    "%d": "day", "%-d": "day", "%H": "hour", "%-H": "hour", "%I": "hour", "%-I": "hour", "%p": "half",
    "%M": "minute", "%S": "second", "%f": "fraction",
}  # fmt: skip
_TOKEN = re.compile(r"%-?[A-Za-z]|.")
# Text of these alone is never run as a formula by a spreadsheet, because a format begins with a directive.
_BETWEEN = " /-.:,TZ_"
_COARSE_FIRST = ("hour", "minute", "second", "fraction")
_IN_WORDS = {
    "year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "half": "%p", "minute": "%M", "second": "%S",
    "fraction": "%f",
}  # fmt: skip
DAY_PARTS = ("year", "month", "day")
CLOCK_PARTS = ("hour", "half", "minute", "second", "fraction")
FINEST_PART = {
    "day": "day", "hour": "hour", "minute": "minute", "second": "second",
    "millisecond": "fraction", "microsecond": "fraction",
}  # fmt: skip
"""The part of a format that writes each resolution."""


def check_time_format(
    format: object, *, needed: Collection[str], allowed: Collection[str], zone: str | None = None
) -> None:
    """Refuse a format that is not text of known directives, or does not hold the parts that a kind needs.

    Args:
        format: What a user gave.
        needed: Parts that it must hold.
        allowed: Parts that it may hold.
        zone: Time zone of the column, or None.

    Raises:
        SchemaError: If it is wrong; the message says which directive is.
    """
    if not isinstance(format, str) or not format.startswith("%"):
        raise SchemaError(
            f"format must be text that begins with a directive, such as '%d/%m/%Y'; got {shown(format)}"
        )
    tokens = _TOKEN.findall(format)
    parts = [_PART_OF.get(token, "") for token in tokens if token.startswith("%")]
    for token in tokens:
        if token.startswith("%") and _PART_OF.get(token) not in allowed:
            known = ", ".join(d for d, part in _PART_OF.items() if part in allowed)
            raise SchemaError(f"format has the directive {shown(token)}; this kind of column allows {known}")
        if not token.startswith("%") and token not in _BETWEEN:
            raise SchemaError(
                f"format may have spaces and the characters {' '.join(_BETWEEN.strip())} between its directives; got "
                f"{shown(token)}"
            )
    if twice := next((part for part in parts if parts.count(part) > 1), None):
        raise SchemaError(f"format has two directives for the {twice}; keep one of them")
    wanted = {*needed, *_coarser(parts)}
    if {"%I", "%-I"} & {*tokens}:
        wanted.add("half")
    elif "half" in parts:
        raise SchemaError("format has %p, the half of the day, with %H; write %I for hours from 1 to 12")
    if lacking := next((part for part in _IN_WORDS if part in wanted and part not in parts), None):
        raise SchemaError(f"format does not write the {lacking}; add {_IN_WORDS[lacking]}{_or(lacking)}")
    if "Z" in format and zone != "UTC":
        raise SchemaError("format ends in Z, which means UTC; declare `timezone: UTC`, or drop the Z")


def _coarser(parts: Collection[str]) -> set[str]:
    finest = max((_COARSE_FIRST.index(part) for part in parts if part in _COARSE_FIRST), default=-1)
    return {*_COARSE_FIRST[: finest + 1]}


def _or(part: str) -> str:
    return f", or declare a coarser resolution than the {part}" if part in ("minute", "second") else ""


def fitted_format(format: str, resolution: str) -> str:
    """Return a format with seconds and their fraction added, as far as a resolution needs them and they are absent."""
    if resolution in ("second", "millisecond", "microsecond") and "%S" not in format:
        format = format.replace("%M", "%M:%S")
    if resolution in ("millisecond", "microsecond") and "%f" not in format:
        format = format.replace("%S", "%S.%f")
    return format


def read_time(text: str, format: str) -> dt.datetime:
    """Return the time that a text writes in a format, 1900-01-01 where it has no day; raises ValueError."""
    return dt.datetime.strptime(text, format.replace("%-", "%"))
