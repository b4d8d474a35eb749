"""Bounds that are found end where the stored type ends, so that synthetic values can be stored as the original's."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import syntabula as st
from syntabula.table.raw import PhysicalType

N_ROWS = 3_000
CENTS = 10_000


def table() -> pa.Table:
    """Return columns whose values reach the ends of narrow types, where powers of two lie just beyond."""
    rng = np.random.default_rng(0)
    cents = [Decimal(int(k)).scaleb(-2) for k in rng.integers(CENTS // 2, CENTS, N_ROWS)]
    return pa.table(
        {
            "byte": pa.array(rng.integers(-128, 128, N_ROWS), pa.int8()),
            "level": pa.array(rng.integers(0, 256, N_ROWS), pa.uint8()),
            "short": pa.array(rng.integers(20_000, 2**15, N_ROWS), pa.int16()),
            "money": pa.array(cents, pa.decimal128(4, 2)),
            "whole": pa.array(
                [Decimal(int(k)) for k in rng.integers(500, 1_000, N_ROWS)], pa.decimal128(3, 0)
            ),
        }
    )


def sampled(source: Any, seed: int, out: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.Independent(epsilon=0.5, seed=seed).fit(source)
        if not isinstance(source, Path):
            return release.sample(N_ROWS, seed=seed)
        release.sample_to(out, N_ROWS, seed=seed)
        return pq.read_table(out)


@pytest.mark.parametrize("seed", range(2))
class TestTypesStay:
    def test_in_arrow(self, seed: int, tmp_path: Path) -> None:
        assert sampled(table(), seed, tmp_path).schema.equals(table().schema)

    @pytest.mark.thorough
    def test_in_parquet(self, seed: int, tmp_path: Path) -> None:
        source = tmp_path / "table.parquet"
        pq.write_table(table(), source)

        assert sampled(source, seed, tmp_path / "out.parquet").schema.equals(table().schema)

    def test_in_polars(self, seed: int, tmp_path: Path) -> None:
        source = pl.from_arrow(table())
        assert isinstance(source, pl.DataFrame)

        assert sampled(source, seed, tmp_path).schema == source.schema

    def test_in_pandas(self, seed: int, tmp_path: Path) -> None:
        source = table().to_pandas(types_mapper=pd.ArrowDtype)

        assert sampled(source, seed, tmp_path).dtypes.to_dict() == source.dtypes.to_dict()


class TestLimits:
    def test_of_signed_integers(self) -> None:
        for name in ["int16", "int16[pyarrow]", "SMALLINT"]:
            assert PhysicalType("integer", name).limits == (-(2**15), 2**15 - 1)

    def test_of_unsigned_integers(self) -> None:
        for name in ["uint8", "uint8[pyarrow]", "UTINYINT"]:
            assert PhysicalType("integer", name).limits == (0, 255)

    def test_of_decimals_as_each_library_names_them(self) -> None:
        names = [
            str(pa.decimal128(5, 2)),
            str(pd.ArrowDtype(pa.decimal128(5, 2))),
            str(pl.Decimal(5, 2)),
            str(duckdb.sql("SELECT 1::DECIMAL(5, 2)").types[0]),
        ]
        assert {PhysicalType("decimal", name).limits for name in names} == {(-999.99, 999.99)}

    def test_of_narrow_floats(self) -> None:
        for name in ["float16", "halffloat", "halffloat[pyarrow]"]:
            assert PhysicalType("float", name).limits == (-65_504, 65_504)

    def test_of_types_that_state_none(self) -> None:
        for name in ["object", "VARCHAR", "double", "Float64", "category", "HUGEINT"]:
            assert PhysicalType("float", name).limits == (-math.inf, math.inf)
