"""Kinds of text cells that hold days as people write them, 31/12/2024 09:05, with the formats that read them.

Bare ones have a day, month or hour of one digit without a zero before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from syntabula.table.files.declared_cells import matches

_SEPARATORS = ("/", ".", "-", "/ short", ". short")
"""What is between the parts; short years have two digits, beside no dashes, where the year may come first too."""
_OF_SHORT = {"/ short": "month first", ". short": "day first"}
"""The order of days with a short year: by slashes, 13/05/21 may be a day in 2013 as well."""
_CENTURY = "CASE WHEN {0}::INT < 40 THEN '20' WHEN {0}::INT >= 70 THEN '19' END || {0}"
"""SQL of a year of two digits in full; null for one in either century, such as births have."""
_CLOCKS = {
    "": "", " minutes": " %H:%M", " seconds": " %H:%M:%S",
    " half minutes": " %I:%M %p", " half seconds": " %I:%M:%S %p",
}  # fmt: skip
_OF_HALF = "[0-5][0-9] [AaPp][Mm]"
_OF_CLOCK = (
    r" ([01]?[0-9]|2[0-3]):[0-5][0-9]",
    r" ([01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]",
    rf" (0?[1-9]|1[0-2]):{_OF_HALF}",
    rf" (0?[1-9]|1[0-2]):[0-5][0-9]:{_OF_HALF}",
)
_ORDERS = {"day first": ("%d", "%m"), "month first": ("%m", "%d"), "either first": None}

BARE = (" bare day", " bare hour")
"""How the names of the kinds end in which a day or month, or an hour, has one digit."""

_DAY_PADDINGS = ("", BARE[0])
_TIME_PADDINGS = ("", *BARE, "".join(BARE))


def _paddings(clock: str) -> tuple[str, ...]:
    return _TIME_PADDINGS if clock else _DAY_PADDINGS


KINDS = (
    *(
        f"{order} {separator}{clock}{padding}"
        for separator, clock, order in product(_SEPARATORS, _CLOCKS, _ORDERS)
        for padding in _paddings(clock)
    ),
    *(f"year first{clock}{padding}" for clock in _CLOCKS for padding in _paddings(clock)),
)
"""Days by the order of their parts, separator, clock and padding; those that begin with the year have slashes."""

_MONTHS = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
NAMED = {
    "day-named month": "%d-%b-%Y", "day-named month bare day": "%-d-%b-%Y",
    "day named month": "%d %b %Y", "day named month bare day": "%-d %b %Y",
    "named month day": "%b %d, %Y", "named month day bare day": "%b %-d, %Y",
}  # fmt: skip
"""Days with the name of their month, and their formats."""


def formats() -> Iterator[tuple[bool, Mapping[str, str]]]:
    """Yield what one format of days may read but for padding: whether it has a clock, and the kinds with their formats.

    Where either part may be the day, two of them hold a kind.
    """
    for separator, (clock, of_clock), (order, parts) in product(
        _SEPARATORS, _CLOCKS.items(), _ORDERS.items()
    ):
        if parts is None:
            continue
        found: dict[str, str] = {}
        is_known = _OF_SHORT.get(separator, order) == order
        mark, year = separator[0], "%y" if separator in _OF_SHORT else "%Y"
        for padding in _paddings(clock):
            format = _padded(f"{parts[0]}{mark}{parts[1]}{mark}{year}{of_clock}", padding)
            orders = (order, "either first") if is_known else ("either first",)
            found |= {f"{o} {separator}{clock}{padding}": format for o in orders}
        yield bool(clock), found
    for clock, of_clock in _CLOCKS.items():
        yield (
            bool(clock),
            {f"year first{clock}{p}": _padded(f"%Y/%m/%d{of_clock}", p) for p in _paddings(clock)},
        )
    for kind, format in NAMED.items():
        if not kind.endswith(BARE[0]):
            yield False, {kind: format, kind + BARE[0]: NAMED[kind + BARE[0]]}


def named_pattern(kind: str) -> str:
    """Return the regular expression of the cells of a kind in `NAMED`, whether or not the day exists."""
    day = "[1-9]" if kind.endswith(BARE[0]) else "[0-9]{2}"
    parts = {"%-": "%", "%d": day, "%b": _MONTHS, "%Y": "(1[5-9]|2[01])[0-9]{2}"}
    pattern = NAMED[kind]
    for directive, part in parts.items():
        pattern = pattern.replace(directive, part)
    return pattern


def cases(cell: str, places: Mapping[str, int]) -> str:
    """Return SQL cases that give the place of the kind of a cell, for all of `KINDS`, whose places are in their order."""
    found = []
    for separator in _SEPARATORS:
        mark, places_of_year = rf"\{separator[0]}", 2 if separator in _OF_SHORT else 4
        shape = rf"([0-9]{{1,2}}){mark}([0-9]{{1,2}}){mark}([0-9]{{{places_of_year}}})"
        first, second, year = _parts(cell, shape)
        if separator in _OF_SHORT:
            year = f"({_CENTURY.format(year)})"
        order = f"(CASE WHEN {first}::INT > 12 THEN 0 WHEN {second}::INT > 12 THEN 1 ELSE 2 END)"
        day, month = (
            f"(CASE WHEN {first}::INT > 12 THEN {a} ELSE {b} END)"
            for a, b in ((first, second), (second, first))
        )
        place = _place(cell, order, len(_ORDERS), (first, second))
        found.append(_dated(cell, shape, (year, month, day), f"{places[f'day first {separator}']} + {place}"))
    shape = "([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})"
    year, month, day = _parts(cell, shape)
    place = _place(cell, "0", 1, (month, day))
    return " ".join([*found, _dated(cell, shape, (year, month, day), f"{places['year first']} + {place}")])


def _parts(cell: str, shape: str) -> list[str]:
    return [f"regexp_extract({cell}, '^{shape}', {i})" for i in (1, 2, 3)]


def _dated(cell: str, shape: str, parts: Iterable[str], place: str) -> str:
    """Return the SQL case of cells of a shape, and perhaps a clock, whose year, month and day exist."""
    clocks = f"(({')|('.join(_OF_CLOCK)}))?"
    day = " || '-' || ".join(parts)
    exists = f"TRY_CAST({day} AS DATE) IS NOT NULL"
    return f"WHEN CASE WHEN {matches(cell, shape + clocks)} THEN {exists} ELSE false END THEN {place}"


def _place(cell: str, order: str, n_orders: int, numbers: Iterable[str]) -> str:
    """Return the SQL of the place of a kind among those of a separator."""
    bare = f"({' OR '.join(f'length({number}) = 1' for number in numbers)})::INT"
    bare_hour = f"(length(regexp_extract({cell}, ' ([0-9]+):', 1)) = 1)::INT"
    found, start = [], n_orders * len(_DAY_PADDINGS)
    for clock in _OF_CLOCK:
        place = f"{start} + {order} * {len(_TIME_PADDINGS)} + {bare} + 2 * {bare_hour}"
        found.append(f"WHEN {matches(cell, '[^ ]*' + clock)} THEN {place}")
        start += n_orders * len(_TIME_PADDINGS)
    return f"(CASE {' '.join(found)} ELSE {order} * {len(_DAY_PADDINGS)} + {bare} END)"


def _padded(format: str, padding: str) -> str:
    """Return a format without zeros before the numbers that a padding names."""
    for bare, parts in zip(BARE, (("%d", "%m"), ("%H", "%I")), strict=True):
        if bare in padding:
            for part in parts:
                format = format.replace(part, part.replace("%", "%-"))
    return format
