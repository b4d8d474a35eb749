"""The rhythm of days and times is found under differential privacy, and comes out in synthetic rows."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.bins.rhythm import Rhythm
from syntabula.bins.roundness import Roundness
from syntabula.bins.uniform import Bins
from syntabula.prepare.preprocessing import Preprocessing
from syntabula.prepare.rhythm import RhythmSearch
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.synthesizers.fitted_rhythms import fitted
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Date, Datetime

WEEKDAYS = (0.02, 0.03, 0.06, 0.03, 0.02, 0.74, 0.1)


SCHEMA = st.Schema(
    {
        "start": st.Datetime(dt.datetime(2001, 1, 1), dt.datetime(2023, 1, 1)),
        "bill": st.Date(dt.date(2001, 1, 1), dt.date(2023, 1, 1)),
        "goals": st.Numeric(0, 20, integer=True),
    }
)


def matches(n: int = 8_000) -> pd.DataFrame:
    """Matches of 20 years: three of four on a Saturday, six of ten at 9:30; and bills, seven of ten on the first."""
    rng = np.random.default_rng(0)
    monday = np.datetime64("2002-01-07", "s")
    days = rng.integers(0, 20 * 52, n) * 7 + rng.choice(7, n, p=WEEKDAYS)
    minutes = np.where(rng.random(n) < 0.6, 570, rng.choice([720, 900, 1065, 1200], n))
    seconds = np.where(rng.random(n) < 0.1, rng.integers(0, 60, n), 0)
    start = (
        monday
        + days.astype("timedelta64[D]")
        + minutes.astype("timedelta64[m]")
        + seconds.astype("timedelta64[s]")
    )
    bills = monday + rng.integers(0, 7_300, n).astype("timedelta64[D]")
    bills = np.where(rng.random(n) < 0.7, bills.astype("datetime64[M]"), bills.astype("datetime64[D]"))
    return pd.DataFrame({"start": start, "bill": pd.to_datetime(bills).date, "goals": rng.poisson(2.5, n)})


def shares(frame: pd.DataFrame) -> np.ndarray:
    """Return the shares of Saturdays, of 9:30, of whole minutes and of first days."""
    start, bill = pd.to_datetime(frame["start"]), pd.to_datetime(frame["bill"])
    is_half_past = (start.dt.hour == 9) & (start.dt.minute == 30)
    parts = (start.dt.day_of_week == 5, is_half_past, start.dt.second == 0, bill.dt.day == 1)
    return np.array([part.mean() for part in parts])


def found(points: np.ndarray, column: Date | Datetime, epsilon: float, roundness: Roundness | None = None):
    ledger = Ledger(Budget(epsilon=epsilon) if epsilon == math.inf else Budget.pure(epsilon))
    search = RhythmSearch(
        column, lambda codes: ColumnCurator(codes, ledger, SeededNoise(3)), Fraction(1), "x"
    )
    return search.find(points, roundness), ledger


def days(n: int) -> tuple[Date, np.ndarray]:
    column = Date(dt.date(2001, 1, 1), dt.date(2020, 12, 31))
    lower, upper, _ = column.span()
    return column, np.random.default_rng(0).integers(lower, upper + 1, n)


@pytest.mark.parametrize(("epsilon", "error"), [(math.inf, 0.02), (1.0, 0.06)])
def test_synthetic_days_and_times_have_it(epsilon, error):
    frame = matches()

    release = st.MST(epsilon=epsilon, delta=1e-5, seed=1).fit(frame, schema=SCHEMA)
    drawn = release.sample(4_000, seed=2)

    # Even within bins these are .15, .04, .9 and .2.
    assert np.allclose(shares(drawn), shares(frame), atol=error)


def test_a_release_keeps_it(tmp_path):
    release = st.MST(epsilon=math.inf, seed=1).fit(matches(2_000))
    release.save(tmp_path / "release")

    loaded = st.load(tmp_path / "release")

    pd.testing.assert_frame_equal(loaded.sample(500, seed=2), release.sample(500, seed=2))


def test_conditions_on_days_follow_it():
    frame = matches()
    release = st.MST(epsilon=math.inf, seed=1).fit(frame)
    first, last = (pd.Timestamp(f"2010-03-{day}").date() for day in ("01", "14"))

    drawn = release.sample(2_000, where={"start": (first, last)}, seed=2)

    assert pd.to_datetime(drawn["start"]).dt.date.between(first, last).all()
    # Two weeks of some 110 rows, three of four on a Saturday.
    assert (pd.to_datetime(drawn["start"]).dt.day_of_week == 5).mean() > 0.5


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("atoms", [None, (dt.date(2020, 1, 1),)])
def test_a_day_that_stands_for_none_is_no_part_of_it(epsilon, atoms):
    points = days(10_000)[1].astype("datetime64[D]")
    points[:4_000] = np.datetime64("2020-01-01")
    frame = pd.DataFrame({"day": pd.to_datetime(points).date, "x": np.arange(10_000) % 5})
    column = st.Date(dt.date(2000, 1, 1), dt.date(2022, 1, 1), atoms=atoms)
    schema = st.Schema({"day": column, "x": st.Numeric(0, 4, integer=True)})

    drawn = st.MST(epsilon=epsilon, delta=1e-6, seed=1).fit(frame, schema=schema).sample(10_000, seed=2)

    found = pd.to_datetime(drawn["day"])
    others = found[found != pd.Timestamp("2020-01-01")]
    assert len(others) == pytest.approx(6_000, abs=300)
    # That day was a Wednesday and a first one: of others .143 and .033 are.
    assert (others.dt.day_of_week == 2).mean() < 0.18
    assert (others.dt.day == 1).mean() < 0.06


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_nor_are_two_weeks_of_one_month(epsilon):
    points = days(10_000)[1].astype("datetime64[D]")
    points[:5_000] = np.datetime64("2020-03-01") + (np.arange(5_000) % 15).astype("timedelta64[D]")
    frame = pd.DataFrame({"day": pd.to_datetime(points).date, "x": np.arange(10_000) % 5})
    schema = st.Schema(
        {"day": st.Date(dt.date(2000, 1, 1), dt.date(2022, 1, 1)), "x": st.Numeric(0, 4, integer=True)}
    )

    drawn = st.MST(epsilon=epsilon, delta=1e-6, seed=1).fit(frame, schema=schema).sample(10_000, seed=2)

    found = pd.to_datetime(drawn["day"])
    others = found[(found < "2020-02-01") | (found >= "2020-04-01")]
    assert len(others) == pytest.approx(4_950, abs=500)
    # .49 of others, and .74 if the two weeks told their days of the month to all.
    assert (others.dt.day <= 15).mean() == pytest.approx(0.49, abs=0.05)


def test_times_of_bins_of_a_day_are_not_those_of_others():
    rng = np.random.default_rng(0)
    times = np.datetime64("2015-01-01T00:00") + rng.integers(0, 3_650, 10_000).astype("timedelta64[D]")
    times = (times + rng.integers(480, 1_200, 10_000).astype("timedelta64[m]")).astype("datetime64[s]")
    times[:4_000] = np.datetime64("2021-06-01T00:00:00")
    frame = pd.DataFrame({"at": times, "x": np.arange(10_000) % 5})

    drawn = st.MST(epsilon=math.inf, seed=1).fit(frame).sample(5_000, seed=2)

    others = drawn["at"][drawn["at"] != pd.Timestamp("2021-06-01")]
    assert len(others) == pytest.approx(3_000, abs=200)
    assert (others.dt.hour == 0).mean() < 0.01


@pytest.mark.parametrize("resolution", ["minute", "hour"])
def test_bins_within_days_leave_times_of_day_as_they_are(resolution):
    rng = np.random.default_rng(0)
    n = 100_000
    times = np.datetime64("2021-01-01T00:00") + rng.integers(0, 60, n).astype("timedelta64[D]")
    times = (times + (8 * 60 + 30 * rng.integers(0, 24, n)).astype("timedelta64[m]")).astype("datetime64[s]")
    if resolution == "hour":
        times = times.astype("datetime64[h]").astype("datetime64[s]")
    schema = st.Schema(
        {
            "at": st.Datetime(dt.datetime(2021, 1, 1), dt.datetime(2021, 3, 1, 23), resolution=resolution),
            "x": st.Numeric(0, 4, integer=True),
        }
    )

    release = st.Independent(epsilon=1.0, seed=1).fit(
        pd.DataFrame({"at": times, "x": np.arange(n) % 5}), schema=schema
    )
    hours = release.sample(20_000, seed=2)["at"].dt.hour

    assert hours.between(8, 19).mean() > 0.985
    # A twelfth of the rows in each hour: standard deviation .002, and noise.
    assert np.abs(np.bincount(hours, minlength=24)[8:20] / 20_000 - 1 / 12).max() < 0.02


def test_a_bin_of_hours_without_rows_lies_on_its_own_day():
    column = Datetime(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 7, 23, 59), resolution="minute")
    lower, upper, _ = column.span()
    opened = np.zeros((7, 24))
    opened[:, 8:20] = 1.0
    rhythm = Rhythm((1.0,) * 7, (1.0,) * 32, tuple(opened.ravel().tolist()), (1.0,) * 1440)
    # Thursday from midnight to six holds half, the rest of the week the other.
    bins = Bins((lower, lower + 3 * 1440, lower + 3 * 1440 + 360, upper + 1), integer=True)

    found = fitted(rhythm, days_of(column), bins, np.array([1.0, 2.0, 1.0]))

    # As no more than a seventh was counted, Thursdays are elsewhere as seldom as can be, and other days alike.
    assert found.weekdays[3] < 0.1 * min(found.weekdays[0], found.weekdays[6])


def test_models_without_marginals_are_asked_for_rows():
    release = st.Synthpop(epsilon=math.inf, seed=1).fit(matches(1_000))

    assert np.allclose(shares(release.sample(2_000, seed=2)), shares(matches(1_000)), atol=0.06)


def test_even_days_stay_nearly_even_whatever_the_noise():
    column, points = days(3_000)

    rhythm, _ = found(points, column, 0.02)

    # Noise of a deviation of 200 beside 430 of each weekday and 98 of each day of a month.
    assert rhythm is not None
    assert np.abs(np.array(rhythm.weekdays) - 1).max() < 0.35
    assert np.array(rhythm.month_days).max() < 4


def test_without_noise_it_is_exact():
    column, points = days(5_000)

    rhythm, _ = found(points, column, math.inf)

    assert rhythm is not None
    counts = np.bincount((points + 3) % 7, minlength=7) / points.size
    exposed = np.bincount((np.arange(column.span()[0], column.span()[1] + 1) + 3) % 7, minlength=7)
    assert np.allclose(rhythm.weekdays, counts / (exposed / exposed.sum()), rtol=1e-5)


def test_all_that_is_asked_is_paid_and_nothing_if_noise_hides_all():
    column, points = days(5_000)

    _, ledger = found(points, column, 1.0)
    nothing, of_few = found(points[:3], column, 0.001)

    assert ledger.remaining_share == 0
    assert nothing is None
    assert len(of_few.entries) == 1


def test_roundness_tells_what_noise_hides_of_minutes():
    column = Datetime(
        np.datetime64("2001-01-01T00:00:00").item(), np.datetime64("2020-12-31T00:00:00").item()
    )
    lower, upper, _ = column.span()
    points = np.random.default_rng(0).integers(lower // 900, upper // 900, 2_000) * 900
    quarters = Roundness(tuple(map(Fraction, (3600, 900, 60, 1))), (0.25, 0.75, 0.0, 0.0, 0.0))

    rhythm, _ = found(points, column, 0.05, quarters)

    assert rhythm is not None
    minutes = np.array(rhythm.minutes).reshape(24, 60)
    assert minutes[:, [0, 15, 30, 45]].sum() > 0.99 * minutes.sum()


@pytest.mark.parametrize("within", ["even", "normal"])
def test_it_is_not_asked_where_values_are_to_lie_otherwise(within):
    chosen = Preprocessing(within=within)

    assert "rhythm" not in chosen.parts(asks_rhythm=True)
    assert "rhythm" in Preprocessing().parts(asks_rhythm=True)
    assert "rhythm" not in Preprocessing().parts()


def time_sheet(n: int) -> np.ndarray:
    """Return the minutes at which work begins: on working days, from 8 to 9 o'clock."""
    rng = np.random.default_rng(4)
    weeks = rng.integers(0, 104, n) * 7 + rng.integers(0, 5, n)
    return pd.Timestamp("2022-01-03") + pd.to_timedelta(weeks * 1440 + rng.integers(480, 540, n), unit="min")


