"""Conditions on one column: what is read as a value, a range or missing, and what is refused."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import ArgumentError
from syntabula.table.coding.conditions import allowed
from syntabula.table.schema.columns import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
    Time,
)

AGE = Numeric(17, 90, integer=True, nullable=True)
PAY = Numeric(0, 100, decimals=2)
REAL = Numeric(-1.0, 1.0)
JOB = Categorical(("cook", "judge", "007"), open=True, nullable=True)
SIZE = Categorical((1, 2, 3))
DAY = Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
TIME = Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31, 23, 59), resolution="minute")
PARIS = Datetime(
    dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31), resolution="hour", timezone="Europe/Paris"
)
NEW_YEAR = (dt.datetime(2020, 1, 1) - dt.datetime(1970, 1, 1)) // dt.timedelta(minutes=1)


def test_values_and_ranges_of_ordered_columns():
    cases = [
        (AGE, 30, [(30, 31)]),
        (AGE, np.int16(30), [(30, 31)]),
        (AGE, Decimal("30.0"), [(30, 31)]),
        (AGE, (30, 40), [(30, 41)]),
        (AGE, (29.5, 40.2), [(30, 41)]),
        (AGE, (None, 20), [(17, 21)]),
        (AGE, (65, None), [(65, 91)]),
        (AGE, (None, None), [(17, 91)]),
        (AGE, ..., [(17, 91)]),
        (AGE, (math.nan, 20), [(17, 21)]),
        (AGE, (-(10**30), 10**30), [(17, 91)]),
        (AGE, [20, (30, 40)], [(20, 21), (30, 41)]),
        (AGE, range(20, 22), [(20, 21), (21, 22)]),
        (AGE, np.array([20, 25]), [(20, 21), (25, 26)]),
        (AGE, pd.Series([20]), [(20, 21)]),
        (PAY, 0.29, [(29, 30)]),
        (PAY, (0.285, 1), [(29, 101)]),
        (DAY, dt.date(1970, 1, 1), None),
        (DAY, "2020-02-29", [(18321, 18322)]),
        (DAY, (pd.Timestamp("2020-02-29"), np.datetime64("2020-03-01")), [(18321, 18323)]),
        (TIME, dt.datetime(2020, 1, 1, 0, 5), [(NEW_YEAR + 5, NEW_YEAR + 6)]),
        (TIME, dt.date(2020, 1, 1), [(NEW_YEAR, NEW_YEAR + 24 * 60)]),
        (TIME, ("2020-01-01T00:00:30", "2020-01-01"), [(NEW_YEAR + 1, NEW_YEAR + 24 * 60)]),
        (PARIS, "2020-01-02", [(NEW_YEAR // 60 + 23, NEW_YEAR // 60 + 47)]),
        (PARIS, "2020-01-02T00:00+02:00", [(NEW_YEAR // 60 + 22, NEW_YEAR // 60 + 23)]),
    ]
    for column, condition, spans in cases:
        if spans is None:
            with pytest.raises(ArgumentError, match="never is; it goes from 2020-01-01 to 2020-12-31"):
                allowed("x", column, condition)
        else:
            assert list(allowed("x", column, condition).spans) == spans


def test_ranges_of_real_numbers_include_their_ends():
    for condition, first, last in [
        ((-0.5, 0.5), -0.5, 0.5),
        ((None, 0.25), -1.0, 0.25),
        ((0.25, 5), 0.25, None),
        ((-0.0, 1), 0.0, None),
    ]:
        ((start, stop),) = allowed("x", REAL, condition).spans

        assert start == first
        assert stop == (math.inf if last is None else math.nextafter(last, math.inf))


def test_a_constant_real_column_is_its_value():
    assert allowed("x", Numeric(2.5, 2.5), 2.5).spans == ((2.5, math.inf),)


def test_categories_and_flags():
    cases = [
        (JOB, "cook", {0}),
        (JOB, ["cook", "other"], {0, 3}),
        (JOB, {"judge"}, {1}),
        (JOB, np.str_("cook"), {0}),
        (Categorical(("1", "7")), 7, {1}),
        (SIZE, [1, 3.0], {0, 2}),
        (SIZE, ..., {0, 1, 2}),
        (JOB, [...], {0, 1, 2, 3}),
        (Boolean(nullable=True), ..., {0, 1}),
        (Identifier(), ..., {0}),
        (SIZE, np.array([1, 2]), {0, 1}),
        (Boolean(), True, {1}),
        (Boolean(), [False, np.True_], {0, 1}),
        (Boolean(spelling="yes/no"), "no", {0}),
        (Categorical((True, False)), False, {1}),
    ]
    for column, condition, codes in cases:
        assert allowed("x", column, condition).codes == codes


def test_missing_is_asked_for_by_any_value_that_means_it():
    for missing in [None, math.nan, pd.NA, np.datetime64("NaT")]:
        for column in (AGE, JOB, Identifier(nullable=True)):
            for condition in (missing, [missing]):
                found = allowed("x", column, condition)
                assert (found.missing, found.codes, found.spans) == (True, frozenset(), ())
        assert allowed("x", AGE, [missing, 20]).spans == ((20, 21),)


def test_what_a_column_never_is_is_refused_with_the_reason():
    cases = [
        (AGE, 91, r"asks for 91, .* it goes from 17 to 90 in whole numbers"),
        (AGE, 20.5, "asks for 20.5"),
        (AGE, (91, None), "never is"),
        (AGE, (20.2, 20.8), "never is"),
        (AGE, (40, 30), "swap its ends"),
        (AGE, (1, 2, 3), "a range is a tuple"),
        (AGE, [], "no value at all"),
        (AGE, True, "cannot be read as a number"),
        (AGE, "thirty", "cannot be read as a number"),
        (AGE, [[20]], "cannot be read as a number"),
        (AGE, {"first": 1}, "gives a dict"),
        (AGE, math.inf, "cannot be read as a number"),
        (PAY, 0.285, "with 2 decimals"),
        (PAY, None, "which has none"),
        (REAL, 0.5, "a single number has probability 0"),
        (REAL, (0.5, 0.5), "a single number has probability 0"),
        (REAL, (1, 10**400), "a single number has probability 0"),
        (REAL, (2, 10**400), "never is"),
        (JOB, "cok", "unlisted values are 'other'; did you mean 'cook'"),
        (JOB, ("cook", "judge"), "give several values as a list"),
        (JOB, [["cook"]], "is a list; the categories of column .x. are text"),
        (SIZE, True, "is a truth value; the categories of column .x. are whole numbers"),
        (SIZE, "1", "asks for .1., which is text; the categories of column .x. are whole numbers"),
        (JOB, 1.5, "is a number with a point; the categories of column .x. are text"),
        (SIZE, 4, "it is 1 or "),
        (Boolean(), "perhaps", "it is True or False"),
        (DAY, dt.datetime(2020, 1, 1, 12), "cannot be read as a day"),
        (DAY, 18321, "cannot be read as a day"),
        (DAY, ">24.12.2020", "cannot be read as a day, such as 2024-12-31"),
        (replace(DAY, format="%-d.%-m.%Y"), ">24/12/2020", "such as 31.12.2024 or 2024-12-31"),
        (replace(TIME, format="%d/%m/%Y %H:%M"), ">24.12.2020", "such as 31/12/2024 or 2024-12-31"),
        (TIME, dt.datetime(2020, 1, 1, 0, 0, 30), "never is; .* by the minute"),
        (TIME, dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "a time without a zone"),
        (TIME, "soon", "cannot be read as a time"),
        (TIME, dt.date.max, "never is|cannot be read"),
        (Identifier(), "p1", "made anew"),
        (Identifier(), None, "which has none"),
    ]
    for column, condition, message in cases:
        with pytest.raises(ArgumentError, match=message) as caught:
            allowed("x", column, condition)

        assert "'x'" in str(caught.value)


def test_a_day_in_the_own_spelling_of_times_is_the_whole_day():
    for format, text in (("%d.%m.%Y %H:%M", "24.12.2020"), ("%-m/%-d/%Y %I:%M %p", "12/24/2020")):
        times = replace(TIME, format=format)

        for sign in ("", ">", ">=", "<"):
            own, iso = (allowed("x", times, f"{sign}{day}").spans for day in (text, "2020-12-24"))
            assert own == iso


def test_the_own_category_other_stands_for_unlisted_values_too():
    found = Categorical(("cook", "Other"), open=True, other_label="Other_", provenance="private")
    declared = replace(found, provenance="public")

    assert allowed("x", found, "Other").codes == allowed("x", found, "Other_").codes == {1, 2}
    assert allowed("x", found, "cook").codes == {0}
    assert allowed("x", declared, "Other").codes == {1}
    with pytest.raises(ArgumentError, match="unlisted values are 'Other'"):
        allowed("x", found, "boss")


def test_a_domain_that_was_read_off_the_data_is_not_shown():
    for column in [
        Numeric(17, 4321, integer=True, provenance="observed"),
        Categorical(("secret", "hidden"), open=True, provenance="observed"),
        Date(dt.date(2020, 4, 3), dt.date(2020, 12, 31), provenance="observed"),
    ]:
        with pytest.raises(ArgumentError) as caught:
            allowed("x", column, "1999-01-01" if column.kind == "date" else 9999)

        shown = str(caught.value)
        assert not any(word in shown for word in ("17", "4321", "secret", "hidden", "2020"))


def test_comparisons_are_read_from_text() -> None:
    count = Numeric(0, 72, integer=True)
    cases: list[tuple[Column, str, tuple[float, float]]] = [
        (count, ">5", (6, 73)),
        (count, ">=5", (5, 73)),
        (count, "< 5", (0, 5)),
        (count, "<=5.5", (0, 6)),
        (count, ">5.5", (6, 73)),
        (count, ">5 and <=10", (6, 11)),
        (count, ">5 and >=7 and <20 and <30", (7, 20)),
        (Numeric(0.0, 1.0), "<0.5", (0.0, 0.5)),
        (Numeric(0.0, 1.0), ">0.5", (math.nextafter(0.5, 1), math.inf)),
        (Numeric(0.0, 1.0), "<=0.5", (0.0, math.nextafter(0.5, 1))),
        (Date(dt.date(2020, 1, 1), dt.date(2020, 1, 31), format="%d/%m/%Y"), ">30/01/2020", (18292, 18293)),
        (Time(), ">=23:58", (1438, 1440)),
        (Time(format="1435"), ">2358", (1439, 1440)),
        (Numeric(0, 9_000, step=10, format="1.234"), ">1.000 and <=8980", (101, 899)),
        (Numeric(0, 9_000, decimals=1, format="1.234,5"), ">=1.000,5 and < 2.5e3", (10_005, 25_000)),
    ]
    for column, condition, span in cases:
        assert allowed("x", column, condition).spans == (span,), condition

    for condition in (">72", "<0", ">soon", ">5 and <3", ">5 or <3", ">"):
        with pytest.raises(ArgumentError, match="where"):
            allowed("x", count, condition)
    # Where values are texts, they are taken literally.
    assert allowed("x", Categorical((">50K", "<=50K")), ">50K").codes == {0}


def test_near_misses_are_told_in_the_words_of_the_schema() -> None:
    cases: list[tuple[Column, object, str]] = [
        (Categorical(("Yes", "No", "No internet service")), "no", "did you mean 'No'?"),
        (Categorical(("Month-to-month", "One year")), "month to month", "did you mean 'Month-to-month'?"),
        (Categorical(("Yes", "No")), "perhaps", "it is 'Yes' or 'No'"),
        (Boolean(spelling="Yes/No"), "maybe", "written Yes or No"),
    ]
    for column, condition, said in cases:
        with pytest.raises(ArgumentError) as caught:
            allowed("x", column, condition)
        assert said in str(caught.value)
