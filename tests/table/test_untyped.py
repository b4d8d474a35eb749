"""Columns without any value take the stored type that the schema declares."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.columns import Boolean, Categorical, Column, Date, Datetime, Identifier, Numeric
from syntabula.table.read import read
from syntabula.table.untyped import typed_as_declared

DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
COLUMNS: dict[str, Column] = {
    "whole": Numeric(0, 9, integer=True, nullable=True),
    "real": Numeric(0, 9, nullable=True),
    "money": Numeric(0, 9, decimals=2, nullable=True),
    "yes": Boolean(nullable=True),
    "day": Date(*DAYS, nullable=True),
    "moment": Datetime(*MOMENTS, nullable=True),
    "zoned": Datetime(*MOMENTS, timezone="Europe/Paris", nullable=True),
    "text": Categorical(("a", "b"), nullable=True),
    "code": Categorical((1, 2), nullable=True),
    "share": Categorical((0.5, 1.5), nullable=True),
    "truth": Categorical((True, False), nullable=True),
    "id": Identifier(),
}


def empty(n: int) -> list[Any]:
    columns = {name: [None] * n for name in COLUMNS}
    return [
        pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}),
        pa.table({name: pa.array(cells, pa.null()) for name, cells in columns.items()}),
    ]


@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("library", [0, 1])
def test_they_are_learned_as_missing(library: int, n: int) -> None:
    release = st.Independent(epsilon=5.0, seed=0).fit(empty(n)[library], st.Schema(COLUMNS))

    made = release.sample(20, seed=0)
    names = made.column_names if isinstance(made, pa.Table) else list(made)
    assert names == list(COLUMNS)
    # Seeded; with fewer records noise may hide that nothing is there.
    if n == 30:
        whole, missing = release.marginals([("whole",), ("text",)])
        assert whole[-1] > whole[:-1].sum()
        assert missing[-1] > missing[:-1].sum()


def test_a_file_without_rows_or_values_is_read(tmp_path: Path) -> None:
    header = ",".join(COLUMNS)
    for name, lines in (("none.csv", []), ("gaps.csv", ["," * (len(COLUMNS) - 1)] * 5)):
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n")

        release = st.Independent(epsilon=5.0, seed=0).fit(tmp_path / name, st.Schema(COLUMNS))

        assert len(release.sample(7, seed=0)) == 7


def test_columns_with_a_value_are_left_to_the_check() -> None:
    frame = pd.DataFrame({"whole": pd.Series([None, "7"], dtype=object)})
    schema = st.Schema({"whole": COLUMNS["whole"]})

    assert typed_as_declared(read(frame), schema).columns["whole"].physical.kind == "text"
    with pytest.raises(SchemaError, match="'whole'"):
        st.Independent(epsilon=5.0, seed=0).fit(frame, schema)


def test_nothing_else_is_touched() -> None:
    table = read(pd.DataFrame({"text": pd.Series([None], dtype=object), "real": [np.nan]}))
    schema = st.Schema({name: COLUMNS[name] for name in ("text", "real")})

    typed = typed_as_declared(table, schema)

    assert [c.physical for c in typed.columns.values()] == [c.physical for c in table.columns.values()]
    assert typed.origin == table.origin
