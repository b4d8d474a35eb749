"""Rules without those on some of a table's columns."""

from __future__ import annotations

import pytest

import syntabula as st
from syntabula.table.rules.kept_rules import kept_rules
from syntabula.table.rules.row_rules import RowRules

RULES = st.Rules(
    derive={"sum": "a + b", "next": "sum + 1"},
    order=[["low", "high"]],
    require=["a < 9", "b <> low"],
    together=[["c", "d"]],
)
NUMBER = st.Numeric(0, 50, integer=True)
COLUMNS = dict.fromkeys(("a", "b", "sum", "next", "low", "high"), NUMBER)
NULLABLE = dict.fromkeys(("c", "d"), st.Numeric(0, 50, integer=True, nullable=True))
AT_WORK = RowRules(st.Schema({**COLUMNS, **NULLABLE}, rules=RULES))


@pytest.mark.parametrize(
    ("without", "left_out"),
    [
        ("a", ("sum = a + b", "a < 9")),
        ("sum", ("sum = a + b", "next = sum + 1")),
        ("low", ("low <= high", "b <> low")),
        ("c", ("missing together: c, d",)),
        ("other", ()),
    ],
)
def test_a_rule_is_left_out_if_it_names_the_column(without: str, left_out: tuple[str, ...]) -> None:
    kept = kept_rules(AT_WORK, {without})

    assert kept.left_out == left_out
    assert kept.rules is not None
    assert kept.rules.described() == [line for line in RULES.described() if line not in left_out]
    assert without not in kept.columns
    RowRules(st.Schema({**COLUMNS, **NULLABLE}, rules=kept.rules)).compiled  # noqa: B018


def test_no_rules_are_left_of_those_that_all_name_a_column() -> None:
    kept = kept_rules(AT_WORK, {*COLUMNS, "d"})

    assert kept.rules is None
    assert not kept.columns
    assert kept.left_out == tuple(RULES.described())
