"""What the cases of bad input share: their list, a good table to spoil, and how a refusal is stated."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import (
    SyntabulaError,
)

CANARY_TEXT = "zebra-canary-7731"
CANARY_NUMBER = 7731.0417

Case = Callable[[Path], None]
CASES: dict[str, tuple[str, Case]] = {}


def case(group: str, name: str) -> Callable[[Case], Case]:
    """Register a case under its group and name."""

    def register(function: Case) -> Case:
        assert name not in CASES, name
        CASES[name] = (group, function)
        return function

    return register


def base(n: int = 60) -> tuple[pd.DataFrame, st.Schema]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.uniform(0, 100, n), 2),
            "job": rng.choice(["cook", "nurse", "judge"], n).astype(object),
        }
    )
    schema = st.Schema(
        {
            "age": st.Numeric(18, 90, integer=True, nullable=True),
            "income": st.Numeric(0.0, 100.0, decimals=2, nullable=True),
            "job": st.Categorical(("cook", "nurse", "judge"), nullable=True),
        }
    )
    return frame, schema


def fit(frame, schema=None, **options) -> st.Release:
    stated = {} if "budget" in options else {"epsilon": 5.0}
    options = {**stated, "seed": 1, "bins": 16} | options
    method = options.pop("method", st.MST)
    strict = options.pop("strict", False)
    return method(**options).fit(frame, schema, strict=strict)


def fit_observed(frame, **options) -> st.Release:
    return fit(frame, None, allow_observed=True, **options)


def assert_within(sample: pd.DataFrame, schema: st.Schema) -> None:
    """Assert that every value of a sample lies in the schema's domain."""
    assert list(sample.columns) == list(schema.columns)
    for name, column in schema.columns.items():
        present = sample[name].dropna()
        if not column.nullable:
            assert len(present) == len(sample), name
        if isinstance(column, st.Numeric):
            assert ((present >= column.lower) & (present <= column.upper)).all(), name
        elif isinstance(column, st.Categorical):
            allowed = set(column.categories) | ({column.other_label} if column.open else set())
            assert set(present) <= allowed, name


def with_cells(column: str, values: list, n: int = 60) -> tuple[pd.DataFrame, st.Schema]:
    frame, schema = base(n)
    cells = frame[column].tolist()
    cells[: len(values)] = values
    frame[column] = pd.Series(cells, dtype=object if column == "job" else None)
    return frame, schema


def refuses(error: type[Exception], *words: str) -> Callable[[Case], Case]:
    """Say that a case must raise this error, its message naming these words."""

    def wrap(function: Case) -> Case:
        def run(folder: Path) -> None:
            with pytest.raises(error) as caught:
                function(folder)
            message = str(caught.value)
            assert isinstance(caught.value, SyntabulaError)
            for word in words:
                assert word in message, f"{word!r} is not in: {message}"

        run.__name__ = function.__name__
        return run

    return wrap


def unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
