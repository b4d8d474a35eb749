"""Membership disclosure: the order of the baselines, and brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import attacks
from syntabula.attacks.disclosure import _game
from syntabula.errors import ArgumentError

SCHEMA = st.Schema({"x": st.Numeric(0.0, 1.0), "c": st.Categorical(("a", "b"))})


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({"x": rng.random(n), "c": rng.choice(["a", "b"], n)})


class TestScore:
    @pytest.mark.thorough
    def test_a_copy_discloses_more_than_half_of_a_copy_and_more_than_independent_columns(self):
        # Six axes: on a line, half of a copy discloses as much, as its gaps are twice as wide.
        rng = np.random.default_rng(6)
        frame = pd.DataFrame({name: rng.normal(size=60) for name in "uvwxyz"})
        schema = st.Schema({name: st.Numeric(-5.0, 5.0) for name in frame})

        score = st.membership_disclosure(frame, st.Independent(epsilon=1.0), schema, n_shadows=16, n_draws=2)

        scale = score.baselines
        assert scale["SELF"] > scale["HALF"] > 0
        assert scale["SELF"] > scale["HISTOGRAM"] > 0
        assert score.direction == "lower"
        assert score.value < scale["SELF"]

    def test_the_disclosure_by_a_copy_is_the_mean_distance_to_the_nearest_record_of_the_other_halves(self):
        game = _game(table(), attacks.Self(), SCHEMA, 6, 1, 0)
        x, c = table()["x"].to_numpy(), table()["c"].to_numpy()
        x = (x - x.min()) / (x.max() - x.min())

        found = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, n_shadows=6, n_draws=1)
        score = attacks.membership_disclosure(
            table(), attacks.Self(), SCHEMA, n_shadows=6, n_draws=1, baselines=False
        )

        assert score.value == found.max()
        for record in range(60):
            # A record that was in has distance 0; two axes of the categories differ at once, hence the 2.
            distances = np.sqrt(((x - x[record]) ** 2 + 2 * (c != c[record])) / 2)
            outside = [distances[half].min() for half in game.members() if not half[record]]
            assert found[record] == pytest.approx(np.mean(outside), abs=1e-6)
            if record == found.argmax():
                # The distances inside are all 0, so that they add no error.
                error = np.std(outside, ddof=1) / np.sqrt(len(outside))
                assert score.facts["standard_error"] == pytest.approx(error, abs=1e-6)

    def test_of_few_models_that_ignore_the_table_is_what_chance_makes_it_and_of_a_copy_more(self):
        class Ignoring(attacks.Self):
            def fit(self, table, schema=None):
                rng = np.random.default_rng(
                    len(table.columns["x"].values) + int(table.columns["x"].values.sum() * 1e6)
                )
                frame = pd.DataFrame({"x": rng.random(4), "c": rng.choice(["a", "b"], 4)})
                return super().fit(frame, SCHEMA)

        of_nothing, of_a_copy = (
            st.membership_disclosure(table(200), made, SCHEMA, n_shadows=10, n_draws=1, baselines=False)
            for made in (Ignoring(), attacks.Self())
        )

        assert of_nothing.value == pytest.approx(of_nothing.facts["by_chance"], rel=0.3)
        assert of_nothing.value > 0.1
        assert of_a_copy.value > 1.3 * of_a_copy.facts["by_chance"]

    def test_some_records_can_be_scored_while_shadow_models_learn_all(self):
        given = {"n_shadows": 4, "n_draws": 1}
        every = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, **given)

        some = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, max_records=20, **given)
        all_of_few = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, max_records=99, **given)

        assert some.size == 20
        assert set(some) <= set(every)
        assert np.array_equal(all_of_few, every)

    def test_a_table_too_small_for_halves_is_refused(self):
        with pytest.raises(ArgumentError, match="too few records"):
            attacks.record_disclosures(table(2), attacks.Self(), SCHEMA, n_shadows=40)

    def test_every_record_is_in_exactly_half_of_the_shadow_models(self):
        members = _game(table(), attacks.Self(), SCHEMA, 6, 1, 0).members()

        assert members.shape == (6, 60)
        assert (members.sum(axis=0) == 3).all()

    def test_repeated_records_count_once(self):
        twice = pd.concat([table(), table()], ignore_index=True)

        once = attacks.record_disclosures(table(), attacks.Self(), SCHEMA, n_shadows=4)
        found = attacks.record_disclosures(twice, attacks.Self(), SCHEMA, n_shadows=4)

        assert np.array_equal(found, once)

    def test_missing_cells_are_values_of_their_own(self):
        frame = table().astype({"c": object})
        frame.loc[3, "x"], frame.loc[4, "c"] = np.nan, None
        schema = st.Schema(
            {"x": st.Numeric(0.0, 1.0, nullable=True), "c": st.Categorical(("a", "b"), nullable=True)}
        )

        found = attacks.record_disclosures(frame, attacks.Self(), schema, n_shadows=8)

        assert np.isfinite(found).all()
        assert found[3] > np.median(found)


class TestResuming:
    @pytest.mark.thorough
    def test_what_is_done_is_not_done_again_and_the_score_is_the_same(self, tmp_path):
        given = {"n_shadows": 6, "n_draws": 2, "baselines": False}
        method = st.Independent(epsilon=1.0)
        whole = st.membership_disclosure(table(), method, SCHEMA, **given)

        st.membership_disclosure(table(), method, SCHEMA, folder=tmp_path, **given)
        (tmp_path / "shadow-00002.npy").unlink()
        kept = (tmp_path / "shadow-00001.npy").stat().st_mtime_ns
        again = st.membership_disclosure(table(), method, SCHEMA, folder=tmp_path, **given)

        assert again.value == whole.value
        assert (tmp_path / "shadow-00001.npy").stat().st_mtime_ns == kept
        assert (tmp_path / "shadow-00002.npy").exists()

    def test_numbers_that_make_no_sense_are_refused(self):
        for given in [{"n_shadows": 5}, {"n_draws": 0}, {"max_records": 0}]:
            with pytest.raises(ArgumentError):
                st.membership_disclosure(table(), attacks.Self(), SCHEMA, **given)
