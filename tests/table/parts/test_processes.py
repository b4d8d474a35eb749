"""What a process that reads parts loads, what its errors say, and when it ends."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import syntabula as st
from syntabula.errors import DataError, ResourceError, SchemaError
from syntabula.marginals.parts import Fold, State
from syntabula.table.parts import files, processes
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Boolean
from syntabula.table.schema.schema import Schema

pytest.importorskip("pyarrow")


class TestLibraries:
    @pytest.mark.thorough
    def test_of_noise_and_databases_are_not_loaded_by_a_process_that_counts(self) -> None:
        code = (
            "import sys; import syntabula.table.parts.processes, syntabula.table.parts.arrow_parts, "
            "syntabula.table.parts.encoded_parts, syntabula.table.parts.points, syntabula.marginals.passes; "
            "print([n for n in ('opendp', 'duckdb', 'pandas', 'polars', 'syntabula.privacy') if n in sys.modules])"
        )

        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert ran.stdout.strip() == "[]"


class Failing(Fold[RawTable]):
    """A fold that fails with an error that shows a cell."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def start(self) -> State:
        raise self.error

    def add(self, state: State, part: RawTable) -> None:
        raise AssertionError


class TestErrors:
    def test_are_answers_without_a_cell_and_without_a_traceback(self) -> None:
        for error, kind, message in [
            (ValueError("secret cell"), DataError, "ValueError"),
            (MemoryError("secret cell"), ResourceError, "not enough memory"),
            (SchemaError("column 'a' is absent"), SchemaError, "column 'a' is absent"),
        ]:
            task = ((), Schema({"a": Boolean()}), None, Failing(error))

            answer = processes._run(task)

            assert type(answer) is kind
            assert message in str(answer)
            assert "secret" not in str(answer)
            assert answer.__traceback__ is answer.__cause__ is answer.__context__ is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of two files, of which nobody declares a column."""
    place = tmp_path / "parts"
    place.mkdir()
    for i in range(2):
        (place / f"{i}.csv").write_text("a,b\n" + "1,x\n2,y\n" * 400)
    return place


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[ProcessPoolExecutor]:
    """Every pool of processes that is started."""
    started: list[ProcessPoolExecutor] = []

    class Pool(ProcessPoolExecutor):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(processes, "ProcessPoolExecutor", Pool)
    return started


@pytest.fixture
def children() -> Callable[[], list[Any]]:
    """Return what returns the processes that were started since; libraries keep some of earlier tests."""
    before = multiprocessing.active_children()
    return lambda: [process for process in multiprocessing.active_children() if process not in before]


class TestProcesses:
    @pytest.mark.thorough
    def test_stay_between_passes_and_end_with_the_fit(self, folder, pools, children) -> None:
        st.Independent(epsilon=5.0, seed=1, workers=2).fit(folder)

        assert len(pools) == 1
        assert children() == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, DataError])
    def test_end_if_the_fit_ends_between_passes(self, kind, folder, pools, children) -> None:
        running: list[int] = []

        def end(step: str, done: float) -> None:
            if step == "encode":
                running.append(len(children()))
                raise kind

        with pytest.raises(kind):
            st.Independent(epsilon=5.0, seed=1, workers=2, progress=end).fit(folder)

        assert running == [2]
        assert children() == []

    def test_end_if_a_pass_is_interrupted(self, folder, pools, children, monkeypatch) -> None:
        def interrupted(*_: object) -> Iterator[object]:
            raise KeyboardInterrupt

        monkeypatch.setattr(ProcessPoolExecutor, "map", interrupted)

        with pytest.raises(KeyboardInterrupt):
            st.Independent(epsilon=5.0, seed=1, workers=2).fit(folder)

        assert len(pools) == 1
        assert children() == []

    @pytest.mark.thorough
    def test_end_if_a_part_cannot_be_read(self, folder, pools, children) -> None:
        # Of the first lines it is known before a process starts.
        for i, end in enumerate(("", "1,x,y\n")):
            (folder / f"{i}.csv").write_text("a,b\n" + "1,x\n" * 20_000 + end)

        with pytest.raises(DataError, match="line 20002"):
            st.Independent(epsilon=5.0, seed=1, workers=2).fit(folder)

        assert len(pools) == 1
        assert children() == []

    def test_are_as_many_as_text_files_and_processors(self, folder, monkeypatch) -> None:
        monkeypatch.setattr(files, "_LEAST_PER_PROCESS", 100)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)

        assert files.usual_workers(folder / "0.csv") == 1
        assert files.usual_workers(folder) == 2
        (folder / "0.csv").rename(folder / "0.parquet")
        assert files.usual_workers(folder / "*.parquet") == 4
