"""Draws of days and times: as frequent as the rhythm says, in their own zone, and never outside their bin."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.bins.rhythm import Days, Rhythm, RhythmOfDays, coarse_clock
from syntabula.bins.roundness import Roundness
from syntabula.bins.uniform import Bins, Parts, UniformBins, cut
from syntabula.errors import SchemaError
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Date, Datetime

EVEN = (1.0,) * 7, (1.0,) * 32
SATURDAYS = (0.5,) * 5 + (4.0, 0.5)
ROUND = Roundness(
    tuple(map(Fraction, (86_400, 3600, 900, 60, 1))),
    (0.0, 0.3, 0.2, 0.3, 0.2, 0.0),
)


def clock() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return hours, and minutes: at 9:30 most of the week, on Sundays at 20:15 only."""
    hours, minutes = np.zeros((7, 24)), np.zeros((24, 60))
    hours[:6, 9], hours[:6, 12], hours[6, 20] = 0.8, 0.2, 1.0
    minutes[9, 30], minutes[20, 15] = 1.0, 1.0
    minutes[12] = 1.0
    return tuple(hours.ravel().tolist()), tuple(minutes.ravel().tolist())


def times(zone: str | None = None, resolution: str = "second") -> Datetime:
    bounds = dt.datetime(2019, 3, 5, 7), dt.datetime(2021, 11, 20, 19)
    return Datetime(*bounds, timezone=zone, resolution=resolution)


def one_bin(column: Date | Datetime) -> Bins:
    lower, upper, _ = column.span()
    return Bins((lower, upper + 1), integer=True)


def drawn(column: Date | Datetime, rhythm: Rhythm, roundness: Roundness | None = None, n: int = 60_000):
    made = RhythmOfDays(rhythm, days_of(column), roundness)
    return made.within(one_bin(column), np.zeros(n, np.int64), np.random.default_rng(1))


class TestDays:
    def test_weekdays_and_days_of_the_month_are_those_of_the_calendar(self):
        column = Date(dt.date(2020, 1, 15), dt.date(2020, 3, 31))

        days = days_of(column)

        every = [column.lower + dt.timedelta(days=i) for i in range(days.size)]
        assert days.weekdays.tolist() == [day.weekday() for day in every]
        lasts = [(day + dt.timedelta(days=1)).day == 1 for day in every]
        assert days.month_days.tolist() == [
            31 if last else d.day - 1 for d, last in zip(every, lasts, strict=True)
        ]

    def test_days_of_a_zone_begin_at_its_midnight(self):
        days = days_of(times("Europe/Berlin"))

        lengths = np.diff(days.starts) // 3600
        # Clocks are put forward three times in these years, and back as often.
        assert np.unique(lengths, return_counts=True)[1].tolist() == [3, days.size - 6, 3]
        summer = int(dt.datetime(2020, 7, 3, 22, tzinfo=dt.UTC).timestamp())
        day, cell, place = days.places(np.array([summer + 62 * 60 + 5]))
        assert (days.weekdays[day[0]], cell[0], place[0]) == (5, 62, 5)

    def test_others_have_none(self):
        for column in [
            Date(dt.date(2020, 1, 1), dt.date(2020, 1, 1)),
            Date(dt.date(2020, 1, 1), dt.date(2021, 1, 1), resolution="month"),
            Datetime(dt.datetime(1, 1, 2), dt.datetime(9999, 1, 1)),
        ]:
            assert not column.has_days
            with pytest.raises(SchemaError, match="several days"):
                days_of(column)

    def test_the_ends_of_the_calendar_have_days(self):
        column = Datetime(dt.datetime(9998, 12, 1), dt.datetime(9999, 12, 31, 20), timezone="America/Lima")

        assert (np.diff(days_of(column).starts) > 0).all()


class TestDraws:
    def test_weekdays_come_in_their_proportions(self):
        points = drawn(Date(dt.date(2001, 1, 1), dt.date(2020, 12, 31)), Rhythm(SATURDAYS, EVEN[1]))

        weekdays = np.bincount((points + 3) % 7, minlength=7) / points.size
        # Six halves and a four: standard deviation .002 of .571, so .012 is above 5.
        assert weekdays[5] == pytest.approx(4 / 7, abs=0.012)
        assert np.allclose(np.delete(weekdays, 5), 1 / 14, atol=0.012)

    def test_days_of_the_month_do_and_last_ones_are_apart(self):
        months = np.zeros(32)
        months[0], months[31] = 1.0, 3.0

        points = drawn(Date(dt.date(2001, 1, 1), dt.date(2020, 12, 31)), Rhythm(EVEN[0], tuple(months)))

        days = points.astype("datetime64[D]")
        of_month = (days - days.astype("datetime64[M]")).astype(int)
        following = (days + 1 - (days + 1).astype("datetime64[M]")).astype(int)
        assert ((of_month == 0) | (following == 0)).all()
        assert np.mean(following == 0) == pytest.approx(0.75, abs=0.012)

    def test_times_of_day_depend_on_the_weekday_and_hold_in_their_zone(self):
        import pandas as pd

        for zone in (None, "America/New_York"):
            points = drawn(times(zone), Rhythm(*EVEN, *clock()), ROUND)

            found = pd.DatetimeIndex(pd.to_datetime(points, unit="s"))
            if zone is not None:
                found = found.tz_localize("UTC").tz_convert(zone)
            minutes = found.hour * 60 + found.minute
            sunday = found.day_of_week == 6
            # On the six days on which clocks change, a part of the times is an hour off.
            assert np.mean(minutes[sunday] == 20 * 60 + 15) > (0.999 if zone is None else 0.95)
            assert np.mean(minutes[~sunday] == 570) == pytest.approx(0.8, abs=0.02)
            assert np.mean(found.hour[~sunday] == 12) == pytest.approx(0.2, abs=0.02)
            # Four of five are whole minutes; standard deviation .0016.
            assert np.mean(found.second == 0) == pytest.approx(0.8 + 0.2 / 60, abs=0.015)

    @given(
        cuts=st.sets(st.integers(1, 5_000_000), min_size=1, max_size=12),
        round_ones=st.booleans(),
        none_fits=st.booleans(),
    )
    def test_values_stay_in_their_bins(self, cuts, round_ones, none_fits):
        column = times()
        lower, upper, _ = column.span()
        bins = Bins((lower, *(lower + c for c in sorted(cuts)), upper + 1), integer=True)
        rhythm = Rhythm((0.0,) * 7 if none_fits else SATURDAYS, EVEN[1], *clock())
        made = RhythmOfDays(rhythm, days_of(column), ROUND if round_ones else None)
        codes = np.repeat(np.arange(bins.size), 40)

        points = made.within(bins, codes, np.random.default_rng(1))

        assert np.array_equal(bins.codes(points), codes)

    def test_hours_are_points_of_hourly_columns(self):
        points = drawn(times(resolution="hour"), Rhythm(*EVEN, clock()[0]))

        assert {*(points % 24).tolist()} == {9, 12, 20}


