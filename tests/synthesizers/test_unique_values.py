"""A column that no two rows share, as the day of a table with one row a day, has no value twice in synthetic rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, SchemaError
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


def test_parts_of_a_table_agree_and_a_file_keeps_it(release: st.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.syn")
    loaded = st.load(tmp_path / "r.syn")
    draw = loaded._drawing.prepared(500, None, None, 3)[1]

    days = np.concatenate(
        [draw(a, a + 100, np.random.default_rng(a))["day"].values for a in range(0, 500, 100)]
    )

    assert np.unique(days).size == 500


def test_with_rules_too() -> None:
    frame = table()
    frame["month"] = frame["day"].dt.month
    ruled = st.MST(epsilon=5.0, seed=0).fit(frame, schema(derive={"month": "month(day)"}))

    drawn = ruled.sample(600, seed=1)

    assert drawn["day"].is_unique
    assert (drawn["month"] == drawn["day"].dt.month).all()


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
