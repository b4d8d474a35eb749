"""Synthpop from end to end: what it takes, what it refuses, and that rows keep what columns tell of each other."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, BudgetError, MissingExtraError


def method(**options: Any) -> st.Synthpop:
    return st.Synthpop(**({"epsilon": math.inf} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


@pytest.mark.parametrize("budget", [st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
def test_a_finite_budget_is_refused_in_one_sentence_that_says_what_is_missing(budget: st.Budget) -> None:
    with pytest.raises(BudgetError, match=r"dp-synthpop, .* is not implemented; use an infinite epsilon"):
        st.Synthpop(budget=budget)


def test_without_scikit_learn_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    schema = st.Schema({"kind": st.Categorical(("a", "b"))})

    with pytest.raises(MissingExtraError, match=r"syntabula\[evaluate\]"):
        method().with_options(least_leaf=6).fit(tmp_path / "not there.csv", schema)


class TestRows:
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        pytest.importorskip("sklearn")

        made = method(allow_observed=True).fit(table()).sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.97
        assert (
            made["size"][made["kind"] == "large"].mean()
            > 11
            > 9
            > made["size"][made["kind"] == "small"].mean()
        )
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    @pytest.mark.filterwarnings("ignore:this model cannot be restricted:syntabula.errors.ConditionWarning")
    def test_conditions_and_given_values_hold(self) -> None:
        pytest.importorskip("sklearn")
        release = method(allow_observed=True).with_options(first=("double",)).fit(table())

        above = release.sample(200, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert above["size"].between(12, 13).all()
        assert (above["double"] > 20).all()
        assert given["double"].tolist() == [14.0, 26.0]
        assert given["size"][0] < given["size"][1]

    def test_no_row_of_the_table_is_enough_and_ten_are(self) -> None:
        pytest.importorskip("sklearn")

        for n in (0, 10):
            schema = st.draft_schema(table())[0]
            assert len(method(allow_observed=True).fit(table(n), schema).sample(50, seed=0)) == 50

    def test_a_hundred_thousand_categories_are_learned(self) -> None:
        pytest.importorskip("sklearn")
        labels = [f"c{i}" for i in range(100_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 2_000), "few": rng.choice(["a", "b"], 2_000)})
        frame.loc[rng.random(2_000) < 0.4, "many"] = "c7"
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        made = method().fit(frame, schema).sample(1_000, seed=0)

        assert 0.3 < (made["many"] == "c7").mean() < 0.5
        assert made["many"].nunique() > 100


class TestOptions:
    def test_they_are_those_of_the_trees_alone(self) -> None:
        assert [*st.method_options("synthpop")] == ["model"]
        assert {*st.option_notes("synthpop")} == {"least_leaf", "least_split", "complexity", "first"}

    def test_wrong_ones_are_refused(self) -> None:
        for name, value in {"least_leaf": 0, "least_split": 0, "complexity": 1.0, "first": "age"}.items():
            with pytest.raises(ArgumentError, match=name):
                method().with_options(**{name: value})

    def test_a_plan_says_how_long_trees_take_before_a_table_is_there(self) -> None:
        pytest.importorskip("sklearn")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

        short, long = (method().plan(schema, n) for n in (5_000, 5_000_000))

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"
        assert long.steps[-1].seconds > 1
