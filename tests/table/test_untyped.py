"""Columns whose storage says nothing of their type are read as the schema declares them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError, SchemaError
from syntabula.table.columns import Boolean, Categorical, Column, Date, Datetime, Identifier, Numeric
from syntabula.table.object_columns import to_objects
from syntabula.table.raw import PhysicalType
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


class TestObjects:
    CELLS: ClassVar[list[Any]] = [
        *(
            1,
            2.5,
            "3",
            " 4 ",
            Decimal("5.5"),
            True,
            None,
            float("nan"),
            "x",
            [1],
            {},
            b"6",
            "\ud800",
            10**5000,
        ),
        *(dt.date(2020, 2, 3), dt.datetime(2020, 2, 4, 12), pd.Timestamp("2020-02-05"), "2020-02-06", pd.NaT),
    ]

    def read(self, column: Column, *cells: Any) -> tuple[list[Any], list[bool]]:
        frame = pd.DataFrame({"x": pd.Series(list(cells) or self.CELLS, dtype=object)})
        raw = read(frame, st.Schema({"x": column})).columns["x"]
        unreadable = np.zeros(len(frame), bool) if raw.unreadable is None else raw.unreadable
        return to_objects(raw).tolist(), unreadable.tolist()

    def test_are_read_as_their_texts_each_on_its_own(self) -> None:
        numbers, unreadable = self.read(COLUMNS["real"])

        assert numbers == [1.0, 2.5, 3.0, 4.0, 5.5, *[None] * 14]
        assert unreadable == [False] * 5 + [True] + [False] * 2 + [True] * 10 + [False]
        texts, unreadable = self.read(COLUMNS["text"])
        assert texts[:6] == ["1", "2.5", "3", " 4 ", "5.5", "true"]
        assert [i for i, bad in enumerate(unreadable) if bad] == [9, 10, 11, 12, 13]
        days = [dt.date(2020, 2, day) for day in (3, 4, 5, 6)]
        assert self.read(COLUMNS["day"])[0] == [None] * 14 + [*days, None]
        assert self.read(COLUMNS["yes"])[0][:6] == [True, None, None, None, None, True]

    @pytest.mark.parametrize("name", COLUMNS)
    def test_what_one_of_them_is_changes_no_other(self, name: str) -> None:
        rest = [1, 0, 3, None]

        assert self.read(COLUMNS[name], *rest, 1)[0][:4] == self.read(COLUMNS[name], *rest, [1])[0][:4]

    def test_do_not_say_how_the_output_is_stored(self) -> None:
        schema = st.Schema({"x": COLUMNS["money"]})
        for cells in ([1, 2], ["1", 2], [1.5, None], [Decimal(1)]):
            origin = read(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), schema).origin
            assert origin.physical["x"] == PhysicalType("float", "object")

    def test_that_are_unreadable_are_counted_and_refused_only_if_asked(self) -> None:
        frame = pd.DataFrame({"whole": pd.Series([7, "7", "x"] * 20, dtype=object)})
        schema = st.Schema({"whole": COLUMNS["whole"]})

        with pytest.warns(CoercionWarning, match="'whole': some cells cannot be read"):
            release = st.Independent(epsilon=5.0, seed=0).fit(frame, schema)

        assert set(release.sample(200, seed=0)["whole"].dropna()) & {6, 7}
        with pytest.raises(DataError, match="whole"):
            st.Independent(epsilon=5.0, seed=0).fit(frame, schema, strict=True)


def test_stored_types_are_left_to_the_check() -> None:
    frame = pd.DataFrame({"whole": pd.Series([None, "7"], dtype="string")})
    schema = st.Schema({"whole": COLUMNS["whole"]})

    assert typed_as_declared(read(frame), schema).columns["whole"].physical.kind == "text"
    with pytest.raises(SchemaError, match="'whole'"):
        st.Independent(epsilon=5.0, seed=0).fit(frame, schema)


@pytest.mark.parametrize("cells", [[None, None], [None, "7"]], ids=["empty", "one cell"])
@pytest.mark.parametrize("stored", ["string", "str", "category"])
def test_no_cell_decides_whether_a_stored_type_is_refused(stored: str, cells: list[str | None]) -> None:
    categories = pd.CategoricalDtype(["7", "8"])
    series = pd.Series(cells, dtype=categories if stored == "category" else stored)

    with pytest.raises(SchemaError, match="'whole' is stored as text"):
        st.Independent(epsilon=5.0, seed=0).fit(
            pd.DataFrame({"whole": series}), st.Schema({"whole": COLUMNS["whole"]})
        )


def test_nothing_else_is_touched() -> None:
    table = read(pd.DataFrame({"text": pd.Series([None], dtype=object), "real": [np.nan]}))
    schema = st.Schema({name: COLUMNS[name] for name in ("text", "real")})

    typed = typed_as_declared(table, schema)

    assert [c.physical for c in typed.columns.values()] == [c.physical for c in table.columns.values()]
    assert typed.origin == table.origin
