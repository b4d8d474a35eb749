"""Proposals for numbers that count from one day or time to another, and for times that lie near each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read
from syntabula.table.rules.distances import holds_window
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.stated_windows import StatedWindows

RNG = np.random.default_rng(0)
N = 400
DAYS = np.datetime64("2015-01-01") + RNG.integers(0, 2_000, N).astype("timedelta64[D]")
STAYS = RNG.poisson(5, N)
TIMES = np.datetime64("2015-01-01T00:00") + RNG.integers(0, 2_000_000, N).astype("timedelta64[m]")
DELAYS = RNG.integers(-30, 200, N)
CAME = TIMES + DELAYS.astype("timedelta64[m]")


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


def moved(times, least, most, seed=1):
    """Return times moved by minutes that do not depend on which tests were run before."""
    return times + np.random.default_rng(seed).integers(least, most, times.size).astype("timedelta64[m]")


def drafted(**columns):
    schema, _, found = draft_with_rules(read(pd.DataFrame(columns)))
    return schema.with_columns(schema.columns, rules=found)


def unlearned(schema):
    """Return the pairs of times near each other, by their rules, of which drawn rows could be apart."""
    found, compiled = schema.rules, RowRules(schema).compiled
    required = {c.rule: c.expression for c in compiled.conditions if c.rule in found.require}
    near = StatedWindows.of(schema.columns, required, compiled.derived).near()
    return [(w.first, w.last) for w in near if not holds_window(w, compiled.distances, schema.columns)]


def n_windows(found):
    return sum("INTERVAL" in condition for condition in found.require)


def test_the_name_of_one_time_may_lie_within_that_of_another():
    assert derived(**{"x": TIMES, '"x"': CAME, "{0}": DELAYS}) == {
        "{0}": 'date_diff(\'minute\', "x", """x""")'
    }


def test_of_times_near_each_other_each_is_near_one_that_is_learned_before():
    schema = drafted(**{f"t{i}": moved(TIMES, -50 * i - 1, 50 * i + 1, seed=i) for i in range(3)})

    assert n_windows(schema.rules) == 4
    assert schema.rules.require[0].startswith('"t1" >= "t0"')
    assert unlearned(schema) == []


def test_windows_come_after_other_conditions_and_are_proposed_with_both_bounds():
    near = {f"t{i}": moved(np.tile(TIMES, 2), -50, 50, seed=i) for i in range(6)}
    home, apart = np.arange(2 * N) % 6, np.arange(2 * N) // 6 % 5 + 1
    teams = np.array([*"abcdef"])[[home, (home + apart) % 6]]

    found = rules(**near, home=teams[0], guest=teams[1])

    assert found.require[0] == '"home" <> "guest"'
    assert len(found.require) == 9
    assert n_windows(found) == 8


def test_times_in_orders_are_held_near_those_in_others_once_and_rows_can_be_drawn():
    late = np.maximum(DELAYS, 0).astype("timedelta64[m]")
    came = TIMES + late
    after = moved(came, 1, 50)
    after[np.argmin(late)] = TIMES[np.argmin(late)] - np.timedelta64(10, "m")
    frame = {"a": TIMES, "b": came, "c": after, "d": came + np.timedelta64(1, "h")}
    schema = drafted(**frame)

    release = st.Independent(epsilon=np.inf, seed=0, allow_observed=True).fit(
        pd.DataFrame(frame), schema=schema
    )

    assert (schema.rules.order, n_windows(schema.rules)) == ((("a", "b"), ("c", "d")), 2)
    # Two of three orders are learned as well.
    assert release.rules_broken(500).get('"b" <= "d"', 0.0) < 0.4


def test_a_time_in_no_order_is_held_near_one_in_an_order():
    schema = drafted(due=TIMES, came=CAME, end=moved(TIMES, 60, 400))

    assert (schema.rules.order, n_windows(schema.rules)) == ((("due", "end"),), 2)
    assert unlearned(schema) == []


def test_times_of_which_a_difference_is_derived_are_held_near_no_others():
    left = moved(TIMES, 0, 20_000, seed=2)

    found = rules(due=TIMES, came=CAME, late=DELAYS, left=left, seen=moved(CAME, -9, 9))

    assert set(found.derive) == {"late"}
    assert n_windows(found) == 2
    assert not any('"came"' in condition for condition in found.require)


def test_an_order_between_times_whose_differences_are_derived_is_a_condition():
    end, later = moved(TIMES, 60, 400), DELAYS - np.arange(N) % 40 + 20
    left = end + later.astype("timedelta64[m]")
    frame = pd.DataFrame(
        {"due": TIMES, "came": CAME, "late": DELAYS, "end": end, "left": left, "later": later}
    )
    frame.loc[::7, ["came", "left", "late", "later"]] = None
    schema = drafted(**frame)

    assert set(schema.rules.derive) == {"late", "later"}
    assert schema.rules.order == (("due", "end"),)
    assert unlearned(schema) == []


def test_a_time_is_near_one_that_has_a_value_wherever_it_has_one():
    frame = pd.DataFrame({"due": TIMES, "came": CAME, "seen": moved(CAME, -9, 9)})
    frame.loc[::7, ["came", "seen"]] = None
    schema = drafted(**frame)

    assert n_windows(schema.rules) == 4
    assert unlearned(schema) == []
    frame.loc[::5, "due"] = None
    assert rules(due=frame["due"], came=frame["came"]) is None


def test_a_difference_of_few_values_leaves_its_times_to_be_held_near_each_other():
    # Few numbers are drafted as categories, whose least and most say nothing of a distance.
    stays = RNG.integers(-3, 9, N)

    found = rules(admitted=DAYS, left=DAYS + stays.astype("timedelta64[D]"), stay=stays)

    assert dict(found.derive) == {"stay": 'date_diff(\'day\', "admitted", "left")'}
    assert [*found.require] == [
        '"left" >= "admitted" - INTERVAL 3 day',
        '"left" <= "admitted" + INTERVAL 8 day',
    ]


def test_two_orders_are_joined_by_what_is_near() -> None:
    rng = np.random.default_rng(0)
    planned = pd.Series(
        pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 500_000, 2000), unit="min")
    )
    lands = planned + pd.to_timedelta(rng.integers(50, 400, 2000), unit="min")
    late = pd.to_timedelta(rng.integers(-15, 90, 2000), unit="min")
    gone = rng.random(2000) < 0.05
    frame = pd.DataFrame({"planned": planned, "left": (planned + late).mask(gone), "lands": lands})
    frame["landed"] = (lands + late + pd.to_timedelta(rng.integers(-30, 31, 2000), unit="min")).mask(gone)

    schema, _, rules = draft_with_rules(read(frame))

    assert rules is not None
    ruled = st.Schema(schema.columns, rules=rules)
    compiled = ruled.compiled_rules
    assert compiled is not None
    # Nothing joined the planned times to the others, which were months apart.
    assert len(compiled.distances) == 3
    release = st.MST(epsilon=3.0, allow_observed=True, seed=0).fit(frame, ruled)
    drawn = release.sample(1000, seed=0)
    for one, other in (("left", "planned"), ("landed", "lands")):
        assert (drawn[one] - drawn[other]).dropna().abs().max() < pd.Timedelta(1, unit="D")

    given = frame[["landed"]][:200]
    made = release.sample(given=given, seed=0)

    assert ((made["landed"] == given["landed"]) | given["landed"].isna()).all()
    assert (made["left"] - made["planned"]).dropna().abs().max() < pd.Timedelta(1, unit="D")
