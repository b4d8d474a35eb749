"""Synthpop from end to end, beside `contracts/test_record_methods.py`: columns that come first are given exactly."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from record_cases import SCHEMA, method, release, require_library, table

import syntabula as st
from syntabula.errors import ArgumentError


class TestRows:
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        made = release("column_trees").sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.97
        assert (
            made["size"][made["kind"] == "large"].mean()
            > 11
            > 9
            > made["size"][made["kind"] == "small"].mean()
        )
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    def test_what_goes_with_weekdays_is_kept_beside_many_columns(self) -> None:
        require_library("column_trees")
        rng = np.random.default_rng(0)
        n = 6_000
        urgent = rng.random(n) < 0.4
        # From Saturday on; planned stays begin between Monday and Friday.
        day = np.where(urgent, rng.integers(0, 728, n), rng.integers(0, 104, n) * 7 + rng.integers(2, 7, n))
        minute = np.clip(rng.normal(600, 150, n), 0, 1439).astype(int)
        begin = pd.Timestamp("2022-01-01") + pd.to_timedelta(day * 1440 + minute, unit="m")
        others = {f"x{i}": rng.integers(0, 60, n) for i in range(8)}
        stays = pd.DataFrame({"begin": begin, "urgent": urgent, **others})

        for times in (stays, stays.assign(begin=begin.normalize())):
            made = st.Synthpop(epsilon=np.inf, seed=0).fit(times).sample(n, seed=0)

            at_weekends = made["begin"].dt.day_of_week >= 5
            # Of 3,600 planned stays; a tree that does not see weekdays has a tenth of them there.
            assert at_weekends[~made["urgent"]].mean() < 0.02
            assert at_weekends[made["urgent"]].mean() == pytest.approx(2 / 7, abs=0.05)

    @pytest.mark.thorough
    def test_conditions_and_given_values_hold(self) -> None:
        require_library("column_trees")
        release = method("column_trees", allow_observed=True).with_options(first=("double",)).fit(table())

        above = release.sample(200, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert above["size"].between(12, 13).all()
        assert (above["double"] > 20).all()
        assert given["double"].tolist() == [14.0, 26.0]
        assert given["size"][0] < given["size"][1]


def private(**options: Any) -> st.Synthpop:
    even = st.Preprocessing(discretizer="uniform")
    budget = {} if "budget" in options else {"epsilon": 3.0}
    return st.Synthpop(**(budget | {"seed": 0, "bins": 12, "preprocessing": even} | options))


class TestBudget:
    @pytest.mark.parametrize(
        "budget",
        [st.Budget(3.0, 1e-5), st.Budget.zcdp(0.5, 1e-5), st.Budget.pure(3.0)],
        ids=lambda b: b.currency,
    )
    def test_rows_keep_dependences_whatever_the_budget(self, budget: st.Budget) -> None:
        release = private(budget=budget).fit(table(), SCHEMA)

        made = release.sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.7
        means = made.groupby("kind")["size"].mean()
        assert means["large"] > 11 > 9 > means["small"]
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5
        assert release.privacy.epsilon_spent <= 5.0

    def test_a_budget_that_hides_all_leaves_single_columns(self) -> None:
        made = private(epsilon=0.003).fit(table(), SCHEMA).sample(500, seed=0)

        assert made["size"].between(-10, 40).all()
        assert set(made["kind"]) <= {"large", "small", "none"}

    def test_it_needs_no_scikit_learn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "sklearn.tree", None)

        assert len(private().fit(table(500), SCHEMA).sample(5)) == 5

    def test_the_statement_has_counts_that_cost_the_whole_budget(self) -> None:
        privacy = private().fit(table(500), SCHEMA).privacy

        steps = privacy.to_json()["steps"]
        assert [step["step"] for step in steps] == [
            "measure one-way marginals",
            "measure how far columns depend on each other",
            "grow the tree of 'double'",
            "grow the tree of 'kind'",
        ]
        assert {event["kind"] for step in steps for event in step["events"]} == {"gaussian"}
        assert 2.9 < privacy.epsilon_spent <= 3.0

    def test_given_values_of_the_first_column_hold(self) -> None:
        method = private(epsilon=10.0).with_options(first=("double",))

        made = method.fit(table(), SCHEMA).sample(
            given=pd.DataFrame({"double": [14.0] * 300 + [28.0] * 300}), seed=0
        )

        assert made["size"][:300].mean() + 3 < made["size"][300:].mean()

    def test_an_interrupted_fit_goes_on_and_pays_nothing_more(self, tmp_path: Path) -> None:
        whole = private(journal=tmp_path / "whole").fit(table(500), SCHEMA)

        def interrupt(step: str, done: float) -> None:
            if step == "grow the tree of 'kind'":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            private(journal=tmp_path / "broken", progress=interrupt).fit(table(500), SCHEMA)
        again = private(journal=tmp_path / "broken", resume=True).fit(table(500), SCHEMA)

        assert again.sample(100, seed=1).equals(whole.sample(100, seed=1))
        assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent

    def test_a_loaded_release_draws_the_same_rows(self, tmp_path: Path) -> None:
        release = private().fit(table(500), SCHEMA)
        release.save(tmp_path / "release.syn")

        loaded = st.load(tmp_path / "release.syn")

        assert loaded.sample(100, seed=1).equals(release.sample(100, seed=1))

    def test_a_plan_says_how_long_trees_take_before_a_table_is_there(self) -> None:
        few, many = (private().plan(SCHEMA, n) for n in (1_000, 10_000_000))

        assert 0 < few.seconds < many.seconds
        assert many.steps[-1].name == "grow the tree of 'kind'"

    def test_a_plan_knows_that_noise_allows_fewer_cells(self) -> None:
        little, much = (private(budget=st.Budget(e, 1e-5)).plan(SCHEMA, 100_000) for e in (0.1, 10.0))

        assert little.seconds < much.seconds


class TestOptions:
    def test_they_are_those_of_the_trees_and_of_their_growth(self) -> None:
        own = {"least_leaf", "least_split", "complexity", "least_code", "first", "levels", "crowd"}
        assert {*st.option_notes("synthpop")} == own

    def test_wrong_ones_are_refused(self) -> None:
        for name, value in {
            "least_leaf": 0,
            "least_split": 0,
            "complexity": 1.0,
            "least_code": 0,
            "first": "age",
            "levels": 0,
        }.items():
            with pytest.raises(ArgumentError, match=name):
                method("column_trees").with_options(**{name: value})


def test_a_limit_of_seconds_is_refused_with_the_reason() -> None:
    with pytest.raises(
        ArgumentError, match=r"no option 'seconds': each column needs its whole tree.*least_leaf"
    ):
        st.Synthpop(epsilon=math.inf).with_options(seconds=5)
