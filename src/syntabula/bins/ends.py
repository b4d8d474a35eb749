"""How a distance between two times is drawn so that its end keeps to weekdays and times of day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import HOURS, MONTH_DAYS, WEEKDAYS, Days, Rhythm, proportions
from syntabula.bins.uniform import Bins
from syntabula.errors import SchemaError


@dataclass(frozen=True)
class EndTimes:
    """Factors by which pairs of a start and an end are more frequent than the bins of both leave it open.

    Attributes:
        ends: Factors of the end's weekday, day of the month and time of day, which divide a bin of distances.
        starts: The same of the start, whose own rhythm they restore: an end that falls into few hours chooses among the
            starts of a bin. None if starts are not chosen.
        cuts: Inner edges of the bins of distances that the model knows; those of the codec may be parts of them.
        shares: Probability that a distance of such a bin lies in each bin of the codec [bins].
    """

    ends: Rhythm
    starts: Rhythm | None
    cuts: tuple[int, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(not 0 <= share <= 1 for share in self.shares):
            raise SchemaError("the shares of distances are not from 0 to 1")

    def check(self, bins: Bins | None) -> None:
        """Raise SchemaError if they do not fit the codec's bins, or there are none."""
        if bins is None or len(self.shares) != bins.size or not {*self.cuts} <= {*bins.cuts}:
            raise SchemaError("the ends of distances do not fit their bins")


def time_kinds(days: Days, points: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the weekday, or hour of the week, the day of the month and the minute of the day of points [n].

    Columns of days have no minutes; those of hours have all of theirs in the first minute.
    """
    day, cell, _ = days.places(points)
    weekdays, cells = days.weekdays[day], days.cells
    if cells < HOURS:
        return {"weekdays": weekdays, "month_days": days.month_days[day]}
    hours = cell * HOURS // cells
    found = {"weekdays": weekdays * HOURS + hours, "month_days": days.month_days[day]}
    return found | ({"minutes": cell} if cells > HOURS else {})


def kind_sizes(days: Days) -> dict[str, int]:
    """Return how many of each kind of time there are; see `time_kinds`."""
    if days.cells < HOURS:
        return {"weekdays": WEEKDAYS, "month_days": MONTH_DAYS}
    found = {"weekdays": WEEKDAYS * HOURS, "month_days": MONTH_DAYS}
    return found | ({"minutes": days.cells} if days.cells > HOURS else {})


def rhythm_of(factors: dict[str, NDArray[np.float64]]) -> Rhythm:
    """Return the rhythm whose days and times of day are as likely as some factors of the kinds of time say."""
    factors = {kind: own / max(own.max(), 1e-300) for kind, own in factors.items()}
    weekdays, months = factors["weekdays"], tuple(factors["month_days"].tolist())
    if weekdays.size == WEEKDAYS:
        return Rhythm(tuple(weekdays.tolist()), months)
    hours = weekdays.reshape(WEEKDAYS, HOURS)
    if "minutes" not in factors:
        return Rhythm(tuple(hours.sum(axis=1).tolist()), months, tuple(weekdays.tolist()))
    minutes = factors["minutes"].reshape(HOURS, -1)
    # Those of an hour are proportions there, and their sum is a factor of the hour.
    held = hours * minutes.sum(axis=1)
    return Rhythm(
        tuple(held.sum(axis=1).tolist()),
        months,
        tuple(held.ravel().tolist()),
        tuple(minutes.ravel().tolist()),
    )


def likely(rhythm: Rhythm, days: Days, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely points [n] are by a rhythm, up to a common factor."""
    day, cell, _ = days.places(points)
    found: NDArray[np.float64] = rhythm.of_days(days)[day] * rhythm.of_clock()[days.weekdays[day], cell]
    return found


def of_any_day(rhythm: Rhythm) -> Rhythm:
    """Return the rhythm of times of day alone, as all weekdays together have them."""
    hours: tuple[float, ...] = ()
    if rhythm.hours:
        each = np.array(rhythm.weekdays)[:, None] * proportions(
            np.array(rhythm.hours).reshape(WEEKDAYS, HOURS)
        )
        hours = tuple(np.tile(each.sum(axis=0), WEEKDAYS).tolist())
    return Rhythm((1.0,) * WEEKDAYS, (1.0,) * MONTH_DAYS, hours, rhythm.minutes)
