"""Expressions ask for points in time where they compare, subtract, count or pass on times with a zone."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import SchemaError
from syntabula.table.read import read
from syntabula.table.rules.expressions import read_expression
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import Boolean, Column, Datetime, Numeric
from syntabula.table.schema.schema import Schema

NAMES = ("a", "b", "local", "dead")
ZONED = frozenset("ab")
BOUNDS = (dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31))
# On both sides of the moment at which Berlin's clocks are put back, and at noon.
STARTS = pd.to_datetime(["2024-10-27 00:50", "2024-10-27 01:10", "2024-07-01 10:00"], utc=True)


class TestColumnsAsked:
    @pytest.mark.parametrize(
        ("text", "instants"),
        [
            ("b - a", "u1 u0"),
            ("a <= b", "u0 u1"),
            ("a BETWEEN b AND b", "u0 u1 u1"),
            ("epoch(a) - epoch(b)", "u0 u1"),
            ("epoch(b - a)", "u1 u0"),
            ("extract(epoch FROM a)", "u0"),
            ("date_diff('second', a, b)", "u0 u1"),
            ("datediff('hours', a, b)", "u0 u1"),
            ("a IN (b)", "u0 u1"),
            ("greatest(a, b) <= b", "u0 u1 u1"),
            ("a <= coalesce(b, NULL, a)", "u0 u1 u0"),
            ("epoch(least(a, b))", "u0 u1"),
            ("date_diff('hour', a, ifnull(b, a))", "u0 u1"),
            ("CASE WHEN dead THEN a ELSE b END > a", "u0 u1"),
            # Each comparison of BETWEEN by itself.
            ("a BETWEEN TIMESTAMP '2024-01-01' AND b", "u0 u1"),
            ("a NOT BETWEEN b AND b + to_days(30)", "u0 u1"),
            # Wall clocks, of parts of a day, of constants, and beside a time without a zone.
            ("hour(a) = hour(b)", ""),
            ("a > TIMESTAMP '2024-01-01'", ""),
            ("local - a", ""),
            ("date_diff('day', a, b)", ""),
            ("date_diff('hour', a, local)", ""),
            ("extract(hour FROM a)", ""),
            ("date_trunc('day', a) = b", ""),
            ("hour(coalesce(a, b)) = 1", ""),
            ("coalesce(b, TIMESTAMP '2024-01-01') > TIMESTAMP '2023-01-01'", ""),
            ("a BETWEEN TIMESTAMP '2024-01-01' AND TIMESTAMP '2024-02-01'", ""),
        ],
    )
    def test_two_zoned_columns_are_compared_as_points_in_time(self, text: str, instants: str) -> None:
        sql = read_expression(text, NAMES, ZONED).sql

        assert [word for word in ("u0", "u1", "u2", "u3") if word in sql] == sorted({*instants.split()})

    def test_only_the_comparison_with_a_column_is_one_of_points_in_time(self) -> None:
        sql = read_expression("a BETWEEN TIMESTAMP '2024-01-01' AND b", NAMES, ZONED).sql

        assert "c0 >= " in sql
        assert "u0 <= u1" in sql

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("hour(greatest(a, b)) = 1", "it takes greatest of several times with a zone"),
            ("least(a, b) > TIMESTAMP '2024-01-01'", "it takes least of several times with a zone"),
            ("coalesce(b, TIMESTAMP '2024-01-01') >= a", "together with other values"),
            ("greatest(a, local) <= b", "together with other values"),
            ("epoch(coalesce(a, local)) > 0", "together with other values"),
            ("a IN (b, TIMESTAMP '2024-01-01')", "together with other values"),
            ("coalesce(a, b) BETWEEN TIMESTAMP '2024-01-01' AND b", "together with other values"),
        ],
    )
    def test_what_would_mix_both_is_refused(self, text: str, why: str) -> None:
        with pytest.raises(SchemaError, match=why):
            read_expression(text, NAMES, ZONED)
        read_expression(text, NAMES)

    def test_without_zones_nothing_changes(self) -> None:
        assert read_expression("b - a", NAMES).sql == "(c1 - c0)"

    @pytest.mark.parametrize(
        ("text", "gives"),
        [
            ("a", True),
            ("CASE WHEN dead THEN a END", True),
            ("coalesce(a, least(b, NULL))", True),
            ("if(dead, a, NULL)", True),
            ("if(dead, a, local)", False),
            ("date_trunc('hour', a)", False),
            ("CASE WHEN dead THEN a ELSE local END", False),
            ("CASE WHEN dead THEN a ELSE TIMESTAMP '2024-01-01' END", False),
            ("NULL", False),
        ],
    )
    def test_a_zoned_column_takes_points_in_time_from_others(self, text: str, gives: bool) -> None:
        assert read_expression(text, NAMES, ZONED, for_zoned=True).gives_instant is gives
        assert not read_expression(text, NAMES, ZONED).gives_instant


def completed(
    columns: dict[str, Column], derive: dict[str, str], frame: pd.DataFrame
) -> dict[str, list[object]]:
    rules = RowRules(Schema(columns, rules=Rules(derive=derive)))
    cells = rules.learned_table(read(frame, rules.schema))[0].columns
    rows, kept, _ = rules.completed(cells, len(frame), np.random.default_rng(0))
    assert kept.all()
    assert not any(flags.any() for flags in rules.broken_by(rows, len(frame)).values())
    return {
        name: [
            None if gap else value
            for value, gap in zip(rows[name].values.tolist(), rows[name].missing, strict=True)
        ]
        for name in derive
    }


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ["Europe/Berlin", "+05:30"])
def test_lengths_and_copies_are_right_where_clocks_are_put_back(zone: str) -> None:
    ends = STARTS + pd.Timedelta("30min")
    frame = pd.DataFrame({"a": STARTS.tz_convert("Europe/Berlin"), "b": ends, "dead": [True, True, False]})
    at = Datetime(*BOUNDS, timezone=zone)
    died = Datetime(*BOUNDS, timezone=zone, nullable=True)
    columns = {
        "a": at,
        "b": at,
        "dead": Boolean(),
        "long": Numeric(0, 9, decimals=2),
        "seconds": Numeric(0, 9_999, decimals=0),
        "hours": Numeric(0, 9),
        "died": died,
        "fell": died,
        "day": at,
    }
    derive = {
        "long": "epoch(b - a) / 3600",
        "seconds": "date_diff('second', a, b)",
        "hours": "(extract(epoch FROM b) - extract(epoch FROM a)) / 3600",
        "died": "CASE WHEN dead THEN b END",
        "fell": "if(dead, b, NULL)",
        "day": "date_trunc('day', a)",
    }

    found = completed(columns, derive, frame)

    moments = [int(m.timestamp() * 1_000_000) for m in ends]
    days = [m.tz_convert(zone if zone[0] == "E" else "Asia/Kolkata").normalize() for m in STARTS]
    assert found["long"] == [0.5, 0.5, 0.5]
    assert found["seconds"] == [1800, 1800, 1800]
    assert found["hours"] == [0.5, 0.5, 0.5]
    assert found["died"] == found["fell"] == [*moments[:2], None]
    assert found["day"] == [int(day.timestamp() * 1_000_000) for day in days]


def test_the_later_time_is_the_later_one_where_clocks_are_put_back() -> None:
    frame = pd.DataFrame({"a": STARTS, "b": STARTS + pd.Timedelta("30min")})
    at = Datetime(*BOUNDS, timezone="Europe/Berlin")
    required = ["greatest(a, b) = b", "a BETWEEN TIMESTAMP '2024-01-01' AND b", "coalesce(b, a) >= a"]
    rules = RowRules(Schema(dict.fromkeys("ab", at), rules=Rules(require=required)))

    broken = rules.broken_by(read(frame).columns, len(frame))

    assert {rule: flags.tolist() for rule, flags in broken.items()} == dict.fromkeys(required, [False] * 3)


def test_wall_clocks_of_another_zone_are_refused() -> None:
    columns = {zone: Datetime(*BOUNDS, timezone=zone) for zone in ("UTC", "Europe/Berlin")}

    Schema(columns, rules=Rules(derive={"UTC": '"Europe/Berlin"'}))
    with pytest.raises(SchemaError, match="column 'UTC': it computes with wall-clock times of another zone"):
        Schema(columns, rules=Rules(derive={"UTC": '"Europe/Berlin" + to_hours(1)'}))
