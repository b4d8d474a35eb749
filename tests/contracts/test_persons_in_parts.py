"""Persons whose rows lie in several parts: one release with the table in memory, neighbours, and bugs to be found."""

from __future__ import annotations

import hashlib
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_settings import small_parts
from small_tables import neighbours_by_person, persons, with_another_person
from test_persons import declared_as_person
from test_preprocessing_replay import LOOSE, ReplayingPersons, settings
from test_preprocessing_replay import compare_with as compare_preparing
from test_record_and_replay import compare_with

import syntabula as st
from syntabula.errors import DataError
from syntabula.prepare import persons as limits
from syntabula.prepare.persons import Choice, limited_parts
from syntabula.privacy.units import LateUnits
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.read import parts_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SECRET = bytes(range(32))


def written(folder: Path, frame: pd.DataFrame, parts: np.ndarray, suffix: str = ".parquet") -> Path:
    """Write each row to the file of its part, in the order of the rows."""
    folder.mkdir()
    for number in range(int(parts.max(initial=0)) + 1):
        rows = frame[parts == number]
        if suffix == ".parquet":
            table = pa.Table.from_pandas(rows, preserve_index=False)
            pq.write_table(table, folder / f"{number}.parquet", row_group_size=40)
        else:
            rows.to_csv(folder / f"{number}.csv", index=False)
    return folder


