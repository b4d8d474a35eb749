"""Columns of days and of times."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import one_of, shown
from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType
from syntabula.table.schema.column_base import (
    BIN_COUNT,
    FLAG,
    Ordered,
    checked_atoms,
    clip_integers,
    declare,
    require_order,
    unless,
)
from syntabula.table.schema.text_formats import (
    CLOCK_PARTS,
    DAY_PARTS,
    FINEST_PART,
    PERIOD_PARTS,
    check_time_format,
    day_part,
    read_time,
)

Resolution = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]
Period = Literal["day", "week", "month", "quarter"]

MICROSECONDS: dict[str, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Length of each resolution, in microseconds."""

MOST_DAYS = 200_000
"""Domains of more days, more than five centuries, would be slow to count by the day."""
MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)
_DAYS_OF_WEEK_0 = 3
_DAY_WRITTEN = len("2020-01-31")
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")


@dataclass(frozen=True)
class Date(Ordered):
    """Calendar days between two days, both included; or weeks, months or quarters, each by its first day.

    Attributes:
        lower: First day.
        upper: Last day.
        resolution: What a value is: a day, an ISO week, a month or a quarter.
        bins: Number of bins, to override the codec's default.
        atoms: Days known to be frequent; each gets a code of its own. See `Numeric`.
        format: How text files write days, by directives of `strptime`, such as "%d/%m/%Y", "%-m/%-d/%Y" without leading
            zeros; "%Y-%m" or "%b-%Y" for months, "%Y-Q%q" for quarters and "%G-W%V" for weeks; ISO 8601 by default, which
            is always read. A year of two digits, %y, is one within the bounds, if possible.
        unique: Whether no two rows have the same value, as in a table with one row a day: days are then drawn without
            repetition, in their order, or for given rows in theirs.

    Raises:
        SchemaError: If bounds are reversed or not dates, an atom is not a day within them, or the format does not write
            the resolution.
    """

    kind: ClassVar[str] = "date"
    lower: dt.date
    upper: dt.date
    _: KW_ONLY
    resolution: Period = "day"
    bins: int | None = None
    atoms: tuple[dt.date, ...] | None = None
    format: str | None = None
    unique: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, bins=BIN_COUNT, resolution=one_of("day", "week", "month", "quarter"), unique=FLAG)
        check_unique(self)
        if self.format is not None:
            # Columns of days may write their months alone.
            parts = PERIOD_PARTS.get(self.resolution, DAY_PARTS)
            check_time_format(self.format, needed=parts[:2], allowed=parts)
        for side in ("lower", "upper"):
            object.__setattr__(self, side, _day(side, getattr(self, side)))
        require_order(self.lower <= self.upper)
        if self.atoms is not None:
            object.__setattr__(self, "atoms", checked_atoms(self, self.atoms, partial(_day, "an atom")))
        self._check_missing_text()

    def grid(self) -> tuple[int, int]:
        """First and last day, in days since 1970-01-01; or the weeks, months or quarters in which they lie, since its."""
        ends = np.array([self.lower, self.upper], dtype="datetime64[D]").astype(np.int64)
        first, last = self.periods(ends).tolist()
        return first, last

    def periods(self, days: NDArray[Any]) -> NDArray[np.int64]:
        """Return the points of days [n] since 1970-01-01, on the whole grid."""
        if self.resolution == "day":
            return days
        if self.resolution == "week":
            # 1970 began on a Thursday, in the week 0 that began three days before.
            return (days.astype(np.int64) + _DAYS_OF_WEEK_0) // 7
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        return months // 3 if self.resolution == "quarter" else months

    def first_days(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """Return the first day, since 1970-01-01, of each of some points [n]."""
        if self.resolution == "day":
            return points
        if self.resolution == "week":
            return 7 * points.astype(np.int64) - _DAYS_OF_WEEK_0
        months = points.astype(np.int64) * (3 if self.resolution == "quarter" else 1)
        return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)

    @property
    def has_days(self) -> bool:
        """Whether it has days, from two up to `MOST_DAYS`."""
        return self.resolution == "day" and 2 <= (self.upper - self.lower).days + 1 <= MOST_DAYS

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as days; None if it can."""
        if physical.kind == "datetime" and physical.timezone is not None:
            return "is stored with a time zone but declared date; declare it datetime with a timezone"
        return unless(physical, {"date", "datetime"}, self.kind)

    @property
    def in_words(self) -> str:
        """What its values are."""
        return f"a {self.resolution}"

    @property
    def stored(self) -> PhysicalType:
        """Stored type of days if the source has none."""
        return PhysicalType("date", "DATE", format=self.format, years=_years(self))

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return days or times as days since 1970-01-01, and how many were clipped; see `Ordered.points`."""
        days = values if kind == "date" else values // MICROSECONDS["day"]
        return *clip_integers(self.periods(days), *self.grid()), 0

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return days at points, and their type."""
        return self.first_days(points), PhysicalType("date", "date")

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the point in which a date, a midnight without a zone, or text lies, twice; see `Ordered.written`.

        Text is in the column's format or in ISO 8601.
        """
        if isinstance(value, str):
            value = _in_format(value, self.format, _years(self)) or dt.datetime.fromisoformat(value)
        if isinstance(value, dt.datetime):
            if value.tzinfo is not None or value.time() != dt.time():
                raise ValueError
            value = value.date()
        if not isinstance(value, dt.date):
            raise TypeError
        point = Fraction(int(self.periods(np.array([(value - _EPOCH.date()).days]))[0]))
        return point, point


