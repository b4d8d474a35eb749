"""How text writes numbers, days and times, in the formats that a schema may declare."""

from __future__ import annotations

import datetime as dt
import re
from calendar import isleap
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from syntabula._arguments import shown
from syntabula.errors import SchemaError

SIGN = "[$€£¥₹%]"
"""Regular expression of a sign of a currency or percent."""
CODES = ("CHF", "EUR", "GBP", "USD")
"""Codes of currencies that are looked for before numbers; a declared format may have others."""
SIGN_OR_CODE = rf"({SIGN} ?|({'|'.join(CODES)})[ \u00a0])"
"""Regular expression of what may be before a number."""
GROUPS = ("'", " ", "\u00a0", "\u202f")
"""Characters between groups of digits other than points and commas; French programs write spaces that break no line."""
SPACES = ("", " ", "\u00a0", "\u202f")
"""What may be between a number and a sign behind it."""
UNITS = (
    "kg", "g", "mg", "t", "lb", "lbs", "oz", "km", "m", "cm", "mm", "mi", "ft", "in", "l", "ml", "h", "min", "s", "ms",
    "d", "°C", "°F", "kW", "kWh", "MWh", "km/h", "mph", "m²", "bpm", "kcal", "GB", "MB", *CODES, "kr", "zł", "Kč",
)  # fmt: skip
"""Units that are looked for behind numbers; a declared format may have others."""
SIGN_OR_UNIT = f"({SIGN}|{'|'.join(sorted(UNITS, reverse=True))})"
_UNIT = r"(?:[^\W\d_]|[°/]){1,9}"
_PICTURE = re.compile(
    rf"(?P<prefix>({SIGN} ?|[A-Z]{{3}}[ \u00a0])?)(1(?P<group>[,.{''.join(GROUPS)}]?)234|(?P<by_two>12,34,567))"
    rf"((?P<mark>[.,])(?P<places>50*|0))?(?P<suffix>([{''.join(SPACES)}]?({SIGN}|{_UNIT}))?)"
)
SHORTEST = "1234.5"
"""The format that writes as many decimals as a number needs, and none if it is whole."""
WITH_POINT = "1234.0"
"""The format that writes as many decimals as a number needs, and at least one, as files write floats."""
EXAMPLES = "'1234,5', '1,234.50', '1.234,50 €', '$1,234', '12,34,567' or '1234.5 kg'"


