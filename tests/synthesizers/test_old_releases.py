"""Release files of earlier formats open and say what they said when they were written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import syntabula as st
from syntabula.cli.main import main
from syntabula.synthesizers.release_file import FORMAT_VERSION, read_release, write_release

FOLDERS = sorted((Path(__file__).parents[1] / "data").glob("release_format_*"))
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.syn"))
PAIRS = [("code", "flag"), ("age", "code"), ("day", "income")]


def recorded(path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((path.parent / "expected.json").read_text())[path.stem]
    return facts


def test_there_are_files_of_the_present_format() -> None:
    """Whoever changes the format adds its files: see tests/data/write_releases.py."""
    assert f"release_format_{FORMAT_VERSION}" in [folder.name for folder in FOLDERS]
    for folder in FOLDERS:
        names = {path.stem for path in folder.glob("*.syn")}
        assert names == set(json.loads((folder / "expected.json").read_text()))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
class TestFile:
    def test_it_says_what_it_said(self, path: Path) -> None:
        release, was = st.load(path), recorded(path)

        assert release.method == was["method"]
        assert release.n_estimated == was["n_estimated"]
        assert release.privacy.budget.epsilon == was["epsilon"]
        assert len(release.schema) == 9
        # Wording may get better, what was spent may not.
        assert math.isclose(release.privacy.epsilon_spent or 0.0, was["epsilon_spent"])
        # All columns come out as they were stored, which their statement did not say.
        assert release.privacy.stored_types == tuple(release.schema)

    def test_it_says_that_the_parameters_of_its_draws_were_not_recorded(self, path: Path) -> None:
        privacy = st.load(path).privacy
        recorded_draws = [line.events is not None for line in privacy.lines]

        if path.parent.name == "release_format_1":
            assert not any(recorded_draws)
        else:
            assert all(recorded_draws)
        assert ("did not record the parameters of each draw" in privacy.text()) == (not all(recorded_draws))

    def test_it_answers_and_draws_what_it_did(self, path: Path) -> None:
        release, was = st.load(path), recorded(path)

        for found, expected in zip(release.marginals(PAIRS), was["marginals"], strict=True):
            np.testing.assert_allclose(found.ravel(), expected, rtol=1e-6, atol=1e-6)
        assert release.sample(12, seed=5).to_csv(index=False).splitlines() == was["rows"]

    def test_it_keeps_identifiers_of_which_it_learned_nothing(self, path: Path, tmp_path: Path) -> None:
        # A schema that lets them be missing meant nothing until which are was learned.
        facts, arrays = read_release(path)
        facts["codec"]["schema"]["columns"]["id"]["nullable"] = True
        write_release(tmp_path / "old.syn", facts, arrays)

        release = st.load(tmp_path / "old.syn")

        assert not release.schema["id"].nullable
        assert release.sample(12, seed=5).to_csv(index=False).splitlines() == recorded(path)["rows"]

    def test_the_commands_read_it(
        self, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["info", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["method"] == recorded(path)["method"]
        assert main(["sample", str(path), "--rows", "3", "-o", str(tmp_path / "o.csv"), "--quiet"]) == 0
        assert len((tmp_path / "o.csv").read_text().splitlines()) == 4

    def test_it_is_saved_again_as_itself(self, path: Path, tmp_path: Path) -> None:
        st.load(path).save(tmp_path / "again.syn")

        again = st.load(tmp_path / "again.syn")
        assert again.privacy == st.load(path).privacy
        assert again.sample(12, seed=5).to_csv(index=False).splitlines() == recorded(path)["rows"]


CROSSING = sorted((Path(__file__).parents[1] / "data" / "crossing_orders").glob("*.syn"))


@pytest.mark.parametrize("path", CROSSING, ids=lambda p: p.stem)
def test_orders_that_cross_are_read_as_they_were_learned(path: Path) -> None:
    """These files, of 0e59584a, do not say what columns are distances from; each table has 2,000 rows made up.

    The orders are [a, b, d] and [a, c, d] (diamond); these as four pairs (pairs); [a, c], [a, d], [b, c] and [b, d]
    (crown); and of days [a, d] and [a, b] with b <= d and a <= c as conditions.
    """
    facts, _ = read_release(path)

    rows = st.load(path).sample(50, seed=5)

    assert "distances" not in facts
    assert rows.to_csv(index=False) == path.with_suffix(".csv").read_text()
