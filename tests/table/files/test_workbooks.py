"""Excel workbooks are read and written by pandas and openpyxl, and refused in a sentence where these are absent."""

from __future__ import annotations

import datetime as dt
import gc
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import pytest

import syntabula as st
from syntabula.cli.console import Exit
from syntabula.cli.main import main
from syntabula.errors import CoercionWarning, DataError, MissingExtraError, ResourceError
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


def sheet(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    """Write cells to a workbook as they are."""
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_codes_that_are_texts_stay_texts_and_come_out_as_texts(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    rows = [
        [f"{zip_code:05d}", f"1E{k % 3}", f"{k / 4:.2f}", k] for k, zip_code in enumerate([1067, 80331] * 60)
    ]
    path = sheet(tmp_path / "t.xlsx", [["zip", "lab", "amount", "n"], *rows])

    table = read(path)
    release = st.Independent(epsilon=math.inf, seed=0).fit(path)
    release.sample_to(tmp_path / "out.xlsx", 50, seed=1)

    kinds = {name: column.physical.kind for name, column in table.columns.items()}
    assert kinds == {"zip": "text", "lab": "text", "amount": "float", "n": "integer"}
    written = openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(min_row=2, values_only=True)
    assert {row[:2] for row in written} <= {(z, f"1E{k}") for z in ("01067", "80331") for k in range(3)}


@pytest.mark.parametrize("number", [0.00001, 1e22, 2.5])
def test_numbers_beside_texts_of_numbers_are_numbers_however_python_writes_them(
    tmp_path: Path, number: float
) -> None:
    column = read(sheet(tmp_path / "t.xlsx", [["x"], ["7.5"], [number], [3]])).columns["x"]

    assert column.values.tolist() == [7.5, number, 3.0]


def test_numbers_beside_texts_are_texts_so_that_limits_are_learned(tmp_path: Path) -> None:
    cells = ["<5", 7, 8.5, None, 12] * 30
    path = sheet(tmp_path / "t.xlsx", [["crp", "n"], *[[cell, 1] for cell in cells]])

    crp = read(path).columns["crp"]
    declared = read(
        path, st.Schema({"crp": st.Numeric(0, 50, decimals=1, texts=("<5",), nullable=True)}, others="find")
    )

    assert crp.values[:3].tolist() == ["<5", "7", "8.5"]
    assert crp.missing[:5].tolist() == [False, False, False, True, False]
    assert declared.columns["crp"].values[[1, 2, 4]].tolist() == [7.0, 8.5, 12.0]


@pytest.mark.parametrize("above", [["Report of 2022", None], ["times", None]])
def test_cells_in_a_column_without_a_name_are_refused(tmp_path: Path, above: list[object]) -> None:
    rows: list[list[object]] = [above, ["n", "c"], [1, "secret"]]
    path = sheet(tmp_path / "t.xlsx", rows)

    with pytest.raises(DataError, match=r"cells without a name in column B: .*Remove titles") as refused:
        read(path)

    assert "secret" not in str(refused.value)


def test_a_table_may_begin_below_and_right_of_the_corner_and_have_years_as_names(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        [None] * 4,
        [None, 2021, dt.datetime(2022, 1, 31), "c"],
        [None, 1, None, "a"],
        [None, 2, 0.5, None],
    ]
    path = sheet(tmp_path / "t.xlsx", rows)

    table = read(path)

    assert [*table.columns] == ["2021", "2022-01-31", "c"]
    assert table.columns["2021"].values.tolist() == [1, 2]
    assert table.columns["c"].missing.tolist() == [False, True]


def test_the_sheet_that_is_read_is_named_if_there_are_several(tmp_path: Path) -> None:
    path = sheet(tmp_path / "t.xlsx", [["n"], [1]])
    book = pytest.importorskip("openpyxl").load_workbook(path)
    book.create_sheet("Cover", 0)
    book.save(tmp_path / "covered.xlsx")
    book.move_sheet("Cover", 1)
    book.save(tmp_path / "last.xlsx")

    with pytest.raises(DataError, match="first sheet of the workbook is empty"):
        read(tmp_path / "covered.xlsx")
    with pytest.warns(CoercionWarning, match="of 2 sheets of the workbook only the first is read: 'Sheet'"):
        table = read(tmp_path / "last.xlsx")

    assert table.columns["n"].values.tolist() == [1]


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


def test_rows_are_written_as_cells_of_their_kind(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    schema = st.Schema(
        {
            "n": st.Numeric(1, 3, integer=True),
            "x": st.Numeric(0.25, 0.25, nullable=True),
            "c": st.Categorical(("=1+1",)),
            "flag": st.Boolean(),
            "day": st.Date(dt.date(2024, 1, 31), dt.date(2024, 1, 31)),
            "old": st.Date(dt.date(1850, 1, 31), dt.date(1850, 1, 31), format="%d.%m.%Y"),
            "at": st.Datetime(dt.datetime(2024, 1, 31, 5), dt.datetime(2024, 1, 31, 5), resolution="second"),
            "zoned": st.Datetime(dt.datetime(2024, 7, 1), dt.datetime(2024, 7, 1), timezone="Europe/Paris"),
            "clock": st.Time(dt.time(9, 30), dt.time(9, 30)),
        }
    )
    day, at = pd.Timestamp("2024-01-31"), pd.Timestamp("2024-01-31 05:00")
    real = pd.DataFrame({"n": [1, 2, 3], "x": [0.25, None, 0.25], "c": "=1+1", "flag": [True, False, True]})
    real = real.assign(day=day, old=dt.date(1850, 1, 31), at=at, clock=dt.time(9, 30))
    real["zoned"] = pd.Timestamp("2024-07-01", tz="Europe/Paris")
    release = st.Independent(epsilon=math.inf, seed=0).fit(real, schema)

    release.sample_to(tmp_path / "t.xlsx", 60, seed=1)

    names, *rows = openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows()
    assert [cell.value for cell in names] == [*schema.columns]
    assert len(rows) == 60
    assert {cell.value for cell, *_ in rows} == {1, 2, 3}
    assert {row[1].value for row in rows} == {0.25, None}
    assert (rows[0][2].value, rows[0][2].data_type) == ("=1+1", "s")
    assert {row[3].value for row in rows} == {True, False}
    assert [cell.value for cell in rows[0][4:]] == [
        day.to_pydatetime(), "1850-01-31", at.to_pydatetime(), "2024-07-01T00:00:00+02:00", dt.time(9, 30),
    ]  # fmt: skip
    assert rows[0][4].number_format == "yyyy-mm-dd"
    assert read(tmp_path / "t.xlsx").n_rows == 60


@pytest.mark.parametrize(
    ("text", "said"), [("a\x01", "control characters"), ("a" * 32_768, "32,767 characters")]
)
def test_what_no_cell_holds_is_refused(tmp_path: Path, text: str, said: str) -> None:
    pytest.importorskip("openpyxl")
    release = st.Independent(epsilon=5.0, seed=0).fit(
        pd.DataFrame({"c": [text] * 50}), st.Schema({"c": st.Categorical((text,))})
    )

    with pytest.raises(DataError, match=f"column 'c' has a text .*{said}"):
        release.sample_to(tmp_path / "t.xlsx", 5)
    assert not [*tmp_path.iterdir()]


def test_more_rows_than_a_sheet_holds_are_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openpyxl")
    out = str(tmp_path / "out.xlsx")

    code = main(["synth", str(tmp_path / "none.csv"), "--epsilon", "1", "--rows", "1048576", "-o", out])

    assert code == Exit.ARGUMENTS
    assert "holds at most 1,048,575 rows" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openpyxl")
    shown: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    raw = read(pd.DataFrame({"n": [*range(20)]}))

    with pytest.raises(OSError, match="No space left"):
        workbooks.write_workbook([raw.columns], "/dev/full")

    gc.collect()
    assert shown == []


def test_without_its_library_none_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    release = st.Independent(epsilon=5.0, seed=0).fit(
        FRAME[["n"]], st.Schema({"n": st.Numeric(1, 3, integer=True)})
    )

    with pytest.raises(MissingExtraError, match=r'pip install "syntabula\[excel\]"'):
        release.sample_to(tmp_path / "t.xlsx", 5)


KEYS = tuple(411_111_111_111_111_000 + 7 * i for i in range(60))


class TestLongNumbers:
    """Numbers of a workbook are floats, which do not hold all whole numbers of 16 digits and more."""

    @pytest.mark.parametrize("gap", [False, True])
    def test_that_lost_digits_are_named(self, tmp_path: Path, gap: bool) -> None:
        pytest.importorskip("openpyxl")
        frame = pd.DataFrame({"long": KEYS, "text": [*map(str, KEYS)], "wide": 2.0**60 + 0.0, "half": 0.5})
        frame.loc[0, "wide"] = 0.5
        if gap:
            for name in ("long", "text"):
                frame[name] = frame[name].astype(object).where(frame.index > 0)
        frame.to_excel(tmp_path / "t.xlsx", index=False)

        with pytest.warns(CoercionWarning, match="are longer") as warned:
            table = read(tmp_path / "t.xlsx")

        assert [str(w.message).split(":")[0] for w in warned] == ["column 'long'"]
        assert not any(str(key)[:15] in str(w.message) for w in warned for key in KEYS)
        text = table.columns["text"]
        assert text.physical.kind == "integer"
        assert text.values[~text.missing].tolist() == [*KEYS[gap:]]

    def test_that_no_64_bits_hold_stay_texts(self, tmp_path: Path) -> None:
        pytest.importorskip("openpyxl")
        keys = [f"{key}0001" for key in KEYS]
        pd.DataFrame({"text": [None, *keys]}).to_excel(tmp_path / "t.xlsx", index=False)

        text = read(tmp_path / "t.xlsx").columns["text"]

        assert text.values[~text.missing].tolist() == keys

    @pytest.mark.parametrize("other", ["1", "-1", None, "9" * 5_000])
    def test_held_as_texts_beyond_64_bits_are_never_other_numbers(
        self, tmp_path: Path, other: str | None
    ) -> None:
        keys = [str(2**63 + 5), str(2**53 + 1), other, "7"]

        key = read(sheet(tmp_path / "t.xlsx", [["key", "n"], *([k, 1] for k in keys)])).columns["key"]

        assert [None if gap else v for v, gap in zip(key.values, key.missing, strict=True)] == keys

    def test_up_to_the_longest_that_are_held_are_as_they_were(self, tmp_path: Path) -> None:
        pytest.importorskip("openpyxl")
        keys = [2**53 - 7 * i for i in range(60)]
        pd.DataFrame({"key": keys}).to_excel(tmp_path / "t.xlsx", index=False)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = read(tmp_path / "t.xlsx")

        assert table.columns["key"].values.tolist() == keys

    def test_are_written_with_all_digits(self, tmp_path: Path) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        frame = pd.DataFrame({"key": [*KEYS], "c": ["x", "y", "z"] * 20})
        key = st.Identifier(integer=True, pattern=r"4\d{17}")
        schema = st.Schema({"key": key, "c": st.Categorical(["x", "y", "z"])})
        release = st.Independent(epsilon=math.inf, seed=0).fit(frame, schema)

        release.sample_to(tmp_path / "out.xlsx", 20, seed=1)

        sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
        written = [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)]
        assert [int(text) for text in written] == release.sample(20, seed=1)["key"].tolist()
        assert {*map(type, written)} == {str}


class TestFormulas:
    """Libraries write formulas without values, which read as empty cells."""

    def rewritten(self, path: Path, old: bytes, new: bytes) -> Path:
        """Write a workbook again, with another piece in its sheet."""
        with ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        assert old in parts["xl/worksheets/sheet1.xml"]
        parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        return path

    def of_formulas(self, folder: Path) -> Path:
        return sheet(
            folder / "t.xlsx", [["n", "twice"], *([4711 + k, f"=A{k + 2}*2"] for k in range(3)), [1, 8]]
        )

    def test_a_column_with_formulas_that_were_never_computed_is_refused(self, tmp_path: Path) -> None:
        path = self.of_formulas(tmp_path)

        with pytest.raises(
            DataError, match=r"^column 'twice': the workbook holds formulas .* save it there, or .* CSV$"
        ) as refused:
            read(path)

        assert "47" not in str(refused.value)
        assert "*2" not in str(refused.value)

    def test_it_is_found_under_a_prefix_and_without_places_of_cells(self, tmp_path: Path) -> None:
        path = self.of_formulas(tmp_path)
        self.rewritten(path, b'<c r="B3"><f>A3*2</f><v /></c>', b"<c><f>A3*2</f></c>")
        self.rewritten(path, b'<c r="B2"><f>A2*2</f><v /></c>', b'<c r="B2"><f>A2*2</f><v>9422</v></c>')
        self.rewritten(path, b'<c r="B4"><f>A4*2</f><v /></c>', b'<c r="B4"><f>A4*2</f><v>9426</v></c>')
        self.rewritten(
            path, b"<f>", b'<x:f xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        )
        self.rewritten(path, b"</f>", b"</x:f>")

        with pytest.raises(DataError, match="'twice': the workbook holds formulas"):
            read(path)

    def test_formulas_that_are_all_0_are_refused_where_they_are_computed_when_opened(
        self, tmp_path: Path
    ) -> None:
        path = self.of_formulas(tmp_path)
        self.rewritten(path, b"</f><v />", b"</f><v>0</v>")

        with pytest.raises(DataError, match=r"^column 'twice': the workbook holds formulas"):
            read(path)

        self.rewritten(path, b"<f>A3*2</f><v>0</v>", b"<f>A3*2</f><v>9424</v>")
        assert read(path).columns["twice"].values.tolist() == [0, 9424, 0, 8]

    def test_sheets_in_utf_16_are_looked_at_too(self, tmp_path: Path) -> None:
        path = self.of_formulas(tmp_path)
        with ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        sheet = parts["xl/worksheets/sheet1.xml"].decode()
        head = "" if sheet.startswith("<?xml") else '<?xml version="1.0" encoding="UTF-16"?>'
        parts["xl/worksheets/sheet1.xml"] = (head + sheet.replace("UTF-8", "UTF-16")).encode("utf-16")
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)

        with pytest.raises(DataError, match="'twice': the workbook holds formulas"):
            read(path)

    def test_the_main_part_may_have_another_name(self, tmp_path: Path) -> None:
        path = self.of_formulas(tmp_path)
        self.rewritten(path, b"</f><v />", b"</f><v>0</v>")
        with ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                name = name.replace("xl/workbook.xml", "xl/book.xml").replace(
                    "workbook.xml.rels", "book.xml.rels"
                )
                if "rels" in name or name == "[Content_Types].xml":
                    content = content.replace(b"xl/workbook.xml", b"xl/book.xml")
                archive.writestr(name, content)

        with pytest.raises(DataError, match="'twice': the workbook holds formulas"):
            read(path)

    def test_a_column_whose_name_is_one_too_is_called_by_its_letter(self, tmp_path: Path) -> None:
        path = sheet(tmp_path / "t.xlsx", [["n", '="tw"&"ice"'], [1, "=A2*2"], [2, "=A3*2"]])

        with pytest.raises(DataError, match=r"^column B of the sheet: the workbook holds formulas"):
            read(path)

    def test_computed_formulas_are_read_those_that_come_to_the_empty_text_too(self, tmp_path: Path) -> None:
        path = self.of_formulas(tmp_path)
        for row, cell in ((2, b"<v>9422</v>"), (4, b"<v>9426</v>")):
            old = f"<f>A{row}*2</f><v />".encode()
            self.rewritten(path, old, old.replace(b"<v />", cell))
        self.rewritten(path, b'<c r="B3"><f>A3*2</f><v />', b'<c r="B3" t="str"><f>A3*2</f><v></v>')

        column = read(path).columns["twice"]

        assert column.missing.tolist() == [False, True, False, False]
        assert column.values[~column.missing].tolist() == [9422, 9426, 8]
