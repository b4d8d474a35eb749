"""Columns of days and of points in time."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from syntabula._arguments import one_of, shown
from syntabula.errors import SchemaError
from syntabula.table.schema.column_base import (
    BIN_COUNT,
    ColumnBase,
    declare,
    require_order,
    unless,
)

if TYPE_CHECKING:
    from syntabula.table.raw import PhysicalType

Resolution = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]

MICROSECONDS: dict[str, int] = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Length of each resolution in microseconds."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")


@dataclass(frozen=True)
class Date(ColumnBase):
    """Calendar days between two days, both included.

    Attributes:
        lower: First day.
        upper: Last day.
        bins: Number of bins, where the codec's default does not suit.

    Raises:
        SchemaError: If bounds are reversed or not dates.
    """

    kind: ClassVar[str] = "date"
    lower: dt.date
    upper: dt.date
    _: KW_ONLY
    bins: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, bins=BIN_COUNT)
        for side in ("lower", "upper"):
            day = _plain(getattr(self, side))
            if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
                raise SchemaError(f"{side} must be a day without a time of day, such as a datetime.date")
            object.__setattr__(self, side, day)
        require_order(self.lower <= self.upper)

    def grid(self) -> tuple[int, int]:
        """First and last day, in days since 1970-01-01."""
        epoch = _EPOCH.date()
        return (self.lower - epoch).days, (self.upper - epoch).days

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column stored in this way cannot be read as days; None if it can."""
        if physical.kind == "datetime" and physical.timezone is not None:
            return "is stored with a time zone but declared date; declare it datetime with a timezone"
        return unless(physical, {"date", "datetime"}, self.kind)


@dataclass(frozen=True)
class Datetime(ColumnBase):
    """Points in time between two bounds, both included, on a grid of the given resolution.

    Attributes:
        lower: First point in time. Without a zone of its own it is read in `timezone`.
        upper: Last point in time.
        timezone: Name of the zone (such as "Europe/Paris" or "+02:00"); None for wall-clock time.
        resolution: Step of the grid, which starts at 1970-01-01 00:00 (in UTC where there is a zone).
        bins: Number of bins, where the codec's default does not suit.

    Raises:
        SchemaError: If bounds are reversed or do not fit the zone, the zone is unknown, or no grid point lies
            within the bounds.
    """

    kind: ClassVar[str] = "datetime"
    lower: dt.datetime
    upper: dt.datetime
    _: KW_ONLY
    timezone: str | None = None
    resolution: Resolution = "second"
    bins: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, bins=BIN_COUNT, resolution=one_of(*MICROSECONDS))
        for side in ("lower", "upper"):
            moment = _plain(getattr(self, side))
            if not isinstance(moment, dt.datetime):
                raise SchemaError(f"{side} must be a day with a time of day, such as a datetime.datetime")
            object.__setattr__(self, side, moment)
        low, high = self.bounds()
        require_order(low <= high)
        first, last = self.grid()
        if first > last:
            raise SchemaError(f"no full {self.resolution} lies within the bounds; choose a finer resolution")

    def bounds(self) -> tuple[int, int]:
        """Both bounds in microseconds since 1970-01-01, in UTC where there is a zone."""
        zone = dt.UTC if self.timezone is None else time_zone(self.timezone)
        return self._microseconds(self.lower, zone), self._microseconds(self.upper, zone)

    def _microseconds(self, bound: dt.datetime, zone: dt.tzinfo) -> int:
        if self.timezone is None and bound.tzinfo is not None:
            raise SchemaError("the bounds have a time zone but the column has none; state timezone")
        aware = bound if bound.tzinfo is not None else bound.replace(tzinfo=zone)
        return (aware - _EPOCH) // dt.timedelta(microseconds=1)

    def grid(self) -> tuple[int, int]:
        """First and last grid point, in units of the resolution since 1970-01-01."""
        low, high = self.bounds()
        unit = MICROSECONDS[self.resolution]
        return -(-low // unit), high // unit

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column stored in this way cannot be read as points in time; None if it can."""
        if physical.kind == "datetime" and (physical.timezone is None) != (self.timezone is None):
            stored, remedy = ("without", "drop") if physical.timezone is None else ("with", "state")
            return f"is stored {stored} a time zone, unlike declared; {remedy} timezone in the schema"
        return unless(physical, {"datetime"}, self.kind)


def _plain(bound: object) -> object:
    """Return a day or time of numpy or pandas as Python's own; None for one that is missing."""
    if isinstance(bound, np.datetime64):
        day = bound.dtype == np.dtype("datetime64[D]")
        return None if np.isnat(bound) else bound.astype("datetime64[D]" if day else "datetime64[us]").item()
    if isinstance(bound, dt.date) and bound != bound:
        return None  # pandas.NaT
    return bound.to_pydatetime(warn=False) if hasattr(bound, "to_pydatetime") else bound


def time_zone(name: str) -> dt.tzinfo:
    """Return a time zone by its name or offset; raises SchemaError if it is unknown here."""
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
            f"timezone {shown(name)} is not known here; give a name such as 'Europe/Paris' or '+02:00'"
        ) from None
