"""Formats of days, times and numbers in schemas: kept by all forms of a schema, and refused with the remedy."""

from __future__ import annotations

import datetime as dt
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.schema.columns import Date, Datetime, Numeric
from syntabula.table.schema.text_formats import NumberFormat, read_number

DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
TIMES = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_schemas_keep_them(suffix: str, tmp_path: Path) -> None:
    schema = st.Schema(
        {
            "a": Date(*DAYS, format="%-d/%-m/%Y"),
            "b": Datetime(*TIMES, format="%Y-%m-%d %H:%M:%S"),
            "c": Numeric(0, 9, decimals=2, format="1.234,50 €"),
            "d": Numeric(0, 9, format="1234.5"),
        }
    )

    schema.to_yaml(tmp_path / f"s.{suffix}")

    assert st.Schema.from_yaml(tmp_path / f"s.{suffix}") == schema
    assert st.Schema.from_json(schema.to_json()) == schema


def test_wrong_ones_of_days_are_refused() -> None:
    for format, said in [
        ("dd/mm/yyyy", "begins with a directive"),
        (7, "begins with a directive"),
        ("%d/%q/%Y", "has the directive '%q'; this kind of column allows %Y"),
        ("%d/%m/%Y %H", "has the directive '%H'"),
        ("%d/%m", "does not write the year; add %Y"),
        ("%d/%d/%m/%Y", "two directives for the day"),
        ("%d=%m=%Y", "characters / - . : , T Z _ Q W between its directives; got '='"),
        ("%d/%m/%Yé", "got 'é'"),
    ]:
        with pytest.raises(SchemaError, match="format") as caught:
            Date(*DAYS, format=format)
        assert said in str(caught.value)


def test_periods_are_written_by_their_own_directives() -> None:
    for resolution, format, said in [
        ("month", "%d/%m/%Y", "has the directive '%d'; this kind of column allows %Y, %y, %m"),
        ("quarter", "%Y-%m", "has the directive '%m'"),
        ("quarter", "%Y", "does not write the quarter; add %q"),
        ("quarter", "%y-Q%q", "%q needs %Y"),
        ("week", "%Y-W%V", "has the directive '%Y'; this kind of column allows %G, %V"),
        ("week", "%G", "does not write the week; add %V"),
    ]:
        with pytest.raises(SchemaError, match="format") as caught:
            Date(*DAYS, resolution=resolution, format=format)
        assert said in str(caught.value)


def test_days_lie_in_the_periods_of_the_calendar() -> None:
    days = np.arange(-40_000, 40_000)
    starts = days.astype("datetime64[D]")
    firsts = {
        "month": starts.astype("datetime64[M]").astype("datetime64[D]"),
        "quarter": np.array(
            [np.datetime64(f"{d.year:04d}-{d.month - (d.month - 1) % 3:02d}-01") for d in starts.tolist()]
        ),
        "week": np.array(
            [d - dt.timedelta(days=d.weekday()) for d in starts.tolist()], dtype="datetime64[D]"
        ),
    }
    for resolution, expected in firsts.items():
        column = Date(dt.date(1800, 1, 1), dt.date(2100, 1, 1), resolution=resolution)

        points = column.points(days, "date")[0]

        assert (column.values(points)[0] == expected.astype(np.int64)).all()
        assert (np.diff(points) >= 0).all()
        assert set(np.diff(points).tolist()) == {0, 1}


def test_wrong_ones_of_times_are_refused() -> None:
    for format, said in [
        ("%Y-%m-%d %H:%M", "does not write the second; add %S, or declare a coarser resolution"),
        ("%Y-%m-%d %H:%S", "does not write the minute"),
        ("%Y-%m-%d %I:%M:%S", "does not write the half; add %p"),
        ("%Y-%m-%d %H:%M:%S %p", "write %I for hours from 1 to 12"),
        ("%Y-%m-%dT%H:%M:%SZ", "declare `timezone: UTC`"),
        ("%Y-%m %H:%M:%S", "does not write the day"),
    ]:
        with pytest.raises(SchemaError, match="format") as caught:
            Datetime(*TIMES, format=format)
        assert said in str(caught.value)


def test_wrong_ones_of_numbers_are_refused() -> None:
    for format, said in [
        (1234.5, "in quotes, such as '1234,5'"),
        ("#,##0.00", "must be the number 1234.5"),
        ("1,234,5", "must be the number 1234.5"),
        ("12,34,567,5", "must be the number 1234.5"),
        ("12.34.567", "must be the number 1234.5"),
        ("=1234.5", "must be the number 1234.5"),
        ("1234.50", "writes 2 decimals, but values may have more; declare fewer `decimals`"),
        ("1,234", "no decimal mark"),
    ]:
        with pytest.raises(SchemaError, match="format") as caught:
            Numeric(0.0, 9.0, format=format)
        assert said in str(caught.value)


def test_numbers_in_groups_of_two_digits_are_written_and_read() -> None:
    form = NumberFormat.of("₹12,34,567.50")
    for number, text in [
        (0, "₹0.00"),
        (999, "₹999.00"),
        (-1000, "-₹1,000.00"),
        (99_999.5, "₹99,999.50"),
        (100_000, "₹1,00,000.00"),
        (-123_456_789, "-₹12,34,56,789.00"),
    ]:
        assert form.written(number) == text
        assert read_number(text, "₹12,34,567.50") == number
    # Cells in groups of three are read as well, and those with a group of one digit are not.
    assert re.fullmatch(form.pattern, "1,234,567.5")
    assert not re.fullmatch(form.pattern, "1,2,345")


def test_numbers_in_groups_of_two_digits_come_out_as_they_went_in(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(11, 2, 1500))
    forms = {"whole": "12,34,567", "rupees": "₹12,34,567.50", "west": "1,234"}
    written = {
        n: [NumberFormat.of(f).written(round(v) if f[-1] in "74" else round(v, 2)) for v in values.tolist()]
        for n, f in forms.items()
    }
    pd.DataFrame(written).to_csv(tmp_path / "t.csv", index=False)

    for source, epsilon in [
        (pd.DataFrame(written), math.inf),
        (tmp_path / "t.csv", math.inf),
        (tmp_path / "t.csv", 10.0),
    ]:
        release = st.MST(epsilon=epsilon, seed=1).fit(source)
        release.sample_to(tmp_path / "o.csv", 300, seed=1)

        assert {n: getattr(c, "format", None) for n, c in release.schema.columns.items()} == forms
        drawn = pd.read_csv(tmp_path / "o.csv", dtype=str)
        assert drawn["whole"].str.fullmatch(r"\d{1,3}|\d{1,2}(,\d{2})*,\d{3}").all()
        assert drawn["whole"].str.fullmatch(r"\d{1,2}(,\d{2})+,\d{3}").any()
        assert drawn["rupees"].str.fullmatch(r"₹(\d{1,3}|\d{1,2}(,\d{2})*,\d{3})\.\d{2}").all()
        assert drawn["west"].str.fullmatch(r"\d{1,3}(,\d{3})*").all()


def test_conditions_may_use_them() -> None:
    column = Date(*DAYS, format="%d/%m/%Y")

    assert column.written("05/01/2020") == column.written("2020-01-05") == column.written(dt.date(2020, 1, 5))
    assert Datetime(*TIMES, format="%m/%d/%Y %I:%M:%S %p").written("01/05/2020 01:00:00 PM") == Datetime(
        *TIMES
    ).written("2020-01-05T13:00:00")
