"""Columns of every type come back with the same values, types and missing cells."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sample_frames import ARROW, DAYS, MOMENTS, POLARS, round_trip

from syntabula.errors import CoercionWarning
from syntabula.table.frames.frames import from_frame

CANARY = "zebra-canary-7731"
PARIS = ZoneInfo("Europe/Paris")


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


class TestPandas:
    def test_numbers_and_booleans_keep_type_and_values(self) -> None:
        for dtype in PANDAS_DTYPES:
            frame = pd.DataFrame({"x": series_of(dtype)})

            pd.testing.assert_frame_equal(round_trip(frame), frame)

    def test_text_keeps_type_empty_strings_and_gaps(self) -> None:
        for dtype in ["object", "str", "string", pd.StringDtype("python")]:
            frame = pd.DataFrame({"x": pd.Series(["é", "", None, "a\0b"], dtype=dtype)})
            raw = from_frame(frame).columns["x"]

            assert raw.missing.tolist() == [False, False, True, False]
            pd.testing.assert_frame_equal(round_trip(frame), frame)

    def test_arrow_backed_columns_stay_so(self) -> None:
        for dtype in [pa.string(), pa.int32(), pa.bool_(), pa.date32(), pa.timestamp("ns", "UTC")]:
            plain: dict[Any, list[Any]] = {
                pa.string(): ["a", None],
                pa.bool_(): [True, None],
                pa.date32(): [dt.date(2020, 1, 1), None],
                pa.timestamp("ns", "UTC"): [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None],
            }
            cells = pd.arrays.ArrowExtensionArray(pa.array(plain.get(dtype, [1, None]), type=dtype))
            frame = pd.DataFrame({"x": pd.Series(cells)})

            pd.testing.assert_frame_equal(round_trip(frame), frame)

    def test_times_keep_unit_and_zone(self) -> None:
        for zone in [None, "Europe/Paris", "+02:00"]:
            for unit in ("s", "ms", "us", "ns"):
                moments = pd.Series(
                    pd.to_datetime(["2020-10-25 00:30:00", "1960-02-29 00:00:00", None])
                ).dt.as_unit(unit)
                frame = pd.DataFrame(
                    {"x": moments if zone is None else moments.dt.tz_localize("UTC").dt.tz_convert(zone)}
                )
                back = round_trip(frame)

                assert back["x"].isna().tolist() == [False, False, True], unit
                if zone != "+02:00":
                    assert back["x"].dtype == frame["x"].dtype, unit
                assert (back["x"].dropna() == frame["x"].dropna()).all(), unit

    def test_durations_keep_unit(self) -> None:
        frame = pd.DataFrame({"x": pd.to_timedelta(["1h", "-1us", None]).as_unit("us")})

        pd.testing.assert_frame_equal(round_trip(frame), frame)

    def test_objects_keep_their_values(self) -> None:
        for cells in [
            DAYS,
            MOMENTS,
            [m and m.replace(tzinfo=PARIS) for m in MOMENTS],
            [Decimal("1.25"), Decimal("1E+30"), None],
            [True, None, False],
            [None, None],
            [dt.timedelta(days=1), None],
        ]:
            back = round_trip(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))["x"]

            assert back.dtype == object
            assert back.tolist() == cells

    def test_categories_come_from_the_schema_or_else_from_the_cells(self) -> None:
        for ordered in [False, True]:
            labels = pd.Categorical(["b", None, "a"], categories=["b", "a", "secret"], ordered=ordered)
            frame = pd.DataFrame({"x": labels})

            found = round_trip(frame)["x"].cat
            assert found.categories.tolist() == ["a", "b"]
            assert not found.ordered
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

    def test_an_index_with_a_name_is_left_out_with_a_warning(self) -> None:
        for names in [["who"], ["who", None, "when"]]:
            index = pd.MultiIndex.from_tuples([("p",) * len(names)] * 2, names=names)
            frame = pd.DataFrame({"x": [1, 2]}, index=index if len(names) > 1 else index.get_level_values(0))

            with pytest.warns(CoercionWarning, match=r"index 'who'.*reset_index\(\) makes it one") as told:
                columns = from_frame(frame).columns

            assert [*columns] == ["x"]
            assert len(told) == 1
            assert "'p'" not in str(told[0].message)

    def test_what_no_plain_type_holds_is_other(self) -> None:
        cases = [
            [1, "1"],
            [[1], [2]],
            [{"a": 1}],
            [10**30],
            [2**63, -1],
            [True, 1],
            [2**53 + 1, 0.5],
            [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=PARIS)],
            [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],
            [1j],
            [b"x"],
        ]
        for cells in cases:
            assert (
                from_frame(pd.DataFrame({"x": pd.Series(cells, dtype=object)})).columns["x"].physical.kind
                == "other"
            )

    def test_exotic_types_are_other(self) -> None:
        for cells in [
            pd.period_range("2020-01", periods=2, freq="M"),
            pd.IntervalIndex.from_breaks([0, 1, 2]),
            np.array([1j, 2]),
            pd.Categorical.from_codes([0, 1], categories=pd.Index([(1, 2), (3, 4)], tupleize_cols=False)),
        ]:
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


class TestPolars:
    def test_every_plain_type_round_trips(self) -> None:
        back = round_trip(POLARS)

        assert back.schema == POLARS.schema
        assert back.equals(POLARS)

    def test_a_lazy_frame_is_collected(self) -> None:
        assert round_trip(POLARS.lazy()).equals(POLARS)

    def test_nested_and_odd_types_are_other(self) -> None:
        for series in [pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series([b"x"])]:
            assert from_frame(series.alias("x").to_frame()).columns["x"].physical.kind == "other"

    def test_categories_of_an_enumeration_are_not_kept_in_the_origin(self) -> None:
        frame = pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Enum(["a", CANARY]))})

        assert CANARY not in repr(from_frame(frame).origin)
        assert round_trip(frame, categories={"x": ("a", CANARY)}).schema == frame.schema


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


def test_times_of_a_zone_are_points_in_time_whatever_the_library() -> None:
    moments = [dt.datetime(2020, 5, 1, 10, tzinfo=PARIS), dt.datetime(2020, 12, 1, 10, tzinfo=PARIS)]
    plain = pa.table({"x": pa.array(moments, pa.timestamp("us", tz="Europe/Paris"))})
    frames = {
        "pandas": pd.DataFrame({"x": moments}),
        "pandas over Arrow": plain.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame({"x": moments}),
        "Arrow": plain,
    }

    for library, frame in frames.items():
        column = from_frame(frame).columns["x"]

        assert column.physical.timezone == "Europe/Paris", library
        utc = [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(n)) for n in column.values]
        assert utc == [dt.datetime(2020, 5, 1, 8), dt.datetime(2020, 12, 1, 9)], library
