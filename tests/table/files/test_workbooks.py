"""Excel workbooks are read by pandas, and refused in a sentence where its library is absent."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import pytest

import syntabula as st
from syntabula.cli.console import Exit
from syntabula.cli.main import main
from syntabula.errors import ArgumentError, DataError, MissingExtraError, ResourceError
from syntabula.table.files import workbooks
from syntabula.table.read import read

FRAME = pd.DataFrame({"n": [1, 2, 3] * 40, "x": [0.5, None, 2.5] * 40, "c": ["NA", "b", None] * 40})
FRAME["day"] = pd.Timestamp("2024-01-31")


def workbook(folder: Path) -> Path:
    pytest.importorskip("openpyxl")
    FRAME.to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx"


@pytest.mark.thorough
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


def test_days_come_out_as_days_and_times_as_times(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    day = pd.Timestamp("2024-01-31") + pd.to_timedelta(range(200), "D")
    pd.DataFrame({"day": day, "at": day + pd.Timedelta("1h")}).to_excel(tmp_path / "t.xlsx", index=False)
    release = st.Independent(epsilon=math.inf, seed=0).fit(tmp_path / "t.xlsx")

    release.sample_to(tmp_path / "out.csv", 20, seed=1)

    rows = pd.read_csv(tmp_path / "out.csv")
    assert rows["day"].str.fullmatch(r"2024-\d\d-\d\d").all()
    assert rows["at"].str.fullmatch(r"2024-\d\d-\d\dT\d\d:00:00").all()
    # A frame holds days as pandas does.
    assert release.sample(20, seed=1)["day"].equals(rows["day"].astype("datetime64[us]"))


@pytest.mark.thorough
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


@pytest.fixture
def swollen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workbook of a few kilobytes that holds three megabytes when unpacked, above a limit of two."""
    monkeypatch.setattr(workbooks, "MOST_UNPACKED", 2 * 2**20)
    with ZipFile(tmp_path / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (3 * 2**20))
    return tmp_path / "t.xlsx"


def test_one_that_is_huge_when_unpacked_is_refused_before_it_is_opened(
    swollen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(pd, "read_excel", lambda *_, **__: pytest.fail("it was opened"))

    with pytest.raises(
        ResourceError, match=r"holds 3 MB, above the limit of 2 MB .* when unpacked; save its sheet as"
    ):
        read(swollen)


def test_the_command_ends_with_the_code_of_missing_resources(
    swollen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openpyxl")

    code = main(["synth", str(swollen), "--epsilon", "1", "-o", str(tmp_path / "out.csv")])

    assert code == Exit.RESOURCES
    assert "when unpacked" in capsys.readouterr().err


def test_one_that_is_larger_than_the_memory_left_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbooks, "available_bytes", lambda: 3_000)

    with pytest.raises(ResourceError, match=r"above the limit of 0\.00095\d MB for workbooks"):
        read(workbook(tmp_path))


def test_none_is_written(tmp_path: Path) -> None:
    release = st.Independent(epsilon=5.0, seed=0).fit(
        FRAME[["n"]], st.Schema({"n": st.Numeric(1, 3, integer=True)})
    )

    with pytest.raises(ArgumentError, match=r"\.xlsx can be read, but not written"):
        release.sample_to(tmp_path / "t.xlsx", 5)
