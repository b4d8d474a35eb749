"""A rule that cannot work is refused when the schema is made, in a sentence that names it."""

from __future__ import annotations

import datetime as dt

import pytest

from syntabula import Categorical, Date, Datetime, Identifier, Numeric, Rules, Schema, Time
from syntabula.errors import SchemaError
from syntabula.table.rules.checks import Distance

DAY = dt.date(2020, 1, 1)
TIME = dt.datetime(2020, 1, 1)
COLUMNS = {
    "a": Numeric(0, 10, integer=True),
    "b": Numeric(0, 10, integer=True, nullable=True),
    "total": Numeric(0, 20, integer=True, nullable=True),
    "s": Categorical(["x", "y"], nullable=True),
    "start": Date(DAY, DAY),
    "end": Date(DAY, DAY),
    "local": Datetime(TIME, TIME),
    "zoned": Datetime(TIME, TIME, timezone="Europe/Paris"),
    "at": Time(),
    "until": Time(),
    "id": Identifier(),
}


def test_a_rule_that_does_not_fit_its_columns_is_refused():
    for rules, said in [
        (
            {"derive": {"totl": "a + b"}},
            "names column 'totl', which the schema does not declare; did you mean 'total'?",
        ),
        ({"derive": {"total": "a + c"}}, "derive for column 'total': there is no column 'c'"),
        ({"derive": {"total": "total + 1"}}, "column 'total' is derived from itself"),
        (
            {"derive": {"a": "b", "b": "a"}},
            "are derived from each other in a cycle; leave one of them to be learned",
        ),
        ({"derive": {"total": "s"}}, "the expression gives text values, and the column is declared numeric"),
        ({"derive": {"total": "s + 1"}}, "derive for column 'total': No function matches"),
        (
            {"derive": {"s": "a"}},
            "the expression gives integer values, and the column is declared categorical",
        ),
        ({"derive": {"id": "a"}}, "uses column 'id', an identifier, whose values are made anew"),
        ({"require": ["id = 'x'"]}, "uses column 'id', an identifier"),
        (
            {"require": ["a + 1"]},
            "require 'a + 1': it gives integer values, not true or false; write a comparison",
        ),
        (
            {"require": ["a > 'x'"]},
            "require \"a > 'x'\": it cannot be computed for any row of the declared domains",
        ),
        ({"derive": {"total": "s::INTEGER"}}, "derive for column 'total': it cannot be computed for any row"),
        ({"derive": {"total": "a + 21"}}, "derive for column 'total': no value that was computed over"),
        ({"derive": {"a": "b / 0"}}, "derive for column 'a': no value that was computed over"),
        (
            {"derive": {"s": "CASE WHEN a > 2 THEN lower('Z') ELSE lower('W') END"}, "require": ["a >= 0"]},
            "bounds or categories",
        ),
        (
            {"derive": {"s": "CASE WHEN a > 2 THEN 'x' ELSE coalesce(NULL, 'Y') END"}},
            "derive for column 's': 'Y' is no category of column 's'; did you mean 'y'?",
        ),
        ({"require": ["a > 2 or s in ('x', 'xx')"]}, "'xx' is no category of column 's'; did you mean 'x'?"),
        (
            {"require": ["not ('none' = s and a > 2)"]},
            "'none' is no category of column 's'; correct it, or list it",
        ),
        (
            {"require": ["a > 10"]},
            "require 'a > 10': no row that was tried over the declared domains satisfies it",
        ),
        ({"require": ["a > b + 10"]}, "no row that was tried over the declared domains satisfies it"),
        (
            {"require": ["total < 0"], "derive": {"total": "a + b"}},
            "require 'total < 0': no row that was tried",
        ),
        ({"require": ["FALSE"]}, "require 'FALSE': no row that was tried"),
        (
            {"require": ["start > a"]},
            "require 'start > a': Cannot compare values of type DATE and type BIGINT",
        ),
        ({"order": [["a", "start"]]}, "order joins columns that cannot be compared (a, start)"),
        ({"order": [["local", "zoned"]]}, "order joins columns that cannot be compared (local, zoned)"),
        ({"order": [["start", "zoned"]]}, "order joins columns that cannot be compared (start, zoned)"),
        (
            {"order": [["a", "s"]]},
            "order names column 's', which is categorical; order takes numbers, dates and times",
        ),
        (
            {"order": [["at", "until"]]},
            """order names column 'at', which holds clock times of any day, and is not learned as a distance; write """
            """'"at" <= "until"' under `require` instead""",
        ),
        ({"order": [["a", "b"], ["b", "a"]]}, "form a cycle, so they could only be equal"),
        ({"order": [["a", "c"]]}, "order names column 'c', which the schema does not declare"),
        (
            {"together": [["b", "a"]]},
            "together names column 'a', which is never missing; declare it `nullable: true`",
        ),
        (
            {"together": [["b", "total"]], "derive": {"total": "a"}},
            "together names column 'total', which is derived",
        ),
    ]:
        with pytest.raises(SchemaError) as refused:
            Schema(COLUMNS, rules=Rules(**rules))

        assert str(refused.value).startswith("rules: ")
        assert said in str(refused.value)


