"""Columns of clock times."""

from __future__ import annotations

import datetime as dt
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import one_of
from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType
from syntabula.table.schema.column_base import (
    BIN_COUNT,
    Ordered,
    checked_atoms,
    clip_integers,
    declare,
    require_order,
    unless,
)
from syntabula.table.schema.text_formats import CLOCK_PARTS, FINEST_PART, check_time_format, read_time
from syntabula.table.schema.time_columns import MICROSECONDS, fraction_digits

ClockResolution = Literal["hour", "minute", "second", "millisecond", "microsecond"]

AS_NUMBER = "1435"
"""The format of clock times that are whole numbers: hours times 100 plus minutes."""

_RESOLUTIONS = ("hour", "minute", "second", "millisecond", "microsecond")
_USUAL = {"hour": "%H:%M", "minute": "%H:%M", "second": "%H:%M:%S"}
_NUMBERS = {"integer", "float", "decimal"}
_LAST_NUMBER, _END_OF_DAY = 2359, 2400


@dataclass(frozen=True)
class Time(Ordered):
    """Clock times of one day, without a date and a zone, on a grid of the given resolution. 24:00 is the last one.

    Attributes:
        lower: First time; midnight by default.
        upper: Last time; the last of the day by default.
        resolution: Step of the grid: hour, minute, second, millisecond or microsecond.
        bins: Number of bins, to override the codec's default.
        atoms: Times known to be frequent; each gets a code of its own. See `Numeric`.
        format: How text files write times, by directives of `strptime`, such as "%H%M" or "%I:%M %p"; "1435" if they are
            whole numbers, 905 for 09:05, which data frames hold too. 14:35 or 14:35:00 by default, which are always read.

    Raises:
        SchemaError: If bounds are reversed or not times without a zone, no grid point lies within them, an atom is no
            value of the column, or the format does not write times of this resolution.
    """

    kind: ClassVar[str] = "time"
    lower: dt.time = dt.time.min
    upper: dt.time = dt.time.max
    _: KW_ONLY
    resolution: ClockResolution = "minute"
    bins: int | None = None
    atoms: tuple[dt.time, ...] | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, bins=BIN_COUNT, resolution=one_of(*_RESOLUTIONS))
        for side in ("lower", "upper"):
            _clock(side, getattr(self, side))
        require_order(self.lower <= self.upper)
        first, last = self.grid()
        if first > last:
            raise SchemaError(f"no full {self.resolution} lies within the bounds; choose a finer resolution")
        if self.atoms is not None:
            object.__setattr__(self, "atoms", checked_atoms(self, self.atoms, partial(_clock, "an atom")))
        if isinstance(self.format, str) and self.format == AS_NUMBER:
            if self.resolution not in ("hour", "minute"):
                raise SchemaError("format '1435' writes no seconds; declare `resolution: minute`")
        elif self.format is not None:
            needed = ("hour", FINEST_PART[self.resolution])
            check_time_format(self.format, needed=needed, allowed=CLOCK_PARTS)
        self._check_missing_text()

    @property
    def is_number(self) -> bool:
        """Whether times are whole numbers, hours times 100 plus minutes."""
        return self.format == AS_NUMBER

    def grid(self) -> tuple[int, int]:
        """First and last grid point, in units of the resolution since midnight."""
        unit = MICROSECONDS[self.resolution]
        return -(-microseconds_of_day(self.lower) // unit), microseconds_of_day(self.upper) // unit

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as clock times; None if it can."""
        # Libraries that guess types read 0905 as a number.
        numbers = _NUMBERS if self.format in (AS_NUMBER, "%H%M") else set()
        return unless(physical, {"time", *numbers}, self.kind)

    @property
    def stored(self) -> PhysicalType:
        """Stored type of clock times if the source has none."""
        if self.is_number:
            return PhysicalType("integer", "BIGINT")
        places = fraction_digits(self.resolution)
        format = self.format or _USUAL.get(self.resolution, "%H:%M:%S.%f")
        return PhysicalType("time", "TIME", scale=places, format=format)

    @property
    def in_words(self) -> str:
        """What its values are."""
        return "a clock time"

    @property
    def grain(self) -> str:
        """How far points lie apart, in words."""
        return f" by the {self.resolution}"

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return the points of clock times, and how many were clipped; see `Ordered.points`.

        Of a number such as 1275, the minutes are clipped to 59.
        """
        micros, changed = self.since_midnight(values, kind)
        points, clipped = clip_integers(micros // MICROSECONDS[self.resolution], *self.grid())
        return points, clipped + changed, 0

    def since_midnight(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[np.int64], int]:
        """Return the microseconds of clock times, and how many were numbers that are no clock time.

        The end of a day, 24:00, is its last microsecond, or of a number its last minute.
        """
        return (np.minimum(values, MICROSECONDS["day"] - 1), 0) if kind == "time" else _from_numbers(values)

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return clock times at points, in microseconds since midnight or as numbers, and their type."""
        micros = points.astype(np.int64) * MICROSECONDS[self.resolution]
        if not self.is_number:
            return micros, PhysicalType("time", "time64[us]")
        minutes = micros // MICROSECONDS["minute"]
        return minutes // 60 * 100 + minutes % 60, PhysicalType("integer", "int64")

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the first and the last point that a clock time or its text covers; see `Ordered.written`.

        Text is in the column's format or as in 14:35; 14:35 covers the whole minute.
        """
        whole_minute = False
        if self.is_number and isinstance(value, int | float) and not isinstance(value, bool):
            value = f"{int(value) // 100:02d}:{value % 100:02.0f}"
        if isinstance(value, str):
            value, whole_minute = self._read(value.strip())
        if not isinstance(value, dt.time):
            raise TypeError
        if value.tzinfo is not None:
            raise ValueError
        first = microseconds_of_day(value)
        last = first + (MICROSECONDS["minute"] - 1 if whole_minute else 0)
        unit = MICROSECONDS[self.resolution]
        return Fraction(first, unit), max(Fraction(first, unit), Fraction(last // unit))

    def _read(self, text: str) -> tuple[dt.time, bool]:
        """Return a time, and whether its text has no seconds."""
        if self.format is not None and not self.is_number:
            try:
                return read_time(text, self.format).time(), "%S" not in self.format
            except ValueError:
                pass
        hours, _, rest = text.partition(":")
        return dt.time.fromisoformat(f"{hours.zfill(2)}:{rest}"), rest.count(":") == 0


def _clock(name: str, value: object) -> dt.time:
    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise SchemaError(f"{name} must be a clock time without a zone, such as a datetime.time")
    return value


def microseconds_of_day(time: dt.time) -> int:
    """Return microseconds since midnight."""
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * MICROSECONDS["second"] + time.microsecond


def _from_numbers(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Return microseconds since midnight of hours times 100 plus minutes, and how many were no such number."""
    if values.dtype == object:
        values = np.array([float(v) if isinstance(v, Decimal) else v for v in values], dtype=np.float64)
    inside = np.clip(values, 0, _LAST_NUMBER)
    whole = np.rint(inside).astype(np.int64)
    hours, minutes = whole // 100, np.minimum(whole % 100, 59)
    changed = int((((hours * 100 + minutes) != values) & (values != _END_OF_DAY)).sum())
    return (hours * 60 + minutes) * MICROSECONDS["minute"], changed
