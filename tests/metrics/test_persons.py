"""Scores of tables in which persons have several rows: splits keep the rows of a person together."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import PrivacyWarning, SplitWarning
from syntabula.metrics import compare
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.metrics.discriminator import DiscriminatorSimilarity
from syntabula.metrics.utility.affinity import tuned_settings
from syntabula.metrics.utility.evaluators import evaluator
from syntabula.metrics.utility.learning import Encoding

SCHEMA = st.Schema(
    {
        "who": st.Identifier(),
        "x": st.Numeric(0.0, 1.0),
        "y": st.Numeric(0.0, 1.0),
        "c": st.Categorical(("a", "b")),
    },
    unit="who",
    rows_per_unit=5,
)
ROWS = st.Schema({**SCHEMA.columns})


def people(seed: int, n: int = 60) -> pd.DataFrame:
    """Draw a table in which all five rows of a person are the same."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(n), 5)
    frame = pd.DataFrame({"x": rng.random(n), "y": rng.random(n), "c": rng.choice(["a", "b"], n)})
    frame = frame.iloc[whose].assign(who=[f"{seed}-{i}" for i in whose])
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def disjoint(first: object, second: object) -> bool:
    return not set(first.units) & set(second.units)


class TestSplits:
    def test_halves_and_own_holdouts_have_no_person_in_common(self):
        tables = compare(people(1), people(2), schema=SCHEMA)
        halves, held = tables.halves(rng()), tables.with_own_holdout(rng())

        assert disjoint(halves.real, halves.synthetic)
        assert disjoint(held.real, held.holdout)
        assert held.holdout.n_rows == 75

    def test_rows_that_are_their_own_persons_are_split_as_before(self):
        tables = compare(people(1), people(2), schema=ROWS)

        assert tables.real.units is None
        assert np.array_equal(
            tables.halves(rng()).real.numbers["x"], people(1)["x"].to_numpy()[rng().permutation(300)[:150]]
        )

    def test_half_of_the_persons_are_no_copies_of_the_others(self):
        by_row, by_person = (
            ClosestRecord()(compare(people(1), people(2), schema=schema).halves(rng()), rng())
            for schema in (ROWS, SCHEMA)
        )

        assert by_row.facts["copies"] > 0.8
        assert by_person.facts["copies"] == 0
        assert by_person.value > by_row.value

    @pytest.mark.thorough
    def test_a_discriminator_does_not_know_persons_that_it_is_asked_about(self):
        # The synthetic table holds single rows as the real one, so that only whoever knows the persons tells them apart.
        fresh = pd.concat(
            [people(seed, 60).drop_duplicates("who") for seed in range(2, 7)], ignore_index=True
        )
        areas = [
            DiscriminatorSimilarity()(compare(people(1), fresh, schema=schema), rng()).facts[
                "area under the curve"
            ]
            for schema in (ROWS, SCHEMA)
        ]

        assert areas[0] > areas[1] + 0.1

    def test_settings_are_tuned_on_other_persons(self, tmp_path, monkeypatch):
        pytest.importorskip("optuna", reason="the extra tune is not installed")
        sample = Encoding(t := compare(people(1), people(2), schema=SCHEMA, target="c")).sample(t.real)
        asked = []
        monkeypatch.setattr(
            "syntabula.metrics.utility.affinity.predictions",
            lambda model, task, train, test: asked.append((train, test)) or pytest.fail.Exception,
        )
        monkeypatch.setattr(
            "syntabula.metrics.utility.affinity.class_scores", lambda *_: {"weighted_f1": 0.5}
        )
        task = Encoding(t).task
        tuned_settings(evaluator("tree"), task, sample, n_trials=1, cache=tmp_path)

        [(train, test)] = asked
        assert not {*map(bytes, train.x)} & {*map(bytes, test.x)}
        assert test.y.size == 60


class TestClosestRecord:
    def test_nearer_to_real_than_to_holdout_takes_whole_persons_of_both(self):
        # Nothing was copied: 240 real and 60 held-out persons, synthetic rows of others.
        tables = compare(people(1, 240), people(2, 200), holdout=people(3, 60), schema=SCHEMA)
        facts = ClosestRecord()(tables, rng()).facts

        # Rows of 60 persons on each side; 300 rows of 240 persons would be nearer for 3 in 4.
        assert abs(facts["nearer to real than to holdout"] - 0.5) < 0.15


class TestEvaluate:
    @pytest.fixture(autouse=True)
    def quiet(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            yield

    def test_it_says_that_persons_are_kept_together(self):
        found = st.evaluate(people(1), people(2), schema=SCHEMA, metrics=["tvd-1", "dcr"])

        assert found.to_json()["unit"] == "who"
        assert "Halves and holdouts keep all rows with one 'who' together." in found.text()
        assert "together" not in st.evaluate(people(1), people(2), schema=ROWS, metrics="tvd-1").text()

    def test_a_person_in_the_real_and_the_holdout_table_is_warned_of(self):
        holdout = pd.concat([people(3), people(1).head(1)])
        given = {"schema": SCHEMA, "metrics": "tvd-1"}

        with pytest.warns(SplitWarning, match="in the real table and in the holdout table"):
            st.evaluate(people(1), people(2), holdout=holdout, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("error", SplitWarning)
            st.evaluate(people(1), people(2), holdout=people(3), **given)
            st.evaluate(people(1), people(2), holdout=holdout, schema=ROWS, metrics="tvd-1")
