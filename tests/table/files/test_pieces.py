"""A table in pieces: memory is that of a few of them, and the file is that of the whole table."""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from syntabula.table.database import connection
from syntabula.table.files import duckdb_writing
from syntabula.table.files.files import read_table, write_pieces, write_table
from syntabula.table.frames.frames import from_frame
from syntabula.table.raw import PhysicalType, RawColumn


def integers(values: NDArray[np.int64]) -> RawColumn:
    return RawColumn(values, np.zeros(values.size, dtype=np.bool_), PhysicalType("integer", "int64"))


def cut_out(columns: dict[str, RawColumn], cut: slice) -> dict[str, RawColumn]:
    return {n: RawColumn(c.values[cut], c.missing[cut], c.physical) for n, c in columns.items()}


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_at_most_two_pieces_are_held_while_another_is_made(suffix: str, tmp_path: Path) -> None:
    alive: weakref.WeakValueDictionary[int, NDArray[Any]] = weakref.WeakValueDictionary()
    held: list[int] = []

    def part(number: int) -> dict[str, RawColumn]:
        held.append(len(alive))
        column = integers(np.full(3, number))
        alive[number] = column.missing  # which the writers take as it is, while they copy some values
        return {"x": column}

    write_pieces(map(part, range(8)), tmp_path / f"t{suffix}")

    assert held[:2] == [0, 1]
    assert len(held) == 8
    assert max(held) <= 2
    assert not alive


def test_arrow_holds_at_most_two_pieces_while_another_is_made(tmp_path: Path) -> None:
    words = np.full(20_000, "a word of 24 characters.", dtype=object)
    before = pa.total_allocated_bytes()
    held: list[int] = []

    def part(number: int) -> dict[str, RawColumn]:
        held.append(pa.total_allocated_bytes() - before)
        return {"x": RawColumn(words, np.zeros(words.size, dtype=np.bool_), PhysicalType("text", "string"))}

    write_pieces(map(part, range(12)), tmp_path / "t.arrow")

    assert len(held) == 12
    assert 24 * words.size < max(held) < 3 * 24 * words.size


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_the_database_keeps_nothing_of_the_pieces(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases: list[Any] = []
    held: list[int] = []

    @contextmanager
    def watched() -> Iterator[Any]:
        with connection() as database:
            databases.append(database)
            yield database

    def part(number: int) -> dict[str, RawColumn]:
        size = "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()"
        held.extend(database.execute(size).fetchall()[0][0] for database in databases)
        return {"x": integers(np.random.default_rng(number).integers(0, 2**40, 20_000))}

    monkeypatch.setattr(duckdb_writing, "connection", watched)

    write_pieces(map(part, range(8)), tmp_path / f"t{suffix}")

    assert len(held) == 6  # two pieces are taken before a database is opened
    assert max(held) < 20_000 * 8  # less than one piece, of six


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_units_of_time_and_names_of_reader_options_are_kept(suffix: str, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 10, 25, 1, 30), None, dt.datetime(1969, 12, 31, 23)]
    columns = {unit: pa.array(moments, type=pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")}
    columns |= {name: pa.array([1, None, 3]) for name in ("filename", "file_row_number", "c0", "*")}
    table = from_frame(pa.table(columns))
    write_table(table.columns, tmp_path / f"whole{suffix}", table.origin)

    pieces = (cut_out(table.columns, cut) for cut in (slice(0, 2), slice(2, 3)))
    write_pieces(pieces, tmp_path / f"pieces{suffix}", table.origin)

    one, other = read_table(tmp_path / f"whole{suffix}"), read_table(tmp_path / f"pieces{suffix}")
    assert list(one.columns) == list(other.columns)
    for name, column in one.columns.items():
        assert column.physical == other.columns[name].physical
        np.testing.assert_array_equal(column.values, other.columns[name].values)
        np.testing.assert_array_equal(column.missing, other.columns[name].missing)


def test_categories_of_later_pieces_join_those_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    kinds = pa.dictionary(pa.int8(), pa.string())
    table = from_frame(pa.table({"kind": pa.array(["a", "b", "a", None, "c", "b"]).cast(kinds)}))

    pieces = (cut_out(table.columns, cut) for cut in (slice(0, 3), slice(3, 4), slice(4, 6)))
    write_pieces(pieces, path, table.origin)

    with pa.ipc.open_file(path) as file:
        written = file.read_all()["kind"]
    assert written.type == kinds
    assert written.to_pylist() == ["a", "b", "a", None, "c", "b"]
    assert {tuple(chunk.dictionary.to_pylist()) for chunk in written.chunks} == {("a", "b", "c")}
    assert [p.name for p in tmp_path.iterdir()] == ["t.arrow"]
