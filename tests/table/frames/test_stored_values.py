"""Stored values are written as the texts that they would be in a file, by what is declared of their column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.frames.frames import from_frame
from syntabula.table.frames.stored_values import distinct_values, is_read_by_meaning, text_of
from syntabula.table.schema.columns import Column

WHOLE = st.Numeric(0, 9, integer=True)
DAY = st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
LOCAL = st.Datetime(*MOMENTS)
ZONED = st.Datetime(*MOMENTS, timezone="Europe/Paris")
CODES = st.Categorical(("007", "8", "8.0", "2.50", "=x"))
WORDS = st.Categorical(("yes", "no", "maybe"))
TOKYO = dt.timezone(dt.timedelta(hours=9))
NOON = dt.datetime(2020, 2, 3, 12)


class TestTexts:
    @pytest.mark.parametrize(
        ("column", "values", "text"),
        [
            (CODES, [7, 7.0, Decimal("7.00"), np.int8(7), np.float32(7), "7", " 7.0", "007"], "007"),
            (CODES, [2.5, Decimal("2.5"), "2.5", "2.50", "+25e-1"], "2.50"),
            (CODES, [7 + 0j, np.complex64(7)], "007"),
            (CODES, [8, 8.0, "8"], "8"),
            (CODES, ["8.0"], "8.0"),
            (CODES, [9, 9.0], "9"),
            (WORDS, [True, np.True_, "TRUE", "true", "yes"], "yes"),
            (WORDS, [1, 1.0], "1"),
            (st.Categorical(("True", "other")), [True, "TRUE", "True"], "True"),
            (st.Categorical(("a",)), [True], "true"),
            (st.Categorical((0, 1)), [True, "True", 1, 1.0, Decimal(1)], "1"),
            (st.Categorical((True, False)), [False, "FALSE"], "false"),
            (WHOLE, [False, "false", 0, -0.0, Decimal("0.00")], "0"),
            (WHOLE, [1e300], "1e+300"),
            (WHOLE, [float("inf")], "inf"),
            (st.Boolean(), [1, 1.0, Decimal("1.0")], "1"),
            (DAY, [dt.date(2020, 2, 3)], "2020-02-03"),
            (DAY, ["2020-02-03", "2020-02-03 "], "2020-02-03"),
            (LOCAL, [NOON, pd.Timestamp(NOON), np.datetime64(NOON, "ns")], "2020-02-03T12:00:00"),
            (LOCAL, [NOON.replace(tzinfo=TOKYO), "2020-02-03T12:00:00+09:00"], "2020-02-03T12:00:00"),
            (ZONED, [NOON.replace(tzinfo=TOKYO)], "2020-02-03T03:00:00+00:00"),
            (ZONED, ["2020-02-03T12:00+09:00"], "2020-02-03T12:00+09:00"),
            (st.Categorical(("2020-02-03", "x")), [dt.date(2020, 2, 3), dt.datetime(2020, 2, 3)], "2020-02-03"),
            (st.Categorical(("2020-02-03 12:00",)), [NOON], "2020-02-03 12:00"),
            (st.Categorical(("10:00:00",)), [dt.time(10)], "10:00:00"),
            (st.Categorical(("a",)), [[1], {}, b"a", 1j, "a\ud800", 10**5000, np.timedelta64(1, "D")], None),
        ],
    )  # fmt: skip
    def test_follow_from_the_value_and_the_declaration(
        self, column: Column, values: list[Any], text: str | None
    ) -> None:
        written = text_of(column)

        assert [written(value) for value in values] == [text] * len(values)

    def test_only_categories_that_mean_something_change_how_texts_are_read(self) -> None:
        assert is_read_by_meaning(CODES)
        assert is_read_by_meaning(WORDS)
        assert not is_read_by_meaning(st.Categorical(("cook", "judge")))
        assert not is_read_by_meaning(WHOLE)


class TestDistinctValues:
    @pytest.mark.parametrize(
        "cells",
        [
            ["b", "a", "b"],
            [3, 1, 3],
            [0.5, 0.25, 0.5],
            [True, False, True],
            [dt.date(2020, 1, 2), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
            [NOON, MOMENTS[0], NOON],
            [NOON.replace(tzinfo=dt.UTC), MOMENTS[0].replace(tzinfo=dt.UTC)],
            [Decimal("1.0"), Decimal("1.00")],
        ],
        ids=lambda cells: type(cells[0]).__name__,
    )
    def test_give_back_the_cells(self, cells: list[Any]) -> None:
        raw = from_frame(pd.DataFrame({"x": pd.Series([*cells, None], dtype=object)})).columns["x"]

        values, places = distinct_values(raw)

        assert [values[place] for place in places] == cells
        assert len(values) <= len(cells)

    def test_beyond_the_calendar_or_of_no_column_are_none(self) -> None:
        far = pd.Series(np.array([2**40], dtype="datetime64[s]"))
        spans = pd.Series(pd.to_timedelta(["1h"]))
        for series in (far, far.dt.tz_localize("UTC"), spans):
            values, _ = distinct_values(from_frame(pd.DataFrame({"x": series})).columns["x"])
            assert values == [None]
