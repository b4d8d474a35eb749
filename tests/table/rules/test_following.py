"""Columns that follow from one other column: parts of a day, bands of a number, groups and copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read

N = 400


def derived(frame):
    rules = draft_with_rules(read(pd.DataFrame(frame)))[2]
    return {} if rules is None else dict(rules.derive)


def days(seed=0, unit="D", n_units=900):
    rng = np.random.default_rng(seed)
    return pd.Series(pd.Timestamp("2020-02-01") + pd.to_timedelta(rng.integers(0, n_units, N), unit=unit))


class TestPartsOfADay:
    @pytest.mark.thorough
    def test_each_is_found_whatever_its_type(self):
        day = days()
        frame = {
            "day": day.dt.date,
            "year": day.dt.year,
            "month": day.dt.month.astype(float),
            "quarter": day.dt.quarter,
            "monday is 0": day.dt.day_of_week,
            "name": day.dt.day_name(),
            "short": day.dt.month_name().str[:3],
            "weekend": day.dt.day_of_week >= 5,
            "weekend as number": (day.dt.day_of_week >= 5).astype(int),
            "nothing": np.random.default_rng(1).integers(1, 13, N),
        }

        assert derived(frame) == {
            "year": 'year("day")',
            "month": 'month("day")',
            "quarter": 'quarter("day")',
            "monday is 0": 'isodow("day") - 1',
            "name": 'dayname("day")',
            "short": 'left(monthname("day"), 3)',
            "weekend": 'isodow("day") >= 6',
            "weekend as number": '(isodow("day") >= 6)::INTEGER',
        }

    @pytest.mark.thorough
    def test_those_of_moments_are_wall_clock_times_and_days(self):
        moment = days(unit="min", n_units=900_000).dt.tz_localize(
            "Europe/Berlin", nonexistent="shift_forward"
        )
        frame = {"at": moment, "hour": moment.dt.hour, "day": moment.dt.date}

        assert derived(frame) == {"hour": 'hour("at")', "day": '"at"::DATE'}

    @pytest.mark.thorough
    def test_clock_times_have_hours_and_minutes_however_they_are_written(self):
        rng = np.random.default_rng(0)
        hour, minute = rng.integers(0, 24, 400), rng.integers(0, 60, 400)
        for at, hours in (
            (hour * 100 + minute, '"at" // 100'),
            ([f"{h:02}:{m:02}" for h, m in zip(hour, minute, strict=True)], 'hour("at")'),
        ):
            found = derived({"at": at, "hour": hour, "minute": minute})

            assert found["hour"] == hours
            assert {*found} == {"hour", "minute"}

    def test_missing_days_have_missing_parts(self):
        day = days()
        day[::7] = None
        frame = {"day": day, "month": day.dt.month, "month of all": day.dt.month.fillna(1)}

        assert derived(frame) == {"month": 'month("day")'}

    def test_one_row_that_differs_takes_it_away(self):
        day = days()
        month = day.dt.month
        month[N - 1] = month[N - 1] % 12 + 1

        assert derived({"day": day, "month": month}) == {}


class TestBands:
    @pytest.mark.thorough
    def test_labels_that_hold_ranges_of_a_number_are_cut_at_the_roundest_numbers(self):
        age = np.random.default_rng(0).integers(0, 95, N)
        income = np.round(np.random.default_rng(1).uniform(0, 10, N), 4)
        frame = {
            "age": age,
            "group": np.select([age < 18, age < 65], ["child", "adult"], "old"),
            "income": income,
            "well off": income > 6.9999,
        }

        found = derived(frame)

        assert (
            found["group"]
            == """CASE WHEN "age" < 18 THEN 'child' WHEN "age" < 65 THEN 'adult' ELSE 'old' END"""
        )
        assert found["well off"] == 'CASE WHEN "income" < 7 THEN False ELSE True END'

    def test_missing_numbers_have_missing_groups(self):
        age = pd.Series(np.random.default_rng(0).integers(0, 95, N)).astype("Int64")
        age[::9] = None
        group = pd.Series(np.where(age.fillna(0) < 18, "child", "adult")).mask(age.isna())

        expected = """CASE WHEN "age" IS NULL THEN NULL WHEN "age" < 18 THEN 'child' ELSE 'adult' END"""
        assert derived({"age": age, "group": group}) == {"group": expected}

    def test_labels_that_overlap_or_hardly_occur_have_none(self):
        for change in ["overlap", "few"]:
            age = np.random.default_rng(0).permutation(N)
            group = np.where(age < 18, "child", "adult")
            if change == "overlap":
                group[np.argmax(age)] = "child"
            else:
                group = np.where(age >= N - 3, "oldest", "other")

            assert derived({"age": age, "group": group}) == {}


class TestFollowers:
    def test_a_column_that_is_nearly_constant_follows_from_none(self):
        letters = np.random.default_rng(0).choice([*"abcdefgh"], N)
        nearly = np.where(letters == letters[0], "yes", "no")
        frame = {"letter": letters, "one": nearly}

        assert "one" in derived(frame)

        letters[:3] = "z"
        assert derived({"letter": letters, "one": np.where(letters == "z", "yes", "no")}) == {}

    def test_a_missing_cell_is_a_value_of_both_columns(self):
        code = np.random.default_rng(0).integers(0, 5, N)
        frame = {
            "code": np.array(["a", "b", "c", "d", None])[code],
            "both": np.array(["x", "x", "y", "y", None])[code],
            "only here": np.array(["p", "q", None, "q", "p"])[code],
        }

        assert derived(frame) == {
            "both": """CASE "code" WHEN 'a' THEN 'x' WHEN 'b' THEN 'x' WHEN 'c' THEN 'y' WHEN 'd' THEN 'y' END""",
            "only here": """CASE WHEN "code" IS NULL THEN 'p' ELSE """
            """CASE "code" WHEN 'a' THEN 'p' WHEN 'b' THEN 'q' WHEN 'd' THEN 'q' END END""",
        }

    def test_whether_a_cell_is_missing_is_told_without_its_values(self):
        income = np.random.default_rng(0).integers(20, 40, N) * 1000.0
        income[:100] = np.nan
        frame = {"joint": np.where(np.isnan(income), "no", "yes"), "income of both": income + 0.5}

        assert derived(frame) == {"joint": """CASE WHEN "income of both" IS NULL THEN 'no' ELSE 'yes' END"""}

    def test_nothing_follows_from_values_of_which_nearly_all_occur_once(self):
        settled = np.array([None] * N, dtype=object)
        settled[:12] = [f"day {i}" for i in range(8)] + ["day 0"] * 4
        term = np.where(settled == "day 0", 2.0, 1.0)
        term[settled == None] = np.nan  # noqa: E711

        assert derived({"settled on": settled, "term in months": term}) == {}

    def test_cells_that_are_missing_anyhow_follow_from_nothing(self):
        code = np.random.default_rng(0).integers(0, 4, N)
        group = np.array(["x", "x", "y", "y"], dtype=object)[code]
        group[:3] = None

        assert derived({"code": code, "group": group}) == {}

    def test_hundreds_of_values_are_told_apart(self):
        code = np.random.default_rng(0).integers(0, 150, 3000)
        names = np.array([f"n{i}" for i in range(150)])

        (rule,) = derived({"town": names[code], "district": names[code // 6]}).values()

        assert rule.startswith("""CASE "town" WHEN 'n0' THEN 'n0' WHEN""")
        assert rule.count("WHEN") == 150


@pytest.mark.thorough
def test_a_release_computes_what_was_proposed():
    day = days()
    frame = pd.DataFrame({"day": day, "month": day.dt.month, "n": np.arange(N) % 90})
    frame["band"] = np.where(frame["n"] < 30, "low", "high")
    schema, _, rules = draft_with_rules(read(frame))
    ruled = st.Schema(schema.columns, rules=rules)

    made = st.MST(epsilon=1.0, allow_observed=True, seed=0).fit(frame, ruled).sample(200, seed=0)

    assert (made["month"].astype(int) == pd.to_datetime(made["day"]).dt.month).all()
    assert ((made["n"] < 30) == (made["band"] == "low")).all()
