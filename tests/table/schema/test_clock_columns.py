"""Clock times: read from every source, kept on their grid, and written as they were."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.frames.object_columns import to_objects
from syntabula.table.read import read
from syntabula.table.schema.columns import Time

NIGHT, NOON = dt.time(0, 5), dt.time(12, 30)
N = 3000


def drawn(schema_column: Time, source: Any, path: Path | None = None) -> Any:
    release = st.Independent(epsilon=5.0, seed=0).fit(source, st.Schema({"x": schema_column}))
    if path is None:
        return release.sample(200, seed=1)
    release.sample_to(path, 200, seed=1)
    return pd.read_csv(path, dtype=str)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (Time(), ["00:05", "12:30"]),
        (Time(resolution="second"), ["00:05:00", "12:30:00"]),
        (Time(format="%I:%M %p"), ["12:05 AM", "12:30 PM"]),
        (Time(format="%H%M"), ["0005", "1230"]),
        (Time(format="%-H.%M"), ["0.05", "12.30"]),
        (Time(format="1435"), ["5", "1230"]),
    ],
    ids=lambda x: getattr(x, "format", ""),
)
@pytest.mark.thorough
def test_files_come_out_as_they_were(column: Time, cells: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["x", *(cells * (N // 2))]) + "\n")

    points = column.points(
        (table := read(tmp_path / "t.csv", st.Schema({"x": column}))).columns["x"].values,
        table.columns["x"].physical.kind,
    )[0]
    made = drawn(column, tmp_path / "t.csv", tmp_path / "out.csv")

    unit = 60 if column.resolution == "second" else 1
    assert points[:2].tolist() == [5 * unit, 750 * unit]
    widths = (
        {len(text) for text in cells} if column.format in (None, "%H%M", "%I:%M %p") else set(range(1, 6))
    )
    assert set(made["x"].str.len()) <= widths
    # What is written can be read, so no minute is above 59.
    again = read(tmp_path / "out.csv", st.Schema({"x": column})).columns["x"]
    assert not again.missing.any()
    assert column.points(again.values, again.physical.kind)[1] == 0


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [NIGHT, NOON] * N}),
        pd.DataFrame({"x": ["00:05", "12:30"] * N}),
        pl.DataFrame({"x": [NIGHT, NOON] * N}),
        pa.table({"x": pa.array([NIGHT, NOON] * N, pa.time32("s"))}),
        pa.table({"x": pa.array([NIGHT, NOON] * N, pa.time64("ns"))}),
    ],
    ids=["objects", "texts", "polars", "time32", "time64"],
)
def test_frames_hold_clock_times(frame: Any, tmp_path: Path) -> None:
    made = drawn(Time(), frame)

    values = to_objects(read(made).columns["x"])
    assert {type(v) for v in values} == {dt.time}
    assert all(v.second == 0 for v in values)
    assert type(made) is type(frame)


def test_without_a_schema_they_are_found() -> None:
    for library in ["pandas", "polars", "pyarrow"]:
        rng = np.random.default_rng(0)
        times = [dt.time(int(m) // 60, int(m) % 60) for m in rng.normal(600, 60, 20_000)]
        make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]

        release = st.Independent(epsilon=2.0, seed=0).fit(make({"x": times, "y": [1, 2] * 10_000}))

        assert release.schema["x"] == Time(resolution="minute", nullable=True, provenance="private")
        values = to_objects(read(release.sample(2000, seed=0)).columns["x"])
        # The means of 2,000 draws; their standard error is 1.4 minutes.
        assert abs(np.mean([v.hour * 60 + v.minute for v in values]) - 600) < 30


def test_numbers_that_are_no_clock_times_are_clipped() -> None:
    column = Time(format="1435")

    for values in (np.array([1275, 2400, -1, 1435]), np.array([1275.0, 2400, -1, 1435])):
        points, clipped, _ = column.points(values, "integer")
        assert column.values(points)[0].tolist() == [1259, 2359, 0, 1435]
        # 2400 is the end of the day.
        assert clipped == 2


@pytest.mark.thorough
def test_parquet_files_keep_them(tmp_path: Path) -> None:
    release = st.Independent(epsilon=5.0, seed=0).fit(
        pd.DataFrame({"x": ["00:05", "12:30"] * N}), st.Schema({"x": Time()})
    )

    for name in ("t.parquet", "t.arrow", "t.jsonl"):
        release.sample_to(tmp_path / name, 50, seed=1)
        table = read(tmp_path / name, st.Schema({"x": Time()}))
        assert table.columns["x"].physical.kind == "time"
        assert not table.columns["x"].missing.any()


def test_conditions_take_times_and_texts() -> None:
    column = Time(resolution="second")

    assert column.written("09:30") == (9.5 * 3600, 9.5 * 3600 + 59)
    assert column.written("9:30:05") == column.written(dt.time(9, 30, 5)) == (34205, 34205)
    assert Time(format="1435").written(905) == Time().written("09:05") == (545, 545)


def test_schemas_keep_them(tmp_path: Path) -> None:
    schema = st.Schema(
        {"a": Time(dt.time(7), dt.time(19, 30), resolution="second"), "b": Time(format="1435"), "c": Time()}
    )

    schema.to_yaml(tmp_path / "s.yaml")

    assert st.Schema.from_yaml(tmp_path / "s.yaml") == schema
    assert "07:00:00" in (tmp_path / "s.yaml").read_text()


def test_wrong_ones_are_refused() -> None:
    for given, said in [
        ({"lower": "07:00"}, "clock time without a zone"),
        ({"lower": dt.time(9), "upper": dt.time(8)}, "swap the bounds"),
        ({"format": "1435", "resolution": "second"}, "declare `resolution: minute`"),
        ({"format": "%H:%M", "resolution": "second"}, "does not write the second"),
        ({"format": "%Y %H:%M"}, "has the directive '%Y'"),
        ({"format": 1435}, "such as '%H:%M', or '1435', in quotes, for whole numbers; got 1435"),
        ({"resolution": "day"}, "'hour', 'minute'"),
    ]:
        with pytest.raises(SchemaError, match=said):
            Time(**given)
