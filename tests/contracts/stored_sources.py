"""One table of texts as every library and file format holds it, by what its reader makes of the cells."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather

import syntabula as st

Record = dict[str, Any]

DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
SCHEMA = st.Schema(
    {
        "key": st.Numeric(0, 9, integer=True),
        "age": st.Numeric(0, 120, integer=True, nullable=True),
        "wide": st.Numeric(0, 2**64 - 1, integer=True, nullable=True),
        "pay": st.Numeric(0, 9, decimals=2, nullable=True),
        "rate": st.Numeric(-1.0, 1.0, nullable=True),
        "flag": st.Boolean(nullable=True),
        "yes": st.Boolean(spelling="yes/no", nullable=True),
        "day": st.Date(*DAYS, nullable=True),
        "seen": st.Datetime(*MOMENTS, resolution="hour", nullable=True),
        "zoned": st.Datetime(*MOMENTS, timezone="Europe/Paris", resolution="hour", nullable=True),
        "job": st.Categorical(("cook", "judge"), open=True, nullable=True),
        "code": st.Categorical(("007", "012", "1.50"), nullable=True),
        "told": st.Categorical(("True", "False", "unknown"), nullable=True),
        "level": st.Categorical((1, 2, 3), nullable=True),
        "share": st.Categorical((0.5, 1.5), nullable=True),
        "truth": st.Categorical((True, False), nullable=True),
        "id": st.Identifier(nullable=True),
    }
)
RECORDS: list[Record] = [
    {
        "key": f"{i % 10}",
        "age": f"{20 + 3 * i}",
        "wide": f"{i}",
        "pay": f"{i}.{i}5",
        "rate": f"{i / 16 - 0.5}",
        "flag": ("true", "false")[i % 2],
        "yes": ("yes", "no")[i % 2],
        "day": f"2020-02-{i + 1:02d}",
        "seen": f"2020-03-{i + 1:02d} {i:02d}:00:00",
        "zoned": f"2020-04-{i + 1:02d}T{i:02d}:00:00+02:00",
        "job": ("cook", "judge", "clown")[i % 3],
        "code": ("007", "012", "1.50")[i % 3],
        "told": ("True", "False")[i % 2],
        "level": f"{1 + i % 3}",
        "share": ("0.5", "1.5")[i % 2],
        "truth": ("true", "false")[i % 2],
        "id": f"{100 + i}",
    }
    for i in range(8)
]
ODD: dict[str, str] = {
    "nothing": "",
    "a word": "x",
    "a fraction": "2.5",
    "a whole number": "3",
    "a number below all": "-5",
    "a number of 30 digits": "1" + "0" * 29,
    "a number without end": "inf",
    "no number": "nan",
    "zeros in front": "0003",
    "a truth value": "true",
    "a day": "2021-05-06",
    "a time": "2021-05-06 07:08:09.123456789",
    "a time with a zone": "2021-05-06T07:08:09+05:30",
    "a long text": "y" * 3000,
    "another script": "Zoë 🦓 \u202eab",
    "quotes and ends of lines": 'a,"b";\tc\r\nd\n|',
}
"""What a cell of one more record may be, in every column but the first."""


def record(cell: Any) -> Record:
    """Return a record of one cell in every column but the first."""
    return dict.fromkeys(SCHEMA, cell) | {"key": "5"}


def value(text: Any) -> Any:
    """Return what a Python program would hold for a cell."""
    if not isinstance(text, str):
        return text
    if not text:
        return None
    if text in ("true", "True", "false", "False"):
        return text.lower() == "true"
    for read in (int, float, dt.date.fromisoformat, dt.datetime.fromisoformat):
        try:
            return read(text)  # type: ignore[operator]
        except ValueError:
            continue
    return text


def json_value(name: str, text: str) -> Any:
    """Return what JSON would hold for a cell: texts of what is declared as text, days and times."""
    held = value(text)
    numbers = isinstance(held, bool | int) or (isinstance(held, float) and math.isfinite(held))
    return held if held is None or (numbers and name not in ("code", "told")) else text


def delimited(
    records: list[Record], delimiter: str = ",", end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL
) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, [*records[0]], delimiter=delimiter, lineterminator=end, quoting=quoting, quotechar='"'
    )
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def values(records: list[Record]) -> dict[str, list[Any]]:
    return {name: [value(r[name]) for r in records] for name in records[0]}


def by_pandas(records: list[Record], **options: Any) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(delimited(records)), **options)


def with_times(records: list[Record]) -> pd.DataFrame:
    """Columns of times where pandas can read all cells as such."""
    frame = by_pandas(records)
    for name in {"day", "seen", "zoned"} & {*frame}:
        try:
            frame[name] = pd.to_datetime(by_pandas(records, dtype="str")[name], format="ISO8601")
        except (ValueError, TypeError):
            continue
    return frame


def of_values(records: list[Record]) -> pd.DataFrame:
    return pd.DataFrame(values(records))


def polars_of_values(records: list[Record]) -> pl.DataFrame:
    columns = []
    for name, cells in values(records).items():
        try:
            columns.append(pl.Series(name, cells))
        except (TypeError, OverflowError, ValueError):
            columns.append(pl.Series(name, cells, dtype=pl.Object))
    return pl.DataFrame(columns)


def by_polars(records: list[Record]) -> pl.DataFrame:
    text = delimited(records).encode()
    return pl.read_csv(text, infer_schema_length=None, try_parse_dates=True)


def by_arrow(records: list[Record]) -> pa.Table:
    options = pa.csv.ParseOptions(newlines_in_values=True)
    return pa.csv.read_csv(io.BytesIO(delimited(records).encode()), parse_options=options)


def written(records: list[Record], folder: Path, name: str) -> Path:
    """Write a file that stores no types, or types that a library inferred."""
    path = folder / name
    if name.endswith(".jsonl"):
        rows = [{n: json_value(n, r[n]) for n in r} for r in records]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif name.endswith(".parquet"):
        by_pandas(records).to_parquet(path)
    elif name.endswith(".arrow"):
        pyarrow.feather.write_feather(by_arrow(records), str(path))
    else:
        delimiter = "\t" if name.endswith(".tsv") else ","
        path.write_bytes(delimited(records, delimiter).encode())
    return path


def by_duckdb(records: list[Record], folder: Path) -> Any:
    path = written(records, folder, "sniffed.csv")
    return duckdb.read_csv(str(path), sample_size=-1, quotechar='"', escapechar='"')


Source = Callable[[list[Record], Path], Any]
SOURCES: dict[str, Source] = {
    "pandas.read_csv": lambda records, _: by_pandas(records),
    "pandas.read_csv, nullable": lambda records, _: by_pandas(records, dtype_backend="numpy_nullable"),
    "pandas.read_csv, Arrow": lambda records, _: by_pandas(records, dtype_backend="pyarrow"),
    "pandas, times": lambda records, _: with_times(records),
    "pandas, categories": lambda records, _: by_pandas(records).astype("category"),
    "pandas, values": lambda records, _: of_values(records),
    "pandas, values as categories": lambda records, _: of_values(records).astype("category"),
    "polars.read_csv": lambda records, _: by_polars(records),
    "polars, values": lambda records, _: polars_of_values(records),
    "pyarrow.csv": lambda records, _: by_arrow(records),
    "duckdb.read_csv": by_duckdb,
    "CSV file": lambda records, folder: written(records, folder, "t.csv"),
    "TSV file": lambda records, folder: written(records, folder, "t.tsv"),
    "JSON Lines file": lambda records, folder: written(records, folder, "t.jsonl"),
    "Parquet file": lambda records, folder: written(records, folder, "t.parquet"),
    "Arrow file": lambda records, folder: written(records, folder, "t.arrow"),
}
