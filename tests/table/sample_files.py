"""A table with cells of every kind, and short ways to write and read files."""

from __future__ import annotations

import datetime as dt
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from syntabula.table.files.files import read_table
from syntabula.table.raw import PhysicalType, RawColumn

MOMENTS = [
    dt.datetime(2020, 10, 25, 1, 30, 0, 5),
    dt.datetime(1969, 12, 31, 23),
    dt.datetime(9999, 12, 31),
    None,
]
TABLE = pa.table(
    {
        "whole": pa.array([2**63 - 1, -(2**63), 0, None]),
        "large": pa.array([2**64 - 1, 0, 1, None], type=pa.uint64()),
        "small": pa.array([1, None, 3, -4], type=pa.int8()),
        "real": pa.array([0.1, -1e-300, None, 5.0]),
        "yes": pa.array([True, None, False, True]),
        "text": pa.array(['é "quoted", 🙂', "two\nlines\r\n", "", None]),
        "code": pa.array(["007", "1", None, "2"]),
        "day": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(2020, 2, 29)]),
        "moment": pa.array(MOMENTS, type=pa.timestamp("us")),
        "zoned": pa.array([*MOMENTS[:2], None, None], type=pa.timestamp("us", tz="Europe/Paris")),
        "money": pa.array(
            [Decimal("1.25"), Decimal("-0.10"), None, Decimal("3.00")], type=pa.decimal128(12, 2)
        ),
        'na"me\n, x': pa.array(["a", "b", "a", None]),
    }
)


def cells(column: RawColumn) -> list[Any]:
    return [None if m else v for v, m in zip(column.values.tolist(), column.missing.tolist(), strict=True)]


def texts(*values: str | None) -> RawColumn:
    array = np.empty(len(values), dtype=object)
    array[:] = [v or "" for v in values]
    return RawColumn(array, np.array([v is None for v in values]), PhysicalType("text", "object"))


def read_text(folder: Path, content: str | bytes, name: str = "table.csv") -> Any:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
