"""The kinds of single text cells, and the type and format of a column by the kinds of its cells.

The kind of a cell depends only on that cell, so one record changes one count by one, however many kinds there are. A
form is what one type with one format can read. A column has the first form that reads all kinds that stand out; where
these allow two orders of day and month, it stays text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from syntabula.table.database import quoted
from syntabula.table.files import day_kinds, number_kinds, offset_kinds, signed_kinds
from syntabula.table.files.declared_cells import matches, stripped
from syntabula.table.raw import MISSING_TEXTS, PhysicalType
from syntabula.table.schema.columns import SPELLINGS

_FLAGS = {"true or false": "true/false", "True or False": "True/False", "TRUE or FALSE": "TRUE/FALSE"}
_LOCAL = {
    "time": None, "time of minutes": "%Y-%m-%dT%H:%M",
    "spaced time": "%Y-%m-%d %H:%M:%S", "spaced time of minutes": "%Y-%m-%d %H:%M",
}  # fmt: skip
_ZONED = {"zoned time": None, "UTC time": "%Y-%m-%dT%H:%M:%SZ"}
_AT_OFFSETS: dict[str, str | None] = dict.fromkeys(offset_kinds.OFFSETS)
_CLOCK = {
    "clock": "%H:%M", "bare clock": "%-H:%M", "clock of seconds": "%H:%M:%S", "bare clock of seconds": "%-H:%M:%S",
}  # fmt: skip
_HALF_CLOCK = {
    "half clock": "%I:%M %p", "bare half clock": "%-I:%M %p",
    "half clock of seconds": "%I:%M:%S %p", "bare half clock of seconds": "%-I:%M:%S %p",
}  # fmt: skip
_COMPACT = {"whole day": "%Y%m%d", "whole time of minutes": "%Y%m%d%H%M", "whole time": "%Y%m%d%H%M%S"}
_DIGITS = ("padded clock", "whole clock", "late whole clock")
_SHORT = ("whole", *_DIGITS[1:], *_COMPACT)
_WHOLE_KINDS = (*_SHORT, "long whole")
_REAL_KINDS = ("real", "padded real", "whole with point", "point of thousandths", "power")
_COMMA = ("comma", "padded comma", "whole with comma", "comma of thousandths")
_GROUPS = (
    "groups by comma",
    "real groups by comma",
    "padded groups by comma",
    "groups by point",
    "padded groups by point",
    "whole groups by point",
)
_TWOS = ("groups by two", "padded groups by two", "real groups by two")

# Words in the names of kinds of days and clocks without zeros before a number of one digit.
_BARE = ("bare clock", "bare half clock", *day_kinds.BARE)

_MISSING = {f"missing as {text}": text for text in MISSING_TEXTS}
_PERIODS = {"month": "%Y-%m", "dashed quarter": "%Y-Q%q", "quarter": "%YQ%q", "week": "%G-W%V"}

CELL_KINDS = (
    *_FLAGS, *_WHOLE_KINDS, *_REAL_KINDS, *_COMMA, *_GROUPS, *_TWOS, "day", *_LOCAL, *_ZONED, *_CLOCK, *_HALF_CLOCK,
    _DIGITS[0], *day_kinds.KINDS, *day_kinds.NAMED, *_PERIODS, "month or season", *_MISSING, *_AT_OFFSETS,
    *signed_kinds.SIGNED_KINDS, "text",
)  # fmt: skip
"""The kinds of cells; a cell has the first that fits. Long whole numbers have 16 digits or more, within 64 bits.

