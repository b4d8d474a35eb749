"""Files of every format come back exactly, whatever is installed."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_files import TABLE, cells, read_text, texts

from syntabula.errors import ArgumentError, CoercionWarning, DataError
from syntabula.table.files.arrow_notes import Noted
from syntabula.table.files.files import read_table, write_pieces, write_table
from syntabula.table.files.formats import output_format
from syntabula.table.frames.frames import from_frame
from syntabula.table.raw import Origin, PhysicalType, RawColumn

CANARY = "zebra-canary-7731"
TEXT_SUFFIXES = [".csv", ".csv.gz", ".TSV", ".TSV.zst", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.zst"]
SUFFIXES = [*TEXT_SUFFIXES, ".parquet", ".PARQUET", ".arrow", ".feather"]


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

    def test_a_parquet_column_without_a_value_is_one_of_texts_as_in_arrow(self, tmp_path: Path) -> None:
        table = pa.table({"empty": pa.nulls(3), "n": [1, 2, 3]})
        pq.write_table(table, tmp_path / "t.parquet")

        back = read_table(tmp_path / "t.parquet").columns["empty"]

        assert back.physical == PhysicalType("text", "VARCHAR")
        assert cells(back) == [None] * 3
        write_table({"empty": back}, tmp_path / "again.parquet")
        assert cells(read_table(tmp_path / "again.parquet").columns["empty"]) == [None] * 3

    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_every_value_comes_back_exactly_and_in_its_kind(self, suffix: str, tmp_path: Path) -> None:
        table, path = from_frame(TABLE), tmp_path / f"a b'c é{suffix}"
        write_table(table.columns, path, table.origin)
        back = read_table(path)

        assert list(back.columns) == list(table.columns)
        for name, column in table.columns.items():
            assert [str(v) for v in cells(back.columns[name])] == [str(v) for v in cells(column)] or (
                name == "money" and [v and float(v) for v in cells(column)] == cells(back.columns[name])
            ), name
        assert os.listdir(tmp_path) == [path.name]
        kinds = {n: c.physical.kind for n, c in back.columns.items()}
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

        assert back.schema.types == plain.schema.types
        assert read_table(tmp_path / "t.parquet").columns["zoned"].physical.timezone == "Europe/Paris"
        # Who writes no note of the zone leaves UTC.
        pq.write_table(plain, tmp_path / "u.parquet", store_schema=False)
        assert read_table(tmp_path / "u.parquet").columns["zoned"].physical.timezone == "UTC"

    def test_durations_of_parquet_are_whole_numbers_and_a_warning_says_so(self, tmp_path: Path) -> None:
        spans = pa.table({"n": [1, 2], "span": pa.array([1, 2], pa.duration("ms"))})
        pq.write_table(spans, tmp_path / "t.parquet")

        with pytest.warns(CoercionWarning, match="'span': Parquet stores durations as whole numbers"):
            back = read_table(tmp_path / "t.parquet")

        assert cells(back.columns["span"]) == [1, 2]

    def test_a_damaged_note_of_types_says_nothing(self) -> None:
        schema = pa.schema([("n", pa.int64()), ("at", pa.timestamp("ms", "Europe/Berlin"))])
        whole = schema.serialize().to_pybytes()

        assert Noted.of(base64.b64encode(whole)) == Noted({"at": "Europe/Berlin"}, ())
        rng = np.random.default_rng(0)
        for _ in range(300):
            damaged = bytearray(whole[: rng.integers(len(whole))])
            for place in rng.integers(0, max(len(damaged), 1), 3)[: len(damaged)]:
                damaged[place] = rng.integers(256)
            assert isinstance(Noted.of(base64.b64encode(bytes(damaged))), Noted)
        assert Noted.of(b"no base64") == Noted({}, ())

    def test_arrow_files_keep_types_and_zone(self, tmp_path: Path) -> None:
        table = from_frame(TABLE)
        write_table(table.columns, tmp_path / "t.arrow", table.origin)
        back = read_table(tmp_path / "t.arrow")

        assert back.origin.container == "arrow"
        assert back.origin.physical == table.origin.physical

    @pytest.mark.thorough
    def test_no_rows_come_back_with_all_names(self, tmp_path: Path) -> None:
        for suffix in [".csv", ".tsv", ".parquet", ".arrow"]:
            table = from_frame(TABLE.slice(0, 0))
            write_table(table.columns, tmp_path / f"t{suffix}", table.origin)
            back = read_table(tmp_path / f"t{suffix}")

            assert (back.n_rows, list(back.columns)) == (0, TABLE.column_names)

    def test_a_single_column_with_gaps_keeps_its_rows(self, tmp_path: Path) -> None:
        write_table({"x": texts("a", None, "", None)}, tmp_path / "t.csv")

        assert cells(read_table(tmp_path / "t.csv").columns["x"]) == ["a", None, "", None]

    def test_a_byte_order_mark_and_the_ends_of_lines_come_out_again(self, tmp_path: Path) -> None:
        for number, text in enumerate(["Größe;b\nä;1\n", '"Größe";"b"\n"ä";1\n', "b\n1\n"]):
            for mark, ending in product(("", "\ufeff"), ("\n", "\r\n")):
                path, again = tmp_path / f"{number}.csv", tmp_path / "again.csv"
                path.write_bytes((mark + text.replace("\n", ending)).encode())
                table = read_table(path)

                assert [*table.columns] == [*text.split("\n")[0].replace('"', "").split(";")]
                for parts in ([table.columns], [table.columns] * 2):
                    write_pieces(parts, again, origin=Origin.from_json(table.origin.to_json()))
                    lines = path.read_bytes().splitlines(keepends=True)
                    assert again.read_bytes() == b"".join([lines[0], *lines[1:] * len(parts)])

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

    @pytest.mark.thorough
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


class TestPaths:
    def test_other_suffixes_are_refused_with_those_supported(self, tmp_path: Path) -> None:
        for name in ["t.xls", "t.parquet.gz", "t.csv.bz2", ".csv"]:
            for action in (read_table, lambda p: write_table({"x": texts("a")}, p)):
                with pytest.raises(ArgumentError, match=r"\.parquet, \.arrow, .* and \.xlsx"):
                    action(tmp_path / name)

    def test_absent_files_and_folders_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").mkdir()
        with pytest.raises(DataError, match="no file"):
            read_table(tmp_path / "absent.csv")
        (tmp_path / "parts").mkdir()
        for name in ("d.csv", "parts"):
            with pytest.raises(DataError, match=r"folder.*give one of its files"):
                read_table(str(tmp_path / name))

    @pytest.mark.parametrize("name", ["a*.csv", "a[1].csv", "a?.csv"])
    def test_a_name_is_never_a_pattern(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "a1.csv").write_text(f"x\n{CANARY}\n")
        (tmp_path / "ab.csv").write_text("y\n2\n")
        table = read_text(tmp_path, "z\n3\n", name)

        assert {n: cells(c) for n, c in table.columns.items()} == {"z": [3]}


class TestBaseInstall:
    @pytest.mark.thorough
    def test_files_need_no_optional_library(self, tmp_path: Path) -> None:
        code = (
            "import sys\n"
            "for name in ('pandas', 'polars', 'pyarrow', 'pytz'): sys.modules[name] = None\n"
            "from syntabula.errors import MissingExtraError\n"
            "from syntabula.table.files.files import read_table, write_table\n"
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


def test_a_folder_in_the_place_of_a_file_to_write_is_named_so(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"is a folder; name a file in it, such as .*synthetic\.csv"):
        output_format(tmp_path)
