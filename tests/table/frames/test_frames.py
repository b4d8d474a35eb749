"""Frames of every library come back with the same names, order and rows, and errors show no cell."""

from __future__ import annotations

import sys
import traceback
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sample_frames import ARROW, POLARS, round_trip

from syntabula import datasets
from syntabula.errors import DataError, MissingExtraError
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.frames.frames import from_frame, to_frame
from syntabula.table.raw import Origin, PhysicalType, RawColumn
from syntabula.table.read import read, write_like
from syntabula.table.schema.columns import Numeric

CANARY = "zebra-canary-7731"


class TestWidening:
    def test_plain_integers_with_gaps_widen_without_loss(self) -> None:
        for largest, dtype in [(5, "float64"), (2**60, "Int64")]:
            physical = PhysicalType("integer", "int64")
            column = RawColumn(np.array([largest, 0]), np.array([False, True]), physical)
            series = to_frame({"x": column}, Origin("pandas", {"x": physical}))["x"]

            assert series.dtype == dtype
            assert int(series[0]) == largest

    def test_values_beyond_a_narrow_integer_type_widen(self) -> None:
        for container in ["pandas", "polars", "pyarrow"]:
            physical = PhysicalType(
                "integer", {"pandas": "int8", "polars": "Int8", "pyarrow": "int8"}[container]
            )
            column = RawColumn(np.array([1000, -1]), np.zeros(2, dtype=bool), physical)

            assert list(to_frame({"x": column}, Origin(container, {"x": physical}))["x"].to_numpy()) == [
                1000,
                -1,
            ]

    def test_a_float_becomes_the_decimal_that_it_stands_for(self) -> None:
        physical = PhysicalType("decimal", "decimal128(10, 2)", scale=2)
        column = RawColumn(np.array([0.1, 2.0]), np.zeros(2, dtype=bool), PhysicalType("float", "float64"))
        table = to_frame({"x": column}, Origin("pyarrow", {"x": physical}))

        assert table["x"].to_pylist() == [Decimal("0.10"), Decimal("2.00")]
        assert table.schema.field("x").type == pa.decimal128(10, 2)

    def test_fractions_for_an_integer_column_stay_fractions(self) -> None:
        column = RawColumn(np.array([0.5]), np.zeros(1, dtype=bool), PhysicalType("float", "float64"))
        frame = to_frame({"x": column}, Origin("pandas", {"x": PhysicalType("integer", "int64")}))

        assert frame["x"].tolist() == [0.5]

    def test_surrogate_numbers_replace_identifiers_of_any_type(self) -> None:
        for container in ["pandas", "polars", "pyarrow"]:
            column = RawColumn(np.arange(1, 3), np.zeros(2, dtype=bool), PhysicalType("integer", "int64"))
            for kind in ("other", "datetime", "date"):
                frame = to_frame({"x": column}, Origin(container, {"x": PhysicalType(kind, "object")}))
                assert list(frame["x"].to_numpy()) == [1, 2]
            frame = to_frame({"x": column}, Origin(container, {"x": PhysicalType("text", "object")}))
            assert list(frame["x"].to_numpy()) == ["1", "2"]


class TestOtherLibraries:
    def test_a_duckdb_relation_is_read(self) -> None:
        import duckdb

        table = from_frame(
            duckdb.sql("SELECT 1::HUGEINT AS a, 'x' AS b, 1.50::DECIMAL(4,2) AS c, NULL::INT AS d")
        )

        assert [c.physical.kind for c in table.columns.values()] == ["decimal", "text", "decimal", "integer"]
        assert [p.kind for p in table.origin.physical.values()] == ["integer", "text", "decimal", "integer"]
        assert table.columns["c"].values.tolist() == [Decimal("1.50")]

    def test_no_cell_decides_how_whole_numbers_of_128_bits_are_read(self) -> None:
        for library in ["duckdb", "polars"]:
            import duckdb

            column, types, points = Numeric(-5, 2**63 - 1, integer=True), set(), []
            for cells in ([3, 4], [3, 2**63 + 1], [3, 2**100], [-(2**100), 2**63 + 1]):
                if library == "polars":
                    table = from_frame(pl.DataFrame({"x": pl.Series(cells, dtype=pl.Int128)}))
                else:
                    numbers = ", ".join(f"{c}::HUGEINT" for c in cells)
                    table = from_frame(duckdb.sql(f"SELECT unnest([{numbers}]) AS x"))
                types.add((table.columns["x"].physical, table.columns["x"].values.dtype))
                points.append(ordered_points(column, table.columns["x"])[0].tolist())

            assert len(types) == 1
            assert points == [[3, 4], [3, 2**63 - 1], [3, 2**63 - 1], [-5, 2**63 - 1]]

    def test_times_without_end_are_beyond_all_others(self) -> None:
        for stored in ["TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ"]:
            import duckdb

            cells = ", ".join(f"'{c}'::{stored}" for c in ("infinity", "-infinity", "1970-01-01")) + ", NULL"
            column = from_frame(duckdb.sql(f"SELECT unnest([{cells}]) AS x")).columns["x"]

            assert column.values.tolist()[:3] == [2**63 - 1, 1 - 2**63, 0]
            assert column.missing.tolist() == [False, False, False, True]

    def test_a_narwhals_frame_is_read(self) -> None:
        import narwhals as nw

        assert round_trip(nw.from_native(POLARS)).equals(POLARS)

    def test_anything_else_is_refused_by_its_type_alone(self) -> None:
        for thing in ({"x": [CANARY]}, [CANARY], np.zeros((2, 2)), 5, None):
            with pytest.raises(DataError) as caught:
                read(thing)
            assert CANARY not in str(caught.value)

    def test_what_holds_a_frame_is_refused_with_the_remedy(self) -> None:
        with pytest.raises(DataError, match="not Dataset; pass its frame"):
            read(datasets.load("census"))

    def test_a_raw_table_is_read_as_it_is(self) -> None:
        table = from_frame(POLARS)

        assert read(table) is table
        assert write_like(table.columns, table.origin).equals(POLARS)


