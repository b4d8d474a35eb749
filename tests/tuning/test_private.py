from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula._spaces import Choice, Range
from syntabula.errors import ArgumentError, SchemaError
from syntabula.marginals.counting import engine_for
from syntabula.privacy.noise import SecureNoise, number_of_trials
from syntabula.table.coding.codec import Codec
from syntabula.table.read import read
from syntabula.tuning import private
from syntabula.tuning.private import drawn, tune_privately

SCHEMA = st.Schema(
    {"age": st.Numeric(17, 90, integer=True), "pay": st.Numeric(0, 60_000, integer=True), "old": st.Boolean()}
)
SPACE = {"bins": {"low": 2, "high": 40}, "discretizer": ["uniform", "privtree"]}


def people(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(17, 91, size=n)
    return pd.DataFrame({"age": age, "pay": 500 * age + rng.integers(0, 9000, size=n), "old": age > 60})


def seed_of(trials: int, average: int = 4) -> int:
    """Return a seed with which the search makes so many trials."""
    return next(seed for seed in range(1000) if number_of_trials(average, seed) == trials)


def search(seed: int, **given):
    return tune_privately(
        st.MST(epsilon=2.0, seed=seed), people(), SCHEMA, **{"space": SPACE, "trials": 4} | given
    )


class TestTunePrivately:
    @pytest.mark.thorough
    def test_returns_the_trial_of_the_least_score(self, monkeypatch):
        made = []
        distance = private._Scored._distance

        def watched(self, *arguments):
            made.append(distance(self, *arguments))
            return made[-1]

        monkeypatch.setattr(private._Scored, "_distance", watched)
        found = search(seed_of(5))

        assert len(made) == 5
        assert found.distance == min(made)
        assert set(found.options) == {"bins", "discretizer"}

    def test_its_statement_covers_the_search_and_is_spent_whole(self):
        privacy = search(seed_of(2)).release.privacy

        assert privacy.budget == st.Budget.best_of(2.0, 1e-5, 4)
        assert 2.0 * (1 - 1e-6) < privacy.epsilon_spent <= 2.0
        assert privacy.lines[-1].step == "score the trial"
        assert privacy.lines[-1].share == pytest.approx(0.1, abs=1e-9)
        assert "best of a random number of trials, 4 on average" in privacy.text()

    def test_auto_chooses_in_each_trial_within_its_budget(self):
        release = tune_privately(st.Auto(epsilon=2.0, seed=seed_of(2)), people(), SCHEMA, trials=4).release

        assert release.privacy.choice.method != "auto"
        assert release.privacy.budget == st.Budget.best_of(2.0, 1e-5, 4)
        assert release.privacy.epsilon_spent <= 2.0

    def test_a_coarse_model_has_the_worse_score(self):
        """Two bins lose what 30 keep; noise of one part in a hundred of the score does not hide it."""
        coarse = search(seed_of(1), space={"bins": [2]})
        fine = search(seed_of(1), space={"bins": [30]})

        assert fine.distance < 0.7 * coarse.distance

    def test_scores_are_near_the_exact_distance(self):
        """Of other rows of the release, in the same bins; the bound is ten standard deviations of the noise."""
        found = search(seed_of(1), space={"bins": [30]})
        codec = Codec.plan(SCHEMA, bins=24)
        tables = [codec.encode(read(t))[0] for t in (people(), found.release.sample(4000, seed=1))]
        pairs = [("age", "pay"), ("age", "old"), ("pay", "old")]
        real, ours = (engine_for(table, limit_mb=500).counts(pairs) for table in tables)
        exact = np.mean(
            [np.abs(one - other).sum() / (2 * 4000) for one, other in zip(real, ours, strict=True)]
        )

        assert found.distance == pytest.approx(exact, abs=0.02)

    def test_warnings_do_not_tell_the_number_of_trials(self):
        """Each trial clips the same ages."""
        narrow = st.Schema({**SCHEMA.columns, "age": st.Numeric(17, 60, integer=True)})
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tune_privately(
                st.MST(epsilon=2.0, seed=seed_of(3)), people(200), narrow, space={"bins": [4]}, trials=4
            )

        clipped = [str(one.message) for one in told if "clipped" in str(one.message)]
        assert len(clipped) == 1
        assert "'age'" in clipped[0]

    @pytest.mark.thorough
    def test_columns_that_rules_compute_or_order_are_no_part_of_the_score(self):
        ruled = st.Schema(
            {**SCHEMA.columns, "later": st.Numeric(17, 99, integer=True)},
            rules=st.Rules(derive={"old": "age > 60"}, order=[["age", "later"]]),
        )
        table = people(500).assign(later=lambda t: t["age"] + 5)

        found = tune_privately(
            st.MST(epsilon=9.0, seed=seed_of(2)), table, ruled, space={"bins": [8]}, trials=4
        )

        rows = found.release.sample(100, seed=0)
        assert [*rows] == ["age", "pay", "old", "later"]
        assert (rows["later"] >= rows["age"]).all()
        assert math.isfinite(found.distance)

    def test_a_trial_that_fails_is_the_worst_and_no_end(self, monkeypatch):
        fit = private.fit
        calls = []

        def failing(*arguments, **named):
            calls.append(1)
            if len(calls) < 3:
                raise ArgumentError("the third will do")
            return fit(*arguments, **named)

        monkeypatch.setattr(private, "fit", failing)

        assert math.isfinite(search(seed_of(3)).distance)
        calls.clear()
        with pytest.raises(ArgumentError, match="the third will do"):
            search(seed_of(2))

    def test_refuses_wrong_arguments(self):
        for given, what in [
            ({"trials": 1}, "trials"),
            ({"score_share": 0}, "score_share"),
            ({"space": {"binz": [3]}}, "did you mean 'bins'"),
        ]:
            with pytest.raises(ArgumentError, match=what):
                search(0, **given)

    def test_refuses_what_it_cannot_account_for(self, tmp_path):
        table = people(50)
        with pytest.raises(ArgumentError, match="use `tune` instead"):
            tune_privately(st.MST(epsilon=math.inf), table, SCHEMA)
        with pytest.raises(ArgumentError, match="no journal"):
            tune_privately(st.MST(journal=tmp_path / "j"), table, SCHEMA)
        with pytest.raises(
            ArgumentError, match="leave out seed: whoever knows it knows the number of trials"
        ):
            tune_privately(st.MST(seed=3, noise=SecureNoise()), table, SCHEMA)
        with pytest.raises(SchemaError, match="declares all columns"):
            tune_privately(st.MST(), table, st.Schema({"age": st.Numeric(17, 90)}, others="find"))
        observed = st.Schema({"age": replace(SCHEMA["age"], provenance="observed")}, others="find")
        with pytest.raises(
            SchemaError, match=r"`others: find`; .* of column 'age' were read off the table; replace"
        ):
            tune_privately(st.MST(), "nowhere.csv", observed)
        with pytest.raises(ArgumentError, match="give steps instead"):
            tune_privately(st.ARGN(epsilon=1.0), table, SCHEMA, space={"epochs": [3]})


class TestDrawn:
    def test_values_lie_in_their_range_and_are_of_its_kind(self):
        rng = np.random.default_rng(0)
        for tried in (
            Range(low=2, high=5), Range(low=2, high=500, log=True), Range(low=0.5, high=0.7),
            Range(low=1e-5, high=1e-2, log=True),
        ):  # fmt: skip
            values = [drawn(tried, rng) for _ in range(200)]
            assert all(tried.low <= v <= tried.high for v in values)
            assert all(isinstance(v, int) == tried.integer for v in values)
            assert len(set(values)) > 3
        assert {drawn(Choice(("a", None, 3)), rng) for _ in range(100)} == {"a", None, 3}

    def test_the_logarithm_is_even(self):
        """Half of the values lie below the geometric mean; 6 standard errors, so a false alarm is below 1e-8."""
        rng = np.random.default_rng(1)
        below = np.mean([drawn(Range(low=1.0, high=100.0, log=True), rng) < 10 for _ in range(2000)])

        assert abs(below - 0.5) < 6 * 0.5 / math.sqrt(2000)
