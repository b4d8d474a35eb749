"""Excel workbooks are read by pandas, and refused in a sentence where its library is absent."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError, MissingExtraError, ResourceError
from syntabula.table.read import read

FRAME = pd.DataFrame({"n": [1, 2, 3] * 40, "x": [0.5, None, 2.5] * 40, "c": ["NA", "b", None] * 40})
FRAME["day"] = pd.Timestamp("2024-01-31")


def workbook(folder: Path) -> Path:
    pytest.importorskip("openpyxl")
    FRAME.to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx"


def test_the_first_sheet_is_a_table(tmp_path: Path) -> None:
    table = read(workbook(tmp_path))

    assert {n: c.physical.kind for n, c in table.columns.items()} == {
        "n": "integer",
        "x": "float",
        "c": "text",
        "day": "datetime",
    }
    assert table.columns["c"].missing.tolist() == [False, False, True] * 40
    assert table.columns["c"].values[0] == "NA"


def test_it_is_fitted_and_scored(tmp_path: Path) -> None:
    path = workbook(tmp_path)

    schema = st.Schema(
        {
            "n": st.Numeric(1, 3, integer=True),
            "x": st.Numeric(0, 5, decimals=1, nullable=True),
            "c": st.Categorical(("NA", "b"), nullable=True),
            "day": st.Date(pd.Timestamp("2024-01-01").date(), pd.Timestamp("2024-12-31").date()),
        }
    )
    release = st.Independent(epsilon=5.0, seed=0).fit(path, schema)

    release.sample_to(tmp_path / "out.csv", 50, seed=1)

    assert len(pd.read_csv(tmp_path / "out.csv")) == 50


def test_without_its_library_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(MissingExtraError, match=r'pip install "syntabula\[excel\]"'):
        read(tmp_path / "t.xlsx")


def test_a_damaged_one_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "t.xlsx").write_bytes(b"no workbook")

    with pytest.raises(DataError, match="cannot be read as an Excel workbook"):
        read(tmp_path / "t.xlsx")


def test_a_name_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame([[1, 2]], columns=["n", "n"]).to_excel(tmp_path / "t.xlsx", index=False)

    with pytest.raises(DataError, match="more than one column named 'n'"):
        read(tmp_path / "t.xlsx")


def test_one_that_memory_cannot_hold_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    FRAME.to_excel(tmp_path / "t.xlsx", index=False)

    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pd, "read_excel", full)

    with pytest.raises(ResourceError, match="not enough memory"):
        read(tmp_path / "t.xlsx")


def test_none_is_written(tmp_path: Path) -> None:
    release = st.Independent(epsilon=5.0, seed=0).fit(
        FRAME[["n"]], st.Schema({"n": st.Numeric(1, 3, integer=True)})
    )

    with pytest.raises(ArgumentError, match=r"\.xlsx can be read, but not written"):
        release.sample_to(tmp_path / "t.xlsx", 5)
