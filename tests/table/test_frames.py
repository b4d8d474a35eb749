"""Frames of every library come back with the same values, types, order and missing cells."""

from __future__ import annotations

import datetime as dt
import sys
import traceback
import warnings
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from syntabula.errors import CoercionWarning, DataError, MissingExtraError
from syntabula.table.columns import Numeric
from syntabula.table.encoding import ordered_points
from syntabula.table.frames import from_frame, to_frame
from syntabula.table.raw import Origin, PhysicalType, RawColumn
from syntabula.table.read import read, write_like

CANARY = "zebra-canary-7731"
PARIS = ZoneInfo("Europe/Paris")
MOMENTS = [dt.datetime(2020, 10, 25, 1, 30, 0, 5), dt.datetime(1969, 12, 31, 23), None]
DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]

PANDAS_DTYPES = [
    *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)),
    *(f"{u}Int{b}" for u in ("", "U") for b in (8, 16, 32, 64)),
    "float16", "float32", "float64", "Float32", "Float64", "bool", "boolean",
]  # fmt: skip


def series_of(dtype: str) -> pd.Series:
    if dtype in ("bool", "boolean"):
        cells: list[Any] = [True, False, None]
    elif "loat" in dtype:
        cells = [0.5, -2.25, None]
    else:
        info = np.iinfo(dtype.lower())
        cells = [int(info.min), int(info.max), None]
    gaps = dtype[0] in "IUFb" and dtype != "bool"
    return pd.Series(cells if gaps or dtype.startswith("float") else cells[:2], dtype=dtype)


def round_trip(frame: Any, **options: Any) -> Any:
    table = from_frame(frame)
    origin = Origin.from_json(table.origin.to_json())
    return to_frame(table.columns, origin, **options)


