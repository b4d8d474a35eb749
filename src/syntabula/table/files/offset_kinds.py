"""Kinds of text cells that hold a time with an offset from UTC: one for each offset that clocks of a place have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_QUARTERS = (
    *range(-48, 57, 4),
    # Islands and countries whose clocks differ from UTC by parts of hours.
    -38, -14, -10, 14, 18, 22, 23, 26, 35, 38, 42, 51, 55,
)  # fmt: skip
"""The offsets in quarters of an hour."""
_PREFIX = "time at "


def _written(quarters: int) -> str:
    hours, rest = divmod(abs(quarters), 4)
    return f"{'-' if quarters < 0 else '+'}{hours:02}:{rest * 15:02}"


OFFSETS = {f"{_PREFIX}{_written(quarters)}": _written(quarters) for quarters in sorted(_QUARTERS) if quarters}
"""The offset of each kind, as a time zone is named; UTC itself is none of them."""


def place(cell: str, places: Mapping[str, int], other: int) -> str:
    """Return the SQL of the place of the kind of a zoned time.

    Args:
        cell: SQL of the cell.
        places: Place of each kind.
        other: Place of those in UTC or with an offset that no clocks have.
    """
    end = f"replace(regexp_extract({cell}, '[+-][0-9]{{2}}(:?[0-9]{{2}})?$'), ':', '')"
    cases = " ".join(
        f"WHEN '{text}' THEN {places[kind]}"
        for kind, offset in OFFSETS.items()
        for text in _texts(offset.replace(":", ""))
    )
    return f"(CASE {end} {cases} ELSE {other} END)"


def _texts(offset: str) -> tuple[str, ...]:
    """Return how an offset may be written without a colon."""
    return (offset, offset[:3]) if offset.endswith("00") else (offset,)


def only_offset(kinds: Iterable[str]) -> str | None:
    """Return the offset that all cells of some kinds have; None if there is none, or several."""
    found = {OFFSETS.get(kind) for kind in kinds}
    return found.pop() if len(found) == 1 else None


def of_summer_and_winter(kinds: Iterable[str]) -> tuple[str, str] | None:
    """Return the two offsets of some kinds if they are those of one place's winter and summer time, else None."""
    found = {OFFSETS.get(kind, "+00:00") for kind in kinds}
    if len(found) != 2:
        return None
    winter, summer = sorted(found, key=_minutes)
    return (winter, summer) if _minutes(summer) - _minutes(winter) == 60 else None


def _minutes(offset: str) -> int:
    minutes = 60 * int(offset[1:3]) + int(offset[4:])
    return -minutes if offset[0] == "-" else minutes
