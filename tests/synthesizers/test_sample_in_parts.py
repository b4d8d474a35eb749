"""Samples that are drawn and written in parts, each of which can be drawn alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError
from syntabula.table.files import files

TABLE = pd.DataFrame(
    {
        "a": np.random.default_rng(0).integers(0, 8, 400),
        "b": np.random.default_rng(1).choice(["x", "y"], 400),
        "c": "p",
    }
)
COLUMNS = {
    "a": st.Numeric(0, 7, integer=True),
    "b": st.Categorical(("x", "y")),
    "c": st.Identifier(prefix="p"),
}


@pytest.fixture(scope="module")
def release() -> st.Release:
    return st.MST(epsilon=5.0, seed=1).fit(TABLE, st.Schema(COLUMNS))


@pytest.fixture(scope="module")
def ruled() -> st.Release:
    rules = st.Rules(derive={"d": "a * 2"}, require=["a != 3"])
    return st.MST(epsilon=5.0, seed=1).fit(
        TABLE[TABLE["a"] != 3], st.Schema(COLUMNS | {"d": st.Numeric(0, 14, integer=True)}, rules=rules)
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def frame(folder: Path) -> pd.DataFrame:
    return pd.concat([pd.read_csv(file) for file in sorted(folder.iterdir())], ignore_index=True)


class TestRows:
    @pytest.mark.thorough
    def test_parts_together_hold_the_rows_and_no_identifier_twice(
        self, release: st.Release, tmp_path: Path
    ) -> None:
        for n, parts in [(1000, 7), (10, 10), (3, 5), (0, 2)]:
            folder = tmp_path / f"{n}.csv"

            drawn = release.sample_to(folder, n, seed=2, parts=parts)

            assert drawn == n
            assert len(contents(folder)) == parts
            assert frame(folder)["c"].tolist() == [f"p{i}" for i in range(1, n + 1)]

    def test_parts_follow_the_model_and_differ(self, release: st.Release, tmp_path: Path) -> None:
        release.sample_to(tmp_path / "t.csv", 4000, seed=3, parts=4)

        drawn = frame(tmp_path / "t.csv")
        expected = release.marginals([("b",)])[0]
        counts = drawn["b"].value_counts().reindex(["x", "y"]).to_numpy()
        # Rounding keeps each code within one row of its expectation in each part.
        assert np.abs(counts - 4000 * expected / expected.sum()).max() <= 4
        assert not drawn["a"][:1000].equals(drawn["a"][1000:2000].reset_index(drop=True))

    def test_the_folder_says_the_format(self, release: st.Release, tmp_path: Path) -> None:
        for folder, file in [
            ("plain", "part-2-of-2.parquet"),
            ("t.2026.jsonl.gz", "part-2-of-2.jsonl.gz"),
            ("t.2026.tsv", "part-2-of-2.tsv"),
        ]:
            assert release.sample_to(tmp_path / folder, 9, seed=1, parts=2, part=2) == 5
            assert [*contents(tmp_path / folder)] == [file]

    @pytest.mark.thorough
    def test_rows_of_a_unit_that_a_part_ends_within_keep_their_key(self, tmp_path: Path) -> None:
        persons = pd.DataFrame({"key": np.repeat(np.arange(100), 3), "b": ["x", "y", "y"] * 100})
        schema = st.Schema(
            {"key": st.Identifier(integer=True), "b": st.Categorical(("x", "y"))},
            unit="key",
            rows_per_unit=3,
        )
        release = st.MST(epsilon=5.0, seed=1).fit(persons, schema)

        # A path may be text.
        release.sample_to(str(tmp_path / "t.csv"), 100, seed=3, parts=7)
        release.sample_to(tmp_path / "whole.csv", 100, seed=3)

        assert frame(tmp_path / "t.csv")["key"].equals(pd.read_csv(tmp_path / "whole.csv")["key"])


class TestOnePart:
    @pytest.mark.parametrize("where", [None, {"b": "x", "d": (2, 10)}, {"a": (1, 5)}])
    @pytest.mark.parametrize("kind", ["release", pytest.param("ruled", marks=pytest.mark.thorough)])
    def test_is_the_same_file_alone(
        self, kind: str, where: dict[str, Any] | None, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        drawn_from: st.Release = request.getfixturevalue(kind)
        if where is not None and kind == "release":
            where = {name: wanted for name, wanted in where.items() if name != "d"}
        whole, alone = tmp_path / "whole.csv", tmp_path / "alone.csv"

        drawn_from.sample_to(whole, 500, where=where, seed=4, parts=5)
        for part in (4, 2):
            drawn_from.sample_to(alone, 500, where=where, seed=4, parts=5, part=part)

        assert {name: contents(whole)[name] for name in contents(alone)} == contents(alone)
        assert len(contents(alone)) == 2
        if kind == "ruled":
            rows = frame(whole)
            assert (rows["d"] == 2 * rows["a"]).all()
            assert not (rows["a"] == 3).any()

    def test_keeps_the_rows_of_a_given_table(self, release: st.Release, tmp_path: Path) -> None:
        given = pd.DataFrame({"b": ["x", "y", "y", "x", "y"]})

        release.sample_to(tmp_path / "whole.csv", given=given, seed=5, parts=2)
        release.sample_to(tmp_path / "alone.csv", given=given, seed=5, parts=2, part=2)

        assert frame(tmp_path / "whole.csv")["b"].tolist() == given["b"].tolist()
        assert frame(tmp_path / "alone.csv")["b"].tolist() == ["y", "x", "y"]

    def test_without_a_seed_parts_differ_in_every_draw(self, release: st.Release, tmp_path: Path) -> None:
        for name in ("one.csv", "other.csv"):
            release.sample_to(tmp_path / name, 200, parts=2, part=1)

        # Equal only if 100 rows of 16 cells agree by chance.
        assert contents(tmp_path / "one.csv") != contents(tmp_path / "other.csv")


class TestRefused:
    def test_what_is_no_part(self, release: st.Release, tmp_path: Path) -> None:
        for arguments, said in [
            ({"parts": 0}, "parts must be"),
            ({"parts": 1.5}, "parts must be"),
            ({"parts": 100_001}, "parts must be at most 100,000"),
            ({"parts": 3, "part": 4}, "part must be at most 3"),
            ({"parts": 3, "part": 0}, "part must be"),
            ({"part": 1}, "part needs parts"),
            ({"parts": 3, "seed": -1}, "seed"),
        ]:
            with pytest.raises(ArgumentError, match=said):
                release.sample_to(tmp_path / "t.csv", 10, **arguments)

            assert not [*tmp_path.iterdir()]

    def test_a_folder_of_another_table(self, release: st.Release, tmp_path: Path) -> None:
        for name in (
            "part-1-of-3.csv",
            "part-1-of-2.tsv",
            "part-01-of-2.csv",
            "part-3-of-2.csv",
            "notes.txt",
        ):
            folder = tmp_path / f"{name}.csv"
            folder.mkdir()
            (folder / name).write_text("mine")
            with pytest.raises(DataError, match="holds files that are no parts of a table in 2 parts"):
                release.sample_to(folder, 10, parts=2)
            assert contents(folder) == {name: b"mine"}

    def test_a_file_or_a_folder_without_parent(self, release: st.Release, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("mine")
        for place in (tmp_path / "t.csv", tmp_path / "none" / "t.csv"):
            with pytest.raises(DataError, match="cannot write parts to"):
                release.sample_to(place, 10, parts=2)
        with pytest.raises(ArgumentError, match="suffix"):
            release.sample_to(tmp_path / "t.xml", 10, parts=2)

        assert contents(tmp_path) == {"t.csv": b"mine"}

    def test_a_disk_that_is_full_leaves_no_half_file(
        self, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, written = files._write, []

        def fails(pieces: Any, path: str, *rest: Any) -> None:
            if written:
                Path(path).write_bytes(b"half")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            written.append(path)
            write(pieces, path, *rest)

        monkeypatch.setattr(files, "_write", fails)

        with pytest.raises(DataError, match=r"part-2-of-3\.csv.*No space left on device"):
            release.sample_to(tmp_path / "t.csv", 90, seed=6, parts=3)
        assert [*contents(tmp_path / "t.csv")] == ["part-1-of-3.csv"]

        with pytest.raises(DataError, match="No space left"):
            release.sample_to(tmp_path / "other.csv", 90, seed=6, parts=3)
        assert not (tmp_path / "other.csv").exists()
