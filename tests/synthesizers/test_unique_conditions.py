"""A column that no two rows share has no value twice in rows under conditions, or for given other columns."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.synthesizers.free_values import FreeValues, apart_in_order

FIRST, LAST = dt.date(2021, 1, 1), dt.date(2022, 12, 31)
MARCHES = [("2021-03-01", "2021-03-31"), ("2022-03-01", "2022-03-31")]


def fitted(**rules: object) -> st.Release:
    rng = np.random.default_rng(0)
    day = np.arange(730)
    frame = pd.DataFrame({"day": pd.Timestamp(FIRST) + pd.to_timedelta(day, unit="D")})
    frame["warm"] = np.clip(10 - 10 * np.cos(day * 2 * np.pi / 365) + rng.normal(0, 1, 730), -5, 30).round(1)
    columns = {"day": st.Date(FIRST, LAST, unique=True), "warm": st.Numeric(-5, 30, decimals=1)}
    if rules:
        frame["month"] = frame["day"].dt.month
        columns["month"] = st.Numeric(1, 12, integer=True)
    schema = st.Schema(columns, rules=st.Rules(**rules) if rules else None)  # type: ignore[arg-type]
    return st.MST(epsilon=5.0, seed=0).fit(frame, schema)


@pytest.fixture(scope="module")
def release() -> st.Release:
    return fitted()


@pytest.fixture(scope="module")
def ruled() -> st.Release:
    return fitted(derive={"month": "month(day)"})


class TestWhere:
    def test_a_condition_on_another_column_leaves_it_free(self, release: st.Release) -> None:
        made = release.sample(250, where={"warm": ">12"}, seed=1)

        assert made["day"].is_unique
        assert made["day"].is_monotonic_increasing
        assert (made["warm"] > 12).all()

    def test_rows_stay_within_a_condition_on_the_column_itself(self, release: st.Release) -> None:
        every = release.sample(62, where={"day": MARCHES}, seed=1)
        by_default = release.sample(where={"day": MARCHES}, seed=1)

        assert every["day"].dt.strftime("%m").eq("03").all()
        assert every["day"].is_unique
        assert by_default["day"].is_unique
        assert 40 < len(by_default) <= 62
        with pytest.raises(ArgumentError, match="`unique`, and 62 of its values satisfy the conditions"):
            release.sample(63, where={"day": MARCHES})

    def test_parts_are_cut_from_the_same_rows(self, release: st.Release, tmp_path: Path) -> None:
        release.sample_to(tmp_path / "rows.csv", 120, where={"warm": (None, 8)}, seed=1, parts=3)

        made = pd.concat(map(pd.read_csv, sorted((tmp_path / "rows.csv").glob("*.csv"))))

        assert len(made) == 120
        assert made["day"].is_unique
        assert (made["warm"] <= 8).all()

    def test_columns_that_rules_compute_of_it_satisfy_theirs(self, ruled: st.Release) -> None:
        made = ruled.sample(50, where={"month": [2, 7]}, seed=1)

        assert made["day"].is_unique
        assert made["month"].isin([2, 7]).all()
        assert (made["day"].dt.month == made["month"]).all()


class TestGiven:
    def test_rows_keep_given_values_and_their_order(self, release: st.Release) -> None:
        given = pd.DataFrame({"warm": np.linspace(0, 20, 400).round(1)})

        made = release.sample(given=given, seed=1)

        assert made["day"].is_unique
        assert made["warm"].tolist() == given["warm"].tolist()
        # Warm rows are in summer, whatever has moved.
        summer = made["day"].dt.month.isin([5, 6, 7, 8])
        assert summer[given["warm"] > 15].mean() > 0.5
        assert summer[given["warm"] < 5].mean() < 0.25
        pd.testing.assert_frame_equal(made, release.sample(given=given, seed=1))

    def test_more_rows_than_values_are_refused(self, release: st.Release) -> None:
        with pytest.raises(ArgumentError, match="has 730 values between its bounds, but 731 rows are given"):
            release.sample(given=pd.DataFrame({"warm": np.full(731, 5.0)}))

    def test_given_values_of_the_column_stay(self, release: st.Release) -> None:
        given = pd.DataFrame({"day": [pd.Timestamp("2021-03-04")] * 3})

        assert release.sample(given=given, seed=1)["day"].tolist() == given["day"].tolist()

    def test_values_that_rules_compute_of_it_stay(self, ruled: st.Release) -> None:
        made = ruled.sample(given=pd.DataFrame({"month": [7] * 25 + [1] * 15}), seed=1)

        assert made["day"].is_unique
        assert made["month"].tolist() == [7] * 25 + [1] * 15
        assert (made["day"].dt.month == made["month"]).all()
        with pytest.raises(ArgumentError, match=r"of 63 given rows no value was found .*given values"):
            ruled.sample(given=pd.DataFrame({"month": [7] * 63}), seed=1)


class TestGivenWithWhere:
    def test_rows_that_move_satisfy_conditions_on_the_column(self, release: st.Release) -> None:
        given = pd.DataFrame({"warm": np.linspace(5, 12, 50).round(1)})

        made = release.sample(given=given, where={"day": MARCHES}, seed=1)

        assert made["day"].is_unique
        assert made["day"].dt.month.eq(3).all()
        assert made["warm"].tolist() == given["warm"].tolist()
        with pytest.raises(ArgumentError, match="has 62 values that satisfy where, but 63 rows are given"):
            release.sample(given=pd.DataFrame({"warm": np.full(63, 8.0)}), where={"day": MARCHES})

    def test_columns_that_rules_compute_of_it_satisfy_theirs(self, ruled: st.Release) -> None:
        given = pd.DataFrame({"warm": np.full(70, 5.0)})

        made = ruled.sample(given=given, where={"month": [2, 3, 4]}, seed=1)

        assert made["day"].is_unique
        assert made["month"].isin([2, 3, 4]).all()
        assert (made["day"].dt.month == made["month"]).all()


def test_gaps_between_spans_are_passed_over_at_once() -> None:
    start = dt.datetime(2024, 1, 1)
    column = st.Datetime(start, start + dt.timedelta(days=3000), resolution="second")
    first, last = column.grid()
    # Were each second of eight years tried, this would take minutes.
    spans = apart_in_order([(last - 9, last + 1), (first, first + 5), (first + 3, first + 10)])
    assert spans == ((first, first + 10), (last - 9, last + 1))

    found = FreeValues.of(column, spans).apart(np.full(20, first + 2))

    assert sorted(found.tolist()) == [*range(first, first + 10), *range(last - 9, last + 1)]
