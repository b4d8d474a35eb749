"""Text files that write missing cells as NA, as R does, and synthetic files that write them as their tables do."""

from __future__ import annotations

import datetime as dt
import json
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.draft import draft_schema
from syntabula.table.raw import MISSING_TEXTS, PhysicalType
from syntabula.table.read import read
from syntabula.table.schema.columns import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Numeric,
    Time,
    with_missing_text,
)

N = 3_000


def frame(missing: str) -> pd.DataFrame:
    """Return columns of each kind as texts, a twelfth of which are missing."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2015-01-01") + rng.integers(0, 2_000, N).astype("timedelta64[D]")
    times = np.datetime64("2015-01-01T00:00:00") + rng.integers(0, 10**8, N).astype("timedelta64[s]")
    columns = {
        "day": days.astype(str),
        "at": times.astype(str),
        "flag": rng.choice(["TRUE", "FALSE"], N),
        "pay": rng.normal(50, 10, N).round(1).astype(str),
        "count": rng.integers(0, 1_000, N).astype(str),
        "name": rng.choice(["a", "b", "c"], N),
    }
    found = pd.DataFrame(columns, dtype=object)
    return found.mask(rng.random(found.shape) < 1 / 12, missing)


def written(path, missing: str):
    frame(missing).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("missing", ["NA", "NULL", "."])
def test_a_draft_reads_them_and_says_how_they_are_written(tmp_path, missing):
    schema, _ = draft_schema(written(tmp_path / "t.csv", missing))

    kinds = [type(schema[name]) for name in ("day", "at", "flag", "pay", "count")]
    assert kinds == [Date, Datetime, Boolean, Numeric, Numeric]
    assert {schema[n].missing_as for n in schema if n != "name"} == {missing}
    # In a column of texts it may be a value, such as the code of Namibia.
    assert missing in schema["name"].categories


@pytest.mark.parametrize("text", MISSING_TEXTS)
def test_each_is_known(tmp_path, text):
    (tmp_path / "t.csv").write_text("\n".join(["x", *map(str, range(60)), text]))

    column = read(tmp_path / "t.csv").columns["x"]

    assert (column.physical.kind, column.physical.missing_as) == ("integer", text)
    assert column.missing.tolist() == [False] * 60 + [True]


def test_a_column_of_nothing_else_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "NA,1\n" * 30)

    assert read(tmp_path / "t.csv").columns["x"].physical.kind == "text"


def test_types_are_found_under_privacy_and_rows_are_written_alike(tmp_path):
    path = written(tmp_path / "t.csv", "NA")

    release = st.MST(epsilon=5.0, delta=1e-5, seed=1).fit(path)
    release.sample_to(tmp_path / "s.csv", N, seed=2)

    texts = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
    # Standard deviation of a share of a twelfth of 3,000 rows: .005, and noise.
    assert np.allclose((texts == "NA").mean(), 1 / 12, atol=0.04)
    assert not (texts == "").any().any()
    for name in ("pay", "count"):
        assert pd.to_numeric(texts[name][texts[name] != "NA"]).nunique() > 100
    assert {*texts["flag"]} == {"TRUE", "FALSE", "NA"}


def test_columns_of_few_missing_cells_write_them_as_the_others_do(tmp_path):
    cells = frame("NA")
    cells["pay"] = [*cells["pay"][:-20].replace("NA", "50.1"), *["NA"] * 20]
    cells.to_csv(tmp_path / "t.csv", index=False)

    release = st.MST(epsilon=1.0, delta=1e-5, seed=1).fit(tmp_path / "t.csv")

    nullable = {n: c.missing_as for n, c in release.schema.columns.items() if c.nullable and n != "name"}
    assert len(nullable) >= 4
    assert {*nullable.values()} == {"NA"}


def test_a_release_keeps_how_they_are_written_in_text_alone(tmp_path):
    schema = st.Schema({"x": Numeric(0, 9, integer=True, nullable=True, missing_as="NA")})
    table = pd.DataFrame({"x": pd.array([1, 2, None, 4] * 100, dtype="Int64")})
    st.MST(epsilon=np.inf, seed=1).fit(table, schema=schema).save(tmp_path / "r")

    release = st.load(tmp_path / "r")
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        release.sample_to(tmp_path / f"s.{suffix}", 400, seed=2)

    for suffix in ("csv", "tsv"):
        assert (tmp_path / f"s.{suffix}").read_text().split("\n").count("NA") > 50
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert sum(row["x"] is None for row in rows) > 50
    assert pd.read_parquet(tmp_path / "s.parquet")["x"].isna().sum() > 50


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"missing_as": "NA"}, "nullable"),
        ({"missing_as": "", "nullable": True}, "text"),
        ({"missing_as": " NA", "nullable": True}, "white space"),
        ({"missing_as": 9, "nullable": True}, "text"),
        ({"missing_as": "=1+1", "nullable": True}, "formula"),
    ],
)
def test_a_text_that_cannot_stand_for_a_missing_cell_is_refused(given, said):
    with pytest.raises(SchemaError, match=said):
        Numeric(0, 9, **given)


YEAR = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
WORKDAY = (dt.time(8), dt.time(18))


@pytest.mark.parametrize(
    ("kind", "arguments", "options", "text", "present"),
    [
        (Numeric, (0, 100), {"integer": True}, "-999", "5"),
        (Numeric, (0, 100), {"integer": True}, "99.5e9", "5"),
        (Numeric, (0.0, 1.0), {}, "-1.5", "0.5"),
        (Numeric, (0, 1), {"decimals": 2}, "9.99", "0.25"),
        (Numeric, (0, 9_999), {"integer": True, "format": "1.234"}, "-9.999", "1.234"),
        (Numeric, (0, 100), {"integer": True, "texts": ("<5",)}, "-1", "<5"),
        (Categorical, ((1, 2),), {}, "9", "2"),
        (Categorical, ((0.5, 1.5),), {}, "-1", "0.5"),
        (Categorical, (("a", "b"),), {}, "z", "b"),
        (Date, YEAR, {}, "9999-12-31", "2020-05-05"),
        (Date, YEAR, {"format": "%d/%m/%Y"}, "01/01/1900", "05/05/2020"),
        (Datetime, MOMENTS, {}, "1900-01-01", "2020-05-05T10:00:00"),
        (Datetime, MOMENTS, {"timezone": "UTC"}, "9999-12-31T00:00:00Z", "2020-05-05T10:00:00Z"),
        (Time, WORKDAY, {}, "00:00", "09:30"),
        (Time, WORKDAY, {"format": "1435"}, "0", "930"),
        (Boolean, (), {}, "-1", "true"),
        (Identifier, (), {"prefix": "C"}, "C0", "C1"),
    ],
)
def test_a_declared_text_that_the_kind_can_read_is_missing(tmp_path, kind, arguments, options, text, present):
    schema = st.Schema({"x": kind(*arguments, nullable=True, missing_as=text, **options)})
    (tmp_path / "t.csv").write_text("\n".join(["x", *[present, f"{text} ", "NA"] * 40]))

    column = read(tmp_path / "t.csv", schema).columns["x"]

    held = np.zeros(120, bool) if column.beside is None else column.beside.places > 0
    # In a column of texts, NA may be a value.
    assert (column.missing & ~held).tolist() == [False, True, schema["x"].stored.kind != "text"] * 40
    assert column.unreadable is None


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (Numeric(0, 100, integer=True, nullable=True), "-999"),
        (Date(*YEAR, nullable=True), "9999-12-31"),
    ],
)
def test_synthetic_files_with_such_a_text_are_read_back(tmp_path, column, text):
    present = "5" if isinstance(column, Numeric) else "2020-05-05"
    schema = st.Schema({"x": with_missing_text(column, PhysicalType("text", "VARCHAR", missing_as=text))})
    (tmp_path / "t.csv").write_text("\n".join(["x", *[present, text] * 50]))

    release = st.Independent(epsilon=np.inf, seed=1).fit(tmp_path / "t.csv", schema=schema)
    release.sample_to(tmp_path / "s.csv", 100, seed=2)

    assert (tmp_path / "s.csv").read_text().split().count(text) == 50
    assert read(tmp_path / "s.csv", schema).columns["x"].missing.sum() == 50


VALUES = [
    (Numeric, (0, 9), {"texts": ("<5", "NA")}, "NA"),
    (Numeric, (0, 9), {"integer": True}, "2"),
    (Numeric, (0, 9), {}, "9.0"),
    (Numeric, (0, 9_999), {"integer": True, "format": "1.234"}, "1.234"),
    (Categorical, (("a", "NA"),), {}, "NA"),
    (Categorical, (("a", " NA"),), {}, "NA"),
    (Categorical, (("1",),), {"open": True, "other_label": "NA"}, "NA"),
    (Categorical, ((1, 2),), {}, "1"),
    (Categorical, ((1, 2),), {"open": True, "other_label": 9}, "9.0"),
    (Categorical, ((True, False),), {}, "Yes"),
    (Boolean, (), {}, "true"),
    (Boolean, (), {"spelling": "yes/no"}, "F"),
    (Date, YEAR, {}, "2020-12-31"),
    (Date, YEAR, {"format": "%d/%m/%Y"}, "31/12/2020"),
    (Datetime, MOMENTS, {}, "2020-12-31"),
    (Time, (), {}, "00:00"),
    (Time, (), {"format": "1435"}, "905"),
    (Identifier, (), {"prefix": "N", "width": 3}, "N007"),
    (Identifier, (), {"pattern": "[A-Z]{2}"}, "NA"),
]


@pytest.mark.parametrize(("kind", "arguments", "options", "text"), VALUES)
def test_a_value_cannot_stand_for_a_missing_cell(kind, arguments, options, text):
    column = kind(*arguments, nullable=True, **options)

    with pytest.raises(SchemaError, match="missing_as is a value"):
        kind(*arguments, nullable=True, missing_as=text, **options)

    # A draft leaves it out.
    assert with_missing_text(column, PhysicalType("text", "VARCHAR", missing_as=text)) == column


@pytest.mark.parametrize(
    ("epsilon", "filled"), [(np.inf, {"a": "NA", "b": None, "d": None}), (5.0, dict.fromkeys("abd", "NA"))]
)
def test_where_nothing_is_hidden_each_column_writes_them_as_its_file_does(tmp_path, epsilon, filled):
    rng = np.random.default_rng(0)
    days = (np.datetime64("2015-01-01") + rng.integers(0, 900, N).astype("timedelta64[D]")).astype(str)
    cells = pd.DataFrame(
        {
            "a": rng.integers(0, 50, N).astype(str),
            "b": rng.integers(0, 90, N).astype(str),
            "d": days,
        },
        dtype=object,
    )
    gaps = rng.random(cells.shape) < 1 / 3
    for name, gap, text in zip(cells, gaps.T, ("NA", "", ""), strict=True):
        cells.loc[gap, name] = text
    cells.to_csv(tmp_path / "t.csv", index=False)

    release = st.Independent(epsilon=epsilon, seed=1).fit(tmp_path / "t.csv")

    assert {name: column.missing_as for name, column in release.schema.columns.items()} == filled


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        (Numeric(0, 99, integer=True, nullable=True, missing_as="-999"), "-999.0", -999),
        (Numeric(0, 9, decimals=1, nullable=True, missing_as="-999.0"), "-999", -999.0),
        (Numeric(0, 9_999, integer=True, format="1.234", nullable=True, missing_as="-9.999"), "-9999", -9999),
        (Categorical([1, 2, 5], nullable=True, missing_as="9"), "09", 9),
        (Date(*YEAR, nullable=True, missing_as="2999-12-31"), "2999-12-31 00:00", dt.date(2999, 12, 31)),
        (
            Datetime(*MOMENTS, nullable=True, missing_as="1900-01-01"),
            "1900-01-01T00:00",
            dt.datetime(1900, 1, 1),
        ),
    ],
)
@pytest.mark.parametrize("container", ["pandas", "polars", "csv"])
def test_one_that_writes_a_value_is_compared_as_such_and_comes_out(tmp_path, column, cell, value, container):
    schema = st.Schema({"x": column})
    present = {Date: dt.date(2020, 5, 5), Datetime: dt.datetime(2020, 5, 5, 10)}.get(type(column), 5)
    cells = [value, present, present, present] * 50
    frame = polars.DataFrame({"x": cells})
    source = frame if container == "polars" else frame.to_pandas()
    if container == "csv":
        source = tmp_path / "t.csv"
        source.write_text("\n".join(["x", *(cell if c == value else str(c) for c in cells)]))

    missing = read(source, schema).columns["x"].missing
    release = st.Independent(epsilon=np.inf, seed=1).fit(source, schema)
    drawn = release.sample(200, seed=1)
    release.sample_to(tmp_path / "s.csv", 200, seed=1)

    assert missing.tolist() == [True, False, False, False] * 50
    found = polars.from_pandas(drawn) if isinstance(drawn, pd.DataFrame) else drawn
    assert found["x"].null_count() == 0
    assert (found["x"].cast(frame["x"].dtype) == value).sum() == 50
    assert (tmp_path / "s.csv").read_text().split().count(column.missing_as) == 50


@pytest.mark.parametrize("text", ["-9.9", "-9.90", "-999"])
@pytest.mark.parametrize("stored", [pa.decimal128(9, 2), pa.float32(), pa.float16(), "polars", "float32"])
def test_a_value_is_found_as_its_type_holds_it(stored, text):
    if isinstance(stored, pa.DataType) and pa.types.is_float16(stored):
        held = pa.array(np.array([float(text), 1.5], dtype=np.float16))
    else:
        held = pa.array([Decimal(text), Decimal("1.5")], pa.decimal128(9, 2))
        held = held.cast(stored if isinstance(stored, pa.DataType) else pa.float64())
    source = pa.table({"x": held})
    if stored == "polars":
        source = polars.DataFrame({"x": [Decimal(text), Decimal("1.5")]}, {"x": polars.Decimal(9, 2)})
    elif stored == "float32":
        source = source.to_pandas().astype("float32")
    schema = st.Schema({"x": Numeric(0, 5, decimals=1, nullable=True, missing_as=text)})

    assert read(source, schema).columns["x"].missing.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "spelled", "moment"),
    [
        ("2999-12-31", "2999-12-31 00:00", dt.datetime(2999, 12, 30, 23)),
        ("1999-12-31T23:00:00Z", "2000-01-01 00:00:00+0100", dt.datetime(1999, 12, 31, 23)),
    ],
)
@pytest.mark.parametrize("stored", ["Europe/Paris", "UTC", None])
def test_one_of_a_zone_is_the_same_moment_in_every_table(tmp_path, text, spelled, moment, stored):
    gap, present = (m.replace(tzinfo=dt.UTC) for m in (moment, dt.datetime(2020, 5, 5)))
    if stored is None:
        gap, present = (
            m.astimezone(zoneinfo.ZoneInfo("Europe/Paris")).replace(tzinfo=None) for m in (gap, present)
        )
    table = pa.table({"x": pa.array([gap, present] * 20, pa.timestamp("us", stored))})
    schema = st.Schema({"x": Datetime(*MOMENTS, timezone="Europe/Paris", nullable=True, missing_as=text)})
    (tmp_path / "t.csv").write_text("\n".join(["x", *[spelled, "2020-05-05T10:00"] * 20]))

    for source in (table, table.to_pandas(), polars.from_arrow(table), tmp_path / "t.csv"):
        assert read(source, schema).columns["x"].missing.tolist() == [True, False] * 20
    drawn = st.Independent(epsilon=np.inf, seed=1).fit(table, schema).sample(40, seed=1)["x"]
    assert drawn.null_count == 0
    assert drawn.to_pylist().count(moment.replace(tzinfo=dt.UTC)) == 20


def test_one_beyond_the_calendar_of_a_zone_leaves_cells_missing():
    text = "9999-12-31T23:59:59"
    column = Datetime(*MOMENTS, timezone="America/New_York", nullable=True, missing_as=text)
    times = pd.Series([None, pd.Timestamp("2020-05-05", tz="America/New_York")] * 20, name="x")

    drawn = st.Independent(epsilon=np.inf, seed=1).fit(times.to_frame(), st.Schema({"x": column})).sample(40)

    assert drawn["x"].isna().sum() == 20


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Numeric(0, 2**64 - 1, integer=True, nullable=True, missing_as="-999"), [5, 2**63 + 5]),
        (Categorical([1, 2**63 + 5], nullable=True, missing_as="-999"), [1, 2**63 + 5]),
        (Numeric(0, 9, integer=True, nullable=True, missing_as="-" + 20 * "9"), [3, 4]),
        (Numeric(0, 9, integer=True, nullable=True, missing_as=str(2**63 + 5)), [3, 4]),
        (Categorical([3, 4], nullable=True, missing_as="-1" + 400 * "0"), [3, 4]),
        (Numeric(0, 9, nullable=True, missing_as="-1" + 400 * "0"), [3, 4]),
    ],
)
def test_a_value_that_the_type_cannot_hold_leaves_cells_missing(tmp_path, column, values, container):
    frame = pd.DataFrame({"x": pd.array([*values, None] * 20, dtype="UInt64")})
    table = {"pandas": frame, "polars": polars.from_pandas(frame), "pyarrow": pa.Table.from_pandas(frame)}
    schema = st.Schema({"x": column})

    release = st.Independent(epsilon=np.inf, seed=1).fit(table[container], schema)
    drawn = release.sample(60, seed=1)
    release.sample_to(tmp_path / "s.csv", 60, seed=1)

    drawn = drawn.to_arrow() if container == "polars" else drawn
    found = (pa.Table.from_pandas(drawn) if container == "pandas" else drawn)["x"].to_pylist()
    assert {*found} == {*values, None}
    assert found.count(None) == 20
    assert (tmp_path / "s.csv").read_text().split().count(column.missing_as) == 20


def test_a_value_of_another_kind_stands_for_no_missing_cell():
    frame = pd.DataFrame({"x": [0, 1, -1, 2] * 5, "y": pd.array([1, None, 2, 1] * 5, dtype="Int64")})
    columns = {
        "x": Numeric(-1, 2, integer=True, nullable=True, missing_as="n/a 1"),
        "y": Numeric(0, 2, integer=True, nullable=True, missing_as="-0.5"),
    }
    table = read(frame, st.Schema(columns))

    assert not table.columns["x"].missing.any()
    made = st.Independent(epsilon=np.inf, seed=1).fit(frame, st.Schema(columns)).sample(20, seed=1)
    assert made["y"].isna().sum() == 5
