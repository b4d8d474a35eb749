"""Files that put all cells in quotes, as a schema may declare, since a header says so of texts alone."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.draft import draft_schema
from syntabula.table.schema.schema import Schema


def written(path: Path, quoting: int) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting)  # type: ignore[arg-type]
        writer.writerows([["age", "city"], *([20 + i % 50, "ab"[i % 2]] for i in range(200))])
    return path


def test_a_draft_declares_it_and_all_that_is_drawn_is_in_quotes(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", csv.QUOTE_ALL)

    schema, _ = draft_schema(path)
    release = st.Independent(epsilon=1.0, seed=0, allow_observed=True).fit(path, schema)

    assert schema.quotes == "all"
    assert Schema.from_json(schema.to_json()) == schema
    release.sample_to(tmp_path / "drawn.csv", 50, seed=0)
    lines = (tmp_path / "drawn.csv").read_text().split()
    assert lines[0] == '"age","city"'
    assert all(line.count('"') == 4 for line in lines)


def test_beside_found_columns_it_is_declared_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", csv.QUOTE_ALL)

    # Seeded.
    release = st.Independent(epsilon=5.0, seed=0).fit(path, Schema({}, others="find", quotes="all"))

    release.sample_to(tmp_path / "drawn.csv", 50, seed=0)
    assert all(line.count('"') == 4 for line in (tmp_path / "drawn.csv").read_text().split())


def test_a_draft_of_a_file_of_texts_in_quotes_declares_nothing(tmp_path: Path) -> None:
    assert draft_schema(written(tmp_path / "t.csv", csv.QUOTE_NONNUMERIC))[0].quotes is None


def test_another_word_is_refused() -> None:
    with pytest.raises(SchemaError, match="quotes must be 'all'"):
        Schema({}, others="find", quotes="none")  # type: ignore[arg-type]


def test_a_folder_has_them_if_all_of_its_files_have(tmp_path: Path) -> None:
    quotings = {
        "all": [csv.QUOTE_ALL] * 2,
        "one": [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC],
        "none": [csv.QUOTE_MINIMAL],
    }
    for name, of_files in quotings.items():
        folder = tmp_path / name
        folder.mkdir()
        for number, quoting in enumerate(of_files):
            written(folder / f"{number}.csv", quoting)
        for place, source in enumerate((folder, folder / "*.csv")):
            release = st.Independent(epsilon=math.inf, seed=0).fit(source)
            release.sample_to(tmp_path / f"{name}{place}.csv", 50, seed=0)

            lines = (tmp_path / f"{name}{place}.csv").read_text().split()[1:]

            assert all((line.count('"') == 4) is (name == "all") for line in lines), (name, source)