def test_a_small_time_sheet_keeps_its_weekdays_and_hours():
    frame = pd.DataFrame({"begins": time_sheet(2_000), "team": ["a", "b"] * 1_000})
    drawn = [st.MST(epsilon=1.0, delta=1e-6, seed=s).fit(frame).sample(1_000, seed=s) for s in range(4)]
    begins = pd.to_datetime(pd.concat(drawn)["begins"])

    # A fifth were on a weekend and 45 % began at other hours where all was asked for a share that was not larger.
    assert (begins.dt.day_of_week >= 5).mean() < 0.08
    assert (begins.dt.hour != 8).mean() < 0.3


def test_of_few_rows_hours_are_asked_without_weekdays_and_minutes_not_at_all():
    column = Datetime(dt.datetime(2022, 1, 1), dt.datetime(2024, 1, 1), resolution="minute")
    points = column.points(
        time_sheet(1_000).to_numpy().astype("datetime64[us]").astype(np.int64), "datetime"
    )[0]
    sizes: list[list[int]] = []

    class Curator(ColumnCurator):
        def histogram(self, edges, **given):
            sizes[-1].append(len(edges) - 1)
            return super().histogram(edges, **given)

    for n_estimated in (0.0, 1_000.0, 1e6):
        ledger = Ledger(Budget.pure(0.1))
        sizes.append([])
        search = RhythmSearch(
            column,
            lambda codes, ledger=ledger: Curator(codes, ledger, SeededNoise(3)),
            Fraction(1),
            "x",
            n_estimated,
        )
        search.find(points, None)
        assert float(ledger.remaining_share) == pytest.approx(0, abs=1e-12)

    # A count of minutes has a noise of 42 records.
    assert sizes == [[7, 32, 168, 1440], [7, 32, 24], [7, 32, 24, 1440]]