class TestNames:
    def test_any_text_is_a_name(self) -> None:
        for name in ["", "größe", 'a"b', "e\nf", "select", "x" * 10_000, "=1+1", "__class__"]:
            frame = pd.DataFrame({name: [1], "other": [2]})

            assert list(round_trip(frame).columns) == [name, "other"]

    def test_repeated_names_are_refused_by_name(self) -> None:
        for frame in [pd.DataFrame([[1, 2]], columns=["x", "x"]), pa.table([[1], [2]], names=["x", "x"])]:
            with pytest.raises(DataError, match="'x'"):
                from_frame(frame)

    def test_no_columns_are_refused(self) -> None:
        for frame in [pd.DataFrame(index=[1]), pl.DataFrame(), pa.table({})]:
            with pytest.raises(DataError, match="no columns"):
                from_frame(frame)

    def test_names_that_are_not_text_are_refused_with_the_remedy(self) -> None:
        for names in [[0, 1], ["a", None], [("a", "b"), ("a", "c")]]:
            with pytest.raises(DataError, match=r"frame\.columns ="):
                from_frame(pd.DataFrame([[1, 2]], columns=names))


class TestRows:
    def test_no_rows_keep_the_types(self) -> None:
        for frame in [POLARS, ARROW, POLARS.drop("Int128").to_pandas()]:
            if isinstance(frame, pl.DataFrame):
                frame = frame.drop("enum")
            back = round_trip(frame[:0])

            assert len(back) == 0
            if isinstance(frame, pd.DataFrame):
                assert list(back.columns) == list(frame.columns)
            else:
                assert back.schema == frame.schema


class TestErrors:
    def test_a_lone_surrogate_is_unreadable_and_changes_no_other_cell(self) -> None:
        for dtype in ["object", "string[python]", "category"]:
            texts = pd.Series(["a\ud800", "x", None, "x"], dtype=object)
            known = pd.Index(["a\ud800", "x"], dtype=object)
            cells = (
                pd.Series(pd.Categorical.from_codes([0, 1, -1, 1], categories=known))
                if dtype == "category"
                else texts.astype(dtype)
            )

            column = from_frame(pd.DataFrame({"job": cells})).columns["job"]

            assert column.physical.kind == "text"
            assert column.missing.tolist() == [True, False, True, False]
            assert column.unreadable is not None
            assert column.unreadable.tolist() == [True, False, False, False]
            assert column.values[1] == "x"

    def test_a_failing_library_is_not_quoted(self) -> None:
        def fail(_: Any) -> Any:
            raise ValueError(CANARY)

        lazy = pl.LazyFrame({"x": [1]}).map_batches(fail)
        with pytest.raises(DataError) as caught:
            from_frame(lazy)

        assert CANARY not in "".join(traceback.format_exception(caught.value))

    def test_reading_warns_of_nothing(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for frame in (POLARS, ARROW, POLARS.drop("Int128").to_pandas()):
                round_trip(frame)


class TestOptionalLibraries:
    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_an_absent_library_is_named_with_its_install_line(
        self, library: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = from_frame(pd.DataFrame({"x": [1]}))
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(MissingExtraError, match=r"pip install \"syntabula\["):
            to_frame(table.columns, table.origin.with_container(library))

    def test_a_file_becomes_a_pandas_frame(self) -> None:
        table = from_frame(POLARS.select("text", "day"))

        assert isinstance(to_frame(table.columns, table.origin.with_container("csv")), pd.DataFrame)
