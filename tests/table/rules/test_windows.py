"""Bounds of differences are read off expressions, and never narrower than what these allow."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pytest

from syntabula import Boolean, Date, Datetime, Numeric
from syntabula.table.rules.windows import Window, are_comparable, window_of_domain, windows_of

SPAN = (dt.datetime(2020, 1, 1), dt.datetime(2024, 1, 1))
DAYS = Date(dt.date(2020, 1, 1), dt.date(2024, 1, 1))
TIMES, ZONED = Datetime(*SPAN), Datetime(*SPAN, timezone="Europe/Berlin")
WHOLE = Numeric(0, 1000, integer=True)
COLUMNS = {
    "a": DAYS, "b": DAYS, "s": TIMES, "t": TIMES, "y": ZONED, "z": ZONED, "m": WHOLE, "n": WHOLE,
    "stay": Numeric(0, 90, integer=True), "flag": Boolean(),
}  # fmt: skip
DERIVED = {"stay": "b - a"}
HOUR = 3_600_000_000


def read(text: str) -> tuple[Window | None, bool]:
    found, alone = windows_of(text, COLUMNS, DERIVED)
    whole = found[0] if found else None
    for window in found[1:]:
        assert whole is not None
        whole = whole.narrowed(window)
    return whole, alone


class TestWindows:
    @pytest.mark.parametrize(
        ("text", "least", "most"),
        [
            ("b <= a + interval 30 day", None, 720),
            ("b between a and a + interval '36 hours'", 0, 36),
            ("b < a + 30", None, 720),
            ("a + 30 >= b and b >= a", 0, 720),
            ("b - a between -5 and 30", -120, 720),
            ("date_diff('day', a, b) <= 90", None, 2160),
            ("b <= date_add(a, to_days(2))", None, 48),
            ("stay <= 3", None, 84),
            ("t - s <= interval 2 hour", None, 2),
            ("epoch(t) - epoch(s) < 3600 * 24", None, 24),
            ("t::date - s::date = 0", -24, 24),
            # Begun hours: 5 of them may be nearly 6 whole ones.
            ("date_diff('hour', s, t) between 0 and 5", -1, 6),
            ("z - y <= interval 2 hour", None, 2),
            ("date_diff('hours', y, z) <= 5", None, 6),
            ("b is null or b <= a + 30", None, 720),
            ("a is null or b is null or (b >= a and b <= a + 30)", 0, 720),
        ],
    )
    def test_of_days_and_times_are_in_hours(self, text: str, least: int | None, most: int) -> None:
        window, alone = read(text)

        assert alone
        assert window is not None
        if window.last in "asy":
            window = window.turned()
        assert window.most == pytest.approx(most * HOUR)
        assert window.least == (None if least is None else pytest.approx(least * HOUR))

    @pytest.mark.parametrize(
        ("text", "least", "most"),
        [
            ("n - m <= 1e1", None, 10),
            ("n < m + 10.5", None, 10.5),
            ("n between m - 2 and m + 10", -2, 10),
            ("-n + m >= -3", None, 3),
            ("(n - m) / 2 <= 5", None, 10),
            ("3 * n <= m * 3 + 6", None, 2),
            ("n = m + 5", 5, 5),
        ],
    )
    def test_of_numbers(self, text: str, least: int | None, most: float) -> None:
        window, alone = read(text)

        assert alone
        assert window is not None
        if window.last == "m":
            window = window.turned()
        assert window.most == pytest.approx(most)
        assert window.least == least

    def test_of_months_reach_from_the_shortest_to_the_longest(self) -> None:
        window, _ = read("b - interval 2 month <= a")

        assert window is not None
        assert window.most is not None
        assert window.most >= 62 * 24 * HOUR

    def test_of_wall_clocks_leave_room_for_zones(self) -> None:
        window, _ = read("z <= y + interval 2 hour")

        assert window is not None
        assert window.most is not None
        # Clocks are put forward by an hour at least.
        assert 3 * HOUR <= window.most <= 40 * HOUR

    def test_bounds_that_are_excluded_leave_out_the_last_point(self) -> None:
        window, _ = read("n - m < 10")

        assert window is not None
        assert window.most is not None
        assert 9 < window.most < 10

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "text",
        [
            "n + m <= 5", "2 * n - m <= 3", "n - m <= 3 or flag", "s is null or n - m <= 3",
            "n is null or n - m <= 3 or flag", "n * m <= 5", "a <= DATE '2021-01-01'",
            "abs(n - m) <= 3", "b - a <> 3", "date_diff('month', a, b) <= 3", "n - m <= 'inf'::DOUBLE", "n - m <= NULL",
            "b <= a + to_days(2000000000)", "coalesce(b, a) <= a + 3", "flag",
        ],
    )  # fmt: skip
    def test_are_not_read_off_anything_else(self, text: str) -> None:
        assert read(text) == (None, False)

    def test_may_be_stated_beside_other_conditions(self) -> None:
        window, alone = read("n - m <= 3 and flag and n >= m")

        assert window == Window("m", "n", Fraction(0), Fraction(3))
        assert not alone


class TestOfDomain:
    def test_a_difference_is_within_the_bounds_of_its_column(self) -> None:
        # Half a day more is rounded to them.
        window = window_of_domain("stay", COLUMNS, DERIVED)

        assert window == Window("a", "b", Fraction(-12 * HOUR), Fraction((90 * 24 + 12) * HOUR))

    def test_anything_else_has_none(self) -> None:
        assert window_of_domain("stay", COLUMNS, {"stay": "b - a + m"}) is None
        assert window_of_domain("stay", COLUMNS, {"stay": "m"}) is None


def test_only_like_columns_are_comparable() -> None:
    assert are_comparable([DAYS, TIMES])
    assert are_comparable([ZONED, Datetime(*SPAN, timezone="UTC")])
    assert are_comparable([WHOLE, WHOLE])
    assert not are_comparable([DAYS, WHOLE])
    assert not are_comparable([DAYS, ZONED])
    assert not are_comparable([TIMES, ZONED])
