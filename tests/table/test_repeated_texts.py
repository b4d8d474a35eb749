"""Texts that are held once are the texts that would be held cell by cell, wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sample_columns import encode_one

from syntabula.table import database
from syntabula.table.files.pieces import together
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import PhysicalType, RawColumn, RepeatedTexts, joined
from syntabula.table.read import read, write_like
from syntabula.table.schema.columns import Categorical

TEXTS = ["b", "", None, "it's", "b", "\u00e9\U0001f600", None, "B", "", "tab\there", "b "]


def column(texts: list[Any]) -> RawColumn:
    missing = np.array([text is None for text in texts], dtype=np.bool_)
    return RawColumn(RepeatedTexts.of(texts, missing), missing, PhysicalType("text", "str"))


def cells(raw: RawColumn) -> list[str | None]:
    pairs = zip(raw.values.tolist(), raw.missing.tolist(), strict=True)
    return [None if gap else text for text, gap in pairs]


class TestTexts:
    def test_come_back(self) -> None:
        for texts in [TEXTS, [], [None, None], ["a"] * 3, [f"{i}" for i in range(300)]]:
            raw = column(texts)

            assert cells(raw) == texts
            assert isinstance(raw.cells, RepeatedTexts)
            assert len({*raw.cells.distinct}) == raw.cells.distinct.size
            assert raw.cells.places.dtype == (np.uint8 if len(texts) < 257 else np.uint16)
            for rows in (slice(1, 4), np.arange(len(texts))[::-2], np.arange(len(texts)) % 2 == 0):
                assert cells(raw.take(rows)) == object_array(texts)[rows].tolist()

    def test_of_parts_are_those_of_all(self) -> None:
        parts = [column(TEXTS[:4]), column([None]), column([]), column(TEXTS[4:])]
        together_ = joined([part.cells for part in parts])

        assert isinstance(together_, RepeatedTexts)
        missing = np.concatenate([part.missing for part in parts])
        assert cells(RawColumn(together_, missing, PhysicalType("text", "str"))) == [
            *TEXTS[:4],
            None,
            *TEXTS[4:],
        ]
        mixed = joined([object_array(["x", "b"]), column(["b", "c"]).cells])
        assert isinstance(mixed, np.ndarray)
        assert mixed.tolist() == ["x", "b", "b", "c"]

    def test_of_pieces_stay_repeated(self) -> None:
        made = together(iter([{"x": column(TEXTS[:5])}, {"x": column(TEXTS[5:])}]), len(TEXTS))

        assert isinstance(made["x"].cells, RepeatedTexts)
        assert cells(made["x"]) == TEXTS

    def test_have_the_codes_of_their_cells(self) -> None:
        for declared in (
            Categorical(("b", "", "B"), open=True, nullable=True),
            Categorical(("b", "it's"), nullable=True),
            Categorical(("b", "B")),
        ):
            raw = column(TEXTS)
            alone = RawColumn(object_array(TEXTS), raw.missing, raw.physical)
            assert encode_one(declared, raw) == encode_one(declared, alone), declared


class TestSources:
    @pytest.mark.parametrize("few", [0, 100_000])
    @pytest.mark.parametrize("most", [2, 2**16])
    def test_a_file_holds_them_once(
        self, few: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_FEW_ROWS", few)
        monkeypatch.setattr(database, "_MOST_TEXTS", most)
        monkeypatch.setattr(database, "CELLS_AT_ONCE", 20)
        table = pa.table(
            {
                "n": range(11),
                "x": TEXTS,
                'o"X': pa.array([None] * 11, type=pa.string()),
                "X": TEXTS[::-1],
                "f": [0.5] * 11,
            }
        )
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=3)

        raw = read(tmp_path / "t.parquet")

        assert [*raw.columns] == ["n", "x", 'o"X', "X", "f"]
        assert cells(raw.columns["x"]) == TEXTS
        assert cells(raw.columns["X"]) == TEXTS[::-1]
        assert cells(raw.columns['o"X']) == [None] * 11
        assert raw.columns["n"].values.tolist() == [*range(11)]
        assert all(isinstance(raw.columns[name].cells, RepeatedTexts) for name in ("x", 'o"X', "X"))

    def test_frames_give_and_take_them(self) -> None:
        for frame in [
            pd.DataFrame({"x": TEXTS}),
            pd.DataFrame({"x": pd.Series(TEXTS, dtype="string[python]")}),
            pd.DataFrame({"x": pd.Series(TEXTS, dtype="string[pyarrow]")}),
            pd.DataFrame({"x": pd.Series(TEXTS, dtype=object)}),
            pd.DataFrame({"x": pd.Series(TEXTS, dtype="category")}),
            pl.DataFrame({"x": TEXTS}),
            pl.DataFrame({"x": pl.Series(TEXTS, dtype=pl.Categorical)}),
            pa.table({"x": pa.chunked_array([TEXTS[:3], [], TEXTS[3:]])}),
            pa.table({"x": pa.chunked_array([TEXTS[:3], TEXTS[3:]]).dictionary_encode()}),
            pa.table({"x": pa.array(TEXTS, type=pa.string_view())}),
            pa.table({"x": pa.array(TEXTS, type=pa.large_string())}),
        ]:
            raw = read(frame)
            again = write_like(raw.columns, raw.origin)

            assert isinstance(raw.columns["x"].cells, RepeatedTexts)
            assert cells(raw.columns["x"]) == TEXTS
            if isinstance(frame, pd.DataFrame):
                pd.testing.assert_frame_equal(again, frame)
            elif isinstance(frame, pl.DataFrame):
                assert again.equals(frame, null_equal=True)
                assert again.schema == frame.schema
            else:
                assert again.column("x").to_pylist() == TEXTS
                assert again.schema == frame.schema

    def test_a_relation_gives_them(self) -> None:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t AS SELECT unnest(?) AS x", [TEXTS])

        raw = read(connection.table("t"))

        assert isinstance(raw.columns["x"].cells, RepeatedTexts)
        assert cells(raw.columns["x"]) == TEXTS

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
    def test_files_hold_what_they_would_hold_cell_by_cell(self, suffix: str, tmp_path: Path) -> None:
        raw = column(TEXTS)
        alone = RawColumn(object_array(TEXTS), raw.missing, raw.physical)
        origin = read(pd.DataFrame({"x": TEXTS})).origin

        write_like({"x": raw}, origin, tmp_path / f"one.{suffix}")
        write_like({"x": alone}, origin, tmp_path / f"other.{suffix}")

        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()
