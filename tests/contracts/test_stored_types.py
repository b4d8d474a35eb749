"""One record may change how a table is stored: a type, a width, an encoding, an order. Nothing of that comes out.

Record and replay, as in test_record_and_replay, for what every library and file format makes of the same texts. Where a
schema declares all columns, all that is released is the same; where not, the statement names the columns whose
stored types it rests on.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording import RecordingNoise, ReplayingNoise
from stored_sources import ODD, RECORDS, SCHEMA, SOURCES, Record, record
from stored_variants import VARIANTS
from test_record_and_replay import Run, check

import syntabula as st
from syntabula.privacy.noise import SeededNoise
from syntabula.synthesizers import reading
from syntabula.table.frames import retyping
from syntabula.table.read import read

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.CoercionWarning")
SUFFIXES = ("csv", "tsv", "jsonl", "parquet", "arrow")
CLASSES = [*ODD]
# Libraries that cannot make a table of such a cell at all.
UNMADE = {("pandas.read_csv, Arrow", "a number of 30 digits"), ("Parquet file", "a number of 30 digits")}

WITH_A_FORM = ("semicolons", "quotes", "a mark in front", "other ends of lines")
# Of each library, and of each way to read a file.
ONE_OF_EACH = (
    *("pandas.read_csv", "pandas.read_csv, Arrow", "pandas, values", "pandas, categories", "polars.read_csv"),
    *("duckdb.read_csv", "CSV file", "JSON Lines file", "Parquet file"),
)


def method(noise: Any) -> st.Independent:
    even = st.Preprocessing(discretizer="uniform")
    return st.Independent(epsilon=1.0, bins=8, rare=None, preprocessing=even, noise=noise)


def first(table: Any, folder: Path) -> Run:
    return Run(method(RecordingNoise(SeededNoise(0))), table, SCHEMA, folder)


def again(table: Any, before: Run, folder: Path) -> Run:
    replay = ReplayingNoise(SeededNoise(0), script=before.noise.calls)
    return Run(method(replay), table, SCHEMA, folder)


def mixed(source: str, turn: int) -> Record:
    """Return a record with cells of all classes, each in another column for each source and turn."""
    start = 5 * turn + 3 * [*SOURCES].index(source)
    names = [CLASSES[(start + place) % len(CLASSES)] for place in range(len(SCHEMA))]
    cells = ["2.5" if (source, name) in UNMADE else ODD[name] for name in names]
    return dict(zip(SCHEMA, cells, strict=True)) | {"key": "5"}


class TestOneMoreRecord:
    @pytest.mark.thorough
    @pytest.mark.parametrize("source", SOURCES)
    def test_of_any_cells_changes_nothing_but_the_inputs_of_the_noise(
        self, source: str, tmp_path: Path
    ) -> None:
        make = SOURCES[source]
        before = first(make(RECORDS, tmp_path), tmp_path)

        for turn in range(3):
            check(before, again(make([*RECORDS, mixed(source, turn)], tmp_path), before, tmp_path))

    @pytest.mark.thorough
    @pytest.mark.parametrize("source", ["pandas, values", "polars, values", "JSON Lines file"])
    @pytest.mark.parametrize("cell", [{"a": 2.5}, ["x", ["y"]]], ids=str)
    def test_of_nested_cells_does_neither(self, source: str, cell: Any, tmp_path: Path) -> None:
        make = SOURCES[source]
        before = first(make(RECORDS, tmp_path), tmp_path)

        check(before, again(make([*RECORDS, record(cell)], tmp_path), before, tmp_path))

    @pytest.mark.thorough
    @pytest.mark.parametrize("source", ONE_OF_EACH)
    def test_may_be_the_only_one(self, source: str, tmp_path: Path) -> None:
        # All cells are missing, but those of the key: there is no type at all to be guessed.
        make, nothing = SOURCES[source], record("") | {"key": "5"}
        before = first(make([nothing], tmp_path), tmp_path)

        check(before, again(make([nothing, mixed(source, 5)], tmp_path), before, tmp_path))


class TestHowItIsStored:
    @pytest.mark.thorough
    @pytest.mark.parametrize("kind", VARIANTS)
    def test_changes_nothing_at_all(self, kind: str, tmp_path: Path) -> None:
        before = first(VARIANTS[kind]["as it is"](tmp_path), tmp_path)

        for name, make in VARIANTS[kind].items():
            same = again(make(tmp_path), before, tmp_path)
            if name in WITH_A_FORM:
                # Separator, quotes, mark and ends of lines are public, and kept for the rows that are written.
                assert same.release.origin.dialect is not None
                same.released["file"] = before.released["file"]
            check(before, same)
            for one, other in zip(before.noise.calls, same.noise.calls, strict=True):
                np.testing.assert_array_equal(one.exact, other.exact)

    @pytest.mark.thorough
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_shows_in_no_file_of_any_format(self, suffix: str, tmp_path: Path) -> None:
        make = SOURCES["pandas.read_csv"]
        before = first(make(RECORDS, tmp_path), tmp_path)
        after = again(make([*RECORDS, mixed("pandas.read_csv", 1)], tmp_path), before, tmp_path)
        after.release.save(tmp_path / "r.syn")

        written = []
        for release in (before.release, after.release, st.load(tmp_path / "r.syn")):
            release.sample_to(tmp_path / f"o.{suffix}", 20, seed=1)
            written.append((tmp_path / f"o.{suffix}").read_bytes())

        assert written[0] == written[1] == written[2]


FOUND = ("age", "flag", "job", "day")
COLUMNS = st.Schema({name: SCHEMA[name] for name in ("age", "flag")}, others="find")


def some(records: list[Record]) -> list[Record]:
    """Return records of some columns, many times, so that their domains are found."""
    return [{name: r[name] for name in FOUND} for r in records] * 20


def retyped(source: str, folder: Path) -> list[str]:
    """Return the columns whose stored types one more record changes, of any class."""
    make, changed = SOURCES[source], set()
    before = read(make(some(RECORDS), folder)).columns
    for cell in ("", "x", "2021-05-06 07:08:09"):
        after = read(make([*some(RECORDS), dict.fromkeys(FOUND, cell)], folder)).columns
        changed |= {name for name in FOUND if before[name].physical != after[name].physical}
    return [name for name in FOUND if name in changed]


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
class TestColumnsThatAreFound:
    @pytest.mark.thorough
    @pytest.mark.parametrize("source", ONE_OF_EACH)
    def test_are_named_where_a_record_decides_their_stored_types(self, source: str, tmp_path: Path) -> None:
        changed = retyped(source, tmp_path)
        table = SOURCES[source](some(RECORDS), tmp_path)

        everything = st.Independent(epsilon=100.0, seed=0).fit(table).privacy
        part = st.Independent(epsilon=100.0, seed=0).fit(table, COLUMNS).privacy

        assert {"age", "flag"} <= {*changed}
        for statement, found in ((everything, FOUND), (part, FOUND[2:])):
            if source in ("CSV file", "TSV file"):
                # Their types are found under differential privacy: see test_text_file_replay.
                assert (statement.stored_types, statement.types_read) == ((), False)
            elif source == "JSON Lines file":
                assert statement.types_read
                assert "(and in JSON, the set of columns) were inferred from the cells" in statement.text()
            else:
                assert statement.stored_types == found
                assert (
                    f"unless the stored types of {len(found)} of 4 columns" in statement.reasons_against[-1]
                )
                assert ", ".join(found) in statement.reasons_against[-1]


class TestPlantedBugs:
    @pytest.mark.thorough
    def test_stored_types_that_come_out_are_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = reading.read

        def stored(source: Any, schema: st.Schema | None = None) -> Any:
            return replace(right(source, schema), origin=right(source).origin)

        monkeypatch.setattr(reading, "read", stored)

        with pytest.raises(AssertionError):
            self.compare(tmp_path, "")

    def test_cells_that_are_read_by_their_stored_type_are_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # As if 007 were the category 7 in a column of numbers, and another one in a column of texts.
        monkeypatch.setattr(retyping._Texts, "_text", lambda self, text: text)

        with pytest.raises(AssertionError):
            self.compare(tmp_path, "x")

    @staticmethod
    def compare(folder: Path, cell: str) -> None:
        make = SOURCES["pandas.read_csv"]
        before = first(make(RECORDS, folder), folder)
        check(before, again(make([*RECORDS, record(cell)], folder), before, folder))
