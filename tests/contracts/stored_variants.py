"""One table stored in many ways: types, widths, zones, orders, encodings and layouts that say nothing of its records."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from stored_sources import RECORDS, by_arrow, by_pandas, by_polars, delimited, json_value, with_times

Variant = Callable[[Path], Any]


def _categories() -> pd.DataFrame:
    """Every column as ordered categories, with labels that no cell has and that change the type of the labels."""
    frame = by_pandas(RECORDS)
    for name in frame:
        labels = pd.Index([*reversed(frame[name].unique().tolist()), "never", 7.25, (1, 2)], dtype=object)
        frame[name] = pd.Categorical(frame[name].tolist(), categories=labels, ordered=True)
    return frame


def _times(unit: str, zone: str) -> pd.DataFrame:
    frame = with_times(RECORDS)
    frame["zoned"] = frame["zoned"].dt.tz_convert(zone).dt.as_unit(unit)
    frame[["day", "seen"]] = frame[["day", "seen"]].astype(f"datetime64[{unit}]")
    return frame


def _narrow() -> pd.DataFrame:
    types = {
        "key": "uint8",
        "age": "Int16",
        "wide": "UInt64",
        "level": "Float32",
        "id": "int32",
        "flag": "boolean",
    }
    return by_pandas(RECORDS).astype(types)


def _decimals() -> pd.DataFrame:
    frame = by_pandas(RECORDS)
    return frame.assign(
        **{n: [Decimal(f"{v}") for v in frame[n]] for n in ("age", "pay", "rate", "code", "share")}
    )


def _polars_types() -> pl.DataFrame:
    return by_polars(RECORDS).with_columns(
        pl.col("key").cast(pl.Int8),
        pl.col("age").cast(pl.Int128),
        pl.col("pay").cast(pl.Decimal(12, 4)),
        pl.col("job").cast(pl.Enum(["never", "judge", "clown", "cook"])),
        pl.col("yes").cast(pl.Categorical),
        pl.col("seen").cast(pl.Datetime("ms")),
        pl.col("zoned").cast(pl.Datetime("ns", "UTC")).dt.convert_time_zone("Asia/Tokyo"),
    )


def _arrow_types() -> pa.Table:
    table = by_arrow(RECORDS)
    types = {
        "age": pa.int8(),
        "wide": pa.uint64(),
        "job": pa.dictionary(pa.int8(), pa.large_string(), ordered=True),
        "yes": pa.large_string(),
        "seen": pa.timestamp("ns"),
        "zoned": pa.timestamp("s", "Asia/Tokyo"),
        "pay": pa.decimal128(12, 4),
    }
    for name, kind in types.items():
        place = table.column_names.index(name)
        column = table[name].cast(kind.value_type) if pa.types.is_dictionary(kind) else table[name].cast(kind)
        field = pa.field(name, kind, nullable=False, metadata={"note": "mine"})
        table = table.set_column(place, field, column.cast(kind) if column.type != kind else column)
    return table.replace_schema_metadata({"who": "I"})


def _text(path: Path, text: str, *, bom: bool = False) -> Path:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def _json(path: Path, *, backwards: bool = False, spaces: bool = False) -> Path:
    names = [*reversed(RECORDS[0])] if backwards else [*RECORDS[0]]
    rows = [{n: json_value(n, r[n]) for n in names} for r in RECORDS]
    separators = (" , ", " : ") if spaces else (",", ":")
    end = "\r\n" if spaces else "\n"
    return _text(path, "".join(json.dumps(row, separators=separators) + end for row in rows))


def _parquet(folder: Path, table: pa.Table, **options: Any) -> Path:
    pa.parquet.write_table(table, folder / "t.parquet", **options)
    return folder / "t.parquet"


def _by_duckdb(folder: Path) -> Path:
    table = by_arrow(RECORDS)  # noqa: F841  DuckDB finds it by its name
    path = folder / "d.parquet"
    duckdb.sql(
        "SELECT * REPLACE (age::HUGEINT AS age, pay::DECIMAL(9, 4) AS pay, job::ENUM('judge', 'clown', 'cook') AS job, "
        'seen::TIMESTAMP_NS AS seen) FROM "table"'
    ).write_parquet(str(path))
    return path


def _feather(folder: Path, table: pa.Table, **options: Any) -> Path:
    pa.feather.write_feather(table, str(folder / "t.arrow"), **options)
    return folder / "t.arrow"


_BACKWARDS = [{name: r[name] for name in reversed(r)} for r in RECORDS]
VARIANTS: dict[str, dict[str, Variant]] = {
    "pandas": {
        "as it is": lambda _: by_pandas(RECORDS),
        "objects": lambda _: by_pandas(RECORDS).astype(object),
        "texts": lambda _: by_pandas(RECORDS, dtype="str"),
        "texts of Arrow": lambda _: by_pandas(RECORDS, dtype="string[pyarrow]"),
        "narrow": lambda _: _narrow(),
        "decimals": lambda _: _decimals(),
        "categories": lambda _: _categories(),
        "times in seconds": lambda _: _times("s", "Asia/Tokyo"),
        "times in nanoseconds": lambda _: _times("ns", "UTC"),
        "an index with names": lambda _: by_pandas(RECORDS).set_index("key", drop=False),
        "an index of times": lambda _: by_pandas(RECORDS).set_axis(
            pd.date_range("2020", periods=len(RECORDS))
        ),
        "columns in another order": lambda _: by_pandas(_BACKWARDS),
        "rows in another order": lambda _: by_pandas(RECORDS)[::-1],
    },
    "polars": {
        "as it is": lambda _: by_polars(RECORDS),
        "other types": lambda _: _polars_types(),
        "lazy": lambda _: by_polars(RECORDS).lazy(),
        "chunks": lambda _: pl.concat([by_polars(RECORDS)[:3], by_polars(RECORDS)[3:]], rechunk=False),
        "columns in another order": lambda _: by_polars(_BACKWARDS),
    },
    "Arrow": {
        "as it is": lambda _: by_arrow(RECORDS),
        "other types": lambda _: _arrow_types(),
        "chunks": lambda _: pa.concat_tables([by_arrow(RECORDS)[:3], by_arrow(RECORDS)[3:]]),
        "columns in another order": lambda _: by_arrow(_BACKWARDS),
    },
    "CSV": {
        "as it is": lambda folder: _text(folder / "t.csv", delimited(RECORDS)),
        "semicolons": lambda folder: _text(folder / "t.csv", delimited(RECORDS, ";")),
        "a mark in front": lambda folder: _text(folder / "t.csv", delimited(RECORDS), bom=True),
        "other ends of lines": lambda folder: _text(folder / "t.csv", delimited(RECORDS, end="\r\n")),
        "quotes": lambda folder: _text(folder / "t.csv", delimited(RECORDS, quoting=csv.QUOTE_ALL)),
        "no end": lambda folder: _text(folder / "t.csv", delimited(RECORDS).rstrip("\n")),
        "packed": lambda folder: _text(folder / "t.csv.gz", delimited(RECORDS)),
        "columns in another order": lambda folder: _text(folder / "t.csv", delimited(_BACKWARDS)),
    },
    "JSON Lines": {
        "as it is": lambda folder: _json(folder / "t.jsonl"),
        "keys in another order": lambda folder: _json(folder / "t.jsonl", backwards=True),
        "spaces": lambda folder: _json(folder / "t.jsonl", spaces=True),
        "packed": lambda folder: _json(folder / "t.jsonl.gz"),
    },
    "Parquet": {
        "as it is": lambda folder: _parquet(folder, by_arrow(RECORDS)),
        "of pandas": lambda folder: _parquet(folder, pa.Table.from_pandas(by_pandas(RECORDS))),
        "of polars": lambda folder: _parquet(
            folder, _polars_types().drop("age").with_columns(by_polars(RECORDS)["age"]).to_arrow()
        ),
        "of DuckDB": _by_duckdb,
        "other types": lambda folder: _parquet(folder, _arrow_types()),
        "times in nanoseconds": lambda folder: _parquet(
            folder, pa.Table.from_pandas(_times("ns", "Asia/Tokyo"), preserve_index=False)
        ),
        "small groups": lambda folder: _parquet(
            folder, by_arrow(RECORDS), row_group_size=2, compression="gzip"
        ),
        "columns in another order": lambda folder: _parquet(folder, by_arrow(_BACKWARDS)),
    },
    "Arrow file": {
        "as it is": lambda folder: _feather(folder, by_arrow(RECORDS)),
        "other types": lambda folder: _feather(folder, _arrow_types(), compression="zstd"),
        "small chunks": lambda folder: _feather(folder, by_arrow(RECORDS), chunksize=2),
    },
}