@dataclass(frozen=True)
class NumberFormat:
    """The form of a number in text.

    Attributes:
        prefix: Sign or code of a currency before the number, or nothing.
        group: Character between groups of three digits, or nothing.
        mark: Decimal mark; nothing if whole numbers alone are written.
        places: Which decimals are written: "5" as many as needed, "50" always two, "500" three, "0" at least one.
        suffix: Sign of a currency or percent, or a unit such as kg, after the number, or nothing.
        by_two: Whether groups before the thousands are of two digits, as in 12,34,567; their character is then a comma.
    """

    prefix: str
    group: str
    mark: str
    places: str
    suffix: str
    by_two: bool = False

    @classmethod
    def of(cls, format: object) -> NumberFormat:
        """Read a format; raises SchemaError if it is not the number 1234.5, or 12,34,567.5, in a known form."""
        found = _PICTURE.fullmatch(format) if isinstance(format, str) else None
        group = "" if found is None else found["group"] or ("," if found["by_two"] else "")
        if found is None or (group and group == found["mark"]):
            raise SchemaError(
                f"format must be the number 1234.5 as text writes it, in quotes, such as {EXAMPLES}; got "
                f"{shown(format)}"
            )
        parts = {name: found[name] or "" for name in ("prefix", "mark", "places", "suffix")}
        return cls(**parts, group=group, by_two=found["by_two"] is not None)

    @property
    def is_usual(self) -> bool:
        """Whether numbers are read as without a format, so that it matters only for writing."""
        return self.mark in ("", ".") and not (self.prefix or self.group or self.suffix)

    @property
    def fixed_places(self) -> int | None:
        """How many decimals are always written; None if as many as a number needs."""
        return len(self.places) if self.places.startswith("50") else None

    def written(self, value: Decimal | int | float) -> str:
        """Return a finite number in this form."""
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        whole, _, places = f"{abs(number):f}".partition(".")
        places = places.rstrip("0")
        if self.fixed_places is not None:
            places = places.ljust(self.fixed_places, "0")
        elif self.places == "0":
            places = places or "0"
        sign = "-" if number < 0 else ""
        grouped = _by_two(int(whole)) if self.by_two else f"{int(whole):,}".replace(",", self.group)
        # A column of whole numbers may be declared without a mark, and then be given others.
        rest = f"{self.mark or '.'}{places}" if places else ""
        return f"{sign}{self.prefix}{grouped}{rest}{self.suffix}"

    def for_decimals(self, format: str, decimals: int | None) -> str:
        """Return the format with as many places as a column of so many decimals needs; None for any precision."""
        if self.fixed_places is None or (decimals is not None and decimals <= self.fixed_places):
            return format
        places = "5" if decimals is None else "5".ljust(decimals, "0")
        return format.replace(f"{self.mark}{self.places}", f"{self.mark}{places}")

    @property
    def pattern(self) -> str:
        """Regular expression of the cells that are read: signs of currency, groups and decimals may be left out."""
        # Numbers in groups of three are read among others too, as small ones look alike.
        twos = "(,[0-9]{2})*" if self.by_two else ""
        group = rf"[0-9]{{1,3}}{twos}({re.escape(self.group)}[0-9]{{3}})+|" if self.group else ""
        decimals = rf"({re.escape(self.mark)}[0-9]*)?" if self.mark else ""
        space = f"[{''.join(SPACES)}]?"
        before = f"({re.escape(self.prefix.strip())}{space})?" if self.prefix else ""
        after = f"({space}({re.escape(self.suffix.strip())} ?)?)?" if self.suffix else ""
        power = "([eE][+-]?[0-9]{1,3})?" if self.has_powers else ""
        return rf"[+-]?{before}[+-]?({group}[0-9]+){decimals}{power}{after}"

    @property
    def has_powers(self) -> bool:
        """Whether cells such as 9,8e-05 are read, as programs write small and large numbers; not beside a sign with e."""
        return self.mark != "" and "e" not in (self.prefix + self.suffix).lower()

    @property
    def unread(self) -> str:
        """Regular expression of the characters of a cell that are no part of its number."""
        return f"[^0-9{re.escape(self.mark)}{'eE' if self.has_powers else ''}+-]"


def _by_two(number: int) -> str:
    """Return a whole number with commas before its thousands, hundreds of thousands and so on, as 12,34,567."""
    digits = str(number)
    large, small = digits[:-3], digits[-3:]
    pairs = [large[max(end - 2, 0) : end] for end in range(len(large), 0, -2)]
    return ",".join([*reversed(pairs), small])


def read_number(text: str, format: str | None = None) -> int | float | None:
    """Return the number that a user writes, in a column's format or else with a point; None if it is none.

    Where the format groups digits by points, 1.234 is 1234, as in the column's file.
    """
    form = None if format is None else NumberFormat.of(format)
    if form is not None and not form.is_usual and re.fullmatch(form.pattern, text):
        text = re.sub(form.unread, "", text).replace(form.mark or ".", ".")
    try:
        # Decimal would read 1_0 as ten.
        number = Decimal(text if "_" not in text else "none")
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    return int(number) if number == number.to_integral_value() else float(number)


