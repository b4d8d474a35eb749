"""Pairs of columns of days or times whose names are those of a start and an end; nothing but names and kinds decides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from syntabula.table.raw import PhysicalType
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import Column, Date, Datetime
from syntabula.table.schema.plain_yaml import write_line

_PAIRS = (
    "start end",
    "started ended",
    "start stop",
    "started stopped",
    "start finish",
    "started finished",
    "begin end",
    "beginning end",
    "begin finish",
    "began ended",
    "from to",
    "from until",
    "since until",
    "open close",
    "opened closed",
    "opening closing",
    "created closed",
    "created updated",
    "created modified",
    "created deleted",
    "created resolved",
    "opened resolved",
    "admission discharge",
    "admitted discharged",
    "birth death",
    "born died",
    "checkin checkout",
    "pickup dropoff",
    "picked dropped",
    "hire termination",
    "hired terminated",
    "joined left",
    "issue expiry",
    "issued expires",
    "ordered shipped",
    "ordered delivered",
    "shipped delivered",
    "sent received",
    "entry exit",
    "beginn ende",
    "anfang ende",
    "von bis",
    "aufnahme entlassung",
)
_ENDS: dict[str, set[str]] = {}
for _pair in _PAIRS:
    _first, _last = _pair.split()
    _ENDS.setdefault(_first, set()).add(_last)

_JOINED = re.compile(r"(check|drop|pick)[ _-]?(in|out|off|up)(?![a-z])", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_OF_TIMES = {
    "date", "time", "datetime", "timestamp", "day", "at", "on", "dt", "ts", "ymd", "datum", "zeit", "tag", "am", "utc",
    "local",
}  # fmt: skip


def ordered_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ in a word for a start and one for an end, as valid_from and valid_to do."""
    words = {name: _words(name) for name in names}
    return [(a, b) for a in names for b in names if a != b and _is_pair(words[a], words[b])]


def unordered(
    declared: Mapping[str, Column],
    stored: Mapping[str, PhysicalType],
    rules: Rules | None,
    named: Sequence[set[str]],
) -> list[tuple[str, str]]:
    """Return pairs of columns of days or times that look like a start and an end, and that no rule joins.

    Args:
        declared: Declared columns.
        stored: Stored types of the others.
        rules: What is declared to hold.
        named: The columns that each of their conditions and derivations uses.
    """
    families: dict[str, object] = {}
    for name, column in declared.items():
        if isinstance(column, Date | Datetime):
            families[name] = isinstance(column, Datetime) and column.timezone is not None
    for name, physical in stored.items():
        if physical.kind in ("date", "datetime"):
            families[name] = physical.timezone is not None
    joined = [*named] if rules is None else [*named, *map(set, rules.order)]
    return [
        (a, b)
        for a, b in ordered_pairs([*families])
        if families[a] == families[b] and not any({a, b} <= one for one in joined)
    ]


def told(pairs: Sequence[tuple[str, str]]) -> str:
    """Return a sentence on pairs that no rule joins, with the remedy."""
    listed = "; ".join(f"{a!r} and {b!r}" for a, b in pairs)
    order = write_line([[*pair] for pair in pairs])
    return (
        f"columns {listed}: a start and an end by their names, but no rule says that the first never comes after the "
        "second, so in many synthetic rows it does; if that is known never to happen, state it in a schema that declares "
        f"both (`rules:`, `order: {order}`)"
    )


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", _JOINED.sub(r"\1\2 ", name))
    return [word.lower() for word in _WORDS.findall(spaced)]


def _is_pair(first: list[str], last: list[str]) -> bool:
    """Return whether words differ in one place, beside those that say that the column holds days or times."""
    one = [word for word in first if word not in _OF_TIMES]
    other = [word for word in last if word not in _OF_TIMES]
    if len(one) != len(other):
        return False
    apart = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(apart) == 1 and apart[0][1] in _ENDS.get(apart[0][0], ())
