"""Cells of delimited text have kinds one by one, and are read as whatever type was found for their column."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import numpy as np
import pytest

from syntabula.errors import DataError
from syntabula.table.files.cell_kinds import CELL_KINDS
from syntabula.table.files.delimited import delimited_file, is_delimited, read_delimited
from syntabula.table.frames.object_columns import to_objects
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.columns import Numeric
from syntabula.table.schema.schema import Schema

CELLS = {
    "true": "true or false",
    "False": "True or False",
    "FALSE": "TRUE or FALSE",
    " 7 ": "whole",
    "-0": "whole",
    "123456789012345": "whole",
    "1234567890123456": "long whole",
    "-9223372036854775808": "long whole",
    "9223372036854775808": "text",
    "+5": "real",
    "1.50": "padded real",
    "0.850": "padded real",
    "48.208170": "padded real",
    "12.0": "whole with point",
    "1e5": "power",
    "inf": "real",
    "nan": "real",
    "2024-02-29": "day",
    "2023-02-29": "text",
    "2024-02-29 10:00": "spaced time of minutes",
    "2024-02-29T10:00": "time of minutes",
    "2024-02-29 10:00:01": "spaced time",
    "2024-02-29T10:00:01.5": "time",
    "2024-02-29 10:00:00Z": "zoned time",
    "2024-02-29 10:00+02:00": "time at +02:00",
    "2024-02-29T10:00:00-0330": "time at -03:30",
    "2024-02-29T10:00:00.5+14": "time at +14:00",
    "2024-02-29T10:00:00+00:00": "zoned time",
    "2024-02-29T10:00:00+02:07": "zoned time",
    "2024-02-29T10:00:00Z": "UTC time",
    "09:30": "clock",
    "9:30": "bare clock",
    "23:59:59": "clock of seconds",
    "24:00": "clock",
    "24:01": "text",
    "24:00:00": "clock of seconds",
    "2400": "whole clock",
    "0905": "padded clock",
    "0932": "padded clock",
    "0960": "text",
    "1145": "whole clock",
    "1305": "whole clock",
    "1435": "late whole clock",
    "1960": "whole",
    "9:60": "text",
    "2024/02/29": "year first",
    "2024/2/29": "year first bare day",
    "2024/02/30": "text",
    "2024/02/29 10:00": "year first minutes",
    "2024/12/31 9:00:30": "year first seconds bare hour",
    "20240229": "whole day",
    "20240230": "whole",
    "18991231": "whole",
    "202402291000": "whole time of minutes",
    "202402292500": "whole",
    "20240229103059": "whole time",
    "09:30 PM": "half clock",
    "9:30 pm": "bare half clock",
    "13:30 PM": "text",
    "12:30:05 AM": "half clock of seconds",
    "9:30:05 AM": "bare half clock of seconds",
    "29-Feb-2024": "day-named month",
    "30-Feb-2024": "text",
    "9 Mar 2024": "day named month bare day",
    "Mar 9, 2024": "named month day bare day",
    "Mar 09, 2024": "named month day",
    "2024-03": "month",
    "2024-13": "text",
    "0024-03": "text",
    "2003-04": "month or season",
    "1999-00": "text",
    "2024-Q1": "dashed quarter",
    "2024Q4": "quarter",
    "2024-Q5": "text",
    "2020-W53": "week",
    "2021-W53": "text",
    "31/12/2024": "day first /",
    "12/31/2024": "month first /",
    "01/02/2024": "either first /",
    "1/2/2024": "either first / bare day",
    "31/02/2024": "text",
    "13/13/2024": "text",
    "31.12.2024": "day first .",
    "31.12/2024": "text",
    "31-12-2024 10:00": "day first - minutes",
    "8/13/2024 06:03:42 PM": "month first / half seconds bare day",
    "8/13/2024 16:03:42 PM": "text",
    "8/13/2024 6:03": "month first / minutes bare day bare hour",
    "12.10.2024 6:03": "either first . minutes bare hour",
    "31.12.24": "day first . short",
    "1.2.24 6:03": "either first . short minutes bare day bare hour",
    "12/31/24": "month first / short",
    "31.12.45": "text",
    "31.02.24": "text",
    "31-12-24": "text",
    "007": "text",
    "cook": "text",
    "1,5": "comma",
    "5,0": "whole with comma",
    "9,83e-05": "comma",
    "-1,5E+20": "comma",
    "1e-05": "power",
    "1.5e-05": "real",
    "1,5e": "text",
    "1,50": "padded comma",
    "1,0850": "padded comma",
    "1,234": "comma of thousandths",
    "1,234,567": "groups by comma",
    "1,234.5": "real groups by comma",
    "1,234.50": "padded groups by comma",
    "1.234,5": "groups by point",
    "1.234,50": "padded groups by point",
    "1.234": "point of thousandths",
    "0.234": "real",
    "1.2345": "real",
    "-12.345.678": "whole groups by point",
    "1.23.456": "text",
    "1,23,4": "text",
}


def write(folder: Path, *cells: str) -> Path:
    lines = ["x", *('"' + cell.replace('"', '""') + '"' for cell in cells)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "t.csv"


class TestCellKinds:
    @pytest.mark.thorough
    def test_follow_from_the_cell_alone(self, tmp_path: Path) -> None:
        found = {}
        for cell in CELLS:
            with delimited_file(write(tmp_path, cell)) as file:
                (kind,) = file.cell_kinds("x")
            found[cell] = CELL_KINDS[kind]

        assert found == CELLS

    def test_are_counted_for_cells_that_hold_something(self, tmp_path: Path) -> None:
        with delimited_file(write(tmp_path, "7", "", "x", "  ", "7", "8")) as file:
            counts = np.bincount(file.cell_kinds("x"), minlength=len(CELL_KINDS))
            empty = file.n_rows - counts.sum()

        assert dict(zip(CELL_KINDS, counts.tolist(), strict=True))["whole"] == 3
        assert (counts.sum(), empty) == (4, 2)

    @pytest.mark.parametrize("at_once", [1, 1_000])
    def test_are_those_of_each_column_alone(
        self, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.csv").write_text("a,b,c\n7,x,\n7,2020-01-31,\n007,,\n", encoding="utf-8")
        monkeypatch.setattr("syntabula.table.files.cell_types._TEXTS_AT_ONCE", at_once)
        with delimited_file(tmp_path / "t.csv") as file:
            file.count_kinds(["c", "a", "b"])
            found = {n: sorted(CELL_KINDS[k] for k in file.cell_kinds(n)) for n in file.names}
            file.keep(np.array([1, 2]))
            later = {n: sorted(CELL_KINDS[k] for k in file.cell_kinds(n)) for n in file.names}

        assert found == {"a": ["text", "whole", "whole"], "b": ["day", "text"], "c": []}
        assert later == {"a": ["text", "whole"], "b": ["day"], "c": []}


class TestManyColumns:
    """More columns than one query has."""

    def test_are_read_in_their_order_with_and_without_a_schema(self, tmp_path: Path) -> None:
        names = [f"x{i}" for i in range(150)]
        lines = [",".join(f"{i + row}{'.5' * (i % 3 == 0)}" for i in range(150)) for row in range(3)]
        (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
        numbers = {n: Numeric(0, 1000, integer=bool(i % 3)) for i, n in enumerate(names)}

        for schema in (None, Schema(numbers), Schema(dict([*numbers.items()][100:]), others="find")):
            columns, n_rows, _ = read_delimited(str(tmp_path / "t.csv"), "none", None, schema)

            assert ([*columns], n_rows) == (names, 3)
            for i, column in enumerate(columns.values()):
                assert column.physical.kind == ("integer" if i % 3 else "float")
                assert column.values.tolist() == [i + row + 0.5 * (i % 3 == 0) for row in range(3)]


class TestTyped:
    def read(self, folder: Path, physical: PhysicalType, *cells: str) -> list[object]:
        with delimited_file(write(folder, *cells)) as file:
            table = file.typed({"x": physical})
        assert table.origin.physical == {}
        assert table.columns["x"].physical == physical
        return to_objects(table.columns["x"]).tolist()

    @pytest.mark.thorough
    def test_each_cell_is_read_on_its_own(self, tmp_path: Path) -> None:
        cells = ["7", " 8", "2.6", "007", "1e30", "x", "true", "2024-02-29", "2024-02-29 10:00", ""]
        for printed, kind, expected in (
            ("BIGINT", "integer", [7, 8, 3, 7, *[None] * 6]),
            ("DOUBLE", "float", [7.0, 8.0, 2.6, 7.0, 1e30, *[None] * 5]),
            ("BOOLEAN", "boolean", [*[None] * 6, True, *[None] * 3]),
            ("DATE", "date", [*[None] * 7, *[dt.date(2024, 2, 29)] * 2, None]),
            ("VARCHAR", "text", cells),
        ):
            assert self.read(tmp_path, PhysicalType(kind, printed), *cells) == expected

    def test_zoned_times_are_in_utc(self, tmp_path: Path) -> None:
        physical = PhysicalType("datetime", "TIMESTAMP WITH TIME ZONE", timezone="UTC")

        (moment,) = self.read(tmp_path, physical, "2024-02-29 10:00+02:00")

        assert moment == dt.datetime(2024, 2, 29, 8, tzinfo=dt.UTC)


class TestFile:
    @pytest.mark.parametrize("mark", [",", ";", "|"])
    def test_the_header_alone_says_what_the_delimiter_is(self, mark: str, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(mark.join(("a", '"b, c"', "d")) + "\n" + mark.join("123") + "\n")

        with delimited_file(tmp_path / "t.csv") as file:
            assert file.names == ("a", "b, c", "d")

    def test_a_line_that_does_not_fit_is_refused_without_its_cells(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\nsecret\n")

        with pytest.raises(DataError, match="line 3") as caught, delimited_file(tmp_path / "t.csv"):
            pass
        assert "secret" not in str(caught.value)

    def test_packed_files_and_paths_of_either_kind_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(b"a\tb\n1\t2\n"))

        for path in (tmp_path / "t.tsv.gz", str(tmp_path / "t.tsv.gz")):
            assert is_delimited(path)
            with delimited_file(path) as file:
                assert (file.names, file.container, file.n_rows) == (("a", "b"), "tsv", 1)
                assert repr(file) == "DelimitedFile(2 columns)"

    def test_typed_sources_are_others(self, tmp_path: Path) -> None:
        for source in (tmp_path / "t.parquet", tmp_path / "t.jsonl", None, {"a": [1]}):
            assert not is_delimited(source)
