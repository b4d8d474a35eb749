"""Names of a start and an end are recognised by a word, and rules that join the two columns end the hint."""

from __future__ import annotations

import datetime as dt

import pytest

from syntabula.table.raw import PhysicalType
from syntabula.table.rules.ordered_names import ordered_pairs, told, unordered
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import Date, Datetime, Numeric
from syntabula.table.schema.plain_yaml import read_yaml

DAYS = Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))


class TestOrderedPairs:
    @pytest.mark.parametrize(
        ("first", "last"),
        [
            ("start", "end"),
            ("admission", "discharge"),
            ("admission_time", "discharge_date"),
            ("interview_start", "interview_end"),
            ("validFrom", "validTo"),
            ("opened_at", "closed_at"),
            ("birth_date", "death_time"),
            ("Vertrag von", "Vertrag bis"),
            ("check-in", "check-out"),
            ("pickup_datetime", "dropoff_datetime"),
            ("src.begin", "src.end"),
        ],
    )
    def test_a_start_and_an_end_are_a_pair_whichever_comes_first(self, first: str, last: str) -> None:
        assert ordered_pairs([first, last]) == [(first, last)]
        assert ordered_pairs([last, "other", first]) == [(first, last)]

    @pytest.mark.parametrize(
        ("first", "last"),
        [
            ("day", "date"),
            ("trip_start", "stay_end"),
            ("departure", "arrival"),
            ("start_1", "end_2"),
            ("start", "trend"),
            ("start", "start"),
        ],
    )
    def test_other_names_are_none(self, first: str, last: str) -> None:
        assert ordered_pairs([first, last]) == []


class TestUnordered:
    def test_kinds_and_zones_decide_what_can_be_in_order(self) -> None:
        zoned = PhysicalType("datetime", "x", timezone="UTC")

        assert unordered({"start": DAYS}, {"end": PhysicalType("datetime", "x")}, None, []) == [
            ("start", "end")
        ]
        assert unordered({"start": DAYS}, {"end": zoned}, None, []) == []
        assert unordered({"start": Datetime(*MOMENTS, timezone="UTC")}, {"end": zoned}, None, []) == [
            ("start", "end")
        ]
        assert unordered({"start": Numeric(0, 1), "end": DAYS}, {}, None, []) == []
        assert unordered({"start": DAYS}, {"end": PhysicalType("text", "x")}, None, []) == []

    def test_a_rule_that_joins_both_ends_the_hint(self) -> None:
        columns = {"start": DAYS, "end": DAYS}

        assert unordered(columns, {}, Rules(order=[["start", "end"]]), []) == []
        assert unordered(columns, {}, None, [{"start", "end", "x"}]) == []
        assert unordered(columns, {}, Rules(order=[["start", "x"]]), [{"end"}]) == [("start", "end")]


def test_the_sentence_names_the_columns_and_the_rule() -> None:
    text = told([("start", "end"), ("a_from", "a_to")])

    assert "'start' and 'end'; 'a_from' and 'a_to'" in text
    assert "order: [[start, end], [a_from, a_to]]" in text


@pytest.mark.parametrize(
    "name", ["start, UTC", "start: at", "the 'start'", 'a "start"', "start #1", "[start]", "on", "1"]
)
def test_the_rule_can_be_pasted_whatever_the_names(name: str) -> None:
    text = told([(name, "end"), ("begin", "end")])

    pasted = text[text.index("order: ") :].partition("`")[0]
    assert read_yaml(pasted) == {"order": [[name, "end"], ["begin", "end"]]}