class TestPandas:
    @pytest.mark.parametrize("dtype", PANDAS_DTYPES)
    def test_numbers_and_booleans_keep_type_and_values(self, dtype: str) -> None:
        frame = pd.DataFrame({"x": series_of(dtype)})

        pd.testing.assert_frame_equal(round_trip(frame), frame)

    @pytest.mark.parametrize("dtype", ["object", "str", "string", pd.StringDtype("python")])
    def test_text_keeps_type_empty_strings_and_gaps(self, dtype: Any) -> None:
        frame = pd.DataFrame({"x": pd.Series(["é", "", None, "a\0b"], dtype=dtype)})
        raw = from_frame(frame).columns["x"]

        assert raw.missing.tolist() == [False, False, True, False]
        pd.testing.assert_frame_equal(round_trip(frame), frame)

    @pytest.mark.parametrize(
        "dtype", [pa.string(), pa.int32(), pa.float32(), pa.bool_(), pa.date32(), pa.timestamp("ns", "UTC")]
    )
    def test_arrow_backed_columns_stay_so(self, dtype: pa.DataType) -> None:
        plain: dict[Any, list[Any]] = {
            pa.string(): ["a", None],
            pa.bool_(): [True, None],
            pa.date32(): [dt.date(2020, 1, 1), None],
            pa.timestamp("ns", "UTC"): [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None],
        }
        cells = pd.arrays.ArrowExtensionArray(pa.array(plain.get(dtype, [1, None]), type=dtype))
        frame = pd.DataFrame({"x": pd.Series(cells)})

        pd.testing.assert_frame_equal(round_trip(frame), frame)

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris", "+02:00"])
    def test_times_keep_unit_and_zone(self, unit: str, zone: str | None) -> None:
        moments = pd.Series(pd.to_datetime(["2020-10-25 00:30:00", "1960-02-29 00:00:00", None])).dt.as_unit(
            unit
        )
        frame = pd.DataFrame(
            {"x": moments if zone is None else moments.dt.tz_localize("UTC").dt.tz_convert(zone)}
        )
        back = round_trip(frame)

        assert back["x"].isna().tolist() == [False, False, True]
        if zone != "+02:00":
            assert back["x"].dtype == frame["x"].dtype
        assert (back["x"].dropna() == frame["x"].dropna()).all()

    def test_durations_keep_unit(self) -> None:
        frame = pd.DataFrame({"x": pd.to_timedelta(["1h", "-1us", None]).as_unit("us")})

        pd.testing.assert_frame_equal(round_trip(frame), frame)

    @pytest.mark.parametrize(
        "cells",
        [
            DAYS,
            MOMENTS,
            [m and m.replace(tzinfo=PARIS) for m in MOMENTS],
            [Decimal("1.25"), Decimal("1E+30"), None],
            [True, None, False],
            [None, None],
            [dt.timedelta(days=1), None],
        ],
        ids=["dates", "moments", "zoned", "decimals", "booleans", "nothing", "durations"],
    )
    def test_objects_keep_their_values(self, cells: list[Any]) -> None:
        back = round_trip(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))["x"]

        assert back.dtype == object
        assert back.tolist() == cells

    @pytest.mark.parametrize("ordered", [False, True])
    def test_categories_come_from_the_schema_or_else_from_the_cells(self, ordered: bool) -> None:
        labels = pd.Categorical(["b", None, "a"], categories=["b", "a", "secret"], ordered=ordered)
        frame = pd.DataFrame({"x": labels})

        assert round_trip(frame)["x"].cat.categories.tolist() == ["a", "b"]
        given = round_trip(frame, categories={"x": ("b", "a", "secret")})
        pd.testing.assert_frame_equal(given, frame)
        assert "secret" not in repr(from_frame(frame).origin)

    def test_categories_of_numbers_stay_numbers(self) -> None:
        frame = pd.DataFrame({"x": pd.Categorical([3, 1, None])})

        assert from_frame(frame).columns["x"].physical.kind == "integer"
        pd.testing.assert_frame_equal(round_trip(frame), frame)

    def test_the_index_is_not_part_of_the_table(self) -> None:
        frame = pd.DataFrame({"x": [1, 2]}, index=["p", "p"])

        assert round_trip(frame)["x"].tolist() == [1, 2]

    @pytest.mark.parametrize("names", [["who"], ["who", None, "when"]])
    def test_an_index_with_a_name_is_left_out_with_a_warning(self, names: list[str | None]) -> None:
        index = pd.MultiIndex.from_tuples([("p",) * len(names)] * 2, names=names)
        frame = pd.DataFrame({"x": [1, 2]}, index=index if len(names) > 1 else index.get_level_values(0))

        with pytest.warns(CoercionWarning, match=r"index 'who'.*reset_index\(\) makes it one") as told:
            columns = from_frame(frame).columns

        assert [*columns] == ["x"]
        assert len(told) == 1
        assert "'p'" not in str(told[0].message)

    @pytest.mark.parametrize(
        "cells",
        [
            [1, "1"], [[1], [2]], [{"a": 1}], [10**30], [2**63, -1], [True, 1], [2**53 + 1, 0.5],
            [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=PARIS)],
            [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)], [1j], [b"x"],
        ],
        ids=str,
    )  # fmt: skip
    def test_what_no_plain_type_holds_is_other(self, cells: list[Any]) -> None:
        assert (
            from_frame(pd.DataFrame({"x": pd.Series(cells, dtype=object)})).columns["x"].physical.kind
            == "other"
        )

    @pytest.mark.parametrize(
        "cells",
        [
            pd.period_range("2020-01", periods=2, freq="M"),
            pd.IntervalIndex.from_breaks([0, 1, 2]),
            np.array([1j, 2]),
            pd.Categorical.from_codes([0, 1], categories=pd.Index([(1, 2), (3, 4)], tupleize_cols=False)),
        ],
        ids=["periods", "intervals", "complex", "tuples"],
    )
    def test_exotic_types_are_other(self, cells: Any) -> None:
        assert from_frame(pd.DataFrame({"x": cells})).columns["x"].physical.kind == "other"

    def test_infinity_stays_and_not_a_number_is_missing(self) -> None:
        raw = from_frame(pd.DataFrame({"x": [np.inf, -np.inf, np.nan]})).columns["x"]

        assert raw.missing.tolist() == [False, False, True]
        assert raw.values[:2].tolist() == [np.inf, -np.inf]

    def test_large_integers_stay_exact(self) -> None:
        frame = pd.DataFrame(
            {
                "a": pd.array([2**53 + 1, None], dtype="Int64"),
                "b": pd.Series([2**64 - 1, 0], dtype=object),
                "c": pd.array([2**64 - 1, None], dtype="UInt64"),
            }
        )
        columns = from_frame(frame).columns

        assert [int(c.values[0]) for c in columns.values()] == [2**53 + 1, 2**64 - 1, 2**64 - 1]


