"""Frames with a column of every plain type, and the way through the library and back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from syntabula.table.frames.frames import from_frame, to_frame
from syntabula.table.raw import Origin

MOMENTS = [dt.datetime(2020, 10, 25, 1, 30, 0, 5), dt.datetime(1969, 12, 31, 23), None]
DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
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


def round_trip(frame: Any, **options: Any) -> Any:
    table = from_frame(frame)
    origin = Origin.from_json(table.origin.to_json())
    return to_frame(table.columns, origin, **options)
