from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.marginals.domain import EncodedTable
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import allowed
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.implied import implied_distance, implied_start
from syntabula.table.rules.row_rules import RowRules

N = 20_000
DAYS = (dt.date(2020, 1, 1), dt.date(2022, 12, 31))
TIMES = st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2022, 12, 31), resolution="hour")
MONTH_AFTER = ["b >= a", "b <= a + interval 30 day"]
CASES = {
    "days": (st.Date(*DAYS), MONTH_AFTER, ["2021-05-05", ("2021-01-01", "2021-02-03")]),
    "months": (
        st.Date(*DAYS, resolution="month"),
        ["b >= a", "b <= a + interval 90 day"],
        ["2021-05-01", ("2021-01-01", "2021-03-01")],
    ),
    "times": (TIMES, MONTH_AFTER, ["2021-05-05", ("2021-01-01T10:00", "2021-01-02T10:00")]),
    "whole numbers": (st.Numeric(0, 500, integer=True), ["b - a between 0 and 10"], [77, (70, 75), "<20"]),
    "decimals": (st.Numeric(0, 50, decimals=1), ["b - a between 0.5 and 3.5"], [17.3, (17, 18)]),
    "numbers": (st.Numeric(0.0, 50.0), ["b - a between 0 and 3"], [(17.3, 17.9)]),
}


def rules_of(column: st.Numeric | st.Date | st.Datetime, **stated: list) -> RowRules:
    rules = row_rules(st.Schema({"a": column, "b": column}, rules=st.Rules(**stated)))
    assert rules is not None
    assert set(rules.compiled.distances) == {"b"}
    return rules


@pytest.mark.parametrize("case", CASES)
def test_every_row_that_satisfies_a_condition_satisfies_what_it_implies(case):
    column, require, conditions = CASES[case]
    rules, rng = rules_of(column, require=require), np.random.default_rng(0)
    codec = Codec.plan(rules.learned_schema, bins=40)
    codes = {name: rng.integers(0, codec.domain.size(name), N) for name in codec.domain}
    learned = codec.decode(EncodedTable.from_mapping(codec.domain, codes), rng)
    rows, _, _ = rules.completed(learned, N, rng)
    for condition in conditions:
        wanted = allowed("b", column, condition)

        name, implied = implied_start(rules, "b", wanted)

        assert name == "a"
        among = satisfies(column, rows["b"], wanted)
        begins = satisfies(column, rows["a"], allowed("a", column, implied))
        assert among.any()
        assert (begins | ~among).all()
        assert begins.mean() < 0.5


def test_nothing_is_implied_by_missing_cells_whole_domains_or_columns_as_they_are():
    column = st.Numeric(0, 500, integer=True, nullable=True)
    rules = rules_of(column, order=[["a", "b"]])

    for name, condition in (("b", [3, None]), ("b", (0, 500)), ("a", 3)):
        assert implied_start(rules, name, allowed(name, column, condition)) is None


def test_nothing_is_implied_where_no_step_of_the_start_lies_near_and_ends_of_whole_numbers_are_exact():
    x, y = st.Numeric(0, 2 * 10**18, integer=True, step=10), st.Numeric(0, 2 * 10**18, integer=True)
    rules = row_rules(st.Schema({"x": x, "y": y}, rules=st.Rules(require=["y - x between 0 and 3"])))

    assert implied_start(rules, "y", allowed("y", y, (15, 16))) is None
    found = implied_start(rules, "y", allowed("y", y, 10**18 + 1))
    assert found == ("x", (10**18 - 3, 10**18 + 2))


def test_a_start_that_may_be_missing_still_may():
    column = st.Numeric(0, 500, integer=True, nullable=True)

    name, implied = implied_start(rules_of(column, order=[["a", "b"]]), "b", allowed("b", column, 300))

    assert (name, implied) == ("a", [(0, 301), None])


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_rows_that_end_on_a_single_day_are_drawn():
    """One row in a thousand ends on it, and those with fewer were refused."""
    rng = np.random.default_rng(1)
    start = pd.Series(np.datetime64("2020-01-01") + rng.integers(0, 1400, 3000))
    stays = pd.DataFrame({"a": start, "b": start + pd.to_timedelta(rng.integers(0, 31, 3000), "D")})
    wide = st.Date(dt.date(2020, 1, 1), dt.date(2023, 12, 31))
    schema = st.Schema({"a": wide, "b": wide}, rules=st.Rules(require=MONTH_AFTER))

    drawn = (
        st.Independent(epsilon=9.0, seed=1).fit(stays, schema).sample(300, where={"b": "2021-05-05"}, seed=1)
    )

    assert (drawn["b"] == "2021-05-05").all()
    assert drawn["a"].nunique() > 10


@pytest.mark.parametrize(
    ("kind", "text", "orders"),
    [
        ("days", "date_diff('day', a, b)", [["a", "b"]]),
        ("days", "date_diff('day', a, b) + 1", [["a", "b"]]),
        ("times", "date_diff('day', a, b)", [["a", "b"]]),
        ("whole numbers", "a - b", [["b", "a"]]),
        ("decimals", "round(b - a)", []),
        ("decimals", "2 * b - 2 * a", [["a", "b"]]),
    ],
)
def test_a_condition_on_a_difference_implies_one_on_the_distance(kind, text, orders):
    column, counted = CASES[kind][0], st.Numeric(-2000, 2000, integer=True)
    columns = {"a": column, "b": column, "n": counted}
    rules = row_rules(st.Schema(columns, rules=st.Rules(derive={"n": text}, order=orders)))
    assert rules is not None
    rng = np.random.default_rng(0)
    codec = Codec.plan(rules.learned_schema, bins=40)
    codes = {name: rng.integers(0, codec.domain.size(name), N) for name in codec.domain}
    learned = codec.decode(EncodedTable.from_mapping(codec.domain, codes), rng)
    rows, kept, _ = rules.completed(learned, N, rng)
    wanted = allowed("n", counted, (5, 20))

    implied = implied_distance(rules, "n", wanted)

    assert (implied is None) == (not orders or text.startswith("round"))
    if implied is not None:
        name, condition = implied
        distance = rules.learned_schema[name]
        among = satisfies(counted, rows["n"], wanted) & kept
        near = satisfies(distance, learned[name], allowed(name, distance, condition))
        assert among.sum() > 20
        assert (near | ~among).all()
        assert near.sum() < 4 * among.sum() + 2000
