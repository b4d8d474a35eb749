"""Which columns are learned as distances, from which others, and within which bounds."""

from __future__ import annotations

import datetime as dt

import pytest

from syntabula import Date, Numeric, Rules
from syntabula.table.rules.checks import compiled
from syntabula.table.rules.distances import Distance, holds_window, is_learned
from syntabula.table.rules.placing import connected, placed
from syntabula.table.rules.windows import Window
from syntabula.table.schema.columns import Column

DAY = 86_400_000_000
WIDE = Date(dt.date(1920, 1, 1), dt.date(2024, 1, 1))
STAYS = Date(dt.date(2020, 1, 1), dt.date(2024, 1, 1))
OPEN = Date(dt.date(2020, 1, 1), dt.date(2024, 1, 1), nullable=True)


def distances(columns: dict[str, Column], **rules: object) -> dict[str, Distance]:
    return dict(compiled(Rules(**rules), columns).distances)  # type: ignore[arg-type]


class TestWindows:
    def test_the_later_of_two_equally_wide_columns_is_learned_as_the_distance(self) -> None:
        found = distances({"b": STAYS, "a": STAYS}, require=["b between a and a + 30"])

        assert found == {"b": Distance(("a",), upwards=True, least=0, most=30 * DAY)}

    def test_the_wider_one_is_learned_as_the_distance(self) -> None:
        found = distances({"a": WIDE, "b": STAYS}, require=["b between a and a + 30"])

        assert found == {"a": Distance(("b",), upwards=False, least=0, most=30 * DAY)}

    def test_a_bound_on_one_side_leaves_the_other_to_the_columns(self) -> None:
        found = distances({"a": STAYS, "b": STAYS}, require=["b <= a + 30"])

        assert found == {"b": Distance(("a",), upwards=True, least=None, most=30 * DAY)}

    def test_distances_in_an_order_have_their_bounds(self) -> None:
        columns = {"born": WIDE, "a": STAYS, "b": STAYS}
        rules = {"order": [["born", "a", "b"]], "require": ["b <= a + 30", "a >= born + 7"]}

        found = distances(columns, **rules)

        assert found["b"] == Distance(("a",), upwards=True, least=0, most=30 * DAY)
        assert found["born"] == Distance(("a",), upwards=False, least=7 * DAY)

    def test_windows_that_hang_together_are_learned_one_after_another(self) -> None:
        columns = dict.fromkeys("abc", STAYS)

        found = distances(columns, require=["b between a and a + 30", "c between b and b + 7"])

        assert found["b"].columns == ("a",)
        assert found["c"].columns == ("b",)
        assert [*found] == ["b", "c"]

    @pytest.mark.thorough
    def test_a_column_that_may_be_missing_alone_is_no_start(self) -> None:
        rule = ["b between a and a + 30"]

        assert [*distances({"a": OPEN, "b": STAYS}, require=rule)] == ["a"]
        assert [*distances({"a": STAYS, "b": OPEN}, require=rule)] == ["b"]
        assert not distances({"a": OPEN, "b": OPEN}, require=rule)
        assert [*distances({"a": OPEN, "b": OPEN}, require=rule, together=[["a", "b"]])] == ["b"]


class TestPlainComparisons:
    @pytest.mark.parametrize("rule", ["a <= b", "b >= a", "a is null or b is null or a <= b"])
    def test_of_days_are_learned_as_orders(self, rule: str) -> None:
        columns: dict[str, Column] = {"a": STAYS, "b": OPEN}

        assert distances(columns, require=[rule]) == {"b": Distance(("a",), upwards=True)}

    def test_that_exclude_equality_leave_out_no_distance(self) -> None:
        (found,) = distances({"a": STAYS, "b": STAYS}, require=["a < b"]).values()

        assert found.least is not None
        assert 0 < found.least < DAY

    def test_begin_with_a_column_that_is_complete(self) -> None:
        assert distances({"a": OPEN, "b": STAYS}, require=["a <= b"]) == {
            "a": Distance(("b",), upwards=False)
        }
        assert not distances({"a": OPEN, "b": OPEN}, require=["a <= b"])

    def test_of_numbers_are_learned_in_orders_alone(self) -> None:
        columns: dict[str, Column] = dict.fromkeys(("low", "open", "high"), Numeric(0, 100, integer=True))
        rules = ["low <= open", "open <= high"]

        assert not distances(columns, require=rules)
        found = distances(columns, order=[["low", "high"], ["low", "open"]], require=rules)
        assert found["high"].columns == ("low", "open")

    def test_of_two_orders_make_them_one(self) -> None:
        columns: dict[str, Column] = {"admitted": STAYS, "gone": STAYS, "begun": OPEN, "ended": OPEN}
        orders = [["admitted", "gone"], ["begun", "ended"]]

        # One cannot be learned from the other as long as nothing joins them.
        assert [*distances(columns, order=orders)] == ["gone", "ended"]
        found = distances(columns, order=orders, require=["begun >= admitted", "gone >= ended"])

        assert found == {
            "begun": Distance(("admitted",), upwards=True),
            "ended": Distance(("begun",), upwards=True),
            "gone": Distance(("admitted", "ended"), upwards=True),
        }

    def test_give_way_to_windows_that_are_learned(self) -> None:
        columns: dict[str, Column] = {"a": OPEN, "b": STAYS, "c": OPEN}
        rules = ["b between a and a + 30", "a <= c"]

        assert distances(columns, require=rules) == distances(columns, require=rules[:1])


def test_every_pair_is_in_order_wherever_placing_begins() -> None:
    crown = [("a", "x"), ("a", "y"), ("b", "y"), ("b", "z"), ("c", "z"), ("c", "x"), ("x", "top")]

    for anchor in "abcxyz":
        found = placed(crown, [anchor], lambda name, place: True)

        assert found is not None
        ends = {(name, c) for name, place in found.items() if place is not None for c in place.columns}
        assert all((first, last) in ends or (last, first) in ends for first, last in crown)
    assert placed([("a", "b"), ("b", "a")], "ab", lambda name, place: True) is None
    assert [*map(sorted, connected([*crown, ("m", "n")]))] == [sorted(crown), [("m", "n")]]


def test_a_condition_that_distances_hold_is_known_to_be_learned() -> None:
    columns = dict.fromkeys("ab", STAYS)
    alone, beside = "b between a and a + 30", "b >= a and a > DATE '2021-01-01'"

    found = compiled(Rules(require=[alone, beside]), columns)

    assert {c.rule: c.learned for c in found.conditions} == {alone: True, beside: False}
    assert holds_window(Window("a", "b", None, 30 * DAY), found.distances, columns)
    assert holds_window(Window("b", "a", -30 * DAY, None), found.distances, columns)
    assert not holds_window(Window("a", "b", None, 29 * DAY), found.distances, columns)
    assert is_learned("a", "b", found.distances)


def test_numbers_whose_differences_exceed_64_bits_are_learned_as_they_are() -> None:
    unsigned: dict[str, Column] = {name: Numeric(0, 2**64 - 1, integer=True) for name in "ab"}
    signed: dict[str, Column] = {name: Numeric(-(2**63), 2**63 - 1, integer=True) for name in "ab"}

    assert not distances(unsigned, require=["b between a and a + 10"])
    assert not distances(signed, order=[["a", "b"]])