class TestWidening:
    @pytest.mark.parametrize(("largest", "dtype"), [(5, "float64"), (2**60, "Int64")])
    def test_plain_integers_with_gaps_widen_without_loss(self, largest: int, dtype: str) -> None:
        physical = PhysicalType("integer", "int64")
        column = RawColumn(np.array([largest, 0]), np.array([False, True]), physical)
        series = to_frame({"x": column}, Origin("pandas", {"x": physical}))["x"]

        assert series.dtype == dtype
        assert int(series[0]) == largest

    @pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
    def test_values_beyond_a_narrow_integer_type_widen(self, container: Any) -> None:
        physical = PhysicalType("integer", {"pandas": "int8", "polars": "Int8", "pyarrow": "int8"}[container])
        column = RawColumn(np.array([1000, -1]), np.zeros(2, dtype=bool), physical)

        assert list(to_frame({"x": column}, Origin(container, {"x": physical}))["x"].to_numpy()) == [1000, -1]

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

    @pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
    def test_surrogate_numbers_replace_identifiers_of_any_type(self, container: Any) -> None:
        column = RawColumn(np.arange(1, 3), np.zeros(2, dtype=bool), PhysicalType("integer", "int64"))
        for kind in ("other", "datetime", "date"):
            frame = to_frame({"x": column}, Origin(container, {"x": PhysicalType(kind, "object")}))
            assert list(frame["x"].to_numpy()) == [1, 2]
        frame = to_frame({"x": column}, Origin(container, {"x": PhysicalType("text", "object")}))
        assert list(frame["x"].to_numpy()) == ["1", "2"]


POLARS = pl.DataFrame(
    {
        **{
            str(t): pl.Series([1, None, 3], dtype=t)
            for t in (pl.Int8, pl.Int64, pl.UInt32, pl.UInt64, pl.Int128)
        },
        **{str(t): pl.Series([0.5, None, 3.0], dtype=t) for t in (pl.Float32, pl.Float64)},
        "bool": pl.Series([True, None, False]),
        "text": pl.Series(["é", "", None]),
        "category": pl.Series(["b", None, "a"], dtype=pl.Categorical),
        "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b"])),
        "day": pl.Series(DAYS),
        **{f"t{u}": pl.Series(MOMENTS, dtype=pl.Datetime(u)) for u in ("ms", "us", "ns")},  # type: ignore[arg-type]
        "zoned": pl.Series(MOMENTS, dtype=pl.Datetime("us")).dt.replace_time_zone(
            "Europe/Paris", ambiguous="earliest"
        ),
        "span": pl.Series([dt.timedelta(days=1), None, dt.timedelta(0)], dtype=pl.Duration("ms")),
        "money": pl.Series([Decimal("1.25"), None, Decimal("-3.00")], dtype=pl.Decimal(12, 2)),
    }
)


class TestPolars:
    def test_every_plain_type_round_trips(self) -> None:
        back = round_trip(POLARS)

        assert back.schema == POLARS.schema
        assert back.equals(POLARS)

    def test_a_lazy_frame_is_collected(self) -> None:
        assert round_trip(POLARS.lazy()).equals(POLARS)

    @pytest.mark.parametrize(
        "series",
        [pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series([dt.time(1)]), pl.Series([b"x"])],
        ids=str,
    )
    def test_nested_and_odd_types_are_other(self, series: pl.Series) -> None:
        assert from_frame(series.alias("x").to_frame()).columns["x"].physical.kind == "other"

    def test_categories_of_an_enumeration_are_not_kept_in_the_origin(self) -> None:
        frame = pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Enum(["a", CANARY]))})

        assert CANARY not in repr(from_frame(frame).origin)
        assert round_trip(frame, categories={"x": ("a", CANARY)}).schema == frame.schema


ARROW = pa.table(
    {
        **{str(t): pa.array([1, None, 3], type=t) for t in (pa.int8(), pa.int64(), pa.uint16(), pa.uint64())},
        **{str(t): pa.array([0.5, None, 3.0], type=t) for t in (pa.float32(), pa.float64())},
        "half": pa.array([np.float16(0.5), None, np.float16(1)], type=pa.float16()),
        "bool": pa.array([True, None, False]),
        **{
            str(t): pa.array(["é", "", None], type=t)
            for t in (pa.string(), pa.large_string(), pa.string_view())
        },
        "dictionary": pa.array(["b", None, "a"]).dictionary_encode(),
        "numbers": pa.array([3, None, 1]).dictionary_encode(),
        "day": pa.array(DAYS),
        "day64": pa.array([dt.date(2020, 1, 1), None, None], type=pa.date64()),
        **{
            f"t{u}": pa.array([MOMENTS[1], None, None], type=pa.timestamp(u)) for u in ("s", "ms", "us", "ns")
        },
        "zoned": pa.array(MOMENTS, type=pa.timestamp("us", tz="Europe/Paris")),
        "span": pa.array([1, None, -1], type=pa.duration("ns")).cast(pa.int64()).cast(pa.duration("s")),
        "money": pa.array([Decimal("1.25"), None, Decimal("-3.00")], type=pa.decimal128(12, 2)),
    }
)


