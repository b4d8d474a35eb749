"""Files are written whole or not at all, in pieces as at once, and hold nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sample_files import TABLE, cells, shown, texts

from syntabula.errors import DataError
from syntabula.table.files.files import read_table, write_pieces, write_table
from syntabula.table.frames.frames import from_frame
from syntabula.table.raw import Dialect, Origin, PhysicalType, RawColumn

CANARY = "zebra-canary-7731"


class TestFormulas:
    @pytest.mark.thorough
    def test_text_and_headers_that_would_run_get_an_apostrophe(self, tmp_path: Path) -> None:
        cases = [
            "=1+1",
            "+A1",
            "-A1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "=",
            "-1+2",
            "\n=1",
            "＝1+1",
            "＋A1",
            "－A1",
            "＠SUM(A1)",
            " =1",
            "  +A1",
            "\x0b=1",
            "\x1f@A1",
            "\u00a0=1",
            "\u00ad-A1",
            "\u200b=1",
            "\u2028=1",
            "\u2060 =1",
            "\u3164=1",
            "\ufeff=1",
            "\U000e0020=1",
        ]
        headers = {
            f"{text} {i}".replace("\r", "\t").replace("\n", "\t"): text for i, text in enumerate(cases)
        }
        for name in ("t.csv", "t.tsv.gz"):
            write_table({header: texts(text, "safe") for header, text in headers.items()}, tmp_path / name)
            back = read_table(tmp_path / name)
            assert list(back.columns) == ["'" + header for header in headers]
            for header, text in headers.items():
                assert cells(back.columns["'" + header]) == ["'" + text, "safe"]

    def test_a_header_with_a_carriage_return_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"carriage return.*rename"):
            write_table({"a\rb": texts("x")}, tmp_path / "t.csv")

        assert not (tmp_path / "t.csv").exists()

    def test_phones_are_no_formulas(self, tmp_path: Path) -> None:
        phones, others = ["+49 152 3708371", "+43 (0)1/58-801"], ["+1+1", "+A1", "-1 2", "=1 2"]
        write_table({"x": texts(*phones, *others)}, tmp_path / "t.csv")

        assert cells(read_table(tmp_path / "t.csv").columns["x"]) == [
            *phones,
            *(f"'{text}" for text in others),
        ]

    @pytest.mark.thorough
    def test_harmless_text_is_untouched(self, tmp_path: Path) -> None:
        for text in ["-1", "+1.5", "-2e5", "a=1", " -1", " ", "\u200b", " a", "", "'=1"]:
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
    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", [".csv", ".jsonl.gz", ".parquet", ".arrow", ".csv.zst"])
    def test_a_full_disk_leaves_the_old_file(self, suffix: str, tmp_path: Path) -> None:
        path = tmp_path / f"t{suffix}"
        path.write_text("old")
        code = (
            "import resource, signal, sys, numpy as np\n"
            "from syntabula.errors import DataError\n"
            "from syntabula.table.files.files import write_table\n"
            "from syntabula.table.raw import Dialect, Origin, PhysicalType, RawColumn\n"
            "import duckdb, pyarrow.feather\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "values = np.random.default_rng(0).normal(size=20_000)\n"
            "column = RawColumn(values, np.zeros(20_000, dtype=bool), PhysicalType('float', 'float64'))\n"
            "for limit in (0, 1, 4096, 20_000):\n"
            "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
            "    try:\n"
            f"        write_table({{'x': column}}, {str(path)!r})\n"
            "    except DataError as error:\n"
            "        print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

        errors = done.stdout.splitlines()
        assert len(errors) == 4, done.stderr
        assert all("cannot write" in error and str(path) in error for error in errors)
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == [path.name]

    def test_an_error_of_what_draws_the_rows_is_not_put_down_to_a_library(self, tmp_path: Path) -> None:
        def parts() -> Iterator[dict[str, RawColumn]]:
            raise TypeError(CANARY)
            yield {}

        with pytest.raises(DataError, match="TypeError while rows were drawn or written") as caught:
            write_pieces(parts(), tmp_path / "t.csv")

        assert CANARY not in str(caught.value)

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

    def test_columns_that_cannot_be_written_leave_nothing(self, tmp_path: Path) -> None:
        values = np.array([CANARY, 1], dtype=object)
        column = RawColumn(values, np.zeros(2, dtype=bool), PhysicalType("other", "object"))
        for suffix in (".csv", ".jsonl", ".parquet", ".arrow"):
            with pytest.raises(DataError) as caught:
                write_table({"x": column}, tmp_path / f"t{suffix}")
            assert CANARY not in shown(caught.value)
        assert os.listdir(tmp_path) == []


class TestPieces:
    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv.gz", ".csv.zst", ".jsonl.gz", ".arrow"])
    def test_a_table_in_pieces_is_written_as_if_it_were_whole(self, suffix: str, tmp_path: Path) -> None:
        table = from_frame(TABLE)
        whole, pieces = tmp_path / f"whole{suffix}", tmp_path / f"pieces{suffix}"
        cuts = [slice(0, 1), slice(1, 1), slice(1, None)]
        write_table(table.columns, whole, table.origin)

        write_pieces(
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

    @pytest.mark.parametrize("marked", [False, True])
    @pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
    @pytest.mark.parametrize("names", [("n",), ("n", 'say "t"', "a;b")])
    def test_no_rows_and_first_pieces_without_any_have_the_header_of_their_table(
        self, names: tuple[str, ...], suffix: str, marked: bool, tmp_path: Path
    ) -> None:
        physical = PhysicalType("text", "VARCHAR")
        origin = Origin("csv", {}, Dialect(",", quoted=True, marked=marked))
        mark = "\ufeff" if marked else ""
        header = ",".join('"' + name.replace('"', '""') + '"' for name in names)

        for sizes in ((0,), (0, 0), (0, 2, 0, 1)):
            pieces = (
                {n: RawColumn(np.full(k, "x", object), np.zeros(k, bool), physical) for n in names}
                for k in sizes
            )
            path = tmp_path / f"{len(sizes)}{suffix}"
            write_pieces(pieces, path, origin)

            data = gzip.decompress(path.read_bytes()) if suffix == ".csv.gz" else path.read_bytes()
            row = ",".join(['"x"'] * len(names))
            assert data.decode() == mark + "\n".join([header, *[row] * sum(sizes), ""])

    def test_a_failure_in_a_later_piece_leaves_the_old_file_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        path.write_text("old")

        def parts() -> Iterator[dict[str, RawColumn]]:
            yield {"x": texts("a")}
            yield {"x": texts("b")}
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_pieces(parts(), path)

        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]
