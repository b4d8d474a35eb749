"""Frames are made in slices of bounded length, which changes nothing in them."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from syntabula.table import raw
from syntabula.table.frames.frames import from_frame, to_frame
from syntabula.table.raw import RawColumn

TEXTS = ["a", None, "b", "c", None, "d", "e"]
FRAME = pd.DataFrame(
    {kind: pd.Series(TEXTS, dtype=kind) for kind in ("str", "string", "string[python]", "category", "object")}
    | {kind: pd.Series([1, None, 3, -4, None, 60, 7], dtype=kind) for kind in ("Int8", "Float32", "float64")}
    | {kind: pd.Series(range(7), dtype=kind) for kind in ("int64", "uint8", "float32")}
    | {"boolean": pd.Series([True, None, False, True, None, True, True], dtype="boolean"), "bool": [True] * 7}
    | {f"datetime64[{unit}]": pd.date_range("2020", periods=7, unit=unit) for unit in ("s", "us", "ns")}
    | {"numbers": pd.Series([3, 1, None, 2, 3, 1, 2], dtype="category")}
)
FRAMES: dict[str, Any] = {
    "pandas": FRAME,
    "polars": pl.DataFrame({"text": TEXTS, "number": range(7), "real": [0.5, None] * 3 + [1.0]}),
    "arrow": pa.table({"text": TEXTS, "number": range(7), "real": [0.5, None] * 3 + [1.0]}),
}


@pytest.mark.parametrize("library", list(FRAMES))
def test_a_frame_in_slices_is_that_of_one_call(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = from_frame(FRAMES[library])
    whole = to_frame(table.columns, table.origin)

    for module in ("raw", "frames.frames"):
        monkeypatch.setattr(f"syntabula.table.{module}.CELLS_AT_ONCE", 2)
    cut = to_frame(table.columns, table.origin)

    if library == "pandas":
        pd.testing.assert_frame_equal(cut, whole)
        pd.testing.assert_frame_equal(whole, FRAME)
    else:
        assert cut.equals(whole)


def test_an_interrupt_ends_the_making_of_a_frame_within_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in cells: it comes while the second slice is made, and none after that is."""
    monkeypatch.setattr(raw, "CELLS_AT_ONCE", 10)
    made: list[int] = []
    real = np.where

    def where(missing: Any, *values: Any) -> Any:
        made.append(missing.size)
        if len(made) == 2:
            signal.raise_signal(signal.SIGINT)
        return real(missing, *values)

    table = from_frame(pd.DataFrame({name: np.arange(1000) / 7 for name in "ab"}))
    monkeypatch.setattr(np, "where", where)

    with pytest.raises(KeyboardInterrupt):
        to_frame(table.columns, table.origin)

    assert made == [10, 10]


@pytest.mark.parametrize("kind", ["int64", "Int64", "boolean", "datetime64[us]", "object"])
def test_no_slice_is_longer_than_it_may_be(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "CELLS_AT_ONCE", 10)
    lengths: list[int] = []
    take = RawColumn.take

    def counted(column: RawColumn, rows: Any) -> RawColumn:
        part = take(column, rows)
        lengths.append(part.missing.size)
        return part

    table = from_frame(pd.DataFrame({"x": pd.Series([1, 0] * 20 + [1], dtype="int64").astype(kind)}))
    monkeypatch.setattr(RawColumn, "take", counted)

    to_frame(table.columns, table.origin)

    assert lengths == [10, 10, 10, 10, 1]
