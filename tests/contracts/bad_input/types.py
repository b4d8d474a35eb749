"""Columns of types at the edge of what can be held: numbers, times and others."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from bad_input.matrix import CANARY_TEXT, case, fit, fit_observed, refuses
from syntabula.errors import (
    CoercionWarning,
    DataError,
    SchemaError,
)
from syntabula.table.read import read


@case("numbers", "integers beyond 2**53")
def _(folder):
    values = [2**53 + 1, 2**53 + 3, 2**60 + 1] * 20
    schema = st.Schema({"x": st.Numeric(2**53, 2**61, integer=True), "y": st.Boolean()})
    sample = fit(pd.DataFrame({"x": values, "y": [True, False] * 30}), schema).sample(100, seed=1)
    assert sample["x"].dtype == np.int64
    assert sample["x"].between(2**53, 2**61).all()


@case("numbers", "uint64")
def _(folder):
    frame = pd.DataFrame({"x": np.array([2**64 - 1, 2**63 + 1, 5] * 20, dtype=np.uint64), "y": 1})
    schema = st.Schema({"x": st.Numeric(0, 2**64 - 1, integer=True), "y": st.Numeric(0, 1, integer=True)})
    sample = fit(frame, schema).sample(100, seed=1)
    assert sample["x"].dtype == np.uint64


@case("numbers", "Python integers beyond 64 bits")
def _(folder):
    frame = pd.DataFrame({"x": [10**30 + i for i in range(20)]})
    with pytest.warns(CoercionWarning, match="'x': some values lie outside"):
        sample = fit(frame, st.Schema({"x": st.Numeric(0, 10, integer=True)})).sample(50, seed=1)
    assert (sample["x"] == 10).mean() > 0.9


@case("numbers", "Decimal, as objects and as a type")
def _(folder):
    import pyarrow as pa

    frame = pd.DataFrame({"x": [Decimal("1.25"), Decimal("3.50"), None] * 20})
    schema = st.Schema({"x": st.Numeric(0, 5, decimals=2, nullable=True)})
    present = fit(frame, schema).sample(50, seed=1)["x"].dropna()
    assert set(present) <= set(np.round(np.arange(501) / 100, 2))
    typed = fit(frame.astype({"x": pd.ArrowDtype(pa.decimal128(5, 2))}), schema).sample(50, seed=1)
    assert typed["x"].dropna().tolist() == present.tolist()


@case("numbers", "float16 and float32")
def _(folder):
    frame = pd.DataFrame(
        {"h": np.linspace(0, 1, 60).astype(np.float16), "s": np.linspace(0, 1, 60, dtype=np.float32)}
    )
    schema = st.Schema({"h": st.Numeric(0.0, 1.0), "s": st.Numeric(0.0, 1.0)})
    sample = fit(frame, schema).sample(50, seed=1)
    assert [*sample.dtypes] == [np.float64, np.float64]
    assert sample["h"].between(0, 1).all()


@case("numbers", "complex numbers")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [1j, 2 + 0j]}))


def times(values, timezone=None, **bounds) -> tuple[pd.DataFrame, st.Schema]:
    bounds = {"lower": dt.datetime(2020, 1, 1), "upper": dt.datetime(2021, 1, 1)} | bounds
    frame = pd.DataFrame({"t": values})
    column = st.Datetime(
        bounds["lower"], bounds["upper"], timezone=timezone, resolution="second", nullable=True
    )
    return frame, st.Schema({"t": column})


@case("times", "datetime")
def _(folder):
    frame, schema = times(pd.date_range("2020-01-01", periods=60, freq="D"))
    sample = fit(frame, schema).sample(50, seed=1)
    assert sample["t"].dtype == frame["t"].dtype
    assert sample["t"].dropna().between("2020-01-01", "2021-01-01").all()


@case("times", "datetime with a zone")
def _(folder):
    frame, schema = times(
        pd.date_range("2020-01-01", periods=60, freq="D", tz="Europe/Paris"), "Europe/Paris"
    )
    sample = fit(frame, schema).sample(50, seed=1)
    assert sample["t"].dtype == frame["t"].dtype


@case("times", "mixed zones")
def _(folder):
    one, other = (pd.Timestamp("2020-07-01", tz=z) for z in ("UTC", "Asia/Tokyo"))
    frame, schema = times(pd.Series([one, other] * 30, dtype=object), "UTC")
    made = fit(frame, schema).sample(50, seed=1)["t"].dropna()
    assert all(moment.utcoffset() == dt.timedelta(0) for moment in made)
    hours = read(frame, schema).columns["t"].values / 3_600_000_000
    assert {int(x) for x in hours - hours.max()} == {0, -9}


@case("times", "daylight saving fold")
def _(folder):
    moments = pd.date_range("2020-10-24 20:00", periods=60, freq="h", tz="UTC").tz_convert("Europe/Paris")
    frame, schema = times(moments, "Europe/Paris")
    assert len(fit(frame, schema).sample(50, seed=1)) == 50


@case("times", "durations are refused with a remedy")
@refuses(SchemaError, "t")
def _(folder):
    fit_observed(pd.DataFrame({"t": pd.to_timedelta([1, 2, 3], unit="h")}))


@case("times", "years 0001 and 9999")
def _(folder):
    frame = pd.DataFrame(
        {"t": pd.Series([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)] * 20, dtype=object)}
    )
    column = st.Datetime(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), resolution="day", nullable=True)
    assert len(fit(frame, st.Schema({"t": column})).sample(20, seed=1)) == 20


def one_column(values, column: object, **options) -> pd.Series:
    frame = pd.DataFrame({"x": values})
    return fit(frame, st.Schema({"x": column}), **options).sample(80, seed=1)["x"]


@case("dtypes", "bool")
def _(folder):
    assert one_column([True, False] * 30, st.Boolean()).dtype == bool


@case("dtypes", "nullable Int64 with gaps")
def _(folder):
    values = pd.array([1, 2, None] * 20, dtype="Int64")
    sample = one_column(values, st.Numeric(0, 5, integer=True, nullable=True), epsilon=50.0)
    assert sample.dtype == "Int64"
    assert sample.isna().any()


@case("dtypes", "nullable boolean with gaps")
def _(folder):
    sample = one_column(pd.array([True, None] * 30, dtype="boolean"), st.Boolean(nullable=True), epsilon=50.0)
    assert sample.dtype == "boolean"
    assert sample.isna().any()


@case("dtypes", "nullable string")
def _(folder):
    values = pd.array(["a", None] * 30, dtype="string")
    sample = one_column(values, st.Categorical(("a", "b"), nullable=True), epsilon=50.0)
    assert sample.dtype == pd.Series(["a"]).dtype
    assert sample.isna().any()


@case("dtypes", "categorical with unused levels")
def _(folder):
    values = pd.Categorical(["a", "b"] * 30, categories=["a", "b", "never"])
    sample = one_column(values, st.Categorical(("a", "b", "never")), epsilon=50.0)
    assert sample.dtype == pd.Series(["a"]).dtype
    assert set(sample) == {"a", "b"}


@case("dtypes", "Arrow dictionary")
def _(folder):
    import pyarrow as pa

    table = pa.table({"x": pa.array(["a", "b", None] * 20).dictionary_encode()})
    sample = fit(table, st.Schema({"x": st.Categorical(("a", "b"), nullable=True)})).sample(50, seed=1)
    assert isinstance(sample, pa.Table)
    assert sample.schema.field("x").type == pa.string()


@case("dtypes", "mixed numbers and text")
def _(folder):
    cells = pd.Series([1, CANARY_TEXT, "a"] * 10, dtype=object)
    with pytest.warns(CoercionWarning, match="'x': some values are not declared"):
        sample = one_column(cells, st.Categorical(("a", "b")))
    assert set(sample) <= {"a", "b"}


@case("dtypes", "1 and '1' in one column")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": pd.Series([1, "1"] * 10, dtype=object)}))


@case("dtypes", "lists in cells")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [[1, 2], [3]] * 10}))


@case("dtypes", "nested records in cells")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [{"a": 1}, {"a": 2}] * 10}))