def in_parts(folder: Path, frame: pd.DataFrame, n_parts: int, suffix: str = ".parquet") -> Path:
    """Write the table to files of which each holds some rows that follow each other."""
    return written(folder, frame, np.arange(len(frame)) * n_parts // len(frame), suffix)


def release_of(
    source: object, schema: st.Schema, method: Callable[..., Any] = st.MST, **options: object
) -> tuple[str, str, str]:
    """Return a hash of a release's file, its statement, and its rows."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        release = method(seed=5, **options).fit(source, schema)
        release.save(Path(folder) / "release.syn")
        made = hashlib.sha256((Path(folder) / "release.syn").read_bytes()).hexdigest()
        return made, release.privacy.text(), str(release.sample(60, seed=1))


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, st.Schema]:
    return persons(1)


@pytest.fixture(scope="module")
def in_memory(people, tmp_path_factory):
    frame, schema = people
    file = tmp_path_factory.mktemp("whole") / "all.parquet"
    frame.to_parquet(file, index=False)
    return release_of(file, schema)


class TestReleases:
    @pytest.mark.thorough
    @pytest.mark.parametrize("n_parts", [1, 7])
    def test_are_those_of_the_table_in_memory(self, n_parts, people, in_memory, tmp_path):
        frame, schema = people

        assert release_of(in_parts(tmp_path / "parts", frame, n_parts), schema) == in_memory

    @pytest.mark.thorough
    def test_of_two_processes_are_too(self, people, in_memory, tmp_path):
        frame, schema = people

        assert release_of(in_parts(tmp_path / "parts", frame, 3), schema, workers=2) == in_memory

    @pytest.mark.thorough
    def test_of_other_sources_have_the_same_rows(self, people, in_memory, tmp_path):
        polars = pytest.importorskip("polars")
        duckdb = pytest.importorskip("duckdb")
        datasets = pytest.importorskip("pyarrow.dataset")
        frame, schema = people
        folder = in_parts(tmp_path / "parts", frame, 3)
        text = in_parts(tmp_path / "text", frame, 2, ".csv")
        sources = {
            "lazy": polars.scan_parquet(str(folder / "*.parquet")),
            "relation": duckdb.connect().read_parquet(str(folder / "*.parquet")),
            "dataset": datasets.dataset(folder),
            "text": text,
        }

        noisy = {name: release_of(source, schema)[1] for name, source in sources.items()}

        assert set(noisy.values()) == {in_memory[1]}

    @pytest.mark.parametrize("name", ["tab-pe", pytest.param("dp-merf", marks=pytest.mark.thorough)])
    def test_of_methods_that_ask_for_records_are_too(self, name, people, tmp_path):
        frame, schema = people
        method = partial(st.synthesizer(name), **small_parts(name))
        frame.to_parquet(tmp_path / "all.parquet", index=False)
        # Rows without a known job are left out, and so are their units' places.
        fewer = replace(schema, columns={**schema.columns, "job": st.Categorical(("cook", "judge"))})

        whole = release_of(tmp_path / "all.parquet", fewer, method)

        assert release_of(in_parts(tmp_path / "parts", frame, 3), fewer, method) == whole

    @pytest.mark.thorough
    def test_without_declarations_but_that_of_the_key_are_too(self, people, tmp_path):
        frame, schema = people
        frame.to_parquet(tmp_path / "all.parquet", index=False)
        declared = declared_as_person(schema)

        whole = release_of(tmp_path / "all.parquet", declared, epsilon=20.0)

        assert release_of(in_parts(tmp_path / "parts", frame, 3), declared, epsilon=20.0) == whole

    @pytest.mark.thorough
    def test_with_rules_are_too(self, people, tmp_path):
        frame, schema = people
        frame.to_parquet(tmp_path / "all.parquet", index=False)
        ruled = replace(schema, rules=st.Rules(require=["not (member and age > 60)"]))

        whole = release_of(tmp_path / "all.parquet", ruled)

        assert release_of(in_parts(tmp_path / "parts", frame, 3), ruled) == whole


def limit_each_part(patch: pytest.MonkeyPatch) -> None:
    """Keep k rows of a person in each part, instead of over all of them."""

    def limited(parts: RawParts, *others: object) -> tuple[RawParts, LateUnits]:
        each = [limited_parts(replace(parts, parts=(p,), _n_rows=[]), *others) for p in parts.parts]
        kept = tuple(table.parts[0] for table, _ in each)
        return replace(parts, parts=kept, _n_rows=[sum(p.n_rows for p in kept)]), each[0][1]

    patch.setattr(limits, "limited_parts", limited)


class TestChoice:
    def choice(self, folder: Path, most_held: int = 10**6) -> Choice:
        frame, schema = persons(1)
        return Choice(parts_of(in_parts(folder, frame, 3), schema), schema, SECRET, most_held)

    @pytest.mark.thorough
    @pytest.mark.parametrize("most_held", [1, 30])
    def test_does_not_depend_on_how_many_rows_are_held(self, most_held, tmp_path):
        whole, few = self.choice(tmp_path / "a"), self.choice(tmp_path / "b", most_held)
        right, found = whole.made(), few.made()

        for one, other in zip(right.kept, found.kept, strict=True):
            assert (one.bits == other.bits).all()
            assert (one.n_rows, one.n_read, one.check) == (other.n_rows, other.n_read, other.check)
        assert (right.sizes.counts == found.sizes.counts).all()
        assert (whole.units().words == few.units().words).all()
        assert (whole.units().ranks == few.units().ranks).all()
        assert len(np.unique(whole.units().numbers)) == len(np.unique(few.units().numbers))

    def test_holds_no_more_rows_than_stated(self, tmp_path):
        choice = self.choice(tmp_path / "parts", 50)
        held, high = choice._held(0)

        assert sum(rows.places.size for rows in held) <= 50
        assert high < 2**64

    def test_ends_where_one_person_has_more_rows_than_are_held(self, tmp_path):
        frame, schema = persons(1)
        folder = in_parts(tmp_path / "parts", frame.assign(who="same"), 2)
        found = Choice(parts_of(folder, schema), schema, SECRET, 20).made()

        assert sum(kept.n_rows for kept in found.kept) == 3
        assert (found.sizes.values.tolist(), found.sizes.counts.tolist()) == ([3], [1])

    def test_shows_nothing_of_rows(self, tmp_path):
        choice = self.choice(tmp_path / "parts")
        kept, units = limited_parts(choice.parts, choice.schema, SECRET, 4000.0)

        shown = f"{kept!r} {units!r} {choice!r} {choice.made()!r} {choice.made().kept[0]!r} {kept.parts[0]!r}"
        shown = shown.replace(str(tmp_path), "")
        shown = re.sub(" at 0x[0-9a-f]+", "", shown)  # an address in memory may hold any digits
        assert "bits" not in shown
        assert str(kept.n_rows) not in shown


class TestRefusals:
    def test_of_rows_without_a_key_say_that_this_depends_on_the_data(self, people, tmp_path):
        frame, schema = people
        frame = frame.copy()
        frame.loc[7, "who"] = None

        with pytest.raises(DataError, match="names the unit, but has cells that are empty"):
            st.MST().fit(in_parts(tmp_path / "parts", frame, 2), schema)

    def test_of_a_stream_that_gives_its_rows_in_another_order_later(self, people):
        polars = pytest.importorskip("polars")
        frame, schema = people
        turned = []
        frames = polars.from_pandas(frame).lazy().map_batches(lambda rows: rows.reverse() if turned else rows)
        kept, _ = limited_parts(parts_of(frames, schema), schema, SECRET, 4000.0)
        assert sum(piece.n_rows for piece in kept.pieces()) == kept.n_rows

        turned.append(True)

        with pytest.raises(DataError, match="changed while it was read: a later pass found other rows"):
            _ = [*kept.of(["age"]).pieces()]


def spread(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a part for each row; a person's rows lie in several."""
    return frame.assign(part=np.random.default_rng(8).integers(0, 3, len(frame)))


def neighbours(folder: Path, frame: pd.DataFrame, suffix: str = ".parquet") -> Iterator[tuple[str, Path]]:
    """Write tables without, or with, all rows of one person; the rows of others stay in their parts."""
    for number, (name, other) in enumerate((*neighbours_by_person(frame), *with_another_person(frame))):
        part = other["part"].to_numpy(copy=True)
        new = (other["who"] == "somebody else").to_numpy()
        part[new] = np.arange(new.sum()) % 3
        yield name, written(folder / str(number), other.drop(columns="part"), part, suffix)


def compare(folder: Path, method: str, budget: str, seed: int) -> int:
    folder.mkdir()
    frame, schema = persons(seed)
    frame = spread(frame)
    whole = written(folder / "whole", frame.drop(columns="part"), frame["part"].to_numpy())
    return compare_with(method, budget, seed, folder, whole, schema, neighbours(folder, frame))


class TestRecordAndReplay:
    @pytest.mark.parametrize(
        ("method", "budget", "seed"),
        [
            ("mst", "approximate", 1),
            *(
                pytest.param(*run, marks=pytest.mark.thorough)
                for run in (
                    *(("aim", "approximate", 1), ("tab-pe", "approximate", 2)),
                    *(("independent", "approximate", 2), ("independent", "pure", 1)),
                    *(("privbayes", "approximate", 1), ("privbayes", "pure", 2)),
                )
            ),
        ],
    )
    def test_neighbours_differ_only_within_the_sensitivity_to_a_person(self, method, budget, seed, tmp_path):
        assert compare(tmp_path / "tables", method, budget, seed) >= 5

    @pytest.mark.thorough
    def test_so_do_domains_and_types_that_are_found(self, tmp_path):
        frame, schema = persons(2)
        frame = spread(frame)
        whole = written(tmp_path / "whole", frame.drop(columns="part"), frame["part"].to_numpy(), ".csv")
        options = {"replaying": ReplayingPersons, "budget": LOOSE, **settings("privtree", "even")}
        others = [*neighbours(tmp_path, frame, ".csv")][:3]
        pairs, run = compare_preparing(2, tmp_path, whole, declared_as_person(schema), others, **options)

        assert pairs == 3
        assert any(spend.step.startswith("find the type") for spend in run.spends)

    @pytest.mark.thorough
    def test_finds_that_rows_are_limited_in_each_part_alone(self, tmp_path, monkeypatch):
        """A planted bug, which the comparisons above have to find."""
        limit_each_part(monkeypatch)

        with pytest.raises((AssertionError, pytest.fail.Exception)):
            compare(tmp_path / "tables", "mst", "approximate", 1)
