"""Proposals for numbers that count from one day or time to another, and for times that lie near each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read

RNG = np.random.default_rng(0)
N = 400
DAYS = np.datetime64("2015-01-01") + RNG.integers(0, 2_000, N).astype("timedelta64[D]")
STAYS = RNG.poisson(5, N)
TIMES = np.datetime64("2015-01-01T00:00") + RNG.integers(0, 2_000_000, N).astype("timedelta64[m]")
DELAYS = RNG.integers(-30, 200, N)


def rules(**columns):
    return draft_with_rules(read(pd.DataFrame(columns)))[2]


def derived(**columns):
    found = rules(**columns)
    return {} if found is None else dict(found.derive)


@pytest.mark.parametrize("offset", [0, 1])
def test_a_stay_is_counted_in_days(offset):
    found = derived(admitted=DAYS, left=DAYS + STAYS.astype("timedelta64[D]"), stay=STAYS + offset)

    assert found == {"stay": 'date_diff(\'day\', "admitted", "left")' + " + 1" * offset}


def test_a_delay_is_counted_in_minutes_and_may_be_negative():
    found = derived(due=TIMES, came=TIMES + DELAYS.astype("timedelta64[m]"), delay=DELAYS.astype(float))

    assert found == {"delay": 'date_diff(\'minute\', "due", "came")'}


def test_an_age_is_counted_in_whole_years():
    births = np.datetime64("1940-01-01") + RNG.integers(0, 20_000, N).astype("timedelta64[D]")
    pairs = [(pd.Timestamp(b), pd.Timestamp(d)) for b, d in zip(births, DAYS, strict=True)]
    ages = [d.year - b.year - ((d.month, d.day) < (b.month, b.day)) for b, d in pairs]

    assert derived(born=births, seen=DAYS, age=ages) == {"age": 'date_sub(\'year\', "born", "seen")'}


def test_a_difference_of_which_one_part_is_missing_is_missing():
    frame = pd.DataFrame(
        {"admitted": DAYS, "left": DAYS + STAYS.astype("timedelta64[D]"), "stay": STAYS.astype(float)}
    )
    frame.loc[::7, ["left", "stay"]] = None

    assert "stay" in derived(**frame)
    frame.loc[1, "stay"] = None
    assert "stay" not in derived(**frame)


def test_numbers_that_count_nothing_are_none():
    found = derived(admitted=DAYS, left=DAYS + STAYS.astype("timedelta64[D]"), beds=RNG.permutation(STAYS))

    assert found == {}


def test_times_near_each_other_are_held_there():
    found = rules(due=TIMES, came=TIMES + DELAYS.astype("timedelta64[m]"))

    assert found.require == (
        '"came" >= "due" - INTERVAL 30 minute',
        f'"came" <= "due" + INTERVAL {DELAYS.max()} minute',
    )


def test_bounds_of_distances_are_round_and_days_are_counted_whole():
    moved = np.where(np.arange(N) == 3, -1, STAYS).astype("timedelta64[D]")

    by_day = rules(admitted=DAYS, left=DAYS + moved)
    seconds = rules(due=TIMES.astype("datetime64[s]"), came=TIMES + DELAYS * np.timedelta64(90, "s"))

    assert by_day.require[0] == '"left" >= "admitted" - INTERVAL 1 day'
    assert seconds.require[0] == '"came" >= "due" - INTERVAL 45 minute'


def test_times_far_apart_or_bound_by_another_rule_are_not():
    far = rules(due=TIMES, came=RNG.permutation(TIMES))
    ordered = rules(due=TIMES, came=TIMES + np.abs(DELAYS).astype("timedelta64[m]"))
    counted = rules(due=TIMES, came=TIMES + DELAYS.astype("timedelta64[m]"), delay=DELAYS)

    assert far is None
    assert (ordered.require, ordered.order) == ((), (("due", "came"),))
    assert counted.require == ()