_PART_OF = {
    "%Y": "year", "%y": "year", "%m": "month", "%-m": "month", "%b": "month", "%B": "month",
    "%d": "day", "%-d": "day", "%H": "hour", "%-H": "hour", "%I": "hour", "%-I": "hour", "%p": "half",
    "%M": "minute", "%S": "second", "%f": "fraction", "%q": "quarter", "%G": "year of the week", "%V": "week",
}  # fmt: skip
_TOKEN = re.compile(r"%-?[A-Za-z]|.")
# Text of these alone is never run as a formula by a spreadsheet, because a format begins with a directive.
_BETWEEN = " /-.:,TZ_QW"
_COARSE_FIRST = ("hour", "minute", "second", "fraction")
_IN_WORDS = {
    "year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "half": "%p", "minute": "%M", "second": "%S",
    "fraction": "%f", "quarter": "%q", "year of the week": "%G", "week": "%V",
}  # fmt: skip
DAY_PARTS = ("year", "month", "day")
PERIOD_PARTS = {
    "month": ("year", "month"),
    "quarter": ("year", "quarter"),
    "week": ("year of the week", "week"),
}
"""The parts of a format that write periods longer than a day."""
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
        of_clock = "hour" in allowed and "year" not in allowed
        such_as = "'%H:%M', or '1435', in quotes, for whole numbers" if of_clock else "'%d/%m/%Y'"
        raise SchemaError(
            f"format must be text that begins with a directive, such as {such_as}; got {shown(format)}"
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
    if "%q" in tokens and "%y" in tokens:
        raise SchemaError("format has %q with %y, a year of two digits; %q needs %Y")
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


def day_part(format: str | None) -> str | None:
    """Return the beginning of a format that writes days; None if it does not begin with them, or there is no format."""
    day = "" if format is None else re.split("[ T]?%-?[HI]", format)[0]
    return day if re.search("%-?d", day) else None


def resolution_of(format: str | None) -> str:
    """Return the period whose first day a format of days writes: day, or month, quarter or ISO week."""
    if format is None or "%d" in format or "%-d" in format:
        return "day"
    return "quarter" if "%q" in format else "week" if "%V" in format else "month"


def read_time(text: str, format: str, years: tuple[int, int] | None = None) -> dt.datetime:
    """Return the time that a text writes in a format, 1900-01-01 where it has no day; raises ValueError.

    Of a month, a quarter or an ISO week it is the first day. A year of two digits is one of `years`, the first and the
    last, if possible, and else from 1969 to 2068.
    """
    plain = format.replace("%-", "%")
    if "%q" in plain:
        # Python writes no quarters; their places hold the first month here.
        first = re.search(quarter_pattern(format), text)
        if first is None or first[0] != text:
            raise ValueError
        return dt.datetime(int(first["year"]), 3 * int(first["quarter"]) - 2, 1)
    if "%V" in plain:
        monday = dt.datetime.strptime(f"{text} 1", f"{plain} %u")
        read = re.fullmatch(week_pattern(format), text)
        if read is None or int(read[1]) != monday.isocalendar().week:
            # Python reads week 53 of a year of 52 weeks as the first of the next year.
            raise ValueError
        return monday
    time = dt.datetime.strptime(text, plain)
    if "%y" not in plain or years is None:
        return time
    least, most = years
    year = next((time.year + more for more in (0, -100, 100) if least <= time.year + more <= most), time.year)
    is_leap_day = (time.month, time.day) == (2, 29)
    return time.replace(year=year, day=28 if is_leap_day and not isleap(year) else time.day)


def in_years(time: str, years: tuple[int, int]) -> str:
    """Return the SQL of a time, in another century if its year is none of `years`, as `read_time` has it."""
    within = f"BETWEEN {years[0]} AND {years[1]}"
    return (
        f"CASE WHEN year({time}) {within} THEN {time} WHEN year({time}) - 100 {within} THEN {time} - to_years(100) "
        f"WHEN year({time}) + 100 {within} THEN {time} + to_years(100) ELSE {time} END"
    )


def quarter_groups(format: str) -> tuple[str, int, int]:
    """Return `quarter_pattern` with groups that have no names, and which of them hold year and quarter, from 1."""
    pattern = quarter_pattern(format)
    year = 1 if pattern.index("?P<year>") < pattern.index("?P<quarter>") else 2
    return re.sub(r"\?P<[a-z]+>", "", pattern), year, 3 - year


def quarter_pattern(format: str) -> str:
    """Return the regular expression of the texts of a format of quarters, with groups for year and quarter."""
    year, quarter = "(?P<year>[0-9]{4})", "(?P<quarter>[1-4])"
    return re.escape(format).replace("%Y", year).replace("%q", quarter)


def week_pattern(format: str) -> str:
    """Return the regular expression of the texts of a format of ISO weeks, with a group for the week."""
    return re.escape(format).replace("%G", "[0-9]{4}").replace("%V", "([0-9]{1,2})")
