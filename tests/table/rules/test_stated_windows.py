"""Windows of all rules together, and which of them are worth learning."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pytest

from syntabula import Date, Datetime, Numeric
from syntabula.table.rules.expressions import read_expression
from syntabula.table.rules.stated_windows import StatedWindows
from syntabula.table.schema.columns import Column

DAYS = Date(dt.date(2020, 1, 1), dt.date(2024, 1, 1))
ZONED = Datetime(dt.datetime(2020, 1, 1), dt.datetime(2024, 1, 1), timezone="UTC")
COLUMNS: dict[str, Column] = {
    "a": DAYS, "b": DAYS, "z": ZONED, "m": Numeric(0, 1000, integer=True), "n": Numeric(0, 1000, integer=True),
    "stay": Numeric(0, 90, integer=True), "rest": Numeric(-50, 50, integer=True),
}  # fmt: skip
DAY = 86_400_000_000


def stated(*required: str, derive: Mapping[str, str] | None = None) -> StatedWindows:
    names = tuple(COLUMNS)
    conditions = {text: read_expression(text, names) for text in required}
    derived = {name: read_expression(text, names) for name, text in (derive or {}).items()}
    return StatedWindows.of(COLUMNS, conditions, derived)


def test_bounds_of_several_rules_are_joined() -> None:
    found = stated("b >= a", "a >= b - 30", "b <= a + 60", "n > m")

    window = found.between("a", "b")
    assert (window.least, window.most) == (0, 30 * DAY)
    assert found.between("b", "a") == window.turned()
    assert found.between("a", "n").most is None
    assert set(found.by_rule) == {"b >= a", "a >= b - 30", "b <= a + 60", "n > m"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("required", "near"),
    [
        (["b <= a + 30"], True),
        (["b >= a + 14"], True),
        (["b <= a"], False),
        (["b < a"], False),
        (["b <= a + 5000"], False),
        (["b between a and a + 1000"], True),
        (["b between a and a + 5000"], False),
        (["n - m between 0 and 10"], True),
        (["n - m <= 10"], False),
        (["n - m between 0 and 900"], False),
    ],
)
def test_columns_are_near_if_a_span_of_time_or_two_bounds_of_numbers_say_so(
    required: list[str], near: bool
) -> None:
    assert bool([*stated(*required).near()]) is near


def test_bounds_of_a_derived_length_of_time_count_and_those_of_an_amount_do_not() -> None:
    found = stated(derive={"stay": "b - a", "rest": "n - m"})

    (window,) = found.near()
    assert {window.first, window.last} == {"a", "b"}
    assert window.most == 90.5 * DAY


def test_columns_that_cannot_be_compared_have_none() -> None:
    assert not stated("epoch(z) - epoch(a) <= 60").by_pair
