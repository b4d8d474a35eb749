"""Texts that cells hold in place of numbers are read, coded and written beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError, SchemaError
from syntabula.table.coding.code_texts import code_texts
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import allowed
from syntabula.table.files.files import write_table
from syntabula.table.frames.conform import conform, output_type
from syntabula.table.raw import Origin, PhysicalType, RawColumn
from syntabula.table.read import read

CELLS = ["<0.5", "1.5", ">9", None, "12", "much", "2", "<0.5"]
COLUMN = st.Numeric(0, 10, decimals=1, texts=("<0.5", ">9"), nullable=True)
SCHEMA = st.Schema({"x": COLUMN, "y": st.Identifier()})
CODEC = Codec.plan(SCHEMA, bins=4)
N_BINS = CODEC.bins["x"].size
NAMES = [f"n{i}" for i in range(len(CELLS))]


def frame(cells):
    return pandas.DataFrame({"x": cells, "y": NAMES[: len(cells)]})


def sources(folder: Path):
    for name, mark in (("a.csv", ","), ("a.tsv", "\t")):
        rows = [f"{cell or ''}{mark}{y}" for cell, y in zip(CELLS, NAMES, strict=True)]
        (folder / name).write_text("\n".join([f"x{mark}y", *rows]))
        yield folder / name
    mixed = [float(c) if c and c[0].isdigit() else c for c in CELLS]
    rows = [json.dumps({"x": cell, "y": y}) for cell, y in zip(mixed, NAMES, strict=True)]
    (folder / "a.jsonl").write_text("\n".join(rows))
    yield folder / "a.jsonl"
    yield frame(CELLS)
    yield frame(pandas.Series(mixed, dtype=object))
    yield frame(pandas.Categorical(CELLS))
    yield polars.DataFrame({"x": CELLS, "y": NAMES})
    yield pyarrow.table({"x": CELLS, "y": NAMES})


def test_each_text_has_a_code_of_its_own_however_the_column_is_stored(tmp_path):
    for source in sources(tmp_path):
        table, coercions = CODEC.encode(read(source, SCHEMA))

        found = table.column("x").astype(int)
        assert found[[0, 7]].tolist() == [N_BINS, N_BINS]
        assert found[2] == N_BINS + 1
        assert found[[3, 5]].tolist() == [N_BINS + 2, N_BINS + 2]
        assert (found[[1, 4, 6]] < N_BINS).all()
        assert (coercions.clipped, coercions.unreadable, coercions.missing) == ({"x": 1}, {"x": 1}, {})
        assert not coercions.none_fit


def test_a_column_that_is_never_missing_may_hold_texts():
    schema = st.Schema({"x": st.Numeric(0, 9, texts=("<5",))})

    table, coercions = Codec.plan(schema).encode(
        read(pandas.DataFrame({"x": ["<5", "6"]}), schema), strict=True
    )

    assert table.n_rows == 2
    assert not coercions
    assert Codec.plan(schema).domain.apart == {"x": 1}


def test_numbers_in_a_format_may_have_texts_beside_them():
    schema = st.Schema({"x": st.Numeric(0, 9999, decimals=1, format="1.234,5 €", texts=("unpaid",))})

    raw = read(pandas.DataFrame({"x": [" unpaid ", "1.234,5 €", "1234,5"]}), schema).columns["x"]

    assert raw.beside.texts().tolist() == ["unpaid", "", ""]
    assert raw.values[1:].tolist() == [1234.5, 1234.5]


def test_what_is_drawn_is_written_as_it_was_read():
    rng = np.random.default_rng(0)
    table, _ = CODEC.encode(read(frame(CELLS), SCHEMA))

    drawn = CODEC.decode(table, rng)["x"]

    for container in ("pandas", "polars", "pyarrow", "csv", "jsonl"):
        written = conform(drawn, output_type(COLUMN, container))
        assert written.physical.kind == "text"
        assert written.values[[0, 2, 7]].tolist() == ["<0.5", ">9", "<0.5"]
        assert np.flatnonzero(written.missing).tolist() == [3, 5]
        assert all(0 <= float(text) <= 10 for text in written.values[[1, 4, 6]])
    again, _ = CODEC.encode(read(frame(np.where(written.missing, None, written.values)), SCHEMA))
    assert (again.column("x") == table.column("x")).all()


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ({"decimals": 1}, ["15.0", "1.5"]),
        ({"decimals": 2}, ["15.0", "1.5"]),
        ({"step": 0.5}, ["15.0", "1.5"]),
        ({}, ["15.0", "1.5"]),
        ({"decimals": 1, "format": "1234.5"}, ["15", "1.5"]),
        ({"decimals": 1, "format": "1234.50"}, ["15.00", "1.50"]),
        ({"decimals": 0}, ["15", "2"]),
        ({"integer": True}, ["15", "2"]),
    ],
)
def test_numbers_are_written_as_without_texts_beside_them(form, texts, tmp_path):
    numbers = [15.0, 1.5] if "." in texts[1] else [15, 2]
    kind = "float" if "." in texts[1] else "integer"
    drawn = RawColumn(np.array(numbers), np.zeros(2, dtype=bool), PhysicalType(kind, ""))
    beside, bare = st.Numeric(0, 20, texts=["<1"], **form), st.Numeric(0, 20, **form)

    written = [conform(drawn, output_type(column, "csv")) for column in (beside, bare)]

    assert written[0].values.tolist() == texts
    write_table({"x": written[1], "y": written[0]}, tmp_path / "a.csv", Origin("csv", {}))
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["x,y", *(f"{text},{text}" for text in texts)]


def test_conditions_ask_for_numbers_texts_or_missing_cells():
    raw = read(frame(CELLS), SCHEMA).columns["x"]
    for condition, rows in [
        ("<0.5", [0, 7]),
        (">9", [2]),
        ("<3", [1, 6]),
        ((0, 3), [1, 6]),
        ([">9", ">9.5"], [2, 4]),
        (None, [3, 5]),
        ([None, "<0.5"], [0, 3, 5, 7]),
        (..., [0, 1, 2, 4, 6, 7]),
    ]:
        found = satisfies(COLUMN, raw, allowed("x", COLUMN, condition))
        assert np.flatnonzero(found).tolist() == rows, condition
    with pytest.raises(ArgumentError, match="cannot be read as a number"):
        allowed("x", COLUMN, "trace")


def test_models_that_read_text_see_the_texts():
    assert code_texts(CODEC)["x"][N_BINS:] == ['"<0.5"', '">9"', "null"]


def test_schema_files_keep_them(tmp_path):
    SCHEMA.to_yaml(tmp_path / "a.yaml")

    assert st.Schema.from_yaml(tmp_path / "a.yaml") == SCHEMA
    text = "version: 1\ncolumns: {x: {kind: numeric, lower: 0, upper: 9, texts: [12]}}"
    (tmp_path / "b.yaml").write_text(text)
    with pytest.raises(SchemaError, match="in quotes"):
        st.Schema.from_yaml(tmp_path / "b.yaml")


def test_rules_cannot_use_such_a_column():
    columns = {"x": COLUMN, "y": st.Numeric(0, 10, nullable=True), "z": st.Numeric(0, 20, nullable=True)}
    for rules in (
        st.Rules(order=[["x", "y"]]),
        st.Rules(require=["x < y"]),
        st.Rules(derive={"z": "x + y"}),
        st.Rules(together=[["x", "y"]]),
    ):
        with pytest.raises(SchemaError, match="texts instead of numbers"):
            st.Schema(columns, rules=rules)


def test_a_strict_reading_takes_them_for_values():
    with pytest.raises(DataError, match="cannot be read"):
        CODEC.encode(read(frame(["<1", "2"]), SCHEMA), strict=True)
    CODEC.encode(read(frame(["<0.5", "2"]), SCHEMA), strict=True)