class TestArrow:
    def test_every_plain_type_round_trips(self) -> None:
        back = round_trip(ARROW)

        assert back.schema == ARROW.schema
        for name in ARROW.column_names:
            assert back[name].to_pylist() == ARROW[name].to_pylist(), name

    def test_chunks_and_slices_are_read_whole(self) -> None:
        table = pa.concat_tables([ARROW.slice(1), ARROW]).slice(1)

        assert from_frame(table).n_rows == 4

    def test_nested_types_are_other(self) -> None:
        table = pa.table({"x": [[1], None], "y": [{"a": 1}, None], "z": [b"x", None]})

        assert {c.physical.kind for c in from_frame(table).columns.values()} == {"other"}

    def test_a_column_of_nulls_is_text(self) -> None:
        raw = from_frame(pa.table({"x": pa.nulls(3)})).columns["x"]

        assert (raw.physical.kind, raw.missing.all()) == ("text", True)


class TestOtherLibraries:
    def test_a_duckdb_relation_is_read(self) -> None:
        import duckdb

        table = from_frame(
            duckdb.sql("SELECT 1::HUGEINT AS a, 'x' AS b, 1.50::DECIMAL(4,2) AS c, NULL::INT AS d")
        )

        assert [c.physical.kind for c in table.columns.values()] == ["decimal", "text", "decimal", "integer"]
        assert [p.kind for p in table.origin.physical.values()] == ["integer", "text", "decimal", "integer"]
        assert table.columns["c"].values.tolist() == [Decimal("1.50")]

    @pytest.mark.parametrize("library", ["duckdb", "polars"])
    def test_no_cell_decides_how_whole_numbers_of_128_bits_are_read(self, library: str) -> None:
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

    @pytest.mark.parametrize(
        "stored", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"]
    )
    def test_times_without_end_are_beyond_all_others(self, stored: str) -> None:
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

    def test_a_raw_table_is_read_as_it_is(self) -> None:
        table = from_frame(POLARS)

        assert read(table) is table
        assert write_like(table.columns, table.origin).equals(POLARS)


class TestNames:
    @pytest.mark.parametrize(
        "name", ["", "größe", 'a"b', "e\nf", "select", "x" * 10_000, "=1+1", "__class__"]
    )
    def test_any_text_is_a_name(self, name: str) -> None:
        frame = pd.DataFrame({name: [1], "other": [2]})

        assert list(round_trip(frame).columns) == [name, "other"]

    @pytest.mark.parametrize(
        "frame",
        [pd.DataFrame([[1, 2]], columns=["x", "x"]), pa.table([[1], [2]], names=["x", "x"])],
        ids=type,
    )
    def test_repeated_names_are_refused_by_name(self, frame: Any) -> None:
        with pytest.raises(DataError, match="'x'"):
            from_frame(frame)

    @pytest.mark.parametrize("frame", [pd.DataFrame(index=[1]), pl.DataFrame(), pa.table({})], ids=type)
    def test_no_columns_are_refused(self, frame: Any) -> None:
        with pytest.raises(DataError, match="no columns"):
            from_frame(frame)

    @pytest.mark.parametrize("names", [[0, 1], ["a", None], [("a", "b"), ("a", "c")]])
    def test_names_that_are_not_text_are_refused_with_the_remedy(self, names: list[Any]) -> None:
        with pytest.raises(DataError, match=r"frame\.columns ="):
            from_frame(pd.DataFrame([[1, 2]], columns=names))


class TestRows:
    @pytest.mark.parametrize(
        "frame", [POLARS, ARROW, POLARS.drop("Int128").to_pandas()], ids=["polars", "arrow", "pandas"]
    )
    def test_no_rows_keep_the_types(self, frame: Any) -> None:
        if isinstance(frame, pl.DataFrame):
            frame = frame.drop("enum")
        back = round_trip(frame[:0])

        assert len(back) == 0
        if isinstance(frame, pd.DataFrame):
            assert list(back.columns) == list(frame.columns)
        else:
            assert back.schema == frame.schema


class TestErrors:
    @pytest.mark.parametrize("dtype", ["object", "string[python]", "category"])
    def test_a_lone_surrogate_is_unreadable_and_changes_no_other_cell(self, dtype: str) -> None:
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