@pytest.mark.thorough
def test_rules_compile_in_an_order_in_which_they_can_be_computed():
    schema = Schema(
        COLUMNS,
        rules=Rules(
            derive={"total": "b + 1", "b": "a"},
            order=[["start", "end", "local"]],
            require=["total > 1"],
        ),
    )

    found = schema.compiled_rules

    assert found.stages == (("b",), ("total",))
    assert found.distances == {
        "end": Distance(("start",), upwards=True),
        "local": Distance(("start", "end"), upwards=True),
    }
    assert [c.rule for c in found.conditions] == ["total > 1", "start <= end <= local"]


def test_a_second_order_is_learned_from_the_column_that_it_shares():
    schema = Schema(COLUMNS, rules=Rules(order=[["a", "total"], ["b", "total"]]))

    assert schema.compiled_rules.distances == {
        "total": Distance(("a",), upwards=True),
        "b": Distance(("total",), upwards=False),
    }
    assert all(condition.learned for condition in schema.compiled_rules.conditions)


def test_orders_that_share_columns_are_learned_together():
    schema = Schema(COLUMNS, rules=Rules(order=[["a", "total"], ["b", "total"], ["a", "b"]]))

    assert all(c.learned for c in schema.compiled_rules.conditions)


def test_an_order_is_learned_from_its_narrowest_column_in_both_directions():
    birth, left = Date(dt.date(1900, 1, 1), DAY), Date(DAY, dt.date(2021, 1, 1))
    schema = Schema(COLUMNS | {"birth": birth, "left": left}, rules=Rules(order=[["birth", "start", "left"]]))

    assert schema.compiled_rules.distances == {
        "left": Distance(("start",), upwards=True),
        "birth": Distance(("start",), upwards=False),
    }
    # What no two rows share moves, and takes along what is a distance from it.
    unique = Date(dt.date(1900, 1, 1), DAY, unique=True)
    changed = Schema({"birth": unique, "left": left}, rules=Rules(order=[["birth", "left"]]))
    assert changed.compiled_rules.distances == {"left": Distance(("birth",), upwards=True)}


def test_texts_beside_an_open_column_may_be_unlisted():
    columns = COLUMNS | {"s": Categorical(["x"], open=True)}

    assert Schema(columns, rules=Rules(require=["s <> 'rare' or a > 2"])).compiled_rules is not None


def test_texts_of_a_list_are_compared_with_the_column_before_it_alone():
    columns = COLUMNS | {"t": Categorical(["y", "z"])}

    assert Schema(columns, rules=Rules(require=["t in (s, 'z')"])).compiled_rules
    with pytest.raises(SchemaError, match="'x' is no category of column 't'"):
        Schema(columns, rules=Rules(require=["t in (s, 'x')"]))


def test_a_rule_is_checked_for_each_type_of_the_labels():
    rules = Rules(require=["x + y > 2"])

    def schema(labels):
        return Schema({"x": Categorical(labels), "y": Numeric(0, 10, integer=True)}, rules=rules)

    schema([0, 1])
    with pytest.raises(SchemaError, match="BOOLEAN"):
        schema([False, True])
