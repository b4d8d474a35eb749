"""Ends of distances between times keep to their hours and weekdays, within the bins of the distances."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.bins.ends import EndTimes, of_any_day, rhythm_of
from syntabula.bins.uniform import Bins
from syntabula.errors import SchemaError
from syntabula.prepare.ends import end_folds
from syntabula.table.coding.codec import Codec
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.schema.gaps import Gap, end_points, timed_end

TIMES = st.Datetime(dt.datetime(2022, 1, 1), dt.datetime(2024, 3, 31), resolution="minute")
RULES = st.Rules(order=[["start", "end"]])
SCHEMA = st.Schema({"start": TIMES, "end": TIMES, "size": st.Numeric(0, 9, integer=True)}, rules=RULES)
_DAY = 1440


def stays(n: int = 5_000, *, hours: tuple[int, int] = (9, 13)) -> pd.DataFrame:
    """Return stays that begin at any time and end in few hours, on quarters of them, and never on a Sunday."""
    rng = np.random.default_rng(1)
    start = rng.integers(0, 700 * _DAY, n)
    end = (start // _DAY + rng.geometric(0.2, n)) * _DAY + rng.integers(hours[0] * 4, hours[1] * 4, n) * 15
    # 2022 begins on a Saturday.
    end += _DAY * ((end // _DAY + 5) % 7 == 6)
    return framed(start, end, rng.integers(0, 10, n))


def framed(start: np.ndarray, end: np.ndarray, size: np.ndarray) -> pd.DataFrame:
    begin = np.datetime64("2022-01-01T00:00", "us")
    times = {n: begin + m.astype("timedelta64[m]") for n, m in {"start": start, "end": end}.items()}
    return pd.DataFrame({**times, "size": size})


def shares(frame: pd.DataFrame) -> tuple[float, float, float]:
    """Return the shares of ends in the hours that hold all, on quarters of an hour, and on Sundays."""
    end = pd.to_datetime(frame["end"]).dt
    inside = (end.hour >= 9) & (end.hour < 13)
    return inside.mean(), (end.minute % 15 == 0).mean(), (end.day_of_week == 6).mean()


@pytest.fixture(scope="module")
def release() -> st.Release:
    return st.Independent(epsilon=8, seed=0).fit(stays(), SCHEMA)


def test_ends_keep_to_hours_quarters_and_weekdays_and_orders_hold(release: st.Release) -> None:
    rows = release.sample(5_000, seed=1)

    # By distances alone, a sixth lies in these hours, a fifteenth on quarters, and a seventh on Sundays.
    inside, quarters, sundays = shares(rows)
    assert inside > 0.95
    assert quarters > 0.9
    assert sundays < 0.05
    assert (rows["start"] <= rows["end"]).all()
    lengths = [
        (pd.to_datetime(f["end"]) - pd.to_datetime(f["start"])).dt.total_seconds() for f in (stays(), rows)
    ]
    assert lengths[1].mean() == pytest.approx(lengths[0].mean(), rel=0.1)


def test_ends_cost_what_the_plan_said(release: st.Release) -> None:
    plan = st.Independent(epsilon=8).plan(SCHEMA, n_rows=5_000)

    planned = [(step.name, step.share) for step in plan.steps if "at the end of" in step.name]
    spent = [(line.step, line.share) for line in release.privacy.lines if "at the end of" in line.step]
    assert [name for name, _ in planned] == [name for name, _ in spent]
    assert len(planned) == 1
    # Noise is rounded up to standard deviations that can be drawn.
    assert spent[0][1] == pytest.approx(planned[0][1], rel=0.01)
    assert spent[0][1] <= planned[0][1]


def test_a_record_changes_one_cell_of_each_count_by_one() -> None:
    frame = stays(200)
    frame.loc[::7, "end"] = pd.NaT
    rules = row_rules(SCHEMA)
    assert rules is not None

    def counted(rows: pd.DataFrame) -> list[np.ndarray]:
        points = end_points(rules.learned_table(read(rows))[0].columns["end"])
        return [np.bincount(fold.code(points), minlength=fold.size) for fold in end_folds(TIMES).values()]

    # Of a record without an end, none.
    for row, n_changed in [(0, 0), (1, 1)]:
        for before, after in zip(counted(frame), counted(frame.drop(row)), strict=True):
            assert np.abs(before - after).sum() == n_changed


def test_a_saved_release_draws_the_same_rows(release: st.Release, tmp_path) -> None:
    release.save(tmp_path / "stays.syn")

    again = st.load(tmp_path / "stays.syn")
    pd.testing.assert_frame_equal(again.sample(500, seed=3), release.sample(500, seed=3))


def test_conditions_on_either_time_hold_and_ends_keep_to_hours(release: st.Release) -> None:
    spring = (dt.datetime(2022, 3, 1), dt.datetime(2022, 6, 30))
    for name in ("start", "end"):
        rows = release.sample(1_000, where={name: spring}, seed=1)
        assert pd.to_datetime(rows[name]).between(*spring).all()
        assert shares(rows)[0] > 0.9
    given = stays()[["start"]].head(300)
    rows = release.sample(given=given, seed=1)
    assert (pd.to_datetime(rows["start"]).to_numpy() == given["start"].to_numpy()).all()
    assert shares(rows)[0] > 0.9
    assert (rows["start"] <= rows["end"]).all()


def test_ends_that_follow_from_distances_are_not_drawn_anew() -> None:
    rng = np.random.default_rng(2)
    start = rng.integers(0, 700, 5_000) * _DAY + rng.normal(720, 200, 5_000).astype(int) % _DAY
    parked = framed(start, start + rng.exponential(90, 5_000).astype(int), start % 10)

    release = st.Independent(epsilon=8, seed=0).fit(parked, SCHEMA)

    assert not release.codec.ends


def test_an_infinite_epsilon_and_days_keep_weekdays() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 700, 5_000)
    last = first + rng.geometric(0.05, 5_000)
    last += (last + 5) % 7 == 6
    days = pd.DataFrame(
        {n: np.datetime64("2022-01-01") + d for n, d in {"start": first, "end": last}.items()}
    )
    day = st.Date(dt.date(2022, 1, 1), dt.date(2025, 1, 1))
    schema = st.Schema({"start": day, "end": day}, rules=RULES)

    rows = st.MST(epsilon=math.inf, seed=0).fit(days, schema).sample(5_000, seed=0)

    # An eighth or more by distances alone.
    assert (pd.to_datetime(rows["end"]).dt.day_of_week == 6).mean() < 0.05
    assert (rows["start"] <= rows["end"]).all()


def test_a_table_in_parts_gives_the_same_release(tmp_path) -> None:
    frame = stays(1_500)
    frame.to_csv(tmp_path / "stays.csv", index=False)
    whole = st.Independent(epsilon=8, seed=0).fit(tmp_path / "stays.csv", SCHEMA)
    in_parts = st.Independent(epsilon=8, seed=0, workers=2).fit(tmp_path / "stays.csv", SCHEMA)

    assert whole.codec.ends
    assert in_parts.codec.ends == whole.codec.ends


class TestFactors:
    def test_a_distance_knows_its_end_and_equals_its_number(self) -> None:
        number = st.Numeric(0, 5_000, integer=True)
        gap = Gap.of(number, TIMES)

        assert gap == number
        assert number == gap
        assert timed_end(gap) == TIMES
        assert timed_end(number) is None
        # The start says when an end is that lies within a day of it.
        assert timed_end(Gap.of(st.Numeric(-30, 200, integer=True), TIMES)) is None

    def test_hours_of_any_day_are_those_of_all(self) -> None:
        hours = np.zeros((7, 24))
        hours[0, 9], hours[1, 10] = 1.0, 3.0
        rhythm = rhythm_of({"weekdays": hours.ravel(), "month_days": np.ones(32)})

        found = of_any_day(rhythm).of_clock()

        np.testing.assert_allclose(found[3][[9, 10]], [0.25, 0.75])

    def test_what_does_not_fit_the_bins_is_refused(self) -> None:
        rhythm = rhythm_of({"weekdays": np.ones(7), "month_days": np.ones(32)})

        with pytest.raises(SchemaError, match="not from 0 to 1"):
            EndTimes(rhythm, None, (), (2.0,))
        with pytest.raises(SchemaError, match="do not fit"):
            EndTimes(rhythm, None, (5,), (1.0,)).check(Bins((0, 10), integer=True))
        with pytest.raises(SchemaError, match="do not fit"):
            EndTimes(rhythm, None, (), (1.0,)).check(None)

    def test_a_stored_end_of_no_column_is_refused(self, release: st.Release) -> None:
        stored = release.codec.to_json()
        stored["ends"] = {"nobody": stored["ends"]["end"]}

        with pytest.raises(SchemaError, match="do not fit"):
            Codec.from_json(stored)


def test_distances_that_lead_beyond_the_bounds_are_left_out() -> None:
    rng = np.random.default_rng(0)
    minutes = np.cumsum(rng.integers(0, 9 * _DAY, (3, 300)), axis=0)
    minutes[0] *= 30
    begin = np.datetime64("2022-01-01T00:00", "us")
    times = zip("abc", np.sort(minutes, axis=0), strict=True)
    visits = pd.DataFrame({name: begin + m.astype("timedelta64[m]") for name, m in times})
    visits.loc[rng.random(300) < 0.1, "b"] = pd.NaT
    wide, narrow = (
        st.Datetime(dt.datetime(year, 1, 1), dt.datetime(2023, 1, 1), resolution="minute", nullable=True)
        for year in (2021, 2022)
    )
    schema = st.Schema({"a": wide, "b": narrow, "c": wide}, rules=st.Rules(order=[["a", "b", "c"]]))

    rows = st.Independent(epsilon=1, seed=0).fit(visits, schema).sample(100, seed=1)

    known = rows.dropna()
    assert (pd.to_datetime(known["a"]) <= pd.to_datetime(known["c"])).all()