class TestParts:
    def test_shares_of_parts_are_those_of_draws(self):
        column = times()
        lower, upper, _ = column.span()
        made = RhythmOfDays(Rhythm(SATURDAYS, EVEN[1], *clock()), days_of(column), ROUND)
        bins = UniformBins(2).bins(lower, upper, integer=True)
        saturday = int(dt.datetime(2019, 8, 10, tzinfo=dt.UTC).timestamp())
        # One that cuts a minute apart, beside which whole minutes lie.
        ends = [saturday + s for s in (0, 9 * 3600 + 1800 + 30, 12 * 3600 + 1, 86_400, 40 * 86_400)]
        parts = cut(bins, None, ends)

        shares = made.shares_of(parts.bins, parts.whole)

        points = made.within(bins, np.repeat(np.arange(2), 50_000), np.random.default_rng(1))
        found = np.bincount(parts.bins.codes(points), minlength=parts.bins.size) / 50_000
        # Standard deviation at most .0023.
        assert np.allclose(found, shares, atol=0.013)

    @given(seed=st.integers(0, 2**32 - 1))
    def test_no_share_is_below_nothing(self, seed):
        rng = np.random.default_rng(seed)
        column = times(resolution="minute")
        lower, upper, _ = column.span()
        # The sum of many rounded shares may be a little above one before an evening without any.
        hours, minutes = rng.random((7, 24)), rng.random((24, 60))
        hours[:, 20:] = 0
        rhythm = Rhythm(*EVEN, tuple(hours.ravel().tolist()), tuple(minutes.ravel().tolist()))
        cuts = np.unique(rng.integers(lower + 1, upper, 300)).tolist()
        bins = Bins((lower, *cuts, upper + 1), integer=True)

        made = RhythmOfDays(rhythm, days_of(column), None)

        assert (np.diff(made.below(np.array(bins.edges))) >= 0).all()

    def test_a_density_over_weeks_keeps_its_weekdays(self):
        column = Date(dt.date(2020, 6, 1), dt.date(2020, 6, 28))
        made = RhythmOfDays(Rhythm((0.0,) * 5 + (3.5, 3.5), EVEN[1]), days_of(column), None)
        lower, _, _ = column.span()
        bins = Bins(tuple(lower + d for d in (0, 7, 14, 21, 28)), integer=True)

        shares = made.weighted(Parts(bins, None, np.zeros(4, np.intp), np.array([0.4, 0.3, 0.2, 0.1])))
        halves = Bins(tuple(lower + d for d in (0, 3, 28)), integer=True)
        weekend = made.weighted(Parts(halves, None, np.zeros(2, np.intp), np.array([0.5, 0.5])))

        assert np.allclose(shares, [0.4, 0.3, 0.2, 0.1])
        assert weekend[0] < 1e-6


def test_the_roundness_of_times_says_how_parts_of_a_day_lie():
    days = Days(np.arange(3) * 86_400, np.arange(2), np.arange(2), 1440, 60)

    found = coarse_clock(ROUND, days)

    assert found.sum() == pytest.approx(1)
    assert found[60] == pytest.approx(0.3 / 23 + 0.2 / 1440)
    assert found[1] == pytest.approx(0.3 / (1440 - 96) + 0.2 / 1440)


@pytest.mark.parametrize(
    "numbers",
    [
        ((1.0,) * 6, EVEN[1]),
        (*EVEN, (1.0,) * 24),
        (*EVEN, (), (1.0,) * 1440),
        ((float("nan"),) * 7, EVEN[1]),
        ((-1.0,) * 7, EVEN[1]),
    ],
)
def test_other_numbers_are_refused(numbers):
    with pytest.raises(SchemaError, match="rhythm"):
        Rhythm(*numbers)


def test_a_rhythm_of_hours_does_not_fit_days():
    with pytest.raises(SchemaError, match="resolution"):
        RhythmOfDays(Rhythm(*EVEN, clock()[0]), days_of(times()), None)
