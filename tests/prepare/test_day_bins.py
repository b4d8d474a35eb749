"""Bins of times that end with days or weeks, so that weekdays are either told or left open."""

from __future__ import annotations

import datetime as dt

import numpy as np

from syntabula.bins.uniform import Bins
from syntabula.prepare.day_bins import by_days
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Datetime

HOUR, DAY = 60, 24 * 60
COLUMN = Datetime(dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 31, 23, 59), resolution="minute")
FIRST = int(COLUMN.span()[0])
LAST = 91 * DAY


def made(*cuts: int, most: int = 100) -> list[int]:
    """Return the edges that come of some cuts, as minutes after the first day began."""
    edges = tuple(FIRST + cut for cut in (0, *cuts, LAST))
    return (np.array(by_days(Bins(edges, integer=True), days_of(COLUMN), most).edges) - FIRST).tolist()


def test_bins_of_some_days_become_days() -> None:
    assert made(70 * HOUR, 130 * HOUR) == [0, *range(DAY, 6 * DAY, DAY), 130 * HOUR, LAST]


def test_bins_within_a_day_and_of_a_week_stay() -> None:
    for cuts in ([5 * HOUR, 9 * HOUR, 9 * HOUR + 1, 30 * HOUR], [8 * DAY, 20 * DAY + HOUR]):
        assert made(*cuts) == [0, *cuts, LAST]


def test_single_values_among_days_stay() -> None:
    assert made(70 * HOUR, 70 * HOUR + 1, 120 * HOUR)[3:8] == [
        2 * DAY + 22 * HOUR,
        2 * DAY + 22 * HOUR + 1,
        3 * DAY,
        4 * DAY,
        5 * DAY,
    ]


def test_where_days_are_too_many_bins_last_a_week() -> None:
    cuts = range(3 * DAY, 90 * DAY, 3 * DAY)

    assert np.diff(made(*cuts, most=50)).min() >= 7 * DAY
    assert np.diff(made(*cuts)).max() == DAY
