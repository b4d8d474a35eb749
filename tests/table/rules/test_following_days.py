"""Columns whose labels follow from a weekday, a month or an hour."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read

N = 3_000


def visits(hours=24, seed=0):
    rng = np.random.default_rng(seed)
    at = pd.Timestamp("2023-01-02") + pd.to_timedelta(
        rng.integers(0, 365, N) * 24 + rng.integers(0, hours, N), unit="h"
    )
    at = pd.Series(at.astype("datetime64[s]"))
    names = np.array(["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"])
    seasons = np.array(["winter", "spring", "summer", "autumn"])
    return pd.DataFrame(
        {
            "at": at,
            "weekday": names[at.dt.day_of_week],
            "season": seasons[at.dt.month % 12 // 3],
            "shift": np.where((at.dt.hour >= 6) & (at.dt.hour < 22), "day", "night"),
            "place": rng.choice([*"abc"], N),
        }
    )


def derived(frame):
    rules = draft_with_rules(read(frame))[2]
    return {} if rules is None else dict(rules.derive)


def test_labels_of_days_and_hours_are_proposed_and_hold_in_a_release():
    frame = visits()
    schema, _, rules = draft_with_rules(read(frame))
    assert rules is not None

    assert set(rules.derive) == {"weekday", "season", "shift"}
    assert "isodow" in rules.derive["weekday"]
    assert "month" in rules.derive["season"]
    assert "hour" in rules.derive["shift"]

    stated = st.Schema(dict(schema.columns), rules=rules)
    drawn = (
        st.MST(epsilon=5.0, delta=1e-6, seed=1, allow_observed=True).fit(frame, stated).sample(500, seed=1)
    )
    at = pd.to_datetime(drawn["at"])
    assert drawn["weekday"].tolist() == visits_of(at)["weekday"].tolist()
    assert drawn["season"].tolist() == visits_of(at)["season"].tolist()


def visits_of(at):
    names = np.array(["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"])
    seasons = np.array(["winter", "spring", "summer", "autumn"])
    return pd.DataFrame({"weekday": names[at.dt.day_of_week], "season": seasons[at.dt.month % 12 // 3]})


def test_hours_without_rows_have_the_label_of_the_hour_before():
    frame = visits(hours=12)
    text = derived(frame)["shift"]
    assert "WHEN 11 THEN 'day'" in text
    assert "WHEN 23 THEN 'day'" in text
    assert "WHEN 3 THEN 'night'" in text


@pytest.mark.parametrize("broken", ["one row", "a month is missing", "hardly varies"])
def test_what_does_not_hold_in_all_rows_or_kinds_is_not_proposed(broken):
    frame = visits()
    if broken == "one row":
        frame.loc[17, "season"] = "winter" if frame.loc[17, "season"] != "winter" else "summer"
    if broken == "a month is missing":
        frame = frame[frame["at"].dt.month != 5]
    if broken == "hardly varies":
        frame["season"] = "winter"
        frame.loc[frame.index[:5], "season"] = "summer"
    assert "season" not in derived(frame)


def test_missing_times_have_missing_labels():
    frame = visits()
    frame.loc[::9, ["at", "season"]] = None
    assert "month" in derived(frame)["season"]
    frame.loc[1, "season"] = None
    assert "season" not in derived(frame)
