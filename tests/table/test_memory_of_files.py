"""A table that does not fit into memory is not called damaged, whichever library reads or writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from syntabula.errors import ResourceError
from syntabula.table.files import text_faults
from syntabula.table.files.delimited import delimited_file
from syntabula.table.files.files import read_table, write_table
from syntabula.table.frames.frames import from_frame
from syntabula.table.read import parts_of
from syntabula.table.schema.schema import Schema

N_ROWS = 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 200,000 rows in the formats that are read below."""
    place = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 10**9, N_ROWS), "b": rng.integers(0, 10**6, N_ROWS).astype(str)}
    )
    raw = from_frame(frame)
    for suffix in ("csv", "jsonl", "parquet", "arrow"):
        write_table(raw.columns, place / f"t.{suffix}", raw.origin)
    return place


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give DuckDB next to no memory, and Arrow none."""
    import pyarrow as pa
    import pyarrow.feather

    real = duckdb.connect

    def connect(*args: Any, config: dict[str, Any] | None = None, **named: Any) -> Any:
        return real(*args, config={**(config or {}), "memory_limit": "3MB"}, **named)

    def read_table(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 536870912 failed")

    monkeypatch.setattr(duckdb, "connect", connect)
    monkeypatch.setattr(pyarrow.feather, "read_table", read_table)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
class TestReading:
    @pytest.mark.thorough
    def test_a_file_is_not_called_damaged(
        self, suffix: str, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked: list[object] = []
        monkeypatch.setattr(text_faults, "_looked_through", lambda *given: looked.append(given))

        with pytest.raises(ResourceError, match=rf"not enough memory to read '.*t\.{suffix}'"):
            read_table(folder / f"t.{suffix}")

        assert not looked

    @pytest.mark.thorough
    def test_nor_is_it_with_a_schema(self, suffix: str, folder: Path) -> None:
        schema = Schema.from_json(
            {
                "version": 1,
                "columns": {
                    "a": {"kind": "numeric", "lower": 0, "upper": 10**9, "integer": True},
                    "b": {"kind": "identifier"},
                },
            }
        )

        with pytest.raises(ResourceError, match="not enough memory"):
            read_table(folder / f"t.{suffix}", schema)


def allow_no_more(database: Any) -> None:
    """Limit a database to the memory that it holds; what it says of it lags behind by some blocks of each processor."""
    for more in range(0, 4 * 2**20, 32 * 2**10):
        used = "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()"
        held = database.execute(used).fetchall()[0][0]
        try:
            database.execute(f"SET memory_limit = '{held + more} bytes'")
        except duckdb.OutOfMemoryException:
            continue
        return
    pytest.fail("the database holds more memory than it says")


class TestOthers:
    @pytest.mark.thorough
    def test_texts_whose_types_are_to_be_found(self, folder: Path, little_memory: None) -> None:
        with (
            pytest.raises(ResourceError, match=r"not enough memory to read '.*t\.csv'"),
            delimited_file(folder / "t.csv"),
        ):
            pass

    @pytest.mark.thorough
    def test_texts_that_are_read_in_batches(self, folder: Path, little_memory: None) -> None:
        with pytest.raises(ResourceError, match=r"not enough memory to read '.*t\.csv'"):
            parts_of(folder / "t.csv", None)

    @pytest.mark.parametrize("step", ["kinds", "typed"])
    def test_texts_that_memory_runs_out_for_later(self, step: str, folder: Path) -> None:
        calls: dict[str, Callable[[Any], object]] = {
            "kinds": lambda file: file.cell_kinds("b"),
            "typed": lambda file: file.typed(file.physical),
        }
        with delimited_file(folder / "t.csv") as file:
            allow_no_more(file._database)

            with pytest.raises(ResourceError, match="not enough memory"):
                calls[step](file)

    def test_a_relation_of_the_user(self) -> None:
        database = duckdb.connect(config={"memory_limit": "5MB", "temp_directory": ""})
        relation = database.sql("SELECT range AS a, range % 7 AS b FROM range(3000000) ORDER BY b, a DESC")

        with pytest.raises(ResourceError, match="not enough memory to read the table"):
            from_frame(relation)

    def test_a_frame(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr("syntabula.table.frames.pandas_columns.read_series", fail)

        with pytest.raises(ResourceError, match="not enough memory to read the table"):
            from_frame(pd.DataFrame({"a": [1]}))

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
    @pytest.mark.thorough
    def test_writing(
        self, suffix: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        raw = read_table(folder / "t.parquet")
        real = duckdb.connect

        def connect(*args: Any, config: dict[str, Any] | None = None, **named: Any) -> Any:
            return real(*args, config={**(config or {}), "memory_limit": "1MB"}, **named)

        monkeypatch.setattr(duckdb, "connect", connect)

        with pytest.raises(ResourceError, match=rf"not enough memory to write '.*out\.{suffix}'"):
            write_table(raw.columns, tmp_path / f"out.{suffix}", raw.origin)
        assert list(tmp_path.iterdir()) == []
