"""The types of declared columns in synthetic tables: from the declaration and the kind of table alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.table.files.files import read_table
from syntabula.table.frames.conform import output_type
from syntabula.table.frames.frames import to_frame
from syntabula.table.raw import Origin
from syntabula.table.schema.columns import Column

TEXT = pd.Series(["a"]).dtype
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
# A column, and its types in pandas, in pandas where cells may be missing, in polars and in Arrow.
CASES: dict[str, tuple[Column, Any, Any, Any, Any]] = {
    "whole": (st.Numeric(0, 9, integer=True), "int64", "Int64", pl.Int64(), pa.int64()),
    "no decimals": (st.Numeric(0, 9, decimals=0), "int64", "Int64", pl.Int64(), pa.int64()),
    "wide": (st.Numeric(0, 2**64 - 1, integer=True), "uint64", "UInt64", pl.UInt64(), pa.uint64()),
    "real": (st.Numeric(0, 9, decimals=2), "float64", "float64", pl.Float64(), pa.float64()),
    "flag": (st.Boolean(spelling="1/0"), "bool", "boolean", pl.Boolean(), pa.bool_()),
    "day": (
        st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
        *("datetime64[us]", "datetime64[us]", pl.Date(), pa.date32()),
    ),
    "time": (
        st.Datetime(*MOMENTS, resolution="day"),
        *("datetime64[us]", "datetime64[us]", pl.Datetime("us"), pa.timestamp("us")),
    ),
    "zoned": (
        st.Datetime(*MOMENTS, timezone="Europe/Paris"),
        *(pd.DatetimeTZDtype("us", "Europe/Paris"), pd.DatetimeTZDtype("us", "Europe/Paris")),
        *(pl.Datetime("us", "Europe/Paris"), pa.timestamp("us", "Europe/Paris")),
    ),
    "text": (st.Categorical(("007", "8")), TEXT, TEXT, pl.String(), pa.string()),
    "code": (st.Categorical((1, 2)), "int64", "Int64", pl.Int64(), pa.int64()),
    "wide code": (
        st.Categorical((1,), open=True, other_label=2**63),
        *("uint64", "UInt64", pl.UInt64(), pa.uint64()),
    ),
    "share": (st.Categorical((0.5, 1.5)), "float64", "float64", pl.Float64(), pa.float64()),
    "truth": (st.Categorical((True, False)), "bool", "boolean", pl.Boolean(), pa.bool_()),
    "id": (st.Identifier(prefix="x"), TEXT, TEXT, pl.String(), pa.string()),
    "number": (st.Identifier(integer=True), "int64", "Int64", pl.Int64(), pa.int64()),
}


def columns(nullable: bool) -> dict[str, Column]:
    return {name: replace(case[0], nullable=nullable) for name, case in CASES.items()}


def release(nullable: bool, container: Any, *, n: int = 40) -> st.Release:
    # Values are of no account here, so that a table without rows is enough.
    empty = pd.DataFrame({name: pd.Series([], dtype=object) for name in CASES})
    made = st.Independent(epsilon=1.0, seed=0, bins=8, rare=None).fit(empty, st.Schema(columns(nullable)))
    return replace(made, origin=Origin(container, {}))


@pytest.mark.parametrize("n", [0, 300])
@pytest.mark.parametrize("nullable", [False, True])
class TestFrames:
    @pytest.mark.thorough
    def test_of_pandas(self, nullable: bool, n: int) -> None:
        made = release(nullable, "pandas").sample(n, seed=0)

        assert dict(made.dtypes) == {
            name: pd.api.types.pandas_dtype(case[1 + nullable]) for name, case in CASES.items()
        }

    @pytest.mark.thorough
    def test_of_polars(self, nullable: bool, n: int) -> None:
        made = release(nullable, "polars").sample(n, seed=0)

        assert dict(made.schema) == {name: case[3] for name, case in CASES.items()}

    @pytest.mark.thorough
    def test_of_arrow(self, nullable: bool, n: int) -> None:
        made = release(nullable, "pyarrow").sample(n, seed=0)

        assert dict(zip(made.column_names, made.schema.types, strict=True)) == {
            name: case[4] for name, case in CASES.items()
        }


class TestFiles:
    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", ["parquet", "arrow"])
    def test_have_the_same_types_from_any_kind_of_table(self, suffix: str, tmp_path: Path) -> None:
        found = []
        for container in ("pandas", "polars", "pyarrow", "csv", "parquet"):
            release(True, container).sample_to(tmp_path / f"t.{suffix}", 50, seed=0)
            table = read_table(tmp_path / f"t.{suffix}")
            found.append({name: column.physical for name, column in table.columns.items()})

        assert all(types == found[0] for types in found)
        assert found[0]["day"].kind == "date"
        assert found[0]["flag"].kind == "boolean"

    @pytest.mark.thorough
    def test_of_text_have_the_same_cells_from_any_kind_of_table(self, tmp_path: Path) -> None:
        texts = set()
        for container in ("pandas", "polars", "csv", "parquet"):
            release(True, container).sample_to(tmp_path / "t.csv", 50, seed=0)
            texts.add((tmp_path / "t.csv").read_text(encoding="utf-8"))

        (text,) = texts
        cells = pd.read_csv(tmp_path / "t.csv", dtype="str")
        assert text.startswith("whole,")
        assert set(cells["flag"].dropna()) in ({"0"}, {"1"}, {"0", "1"})
        assert cells["whole"].dropna().str.fullmatch("[0-9]").all()
        assert cells["day"].dropna().str.fullmatch("2020-[0-9]{2}-[0-9]{2}").all()


def test_values_are_kept() -> None:
    codec = st.Schema(columns(True))
    frame = release(True, "csv").sample_columns(60, seed=3)

    made = to_frame(frame, Origin("polars", {n: output_type(c, "polars") for n, c in codec.columns.items()}))

    for name, column in frame.items():
        present = ~column.missing
        cells = made[name].to_list()
        assert [c is not None for c in cells] == present.tolist()
        if column.physical.kind in ("integer", "float", "boolean", "text"):
            assert [c for c in cells if c is not None] == column.values[present].tolist()
    assert np.isin(made["wide"].drop_nulls().to_numpy(), frame["wide"].values).all()
