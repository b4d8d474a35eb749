"""Distances between two times that are learned in place of the later one, and that know this end.

How far two times lie apart says little of the hour at which the later one lies, if bins are hours or days wide. So the
ends are counted by weekday, day of the month and time of day, each beside its distance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.coding.column_codes import present_cells
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime, Numeric


class Gap(Numeric):
    """The declaration of a distance from one time to another; as a number it is one like any other.

    Attributes:
        end: Declaration of the other time, in whose points the distance is counted.
    """

    end: Date | Datetime

    @classmethod
    def of(cls, number: Numeric, end: Date | Datetime) -> Gap:
        """Return the declaration of a distance as that of one to this end."""
        found = cls(**{field.name: getattr(number, field.name) for field in fields(number)})
        object.__setattr__(found, "end", end)
        return found

    def __eq__(self, other: object) -> bool:
        # A release keeps the number alone, as the end follows from its rules.
        if not isinstance(other, Numeric):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in fields(self))

    __hash__ = Numeric.__hash__

    @property
    def part_of_a_day(self) -> int:
        """Microseconds of one point; 0 for distances between days."""
        return 0 if isinstance(self.end, Date) else MICROSECONDS[self.end.resolution]


def timed_end(column: object) -> Date | Datetime | None:
    """Return the end of a distance, by its declaration alone, if the start leaves its time of day open; None if not.

    Distances that differ by less than a day, as delays do, say when the end is once the start is known.
    """
    end = getattr(column, "end", None)
    if end is None:
        return None
    assert isinstance(column, Gap)
    from syntabula.table.schema.calendar import days_of

    days = days_of(end)
    return end if column.upper - column.lower >= days.cells * days.length else None


@dataclass(frozen=True, eq=False, repr=False)
class GapColumn(RawColumn):
    """Distances with the points of their ends.

    Attributes:
        ends: Point of each row's end [n]; arbitrary where the cell is missing.
    """

    ends: NDArray[np.int64] | None = None


def end_points(raw: RawColumn) -> NDArray[Any]:
    """Return the points of the ends of present distances [n]."""
    assert isinstance(raw, GapColumn)
    assert raw.ends is not None
    return raw.ends[present_cells(raw)]