@dataclass(frozen=True)
class Datetime(Ordered):
    """Points in time between two bounds, both included, on a grid of the given resolution.

    Attributes:
        lower: First point in time. Without a zone of its own it is read in `timezone`.
        upper: Last point in time.
        timezone: Time zone (such as "Europe/Paris" or "+02:00"); None for wall-clock time.
        resolution: Step of the grid, which starts at 1970-01-01 00:00 (in UTC if there is a zone).
        bins: Number of bins, to override the codec's default.
        atoms: Points in time known to be frequent; each gets a code of its own. See `Numeric`.
        format: How text files write times, by directives of `strptime`, such as "%Y-%m-%d %H:%M:%S" or
            "%m/%d/%Y %I:%M %p", in the column's zone; ISO 8601 by default, which is always read.
        unique: Whether no two rows have the same value, as in a table with one row a day: times are then drawn without
            repetition, in their order, or for given rows in theirs.

    Raises:
        SchemaError: If bounds are reversed or do not fit the zone, the zone is unknown, no grid point lies within the
            bounds, an atom is not a grid point within them, or the format does not write times of this resolution.
    """

    kind: ClassVar[str] = "datetime"
    lower: dt.datetime
    upper: dt.datetime
    _: KW_ONLY
    timezone: str | None = None
    resolution: Resolution = "second"
    bins: int | None = None
    atoms: tuple[dt.datetime, ...] | None = None
    format: str | None = None
    unique: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, bins=BIN_COUNT, resolution=one_of(*MICROSECONDS), unique=FLAG)
        check_unique(self)
        if self.format is not None:
            needed = (*DAY_PARTS, FINEST_PART[self.resolution])
            allowed = (*DAY_PARTS, *CLOCK_PARTS)
            check_time_format(self.format, needed=needed, allowed=allowed, zone=self.timezone)
        for side in ("lower", "upper"):
            object.__setattr__(self, side, _moment(side, getattr(self, side)))
        if self.timezone is not None:
            time_zone(self.timezone)
        elif self.lower.tzinfo is not None or self.upper.tzinfo is not None:
            raise SchemaError("the bounds have a time zone but the column has none; state timezone")
        low, high = self.bounds()
        require_order(low <= high)
        first, last = self.grid()
        if first > last:
            raise SchemaError(f"no full {self.resolution} lies within the bounds; choose a finer resolution")
        if self.atoms is not None:
            object.__setattr__(self, "atoms", checked_atoms(self, self.atoms, self._atom))
        self._check_missing_text()

    def _atom(self, value: object) -> dt.datetime:
        moment = _moment("an atom", value)
        if moment.tzinfo is not None and self.timezone is None:
            raise SchemaError("an atom has a time zone but the column has none; state timezone")
        return moment

    def bounds(self) -> tuple[int, int]:
        """Both bounds in microseconds since 1970-01-01, in UTC if there is a zone."""
        return microseconds(self._in_zone(self.lower)), microseconds(self._in_zone(self.upper))

    def grid(self) -> tuple[int, int]:
        """First and last grid point, in units of the resolution since 1970-01-01."""
        low, high = self.bounds()
        unit = MICROSECONDS[self.resolution]
        return -(-low // unit), high // unit

    @property
    def has_days(self) -> bool:
        """Whether its times lie on at least two days, up to `MOST_DAYS`."""
        low, high = (bound // MICROSECONDS["day"] for bound in self.bounds())
        return 2 <= high - low + 1 <= MOST_DAYS

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as times; None if it can."""
        if physical.kind == "datetime" and (physical.timezone is None) != (self.timezone is None):
            stored, remedy = ("without", "drop") if physical.timezone is None else ("with", "state")
            return f"is stored {stored} a time zone, unlike its declaration; {remedy} timezone in the schema"
        return unless(physical, {"datetime"}, self.kind)

    @property
    def stored(self) -> PhysicalType:
        """Stored type of times if the source has none."""
        name = "TIMESTAMP" if self.timezone is None else "TIMESTAMP WITH TIME ZONE"
        places = None if self.format is None else fraction_digits(self.resolution)
        return PhysicalType(
            "datetime", name, timezone=self.timezone, scale=places, format=self.format, years=_years(self)
        )

    @property
    def in_words(self) -> str:
        """What its values are."""
        return f"a time {'without' if self.timezone is None else 'with'} a zone, or a day"

    @property
    def grain(self) -> str:
        """How far points lie apart, in words."""
        return f" by the {self.resolution}"

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return the points of times, and how many were clipped; see `Ordered.points`."""
        inside, clipped = clip_integers(values, *self.bounds())
        return clip_integers(inside // MICROSECONDS[self.resolution], *self.grid())[0], clipped, 0

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return times at points, and their type."""
        name = "datetime64[us]" if self.timezone is None else f"datetime64[us, {self.timezone}]"
        return points * MICROSECONDS[self.resolution], PhysicalType("datetime", name, timezone=self.timezone)

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the first and the last point of a datetime (a single point), of a date (the whole day), or of text.

        Text must be in the column's format, with or without its clock, or in ISO 8601. Times without a zone are read in
        the column's zone. See `Ordered.written`.
        """
        if isinstance(value, str):
            text = value.strip()
            is_day = len(text) == _DAY_WRITTEN
            if (value := _in_format(text, self.format, _years(self))) is None and (
                day := _in_format(text, day_part(self.format), _years(self))
            ):
                value = day.date()
            if value is None:
                value = dt.date.fromisoformat(text) if is_day else dt.datetime.fromisoformat(text)
        unit = MICROSECONDS[self.resolution]
        if isinstance(value, dt.datetime):
            if value.tzinfo is not None and self.timezone is None:
                raise ValueError
            moment = Fraction(microseconds(self._in_zone(value)), unit)
            return moment, moment
        if not isinstance(value, dt.date):
            raise TypeError
        days = (value, value + dt.timedelta(days=1))
        first, after = (microseconds(self._in_zone(dt.datetime.combine(d, dt.time()))) for d in days)
        return Fraction(first, unit), Fraction(after - 1, unit)

    def _in_zone(self, moment: dt.datetime) -> dt.datetime:
        if moment.tzinfo is not None or self.timezone is None:
            return moment
        return moment.replace(tzinfo=time_zone(self.timezone))


def microseconds(moment: dt.datetime) -> int:
    """Return microseconds since 1970-01-01, in wall-clock time, or in UTC if the moment has a zone."""
    return (moment - (_EPOCH if moment.tzinfo is None else _EPOCH_UTC)) // MICROSECOND


def fraction_digits(resolution: str) -> int:
    """Return how many decimals of a second text needs for a resolution."""
    return {"millisecond": 3, "microsecond": 6}.get(resolution, 0)


def _years(column: Date | Datetime) -> tuple[int, int]:
    return column.lower.year, column.upper.year


def _in_format(text: str, format: str | None, years: tuple[int, int]) -> dt.datetime | None:
    """Return the time that a text writes in a format; None if there is no format, or it is written differently."""
    if format is None:
        return None
    try:
        return read_time(text.strip(), format, years)
    except ValueError:
        return None


def check_unique(column: Date | Datetime) -> None:
    """Refuse that no two rows have the same value where cells may be missing."""
    if column.unique and column.nullable:
        raise SchemaError("unique needs a value in every row; leave out `nullable`, or `unique`")


def _day(name: str, value: object) -> dt.date:
    day = _plain(value)
    if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
        raise SchemaError(f"{name} must be a day without a time of day, such as a datetime.date")
    return day


def _moment(name: str, value: object) -> dt.datetime:
    moment = _plain(value)
    if not isinstance(moment, dt.datetime):
        raise SchemaError(f"{name} must be a day with a time of day, such as a datetime.datetime")
    return moment


def _plain(bound: object) -> object:
    """Return a numpy or pandas day or time as Python's own; None for a missing one."""
    if isinstance(bound, np.datetime64):
        day = bound.dtype == np.dtype("datetime64[D]")
        return None if np.isnat(bound) else bound.astype("datetime64[D]" if day else "datetime64[us]").item()
    if isinstance(bound, dt.date) and bound != bound:
        return None  # pandas.NaT
    return bound.to_pydatetime(warn=False) if hasattr(bound, "to_pydatetime") else bound


def time_zone(name: str) -> dt.tzinfo:
    """Return a time zone by its name or offset; raises SchemaError if it is unknown on this machine."""
    if isinstance(name, str) and (match := _OFFSET.fullmatch(name)):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes < 24 * 60:
            return dt.timezone(dt.timedelta(minutes=minutes if match[1] == "+" else -minutes))
    if isinstance(name, str) and name == "UTC":
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise SchemaError(
            f"timezone {shown(name)} is unknown on this machine; give a name such as 'Europe/Paris' or '+02:00'"
        ) from None
