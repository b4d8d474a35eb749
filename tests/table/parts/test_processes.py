"""What a process that reads parts loads, and what its errors say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from syntabula.errors import DataError, ResourceError, SchemaError
from syntabula.marginals.parts import Fold, State
from syntabula.table.parts import processes
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Boolean
from syntabula.table.schema.schema import Schema

pytest.importorskip("pyarrow")


class TestLibraries:
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
    @pytest.mark.parametrize(
        ("error", "kind", "message"),
        [
            (ValueError("secret cell"), DataError, "ValueError"),
            (MemoryError("secret cell"), ResourceError, "not enough memory"),
            (SchemaError("column 'a' is absent"), SchemaError, "column 'a' is absent"),
        ],
    )
    def test_are_answers_without_a_cell_and_without_a_traceback(self, error, kind, message) -> None:
        task = ((), Schema({"a": Boolean()}), None, Failing(error))

        answer = processes._run(task)

        assert type(answer) is kind
        assert message in str(answer)
        assert "secret" not in str(answer)
        assert answer.__traceback__ is answer.__cause__ is answer.__context__ is None
