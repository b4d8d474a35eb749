"""Files of every format come back exactly, are written whole or not at all, and errors show no cell."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syntabula.errors import ArgumentError, DataError
from syntabula.table.files import read_table, write_parts, write_table
from syntabula.table.frames import from_frame
from syntabula.table.raw import PhysicalType, RawColumn

CANARY = "zebra-canary-7731"
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
TEXT_SUFFIXES = [f"{s}{c}" for s in (".csv", ".TSV", ".jsonl", ".ndjson") for c in ("", ".gz", ".zst")]
SUFFIXES = [*TEXT_SUFFIXES, ".parquet", ".PARQUET", ".arrow", ".feather", ".ipc"]


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


class TestRoundTrips:
    def test_decimals_are_numbers_in_json_unless_a_float_would_lose_their_digits(
        self, tmp_path: Path
    ) -> None:
        money = [Decimal("1.20"), None, Decimal("-3")]
        columns = {"money": money, "long": [None, Decimal("0.1"), Decimal("12345678901234567890.5")]}
        table = from_frame(pa.table({n: pa.array(v, pa.decimal128(38, 9)) for n, v in columns.items()}))

        write_table(table.columns, tmp_path / "t.jsonl", table.origin)

        back = read_table(tmp_path / "t.jsonl").columns
        assert (back["money"].physical.kind, back["long"].physical.kind) == ("float", "text")
        assert cells(back["money"]) == [1.2, None, -3.0]
        assert [Decimal(v) if v else None for v in cells(back["long"])] == columns["long"]

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_every_value_comes_back_exactly(self, suffix: str, tmp_path: Path) -> None:
        table, path = from_frame(TABLE), tmp_path / f"a b'c é{suffix}"
        write_table(table.columns, path, table.origin)
        back = read_table(path)

        assert list(back.columns) == list(table.columns)
        for name, column in table.columns.items():
            assert [str(v) for v in cells(back.columns[name])] == [str(v) for v in cells(column)] or (
                name == "money" and [v and float(v) for v in cells(column)] == cells(back.columns[name])
            ), name
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_kinds_come_back(self, suffix: str, tmp_path: Path) -> None:
        table, path = from_frame(TABLE), tmp_path / f"table{suffix}"
        write_table(table.columns, path, table.origin)
        kinds = {n: c.physical.kind for n, c in read_table(path).columns.items()}
        expected = {n: c.physical.kind for n, c in table.columns.items()}
        if suffix in TEXT_SUFFIXES:
            expected |= {"money": kinds["money"]}
            assert kinds["money"] in ("float", "text")

        assert kinds == expected

    def test_parquet_keeps_the_types(self, tmp_path: Path) -> None:
        plain = TABLE.append_column("single", pa.array([0.1, None, 1, 2], type=pa.float32()))
        plain = plain.append_column("ns", pa.array([1000, None, 2000, 0], type=pa.timestamp("ns")))
        plain = plain.append_column("ms", pa.array([1, None, 2, 0], type=pa.timestamp("ms")))
        table = from_frame(plain)
        write_table(table.columns, tmp_path / "t.parquet", table.origin)
        back = pq.read_table(tmp_path / "t.parquet")
        expected = {f.name: f.type for f in plain.schema} | {"zoned": pa.timestamp("us", tz="UTC")}

        assert {f.name: f.type for f in back.schema} == expected

    def test_arrow_files_keep_types_and_zone(self, tmp_path: Path) -> None:
        table = from_frame(TABLE)
        write_table(table.columns, tmp_path / "t.arrow", table.origin)
        back = read_table(tmp_path / "t.arrow")

        assert back.origin.container == "arrow"
        assert back.origin.physical == table.origin.physical

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow"])
    def test_no_rows_come_back_with_all_names(self, suffix: str, tmp_path: Path) -> None:
        table = from_frame(TABLE.slice(0, 0))
        write_table(table.columns, tmp_path / f"t{suffix}", table.origin)
        back = read_table(tmp_path / f"t{suffix}")

        assert (back.n_rows, list(back.columns)) == (0, TABLE.column_names)

    def test_a_single_column_with_gaps_keeps_its_rows(self, tmp_path: Path) -> None:
        write_table({"x": texts("a", None, "", None)}, tmp_path / "t.csv")

        assert cells(read_table(tmp_path / "t.csv").columns["x"]) == ["a", None, "", None]

    def test_names_that_differ_in_case_only_stay_apart_or_are_refused(self, tmp_path: Path) -> None:
        columns = {"Age": texts("a"), "age": texts("b"), "AGE": texts("c")}
        for suffix in (".csv", ".tsv.zst", ".arrow"):
            write_table(columns, tmp_path / f"t{suffix}")
            assert [*map(cells, read_table(tmp_path / f"t{suffix}").columns.values())] == [
                ["a"],
                ["b"],
                ["c"],
            ]
        for suffix in (".parquet", ".jsonl"):
            with pytest.raises(DataError, match="case"):
                write_table(columns, tmp_path / f"t{suffix}")
        pq.write_table(pa.table({"Age": [1], "age": [2]}), tmp_path / "u.parquet")
        assert {n: cells(c) for n, c in read_table(tmp_path / "u.parquet").columns.items()} == {
            "Age": [1],
            "age": [2],
        }

    def test_many_rows_keep_their_order(self, tmp_path: Path) -> None:
        values = np.arange(300_000)
        column = RawColumn(values, values % 7 == 0, PhysicalType("integer", "int64"))
        for suffix in (".csv", ".parquet", ".jsonl.gz"):
            write_table({"x": column, "y": column}, tmp_path / f"t{suffix}")
            back = read_table(tmp_path / f"t{suffix}").columns["x"]
            assert np.array_equal(back.missing, column.missing)
            assert np.array_equal(back.values[~back.missing], values[~column.missing])

    def test_nested_parquet_columns_are_other(self, tmp_path: Path) -> None:
        nested = pa.table({"a": [1], "b": [{"x": 1, "y": [1]}], "c": [[1]], "d": ["t"]})
        pq.write_table(nested, tmp_path / "t.parquet")
        columns = read_table(tmp_path / "t.parquet").columns

        assert {n: c.physical.kind for n, c in columns.items()} == {
            "a": "integer",
            "b": "other",
            "c": "other",
            "d": "text",
        }


class TestDelimitedText:
    @pytest.mark.parametrize(
        ("written", "kind", "values"),
        [
            (["1", "-2", ""], "integer", [1, -2, None]),
            (["18446744073709551615", "0"], "integer", [2**64 - 1, 0]),
            (["18446744073709551615", "-1"], "text", None),
            (["123456789012345678901234567890", "1"], "text", None),
            (["007", "8"], "text", None),
            (["1234567890123456789", "0.5"], "text", None),
            (["1", "0.5", ".5", "1e3", "-2."], "float", [1.0, 0.5, 0.5, 1000.0, -2.0]),
            (["inf", "-inf", "nan", "1"], "float", [float("inf"), float("-inf"), None, 1.0]),
            (["true", "False", ""], "boolean", [True, False, None]),
            (["2020-02-29", "1970-01-02"], "date", [18321, 1]),
            (["2020-02-30", "1970-01-02"], "text", None),
            (["1970-01-01T00:00:01", "1970-01-01 00:00:00.5"], "datetime", [1_000_000, 500_000]),
            (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:00Z"], "datetime", [0, 0]),
            (["NA", "1"], "text", None),
            ([" 1", "2 ", "  "], "integer", [1, 2, None]),
            ([" a", "b "], "text", [" a", "b "]),
            (["", ""], "text", [None, None]),
        ],
    )
    def test_a_column_has_the_first_type_that_all_cells_have(
        self, written: list[str], kind: str, values: Any, tmp_path: Path
    ) -> None:
        content = "x,y\n" + "".join(f"{w},k\n" for w in written)
        column = read_text(tmp_path, content).columns["x"]

        assert column.physical.kind == kind
        assert cells(column) == (values if values is not None else written)

    def test_the_type_holds_for_every_row_not_just_the_first(self, tmp_path: Path) -> None:
        column = read_text(tmp_path, "x\n" + "1\n" * 5000 + "0.5\n").columns["x"]
        other = read_text(tmp_path, "x\n" + "1\n" * 5000 + "word\n").columns["x"]

        assert (column.physical.kind, other.physical.kind) == ("float", "text")

    def test_empty_is_missing_but_a_quoted_empty_text_is_not(self, tmp_path: Path) -> None:
        table = read_text(tmp_path, 'a,b\nx,1\n,\n"",""\n')

        assert cells(table.columns["a"]) == ["x", None, ""]
        assert cells(table.columns["b"]) == [1, None, None]

    @pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
    def test_the_delimiter_is_found(self, delimiter: str, tmp_path: Path) -> None:
        assert list(read_text(tmp_path, f"a{delimiter}b c\n1{delimiter}x\n").columns) == ["a", "b c"]

    @pytest.mark.parametrize("content", ["\ufeffa,b\r\n1,x\r\n", "a,b\n1,x", '"a","b"\n"1","x"\n'])
    def test_usual_dialects_are_read(self, content: str, tmp_path: Path) -> None:
        table = read_text(tmp_path, content)

        assert [cells(c) for c in table.columns.values()] == [[1], ["x"]]
        assert list(table.columns) == ["a", "b"]

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (f"a,b\n1,2\n{CANARY},2,3\n", "line 3"),
            (f"a,b\n1,2\n{CANARY}\n", "line 3"),
            (f'a,b\n1,2\n{CANARY},"x\n', "line 3"),
            (b"a,b\n1," + CANARY.encode() + b"\xe9\xff\n", "UTF-8"),
            ("a,a\n1,2\n", "'a'"),
            ("", "empty"),
            ("\n", "empty"),
        ],
    )
    def test_broken_text_is_refused_by_line_without_its_cells(
        self, content: str | bytes, words: str, tmp_path: Path
    ) -> None:
        with pytest.raises(DataError, match=words) as caught:
            read_text(tmp_path, content)

        assert CANARY not in shown(caught.value)

    @pytest.mark.parametrize(
        "name", ["t.csv.gz", "t.csv.zst", "t.jsonl.gz", "t.parquet", "t.arrow", "t.jsonl"]
    )
    def test_bytes_of_another_format_are_refused_without_their_cells(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="t\\.") as caught:
            read_text(tmp_path, f"a,b\n{CANARY},2\n" * 9, name)

        assert CANARY not in shown(caught.value)

    @pytest.mark.parametrize("suffix", [".csv.gz", ".parquet", ".jsonl.zst", ".arrow"])
    def test_truncated_files_are_refused(self, suffix: str, tmp_path: Path) -> None:
        path = tmp_path / f"t{suffix}"
        table = from_frame(TABLE)
        write_table(table.columns, path, table.origin)
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])

        with pytest.raises(DataError):
            read_table(path)


class TestJsonLines:
    def test_numbers_are_exact_and_dates_are_dates(self, tmp_path: Path) -> None:
        content = (
            '{"a": 18446744073709551615, "b": "2020-01-01", "c": "2020-01-01T00:00:00Z", "d": [1], "e": 1.5}\n'
            '{"a": null, "b": "2020-01-02", "c": "2020-01-01T02:00:00+02:00", "f": ""}\n'
        )
        table = read_text(tmp_path, content, "t.jsonl")

        assert cells(table.columns["a"]) == [2**64 - 1, None]
        assert {n: c.physical.kind for n, c in table.columns.items()} == {
            "a": "integer", "b": "date", "c": "datetime", "d": "other", "e": "float", "f": "text",
        }  # fmt: skip
        assert cells(table.columns["f"]) == [None, ""]

    @pytest.mark.parametrize("content", ["[1]\n", f'{{"a": "{CANARY}"\n', f'{{"a": 1}}\n"{CANARY}"\n', ""])
    def test_what_is_no_object_is_refused(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(DataError) as caught:
            read_text(tmp_path, content, "t.jsonl")

        assert CANARY not in shown(caught.value)


class TestFormulas:
    @pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "=", "-1+2"])
    def test_text_and_headers_that_would_run_get_an_apostrophe(self, text: str, tmp_path: Path) -> None:
        header = text.replace("\r", "\t")
        for name in ("t.csv", "t.tsv.gz"):
            write_table({header: texts(text, "safe")}, tmp_path / name)
            back = read_table(tmp_path / name)
            assert list(back.columns) == ["'" + header]
            assert cells(back.columns["'" + header]) == ["'" + text, "safe"]

    def test_a_header_with_a_carriage_return_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"carriage return.*rename"):
            write_table({"a\rb": texts("x")}, tmp_path / "t.csv")

        assert not (tmp_path / "t.csv").exists()

    @pytest.mark.parametrize("text", ["-1", "+1.5", "-2e5", "a=1", " =1", "", "'=1"])
    def test_harmless_text_is_untouched(self, text: str, tmp_path: Path) -> None:
        write_table({"x": texts(text, "safe")}, tmp_path / "t.csv")

        assert cells(read_table(tmp_path / "t.csv").columns["x"]) == [text, "safe"]

    def test_numbers_are_untouched_and_the_option_turns_it_off(self, tmp_path: Path) -> None:
        numbers = RawColumn(np.array([-1, -2]), np.zeros(2, dtype=bool), PhysicalType("integer", "int64"))
        write_table({"n": numbers, "=x": texts("=1", None)}, tmp_path / "t.csv", neutralise_formulas=False)

        assert list(csv.reader((tmp_path / "t.csv").open())) == [["n", "=x"], ["-1", "=1"], ["-2", ""]]

    def test_zoned_times_carry_the_offset_of_their_zone(self, tmp_path: Path) -> None:
        table = from_frame(TABLE.select(["zoned", "yes"]))
        write_table(table.columns, tmp_path / "t.csv.gz", table.origin)

        with gzip.open(tmp_path / "t.csv.gz", "rt") as file:
            assert file.read().splitlines()[:3] == [
                "zoned,yes",
                "2020-10-25T02:30:00.000005+01:00,true",
                "1970-01-01T00:00:00+01:00,",
            ]


class TestAtomicity:
    @pytest.mark.parametrize("suffix", [".csv", ".jsonl.gz", ".parquet", ".arrow", ".csv.zst"])
    @pytest.mark.parametrize("limit", [0, 1, 4096, 20_000])
    def test_a_full_disk_leaves_the_old_file(self, suffix: str, limit: int, tmp_path: Path) -> None:
        path = tmp_path / f"t{suffix}"
        path.write_text("old")
        code = (
            "import resource, signal, sys, numpy as np\n"
            "from syntabula.errors import DataError\n"
            "from syntabula.table.files import write_table\n"
            "from syntabula.table.raw import PhysicalType, RawColumn\n"
            "import duckdb, pyarrow.feather\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "values = np.random.default_rng(0).normal(size=20_000)\n"
            "column = RawColumn(values, np.zeros(20_000, dtype=bool), PhysicalType('float', 'float64'))\n"
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
            "try:\n"
            f"    write_table({{'x': column}}, {str(path)!r})\n"
            "except DataError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

        assert "cannot write" in done.stdout, done.stderr
        assert str(path) in done.stdout
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_read_only_folder_is_named(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        try:
            with pytest.raises(DataError, match="Permission denied"):
                write_table({"x": texts("a")}, tmp_path / "t.csv")
        finally:
            tmp_path.chmod(0o700)

    @pytest.mark.parametrize("where", ["absent/t.csv", "folder.csv", "file/t.csv"])
    def test_places_that_cannot_be_written_are_named(self, where: str, tmp_path: Path) -> None:
        (tmp_path / "folder.csv").mkdir()
        (tmp_path / "file").write_text("")
        with pytest.raises(DataError, match=Path(where).name):
            write_table({"x": texts("a")}, tmp_path / where)

    def test_an_interrupt_removes_the_temporary_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_table({"x": texts("a")}, tmp_path / "t.csv")

        assert os.listdir(tmp_path) == []

    def test_a_link_keeps_pointing_at_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "real.csv").write_text("old")
        (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
        write_table({"x": texts("a")}, tmp_path / "link.csv")

        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "real.csv").read_text() == "x\na\n"

    def test_columns_that_cannot_be_written_leave_nothing(self, tmp_path: Path) -> None:
        values = np.array([CANARY, 1], dtype=object)
        column = RawColumn(values, np.zeros(2, dtype=bool), PhysicalType("other", "object"))
        for suffix in (".csv", ".jsonl", ".parquet", ".arrow"):
            with pytest.raises(DataError) as caught:
                write_table({"x": column}, tmp_path / f"t{suffix}")
            assert CANARY not in shown(caught.value)
        assert os.listdir(tmp_path) == []


class TestPaths:
    @pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.gz", "t.csv.bz2", ".csv", "csv"])
    def test_other_suffixes_are_refused_with_those_supported(self, name: str, tmp_path: Path) -> None:
        for action in (read_table, lambda p: write_table({"x": texts("a")}, p)):
            with pytest.raises(ArgumentError, match=r"\.parquet"):
                action(tmp_path / name)

    def test_absent_files_and_folders_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").mkdir()
        with pytest.raises(DataError, match="no file"):
            read_table(tmp_path / "absent.csv")
        with pytest.raises(DataError, match="folder"):
            read_table(str(tmp_path / "d.csv"))

    @pytest.mark.parametrize("name", ["a*.csv", "a[1].csv", "a?.csv"])
    def test_a_name_is_never_a_pattern(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "a1.csv").write_text(f"x\n{CANARY}\n")
        (tmp_path / "ab.csv").write_text("y\n2\n")
        table = read_text(tmp_path, "z\n3\n", name)

        assert {n: cells(c) for n, c in table.columns.items()} == {"z": [3]}


class TestBaseInstall:
    def test_files_need_no_optional_library(self, tmp_path: Path) -> None:
        code = (
            "import sys\n"
            "for name in ('pandas', 'polars', 'pyarrow', 'pytz'): sys.modules[name] = None\n"
            "from syntabula.errors import MissingExtraError\n"
            "from syntabula.table.files import read_table, write_table\n"
            "for name in ('t.csv.zst', 't.tsv', 't.jsonl', 't.parquet'):\n"
            f"    table = read_table({str(tmp_path)!r} + '/in.csv')\n"
            f"    write_table(table.columns, {str(tmp_path)!r} + '/' + name, table.origin)\n"
            f"    back = read_table({str(tmp_path)!r} + '/' + name)\n"
            "    assert [c.physical.kind for c in back.columns.values()] == ['integer', 'text', 'datetime'], name\n"
            "try:\n"
            f"    write_table(table.columns, {str(tmp_path)!r} + '/t.arrow')\n"
            "except MissingExtraError as error:\n"
            "    assert 'syntabula[arrow]' in str(error)\n"
            "else:\n"
            "    raise SystemExit('no error')\n"
        )
        (tmp_path / "in.csv").write_text("a,b,c\n1,x,2020-01-01T00:00:00Z\n,,\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

        assert done.returncode == 0, done.stderr


class TestPieces:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv.gz", ".csv.zst", ".jsonl.gz", ".arrow"])
    def test_a_table_in_pieces_is_written_as_if_it_were_whole(self, suffix: str, tmp_path: Path) -> None:
        table = from_frame(TABLE)
        whole, pieces = tmp_path / f"whole{suffix}", tmp_path / f"pieces{suffix}"
        cuts = [slice(0, 1), slice(1, 1), slice(1, None)]
        write_table(table.columns, whole, table.origin)

        write_parts(
            (
                {n: RawColumn(c.values[cut], c.missing[cut], c.physical) for n, c in table.columns.items()}
                for cut in cuts
            ),
            pieces,
            table.origin,
        )

        one, other = read_table(whole), read_table(pieces)
        assert list(one.columns) == list(other.columns)
        for name in one.columns:
            assert one.columns[name].physical == other.columns[name].physical
            assert cells(one.columns[name]) == cells(other.columns[name])
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([whole.name, pieces.name])

    def test_a_failure_in_a_later_piece_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        path.write_text("old")

        def parts() -> Iterator[dict[str, RawColumn]]:
            yield {"x": texts("a")}
            yield {"x": texts("b")}
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_parts(parts(), path)

        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]
