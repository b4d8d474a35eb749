"""A column that no two rows share, as the day of a table with one row a day, has no value twice in synthetic rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.table.draft import draft_schema

N = 700
FIRST, LAST = dt.date(2021, 1, 1), dt.date(2022, 12, 31)


def table(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    day = np.sort(rng.choice(730, n, replace=False))
    warm = 10 - 10 * np.cos(day * 2 * np.pi / 365)
    return pd.DataFrame(
        {
            "day": pd.Timestamp(FIRST) + pd.to_timedelta(day, unit="D"),
            "warm": np.clip(warm + rng.normal(0, 1, n), -5, 30).round(1),
        }
    )


def schema(**rules: object) -> st.Schema:
    columns = {"day": st.Date(FIRST, LAST, unique=True), "warm": st.Numeric(-5, 30, decimals=1)}
    if rules:
        columns["month"] = st.Numeric(1, 12, integer=True)
    return st.Schema(columns, rules=st.Rules(**rules) if rules else None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def release() -> st.Release:
    return st.MST(epsilon=5.0, seed=0).fit(table(), schema())


@pytest.mark.parametrize("n", [0, 1, 300, N, 730])
def test_each_value_comes_once_and_in_order(release: st.Release, n: int) -> None:
    drawn = release.sample(n, seed=1)

    assert len(drawn) == n
    assert (drawn["day"].diff().dropna() > pd.Timedelta(0)).all()
    assert drawn["day"].between(pd.Timestamp(FIRST), pd.Timestamp(LAST)).all()
    if n == 730:
        # Other columns follow them: winters are near 0, summers near 20.
        assert drawn.groupby(drawn["day"].dt.quarter)["warm"].mean().loc[[1, 3]].diff().iloc[1] > 5
    if n == 300:
        # Fewer rows are spread over all years.
        assert (drawn["day"].dt.year == 2021).mean() == pytest.approx(0.5, abs=0.05)


def test_more_rows_than_values_are_refused_and_by_default_not_drawn(release: st.Release) -> None:
    with pytest.raises(ArgumentError, match="column 'day' is `unique` and has 730 values"):
        release.sample(731)

    full = st.Independent(epsilon=1.0, seed=0).fit(table(730), schema())
    assert len(full.sample(seed=0)) <= 730


def test_rows_follow_the_seed_and_single_ones_lie_anywhere(release: st.Release) -> None:
    assert release.sample(300, seed=1).equals(release.sample(300, seed=1))
    assert not release.sample(300, seed=1).equals(release.sample(300, seed=2))
    # Of two rows, neither is always of the middle of its half.
    singles = pd.concat([release.sample(1, seed=seed) for seed in range(40)])["day"]
    assert singles.max() - singles.min() > pd.Timedelta(500, unit="D")


def test_parts_of_a_table_agree_and_a_file_keeps_it(release: st.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.syn")
    loaded = st.load(tmp_path / "r.syn")
    one, other = tmp_path / "one", tmp_path / "other"

    loaded.sample_to(one, 500, seed=3, parts=5)
    for part in (4, 2, 5, 1, 3):
        release.sample_to(other, 500, seed=3, parts=5, part=part)

    files = sorted(one.iterdir())
    whole = pd.concat([pd.read_parquet(file) for file in files])
    assert len(files) == 5
    assert len(whole) == 500
    assert whole["day"].is_unique
    assert whole["day"].is_monotonic_increasing
    for file in files:
        assert pd.read_parquet(file).equals(pd.read_parquet(other / file.name))


def test_other_columns_keep_what_weekdays_tell_of_them() -> None:
    days = pd.bdate_range("2018-01-01", periods=1_000)
    noise = np.random.default_rng(0).normal(0, 0.5, days.size)
    frame = pd.DataFrame({"day": days, "y": np.clip(days.day_of_week + noise, -3, 8).round(2)})
    day = st.Date(days[0].date(), days[-1].date(), unique=True)
    weekly = st.MST(epsilon=10.0, seed=0).fit(
        frame, st.Schema({"day": day, "y": st.Numeric(-3, 8, decimals=2)})
    )

    drawn = weekly.sample(1_000, seed=1)

    assert drawn["day"].is_unique
    weekdays = drawn["day"].dt.day_of_week
    # Days that were chosen apart from their rows had 0 and .08.
    assert np.corrcoef(weekdays, drawn["y"])[0, 1] > 0.7
    assert (weekdays > 4).mean() < 0.05


def test_times_keep_their_minutes_and_what_hours_tell() -> None:
    at = pd.date_range("2022-01-01", "2022-04-30 23:30", freq="30min")
    at = at[(at.hour > 6) & (at.hour < 20)]
    y = (at.hour + np.random.default_rng(0).normal(0, 1, at.size)).round(1)
    moment = st.Datetime(at[0].to_pydatetime(), at[-1].to_pydatetime(), resolution="minute", unique=True)
    schema = st.Schema({"at": moment, "y": st.Numeric(0, 30, decimals=1)})
    hourly = st.MST(epsilon=10.0, seed=0).fit(pd.DataFrame({"at": at, "y": y}), schema)

    drawn = hourly.sample(2_000, seed=1)

    assert drawn["at"].is_unique
    assert drawn["at"].dt.minute.isin([0, 30]).mean() > 0.9
    assert np.corrcoef(drawn["at"].dt.hour, drawn["y"])[0, 1] > 0.7


def test_few_keys_and_found_columns_stand_beside_it() -> None:
    frame = table().assign(key=[f"{i:03d}" for i in range(N)], sort=["a", "b"] * (N // 2))
    declared = schema().with_column("key", st.Identifier(pattern=r"\d{3}"))
    found = st.Independent(epsilon=5.0, delta=1e-6, seed=0).fit(
        frame, st.Schema(declared.columns, others="find")
    )

    drawn = found.sample(N, seed=1)

    assert drawn["day"].is_unique
    assert drawn["key"].is_unique
    # Judged by more rows than there are days.
    assert found.lost_columns() == []


def test_with_rules_too() -> None:
    frame = table()
    frame["month"] = frame["day"].dt.month
    ruled = st.MST(epsilon=5.0, seed=0).fit(frame, schema(derive={"month": "month(day)"}))

    drawn = ruled.sample(600, seed=1)

    assert drawn["day"].is_unique
    assert (drawn["month"] == drawn["day"].dt.month).all()


def test_rows_that_break_a_rule_are_drawn_anew_with_the_values_left() -> None:
    frame = table(730)
    frame = frame[frame["day"].dt.day_of_week < 5]
    ruled = st.MST(epsilon=5.0, seed=0).fit(
        frame, st.Schema(schema().columns, rules=st.Rules(require=["isodow(day) <= 5"]))
    )

    for n in (None, 500, 521):
        drawn = ruled.sample(n, seed=1)

        assert len(drawn) == n or (n is None and len(drawn) > 480)
        assert drawn["day"].is_unique
        assert (drawn["day"].dt.day_of_week < 5).all()
    with pytest.raises(ResourceError, match="only 521 of 600 rows were found") as refused:
        ruled.sample(600, seed=1)
    assert "given" not in str(refused.value)


@pytest.mark.parametrize("order", [[["start", "day", "end"]], [["start", "end"], ["start", "day"]]])
def test_what_is_in_an_order_with_it_moves_along(order: list[list[str]]) -> None:
    frame, rng = table(600), np.random.default_rng(1)
    for name, way in (("start", -1), ("end", 1)):
        frame[name] = frame["day"] + way * pd.to_timedelta(rng.integers(0, 6, 600), unit="D")
    # Narrower than the day's, so that the order would be learned from them.
    low, high = dt.date(2021, 1, 20), dt.date(2022, 12, 1)
    frame = frame[(frame["start"] >= pd.Timestamp(low)) & (frame["end"] <= pd.Timestamp(high))]
    others = {name: st.Date(low, high) for name in ("start", "end")}
    columns = schema().columns | others
    ruled = st.MST(epsilon=5.0, seed=0).fit(frame, st.Schema(columns, rules=st.Rules(order=order)))

    drawn = ruled.sample(500, seed=1)

    assert drawn["day"].is_unique
    assert (drawn["day"] - drawn["start"]).dt.days.between(0, 12).all()
    assert (drawn["start"] <= drawn["end"]).all()


def test_a_draft_proposes_it_where_chance_would_repeat_values() -> None:
    rng = np.random.default_rng(0)
    days, note = draft_schema(table())
    assert days["day"].unique
    assert any("differs in every row, as where there is one row a day" in text for text in note)
    # Times of a second differ anyhow.
    seconds = pd.DataFrame(
        {"at": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.choice(10**7, 300), unit="s")}
    )
    assert not draft_schema(seconds)[0]["at"].unique
    twice = table()
    twice.loc[0, "day"] = twice.loc[1, "day"]
    assert not draft_schema(twice)[0]["day"].unique
    both = table().assign(other=lambda frame: frame["day"] + pd.Timedelta(1, unit="D"))
    assert sum(draft_schema(both)[0][name].unique for name in ("day", "other")) == 1


def test_declarations_that_cannot_hold_are_refused() -> None:
    with pytest.raises(SchemaError, match="unique needs a value in every row"):
        st.Date(FIRST, LAST, unique=True, nullable=True)
    day = st.Date(FIRST, LAST, unique=True)
    with pytest.raises(SchemaError, match="columns 'a', 'b': at most one column can be `unique`"):
        st.Schema({"a": day, "b": day})
    with pytest.raises(SchemaError, match="derive computes column 'day', which is `unique`"):
        st.Schema({"day": day, "other": st.Date(FIRST, LAST)}, rules=st.Rules(derive={"day": "other"}))
