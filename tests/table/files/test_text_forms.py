"""Cells in a declared format are read, and come out in the same format and dialect."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corners import thorough_but

import syntabula as st
from syntabula.table.files.files import write_table
from syntabula.table.frames.conform import output_type
from syntabula.table.frames.object_columns import to_objects
from syntabula.table.raw import Dialect, Origin
from syntabula.table.read import read
from syntabula.table.schema.columns import Column, Date, Datetime, Numeric

FIRST, LAST = dt.date(1990, 1, 1), dt.date(2030, 12, 31)
START, END = dt.datetime(1990, 1, 1), dt.datetime(2030, 12, 31)


def day(format: str) -> Date:
    return Date(FIRST, LAST, nullable=True, format=format)


def time(format: str, **other: object) -> Datetime:
    return Datetime(START, END, nullable=True, format=format, **other)


def number(format: str, **other: object) -> Numeric:
    return Numeric(-1e7, 1e7, nullable=True, format=format, **other)


CASES: list[tuple[Column, list[str]]] = [
    (day("%d/%m/%Y"), ["31/12/2020", "05/01/2021"]),
    (day("%m/%d/%Y"), ["12/31/2020", "01/05/2021"]),
    (day("%-m/%-d/%Y"), ["12/31/2020", "1/5/2021"]),
    (day("%d.%m.%y"), ["31.12.20", "05.01.99"]),
    (day("%Y%m%d"), ["20201231", "19990105"]),
    (day("%d-%b-%Y"), ["31-Dec-2020", "05-Jan-2021"]),
    (day("%b-%Y"), ["Dec-2011", "Jan-2012"]),
    (day("%d %B %Y"), ["31 December 2020", "05 May 2021"]),
    (time("%Y-%m-%d %H:%M:%S"), ["2013-08-13 06:03:42", "2013-08-13 00:00:00"]),
    (time("%Y-%m-%d %H:%M", resolution="minute"), ["2013-08-13 06:03", "2013-08-13 00:00"]),
    (time("%d/%m/%Y %H:%M:%S", resolution="day"), ["31/12/2020 00:00:00"]),
    (time("%m/%d/%Y %I:%M:%S %p"), ["08/13/2013 06:03:42 PM", "08/13/2013 12:03:42 AM"]),
    (time("%Y-%m-%d %H:%M:%S.%f", resolution="millisecond"), ["2013-08-13 06:03:42.120"]),
    (time("%Y-%m-%d %H:%M:%S.%f", resolution="microsecond"), ["2013-08-13 06:03:42.120300"]),
    (time("%Y-%m-%dT%H:%M:%SZ", timezone="UTC"), ["2013-08-13T06:03:42Z"]),
    (time("%d/%m/%Y %H:%M:%S", timezone="Europe/Paris"), ["13/08/2013 06:03:42"]),
    (number("1234,5"), ["-1234,25", "12", "0,001"]),
    (number("1234,50", decimals=2), ["1234,25", "12,00"]),
    (number("1234.50", decimals=1), ["1234.20", "12.00"]),
    (number("1234.500", decimals=2), ["1234.250", "12.000"]),
    (number("1234.50", integer=True), ["1234.00", "-12.00"]),
    (number("1234.0"), ["1234.25", "12.0"]),
    (number("1234.5"), ["1234.25", "12"]),
    (number("1.234,50", decimals=2), ["-1.234.567,25", "12,00"]),
    (number("1,234", integer=True), ["1,234,567", "-12"]),
    (number("1 234,5"), ["1 234,5"]),
    (number("1'234.5"), ["1'234.5"]),
    (number("1\u202f234,50 €", decimals=2), ["1\u202f234,50 €"]),
    (number("$1,234.50", decimals=2), ["$1,234.50", "-$5.00"]),
    (number("1234.5%"), ["12.5%"]),
    (number("1234.0", integer=True), ["12.0", "7.0"]),
]

DIALECTS = [Dialect(","), Dialect(";"), Dialect("|", quoted=True)]


@pytest.mark.parametrize(("column", "cells"), CASES, ids=lambda x: getattr(x, "format", ""))
@pytest.mark.parametrize(
    "dialect", thorough_but([Dialect(";")], [Dialect(","), Dialect(";"), Dialect("|", quoted=True)]), ids=str
)
def test_a_file_comes_out_as_it_was(
    column: Column, cells: list[str], dialect: Dialect, tmp_path: Path
) -> None:
    mark = '"' if dialect.quoted or any(dialect.delimiter in cell for cell in cells) else ""
    lines = [f'"x"{dialect.delimiter}"y"', *(f"{mark}{cell}{mark}{dialect.delimiter}" for cell in cells)]
    if not dialect.quoted:
        lines[0] = lines[0].replace('"', "")
    if dialect.delimiter == "," and mark:
        # Only what holds the delimiter is in quotes.
        lines = [lines[0], *((f'"{c}",' if "," in c else f"{c},") for c in cells)]
    text = "\n".join([*lines, dialect.delimiter]) + "\n"
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    schema = st.Schema({"x": column, "y": number("1234,5")})

    table = read(tmp_path / "in.csv", schema)
    types = {name: output_type(c, "csv") for name, c in schema.columns.items()}
    write_table(table.columns, tmp_path / "out.csv", Origin("csv", types, table.origin.dialect))

    assert table.columns["x"].unreadable is None
    assert not table.columns["x"].missing[:-1].any()
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("column", "cells"), CASES, ids=lambda x: getattr(x, "format", ""))
@pytest.mark.thorough
def test_a_frame_of_the_same_texts_is_read_alike(column: Column, cells: list[str], tmp_path: Path) -> None:
    pd.DataFrame({"x": cells}).to_csv(tmp_path / "in.csv", index=False)
    schema = st.Schema({"x": column})

    in_file, in_frame = (
        to_objects(read(source, schema).columns["x"]).tolist()
        for source in (tmp_path / "in.csv", pd.DataFrame({"x": cells}))
    )

    assert None not in in_file
    assert in_file == in_frame


def test_typed_tables_hold_values_and_not_texts() -> None:
    for column, plain in (
        (day("%d/%m/%Y"), Date(FIRST, LAST, nullable=True)),
        (time("%d/%m/%Y %H:%M:%S"), Datetime(START, END, nullable=True)),
        (number("1.234,5"), Numeric(-1e7, 1e7, nullable=True)),
    ):
        for container in ("pandas", "polars", "pyarrow", "parquet", "arrow"):
            assert output_type(column, container) == output_type(plain, container)
    assert output_type(number("1234,5"), "jsonl").kind == "float"
    assert output_type(day("%d/%m/%Y"), "jsonl").kind == "text"


def test_a_number_in_another_form_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x\n"12.5"\n1.23\n"1.234"\n"1.234,5"\nnan\n\n')

    column = read(tmp_path / "t.csv", st.Schema({"x": number("1.234,5")})).columns["x"]

    assert column.unreadable is not None
    assert column.unreadable.tolist() == [True, True, False, False, False, False]
    assert column.values[2:4].tolist() == [1234.0, 1234.5]


def test_numbers_that_are_none_of_text_are_not_mistaken_for_groups(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": 1.234}\n{"x": "1.234"}\n{"x": 5}\n')
    schema = st.Schema({"x": number("1.234,5")})

    for source in (tmp_path / "t.jsonl", pd.DataFrame({"x": [1.234, "1.234", 5]}, dtype=object)):
        assert read(source, schema).columns["x"].values.tolist() == [1.234, 1234.0, 5.0]


def test_days_and_times_may_also_be_in_iso_8601(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n2020-12-31\n31/12/2020\n2020-12-31T10:00\nelse\n")

    column = read(tmp_path / "t.csv", st.Schema({"x": day("%d/%m/%Y")})).columns["x"]

    assert column.missing.tolist() == [False, False, False, True]
    assert set(column.values[:3].tolist()) == {18627}


def test_a_release_writes_the_dialect_and_the_formats_of_its_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = pd.to_datetime(rng.integers(18_000, 19_000, 2000), unit="D").strftime("%d/%m/%Y")
    pay = [f"{x:.2f}".replace(".", ",") for x in rng.uniform(-50, 50, 2000)]
    pd.DataFrame({"day": days, "pay": pay}).to_csv(tmp_path / "in.csv", index=False, sep=";")
    schema = st.Schema(
        {"day": day("%d/%m/%Y"), "pay": Numeric(-50, 50, decimals=2, format="1234,50")}, label="payments"
    )
    release = st.Independent(epsilon=1.0, seed=0).fit(tmp_path / "in.csv", schema)
    release.save(tmp_path / "r.syn")

    st.load(tmp_path / "r.syn").sample_to(tmp_path / "out.csv", 300, seed=1)

    made = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str)
    assert list(made) == ["day", "pay"]
    assert made["day"].dropna().str.fullmatch(r"[0-3]\d/[01]\d/20\d\d").all()
    assert made["pay"].str.fullmatch(r"-?\d+,\d\d").all()
    assert release.sample(5)["pay"].dtype == np.float64
