"""Times that are drawn again until they are as frequent as lifts say."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from syntabula.bins.lift import KINDS, Lift, Lifts, kinds_of, with_all_kinds
from syntabula.bins.rhythm import Rhythm, RhythmOfDays
from syntabula.bins.uniform import Bins, cut
from syntabula.errors import SchemaError
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Date, Datetime

N = 40_000
CLOCK = Datetime(
    dt.datetime(2024, 1, 1), dt.datetime(2024, 2, 25, 23, 59), timezone=None, resolution="minute"
)
DAY = 24 * 60
EVEN = Rhythm((1.0,) * 7, (1.0,) * 32, (1.0,) * 168, (1.0,) * 1440)
EARLY = tuple([3.0] * 8 + [1.0] * 16)
"""Half of the day's first eight hours are three times as frequent: they hold 24 of 40 parts."""


def bins(*days: int) -> Bins:
    lower, upper, _ = CLOCK.span()
    return Bins((lower, *(lower + d * DAY for d in days), upper + 1), integer=True)


def drawn(lifts: Lifts, cuts: Bins, codes: np.ndarray, index: np.ndarray) -> np.ndarray:
    within = RhythmOfDays(EVEN, days_of(CLOCK), None)
    rng = np.random.default_rng(0)
    points = within.within(cuts, index, rng)
    return lifts.redrawn(points, cuts, index, within, [codes] * len(lifts.lifts), rng)


def test_times_follow_the_other_column():
    lift = Lift("hour", "kind", (0, 1, 1), (EARLY, (1.0,) * 24))
    whole = bins(28)
    codes = np.random.default_rng(1).integers(0, 3, N)

    found = drawn(Lifts((lift,), whole.cuts, (1.0, 1.0)), whole, codes, np.zeros(N, np.intp))

    early = kinds_of(days_of(CLOCK), found, "hour") < 8
    # Deviations of the shares are below .0045: six of them are exceeded with probability 2e-9.
    assert abs(early[codes == 0].mean() - 0.6) < 0.027
    assert abs(early[codes > 0].mean() - 1 / 3) < 0.027
    assert (whole.codes(found) == 0).all()


def test_lifts_by_several_columns_are_multiplied():
    weekends = tuple([1.0] * 5 + [4.0] * 2)
    lifts = (
        Lift("hour", "kind", (0, 1), (EARLY, (1.0,) * 24)),
        Lift("hour", "sort", (1, 0), (EARLY, (1.0,) * 24)),
        Lift("weekday", "kind", (0, 1), ((1.0,) * 7, weekends)),
    )
    whole = bins(28)
    codes = np.random.default_rng(1).integers(0, 2, N)

    found = drawn(Lifts(lifts, whole.cuts, (1.0, 1.0)), whole, codes, np.ones(N, np.intp))

    hours, days = (kinds_of(days_of(CLOCK), found, c) for c in ("hour", "weekday"))
    # As above, deviations are below .0036.
    assert abs((hours < 8).mean() - 0.6) < 0.022
    assert abs((days[codes == 1] > 4).mean() - 8 / 13) < 0.022
    assert abs((days[codes == 0] > 4).mean() - 2 / 7) < 0.022


def test_parts_of_a_bin_are_drawn_again_with_it():
    whole = bins(28)
    parts = cut(whole, None, [whole.edges[0] + DAY // 3])
    lift = Lift("hour", "kind", (0,), ((1e-3,) * 8 + (1.0,) * 16,))
    lifts = Lifts((lift,), whole.cuts, (1.0, 1.0))
    index = np.zeros(N, np.intp)

    joined = drawn(lifts.finer(parts, told=False), parts.bins, index, index)
    told = drawn(lifts.finer(parts, told=True), parts.bins, index, index)

    # The first part holds the first eight hours alone; where it is known that a value lies there, it stays.
    late = kinds_of(days_of(CLOCK), joined, "hour") >= 8
    assert late.mean() > 0.99
    assert np.bincount(parts.bins.codes(joined), minlength=3)[2] == 0
    assert (parts.bins.codes(told) == 0).all()
    assert lifts.finer(parts, told=False).shares == (parts.shares[0], parts.shares[1], 1.0)


def test_points_that_stay_on_their_days_follow_between_told_hours():
    late = Lift("hour", "kind", (0,), ((1.0,) * 9 + (9.0,) * 15,))
    whole = bins(28)
    day = whole.edges[0] + 3 * DAY
    parts = cut(whole, None, [day + 8 * 60, day + 10 * 60])
    lifts = Lifts((late,), whole.cuts, (1.0, 1.0)).finer(parts, told=True)
    within, rng, index = (
        RhythmOfDays(EVEN, days_of(CLOCK), None),
        np.random.default_rng(0),
        np.ones(N, np.intp),
    )
    points = within.within(parts.bins, index, rng)

    found = lifts.redrawn(points, parts.bins, index, within, [index * 0], rng, days_stay=True)

    # Deviations are below .0015, and less than one point in a thousand finds no other in a hundred draws.
    assert abs((kinds_of(days_of(CLOCK), found, "hour") == 9).mean() - 0.9) < 0.01
    assert (parts.bins.codes(found) == 1).all()


def test_bins_that_do_not_hold_all_kinds_say_more():
    narrow = bins(1, 4, 11)
    lift = Lift("weekday", "kind", (0,), ((1e-3,) * 6 + (1.0,),))

    assert with_all_kinds(narrow, days_of(CLOCK), "hour").tolist() == [True] * 4
    assert with_all_kinds(narrow, days_of(CLOCK), "weekday").tolist() == [False, False, True, True]
    found = drawn(Lifts((lift,), narrow.cuts, (1.0,) * 4), narrow, np.zeros(8, int), np.arange(8) % 4)
    sundays = kinds_of(days_of(CLOCK), found, "weekday") == 6
    assert (narrow.codes(found) == np.arange(8) % 4).all()
    assert sundays.tolist() == [False, False, True, True] * 2


def test_days_have_no_hours():
    days = Date(dt.date(2024, 1, 1), dt.date(2024, 6, 1))
    lower, upper, _ = days.span()
    whole = Bins((lower, upper + 1), integer=True)
    assert not with_all_kinds(whole, days_of(days), "hour").any()
    assert with_all_kinds(whole, days_of(days), "weekday").all()


def test_finer_codes_of_the_other_column_keep_their_group():
    lift = Lift("weekday", "kind", (0, 1), ((1.0,) * 7, (2.0,) * 7))
    assert lift.over(np.array([0, 0, 1, 1, 1])).groups == (0, 0, 1, 1, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"groups": (0, 2)},
        {"factors": ((1.0,) * 7, (1.0,) * 6)},
        {"factors": ((1.0,) * 7, (0.0,) * 7)},
        {"factors": ((1.0,) * 7, (float("nan"),) * 7)},
        {"calendar": "hour"},
    ],
)
def test_stored_lifts_must_fit(wrong):
    lift = Lift("weekday", "kind", (0, 1), ((1.0,) * 7, (2.0,) * 7))
    with pytest.raises(SchemaError, match="do not fit its codes"):
        replace(lift, **wrong)
    assert KINDS["weekday"] == 7
    with pytest.raises(SchemaError, match="from 0 to 1"):
        Lifts((lift,), (), (1.5,))
