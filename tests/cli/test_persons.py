"""Every command on a table in which persons have several rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

SCHEMA = """\
version: 1
columns:
  patient: {kind: identifier}
  age: {kind: numeric, lower: 0, upper: 99, integer: true}
  ward: {kind: categorical, categories: [heart, knee]}
unit: patient
rows_per_unit: 3
"""


@pytest.fixture
def stays(folder):
    """Files with stays of patients, and with stays of others, one of whom is among the first."""
    rng = np.random.default_rng(4)
    for name, first, n in (("stays.csv", 0, 90), ("others.csv", 89, 40)):
        who = first + np.repeat(np.arange(n), rng.integers(1, 6, n))
        frame = pd.DataFrame({"patient": who, "age": rng.integers(0, 100, who.size)})
        frame.assign(ward=rng.choice(["heart", "knee"], who.size)).to_csv(folder / name, index=False)
    (folder / "stays.yaml").write_text(SCHEMA, encoding="utf-8")
    return folder


METHOD = ("-s", "stays.yaml", "-m", "independent")


class TestPersons:
    @pytest.mark.thorough
    def test_synth_states_the_unit_and_evaluate_keeps_persons_together(self, stays, run):
        made = run("synth", "stays.csv", *METHOD, "-o", "made.csv", "--seed", 1, "--json")
        score = ("evaluate", "stays.csv", "made.csv", "-s", "stays.yaml", "-m", "dcr")
        found, warned = run(*score, "--json"), run(*score, "--holdout", "others.csv")

        assert made.code == found.code == warned.code == 0, made.err + found.err + warned.err
        assert json.loads(made.out)["statement"]["unit_column"] == "patient"
        assert pd.read_csv(stays / "made.csv")["patient"].value_counts().max() <= 3
        assert json.loads(found.out)["unit"] == "patient"
        assert "some units of 'patient' have rows in the real table and in the holdout table" in warned.err
        assert "keep all rows with one 'patient' together" in warned.out

    @pytest.mark.thorough
    def test_attack_says_that_a_person_was_attacked(self, stays, run):
        ran = run(
            "attack", "stays.csv", *METHOD, "-a", "groundhog", "--shadows", 8, "--records", 20, "--quiet"
        )

        assert ran.code == 0, ran.err
        assert "The target is all rows with one 'patient'." in ran.out

    def test_disclosure_is_of_persons(self, stays, run):
        ran = run(
            "attack", "stays.csv", *METHOD, "-a", "disclosure", "--shadows", 2, "--records", 30, "--quiet"
        )

        assert ran.code == 0, ran.err
        assert "halves that keep all rows with one 'patient' together" in ran.out

    @pytest.mark.thorough
    def test_tune_holds_out_persons_and_warns_of_those_on_both_sides(self, stays, run):
        pytest.importorskip("optuna", reason="the extra tune is not installed")
        (stays / "space.yaml").write_text("bins: [4, 8]\n", encoding="utf-8")
        words = (
            "tune",
            "stays.csv",
            *METHOD,
            "--weight",
            "tvd-1=1",
            "--trials",
            1,
            "--space",
            "space.yaml",
        )
        own, given = run(*words, "--json"), run(*words, "--validation", "others.csv")

        assert own.code == given.code == 0, own.err + given.err
        assert json.loads(own.out)["unit"] == "patient"
        assert "all rows with one 'patient' are on one side" in given.out
        assert "have rows in the first table and in the validation table" in given.err
        assert "validation table" not in own.err
