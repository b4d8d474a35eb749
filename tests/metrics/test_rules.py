"""Rows of both tables are checked against the rules of the schema."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.metrics import compare
from syntabula.metrics.rules import BrokenRules
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules

SCHEMA = st.Schema(
    {
        "id": st.Identifier(integer=True),
        "a": st.Numeric(0, 9, integer=True),
        "b": st.Numeric(0, 9, integer=True, nullable=True),
        "total": st.Numeric(0, 18, integer=True, nullable=True),
        "s": st.Categorical(["x", "y"]),
        "flag": st.Boolean(nullable=True),
        "start": st.Date(dt.date(2020, 1, 1), dt.date(2020, 1, 9)),
        "end": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 2, 1), nullable=True),
    },
    rules=st.Rules(
        derive={"total": "a + b"}, order=[["start", "end"]], require=["s = 'x' or a > 2", "flag or a < 9"]
    ),
)


def table():
    return pd.DataFrame(
        {
            "id": range(4),
            "a": [1, 2, 3, 9],
            "b": pd.array([1, None, 3, 4], dtype="Int64"),
            "total": pd.array([2, None, 6, 13], dtype="Int64"),
            "s": ["x", "x", "y", "y"],
            "flag": pd.array([True, False, None, True], dtype="boolean"),
            "start": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]),
            "end": pd.to_datetime(["2020-01-01T00:00", "2020-01-02T01:00", None, "2020-01-05T00:00"]),
        }
    )


def broken():
    frame = table()
    frame.loc[0, "total"] = 3
    frame.loc[1, ["s", "flag"]] = ["y", True]
    frame.loc[3, "end"] = pd.Timestamp("2020-01-03T23:59")
    return frame


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_each_rule_is_counted_in_both_tables():
    score = BrokenRules()(compare(broken(), table(), schema=SCHEMA), np.random.default_rng(0))
    turned = BrokenRules()(compare(table(), broken(), schema=SCHEMA), np.random.default_rng(0))

    assert score.value == 0
    assert score.facts["of the real rows"] == 0.75
    assert score.note == "75.00% of the real rows break a rule"
    assert turned.value == 0.75
    assert turned.details == {
        ("total = a + b",): 0.25,
        ("s = 'x' or a > 2",): 0.25,
        ("flag or a < 9",): 0.0,
        ("start <= end",): 0.25,
    }
    assert turned.facts == {
        "of the real rows": 0.0,
        "of the real rows: total = a + b": 0.0,
        "of the real rows: s = 'x' or a > 2": 0.0,
        "of the real rows: flag or a < 9": 0.0,
        "of the real rows: start <= end": 0.0,
    }


def test_days_of_a_column_of_months_are_judged_as_their_months():
    months = st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31), resolution="month")
    declared = st.Schema({"day": months}, rules=st.Rules(require=['day("day") = 1']))
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-05-15", "2020-06-01"])})

    (broken,) = row_rules(declared).broken_by(read(frame).columns, 2).values()

    assert not broken.any()


def test_categories_with_decimals_are_computed_with():
    declared = st.Schema(
        {
            "price": st.Numeric(0, 100, decimals=2),
            "discount": st.Categorical([0.0, 0.25], nullable=True),
            "paid": st.Numeric(0, 100, decimals=2, nullable=True),
        },
        rules=st.Rules(derive={"paid": "price * (1 - discount)"}),
    )
    frame = pd.DataFrame({"price": [8.0, 8.0, 8.0], "discount": [0.25, 0.0, None], "paid": [6.0, 6.0, None]})

    score = BrokenRules()(compare(frame, frame, schema=declared), np.random.default_rng(0))

    assert score.details == {("paid = price * (1 - discount)",): 1 / 3}


def test_files_are_checked_alike(tmp_path):
    table().to_csv(tmp_path / "real.csv", index=False)
    broken().to_csv(tmp_path / "made.csv", index=False)

    found = st.evaluate(tmp_path / "real.csv", tmp_path / "made.csv", schema=SCHEMA, metrics="broken-rules")

    assert found.score("broken-rules").value == 0.75


def test_it_is_among_the_quick_metrics_if_there_are_rules():
    frame = pd.concat([table()] * 10, ignore_index=True)
    without = st.Schema(SCHEMA.columns)

    assert st.evaluate(frame, frame, schema=SCHEMA, metrics="rows").score("broken-rules").value == 0
    keys = {r.score.metric for r in st.evaluate(frame, frame, schema=without, metrics="rows").results}
    assert "broken-rules" not in keys
    with pytest.raises(ArgumentError, match=r"'broken-rules' needs rules \(a schema with rules\)"):
        st.evaluate(frame, frame, schema=without, metrics="broken-rules")


@pytest.mark.thorough
def test_the_report_shows_it():
    frame = pd.concat([table()] * 10, ignore_index=True)

    page = st.make_report(frame, pd.concat([broken()] * 10, ignore_index=True), schema=SCHEMA)

    assert "broken-rules" in page.html