Nobody can tell whether 1,234 means thousands or thousandths; 1.234 means thousandths unless other cells of its column
have a decimal comma or more groups, or its file has decimal commas (`has_decimal_comma`) and other cells are whole, if
there are any. Padded numbers have two decimals or more, the last of which is zero. Powers such as 1e-05 have no mark.
Days with other separators show by a number above 12 which part is the month; if neither does, either may come first.
Whole days and times, such as 20240131, are whole numbers too. Padded clocks are digits such as 0905; whole numbers such
as 1145 may be clock times too, late ones such as 1435 with hours after noon and minutes beyond 31. 2009-10 may be a
month, or the season that began in 2009. NA and the like are missing cells, except in columns of texts.
"""

_AT = {kind: place for place, kind in enumerate(CELL_KINDS)}

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MINUTES, _SECONDS = r"[0-9]{2}:[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
_OFFSET = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_WHOLE = r"-?(0|[1-9][0-9]{0,19})"
_YEAR = "(1[5-9]|2[01])[0-9]{2}"
_MONTH = f"{_YEAR}-(0[1-9]|1[0-2])"
_IS_SEASON = "(substr({0}, 3, 2)::INT + 1) % 100 = substr({0}, 6, 2)::INT"
_IS_WEEK = "strftime(try_strptime({0}, '%G-W%V'), '%G-W%V') = {0}"
_OF_DAY = "(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])"
_OF_MINUTES = "([01][0-9]|2[0-3])[0-5][0-9]"
_OF_HALF = "[0-5][0-9] [AaPp][Mm]"


def kinds_by_column(database: Any, source: str) -> list[tuple[int, int, int]]:
    """Return positions of columns and kinds, with the number of cells of each, by one query for all columns.

    Args:
        database: Connection with the table.
        source: SQL of a table of distinct texts c, their numbers of cells n and the positions of their columns i.
    """
    texts = f"SELECT i, {stripped('c')} AS c, n FROM {source} WHERE {stripped('c')} IS NOT NULL"
    query = f"SELECT i, {kind_of('c')} AS kind, sum(n)::BIGINT FROM ({texts}) GROUP BY i, kind"
    found: list[tuple[int, int, int]] = database.execute(query).fetchall()
    return found


def kind_of(cell: str) -> str:
    """Return the SQL of the position of a text in `CELL_KINDS`."""

    def typed(pattern: str, kind: str) -> str:
        return f"({matches(cell, pattern)} AND TRY_CAST({cell} AS {kind}) IS NOT NULL)"

    def written(pattern: str, format: str) -> str:
        return f"({matches(cell, pattern)} AND try_strptime({cell}, {quoted(format)}) IS NOT NULL)"

    tests = {
        "true or false": f"{cell} IN ('true', 'false')",
        "True or False": f"{cell} IN ('True', 'False')",
        "TRUE or FALSE": f"{cell} IN ('TRUE', 'FALSE')",
        "late whole clock": matches(cell, "(1[3-9]|2[0-3])(3[2-9]|[45][0-9])"),
        "whole clock": matches(cell, "(1[0-9]|2[0-3])[0-5][0-9]|2400"),
        "whole day": written(_OF_DAY, _COMPACT["whole day"]),
        "whole time of minutes": written(_OF_DAY + _OF_MINUTES, _COMPACT["whole time of minutes"]),
        "whole time": written(f"{_OF_DAY}{_OF_MINUTES}[0-5][0-9]", _COMPACT["whole time"]),
        **number_kinds.tests(cell),
        "long whole": typed(_WHOLE, "BIGINT"),
        "day": typed(_DAY, "DATE"),
        "time": typed(f"{_DAY}T{_SECONDS}", "TIMESTAMP"),
        "time of minutes": typed(f"{_DAY}T{_MINUTES}", "TIMESTAMP"),
        "spaced time": typed(f"{_DAY} {_SECONDS}", "TIMESTAMP"),
        "spaced time of minutes": typed(f"{_DAY} {_MINUTES}", "TIMESTAMP"),
        "UTC time": typed(f"{_DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}Z", "TIMESTAMPTZ"),
        "clock": matches(cell, "([01][0-9]|2[0-3]):[0-5][0-9]|24:00"),
        "bare clock": matches(cell, "[0-9]:[0-5][0-9]"),
        "clock of seconds": matches(
            cell, r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?|24:00:00(\.0{1,6})?"
        ),
        "bare clock of seconds": matches(cell, r"[0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"),
        "padded clock": matches(cell, "0[0-9][0-5][0-9]"),
        "half clock": matches(cell, f"(0[1-9]|1[0-2]):{_OF_HALF}"),
        "bare half clock": matches(cell, f"[1-9]:{_OF_HALF}"),
        "half clock of seconds": matches(cell, f"(0[1-9]|1[0-2]):[0-5][0-9]:{_OF_HALF}"),
        "bare half clock of seconds": matches(cell, f"[1-9]:[0-5][0-9]:{_OF_HALF}"),
        "month or season": f"({matches(cell, _MONTH)} AND {_IS_SEASON.format(cell)})",
        "month": matches(cell, _MONTH),
        "dashed quarter": matches(cell, rf"{_YEAR}-Q[1-4]"),
        "quarter": matches(cell, rf"{_YEAR}Q[1-4]"),
        "week": f"({matches(cell, rf'{_YEAR}-W(0[1-9]|[1-4][0-9]|5[0-3])')} AND {_IS_WEEK.format(cell)})",
    }
    tests |= {
        kind: written(day_kinds.named_pattern(kind), format) for kind, format in day_kinds.NAMED.items()
    }
    tests |= {kind: f"{cell} = {quoted(text)}" for kind, text in _MISSING.items()}
    cases = " ".join(f"WHEN {test} THEN {_AT[kind]}" for kind, test in tests.items())
    of_bare = number_kinds.tests(signed_kinds.bare(cell))
    zoned = typed(f"{_DAY}[ T]({_MINUTES}|{_SECONDS}){_OFFSET}", "TIMESTAMPTZ")
    cases += f" WHEN {zoned} THEN {offset_kinds.place(cell, _AT, _AT['zoned time'])}"
    cases += f" {day_kinds.cases(cell, _AT)} {signed_kinds.case(cell, of_bare, _AT)}"
    return f"(CASE {cases} ELSE {_AT['text']} END)::USMALLINT"


@dataclass(frozen=True)
class Form:
    """What one type can read.

    Attributes:
        reads: Kinds of cells.
        physical: The type, without a format.
        formats: The format of some kinds; the column has that of the most frequent one.
        needs: Kinds that must stand out.
    """

    reads: frozenset[str]
    physical: PhysicalType
    formats: Mapping[str, str | None]
    needs: frozenset[str] = frozenset()

    def type_of(self, counts: Mapping[str, float], stands_out: Collection[str] = ()) -> PhysicalType:
        """Return the type with its format."""
        if not self.formats:
            return self.physical
        # A day or hour of two digits looks alike with and without padding.
        bare = {word for word in _BARE for kind in self.formats if word in kind and kind in stands_out}
        alike = [kind for kind in self.formats if all(word in kind for word in bare)]
        format = self.formats[max(alike, key=lambda kind: counts[kind])]
        if self.physical.kind == "boolean":
            name = "BOOLEAN" if format in (None, SPELLINGS[0]) else format
            return replace(self.physical, name=name)
        return replace(self.physical, format=format)


_TYPES = {
    "flag": PhysicalType("boolean", "BOOLEAN"),
    "whole": PhysicalType("integer", "BIGINT"),
    "number": PhysicalType("float", "DOUBLE"),
    "day": PhysicalType("date", "DATE"),
    "local": PhysicalType("datetime", "TIMESTAMP"),
    "zoned": PhysicalType("datetime", "TIMESTAMP WITH TIME ZONE", timezone="UTC"),
    "clock": PhysicalType("time", "TIME"),
}
TEXT = PhysicalType("text", "VARCHAR")


_FORMS = (
    Form(frozenset(_FLAGS), _TYPES["flag"], _FLAGS),
    *(
        Form(frozenset({kind}), _TYPES["day" if kind == "whole day" else "local"], {kind: format})
        for kind, format in _COMPACT.items()
    ),
    Form(frozenset(_WHOLE_KINDS), _TYPES["whole"], {}),
    # Floats cannot hold whole numbers of 16 digits.
    Form(frozenset({*_SHORT, *_REAL_KINDS}), _TYPES["number"], {}),
    Form(frozenset({"day"}), _TYPES["day"], {}),
    Form(frozenset({"day", *_LOCAL}), _TYPES["local"], _LOCAL),
    Form(frozenset({*_ZONED, *_AT_OFFSETS}), _TYPES["zoned"], {**_ZONED, **_AT_OFFSETS}),
    Form(frozenset(_CLOCK), _TYPES["clock"], _CLOCK),
    # Late ones show that they are neither month and day nor year and month.
    Form(
        frozenset(_DIGITS),
        _TYPES["clock"],
        dict.fromkeys(_DIGITS, "%H%M"),
        frozenset({"padded clock", "late whole clock"}),
    ),
    Form(frozenset(_HALF_CLOCK), _TYPES["clock"], _HALF_CLOCK),
    Form(
        frozenset({"month", "month or season"}),
        _TYPES["day"],
        dict.fromkeys(("month", "month or season"), "%Y-%m"),
        frozenset({"month"}),
    ),
    *(Form(frozenset({kind}), _TYPES["day"], {kind: format}) for kind, format in [*_PERIODS.items()][1:]),
)
_OF_COMMA = Form(frozenset({*_SHORT, *_COMMA, "power"}), replace(_TYPES["number"], format="1234,5"), {})
_BY_COMMA = Form(
    frozenset({*_SHORT, *_REAL_KINDS, "comma of thousandths", *_GROUPS[:3]}),
    replace(_TYPES["number"], format="1,234.5"),
    {},
)
_BY_POINT = Form(
    frozenset({*_SHORT, *_COMMA, "power", "point of thousandths", *_GROUPS[3:]}),
    replace(_TYPES["number"], format="1.234,5"),
    {},
)
_BY_TWO = Form(
    frozenset({*_BY_COMMA.reads, *_TWOS}),
    replace(_TYPES["number"], format="12,34,567.5"),
    {},
)
"""It is tried last: without groups of two digits, numbers are in groups of three."""
_IN_GROUPS = frozenset({"whole", "point of thousandths", "whole groups by point"})
"""Kinds of whole numbers with points between groups of digits."""
_WHOLE_BY_COMMA = frozenset({*_SHORT, "comma of thousandths", "groups by comma"})
_WHOLE_BY_TWO = frozenset({*_WHOLE_BY_COMMA, "groups by two"})
OPEN_KIND = "point of thousandths"
"""Kind of numbers of which nobody can tell whether they are thousands or have decimals, if a column has no others."""
_OF_THREE: dict[str | None, set[str]] = {None: {OPEN_KIND}, "1234,5": {"comma of thousandths"}}
"""Kinds of numbers of three decimals each, by the format of numbers of any."""
OF_THREE = tuple(_OF_THREE.values())
_WITH_POINT = frozenset({*_REAL_KINDS, *_GROUPS[:3], *_TWOS}) - {OPEN_KIND, "power"}
_WITH_COMMA = frozenset({*_COMMA, *_GROUPS[3:]}) - {"comma of thousandths"}
"""Kinds that show which is the decimal mark."""
_DAYS = tuple(
    Form(frozenset(alike), _TYPES["local" if has_clock else "day"], alike)
    for has_clock, alike in day_kinds.formats()
)
_FAMILIES = tuple(
    tuple(kinds)
    for kinds in (_FLAGS, _WHOLE_KINDS + _REAL_KINDS, ("day", *_LOCAL), {**_ZONED, **_AT_OFFSETS}, _CLOCK)
)

N_FAMILIES = len(_FAMILIES)


def column_type(
    counts: Mapping[str, float], height: float, *, decimal_comma: bool = False, in_style: bool = False
) -> PhysicalType | None:
    """Return the type of a column by the counts of its cells' kinds, exact or noisy.

    Args:
        counts: Number of cells of each kind.
        height: Level above which a count stands out from noise; 0 if the counts are exact.
        decimal_comma: Whether 1,234 means 1.234 if no other kind decides, and 1.234 means 1234.
        in_style: Whether numbers with a sign or with spaces between groups of digits are numbers, and not texts.

    Returns:
        The type; `TEXT` if no form reads all kinds that stand out, or all cells seem to be missing; None if none stands
        out.
    """
    stands_out = {kind for kind in CELL_KINDS if counts[kind] > height}
    missing = [kind for kind in _MISSING if kind in stands_out]
    present = stands_out.difference(missing)
    found = _type_of(present, counts, decimal_comma) if stands_out else None
    if in_style and found == TEXT:
        found = _type_in_style(present, counts, decimal_comma)
    if not stands_out or found is None or found.kind == "text" or not missing:
        return found
    return replace(found, missing_as=_MISSING[max(missing, key=lambda kind: counts[kind])])


def has_decimal_comma(kinds: Iterable[str], *, by_form: bool) -> bool:
    """Return whether a comma is the decimal mark of a file: by the kinds of all its columns if they agree.

    Args:
        kinds: Kinds that stand out in any column.
        by_form: Whether the form of the file, such as semicolons between cells, speaks for it.
    """
    found = signed_kinds.bare_kinds(kinds)
    has_point, has_comma = (not found.isdisjoint(shown) for shown in (_WITH_POINT, _WITH_COMMA))
    return by_form if has_point == has_comma else has_comma


def shows_thousands(kinds: Iterable[str]) -> bool:
    """Return whether commas of a column are between thousands, unless other columns show that they are decimal marks.

    Whole numbers beside those of three digits behind a comma are: of decimals some would have one or two.

    Args:
        kinds: Kinds of its cells.
    """
    found = signed_kinds.bare_kinds(kinds).difference(_MISSING)
    return "comma of thousandths" in found and not found.isdisjoint(_SHORT) and found <= _WHOLE_BY_COMMA


def _type_of(stands_out: set[str], counts: Mapping[str, float], decimal_comma: bool) -> PhysicalType:
    """Return the type of a column by the kinds of its present cells that stand out; `TEXT` if there are none."""
    if not stands_out:
        return TEXT
    if decimal_comma and "point of thousandths" in stands_out and stands_out <= _IN_GROUPS:
        # Of thousandths some would be below one, such as 0.250, or have other numbers of places.
        return replace(_TYPES["whole"], format="1.234")
    commas = (_OF_COMMA, _BY_COMMA) if decimal_comma else (_BY_COMMA, _OF_COMMA)
    for form in (*_FORMS, *commas, _BY_POINT, _BY_TWO):
        if form.needs <= stands_out <= form.reads:
            if form.physical.timezone is not None and (offset := offset_kinds.only_offset(stands_out)):
                return replace(form.physical, timezone=offset)
            numbers = form.physical.kind == "float"
            return (_number_type if numbers else Form.type_of)(form, counts, stands_out)
    fitting = [form for form in _DAYS if stands_out <= form.reads]
    # If either part may be the day in all cells, two forms fit.
    return fitting[0].type_of(counts, stands_out) if len(fitting) == 1 else TEXT


def _type_in_style(stands_out: set[str], counts: Mapping[str, float], decimal_comma: bool) -> PhysicalType:
    """Return the type of a column of numbers in one style; `TEXT` if it is none."""
    styled = signed_kinds.shared_style(stands_out, {*_SHORT, *_REAL_KINDS, *_COMMA, *_GROUPS, *_TWOS})
    if styled is None:
        return TEXT
    style, kinds = styled
    of_bare = dict.fromkeys(CELL_KINDS, 0.0) | {b: sum(counts[k] for k in of) for b, of in kinds.items()}
    bare = _type_of({*kinds}, of_bare, decimal_comma)
    if bare.kind not in ("integer", "float") or (
        style.group and bare.format and not bare.format[1].isdigit()
    ):
        return TEXT
    return replace(bare, format=style.format(bare))


def _number_type(form: Form, counts: Mapping[str, float], stands_out: set[str]) -> PhysicalType:
    """Return the type of numbers, and the format that writes as many decimals as the cells have."""
    physical, format = form.physical, form.physical.format
    # If zeros at the end were left out, some numbers had fewer than three decimals.
    if any(kind.startswith("padded") for kind in stands_out) or stands_out == _OF_THREE.get(format):
        return replace(physical, format=f"{format or '1234.5'}0")
    is_short = not stands_out.isdisjoint(_SHORT)
    if format == "1,234.5" and stands_out <= _WHOLE_BY_COMMA:
        return replace(_TYPES["whole"], format="1,234")
    if format == "12,34,567.5" and stands_out <= _WHOLE_BY_TWO:
        return replace(_TYPES["whole"], format="12,34,567")
    if format == "1.234,5" and stands_out <= {*_SHORT, "point of thousandths", "whole groups by point"}:
        return replace(_TYPES["whole"], format="1.234")
    with_zero = stands_out & {"whole with point", "whole with comma"}
    if with_zero and sum(counts[kind] for kind in with_zero) > sum(counts[kind] for kind in _SHORT):
        return replace(physical, format=f"{(format or '1234.5')[:-1]}0")
    if format is None and is_short:
        return replace(physical, format="1234.5")
    return physical


def likely_type(counts: Mapping[str, float], level: float) -> PhysicalType | None:
    """Return the type of a column in which no kind stands out; None if no family of kinds exceeds noise together.

    Args:
        counts: Noisy number of cells of each kind.
        level: Level that the noise of one count rarely exceeds, in any of the families.
    """
    # Of a family of many kinds the sum has more noise.
    family = max(_FAMILIES, key=lambda kinds: sum(counts[kind] for kind in kinds) / math.sqrt(len(kinds)))
    if sum(counts[kind] for kind in family) <= level * math.sqrt(len(family)):
        return None
    if family[0] in _WHOLE_KINDS:
        whole = sum(counts[k] for k in _WHOLE_KINDS) >= sum(counts[k] for k in _REAL_KINDS)
        return _TYPES["whole" if whole else "number"]
    if family[0] == "day":
        return _TYPES["day" if counts["day"] >= max(counts[k] for k in _LOCAL) else "local"]
    return next(form for form in _FORMS if family[0] in form.reads).type_of(counts)
