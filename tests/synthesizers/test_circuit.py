"""Circuit from end to end: what it takes, what it refuses, and that rows and conditions keep what columns tell."""

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
from syntabula.record_models.circuit import Circuit
from syntabula.record_models.loop import Training

QUICK = Training(steps=60, batch=500, learning_rate=0.2)


def method(**options: Any) -> st.Circuit:
    return st.Circuit(**({"epsilon": math.inf, "model": Circuit(states=60), "training": QUICK} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


@pytest.fixture(scope="module")
def release() -> st.Release:
    pytest.importorskip("torch")
    return method(allow_observed=True).fit(table())


@pytest.mark.parametrize("budget", [st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
def test_a_finite_budget_is_refused_in_one_sentence_that_says_why(budget: st.Budget) -> None:
    with pytest.raises(BudgetError, match=r"counts of each batch .* no private form; use an infinite"):
        st.Circuit(budget=budget)


def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    schema = st.Schema({"kind": st.Categorical(("a", "b"))})

    with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
        method(model=Circuit(states=3)).fit(tmp_path / "not there.csv", schema)


class TestRows:
    def test_they_keep_dependences_of_numbers_and_labels(self, release: st.Release) -> None:
        made = release.sample(3_000, seed=0)

        assert min(release.codec.domain.sizes[:2]) > 200
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.93
        large = made["kind"] == "large"
        assert made["size"][large].mean() > 11 > 9 > made["size"][~large].mean()
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    def test_conditions_and_given_values_hold(self, release: st.Release) -> None:
        above = release.sample(200, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert above["size"].between(12, 13).all()
        assert above["double"].median() == pytest.approx(25, abs=1)
        assert given["double"].tolist() == [14.0, 26.0]
        assert given["size"][0] < given["size"][1]

    def test_probabilities_add_up_as_those_of_one_distribution(self, release: st.Release) -> None:
        large, small = (release.probability({"kind": kind}) for kind in ("large", "small"))
        both = release.probability({"kind": "large", "size": (12.0, 13.0)})

        assert large + small == pytest.approx(1, rel=1e-4)
        assert large == pytest.approx((table()["kind"] == "large").mean(), abs=0.01)
        wanted = ((table()["kind"] == "large") & table()["size"].between(12, 13)).mean()
        assert both == pytest.approx(wanted, abs=0.03)

    def test_a_release_is_saved_and_samples_the_same_without_torch(
        self, release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release.save(tmp_path / "x.syn")
        monkeypatch.setitem(sys.modules, "torch", None)

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.sample(100, seed=1).equals(release.sample(100, seed=1))


class TestOddTables:
    def test_ten_rows_and_a_batch_beyond_them(self) -> None:
        pytest.importorskip("torch")

        assert len(method(allow_observed=True).fit(table(10)).sample(50, seed=0)) == 50

    def test_one_column(self) -> None:
        pytest.importorskip("torch")

        made = method(allow_observed=True).fit(table()[["kind"]])

        share = made.probability({"kind": "large"})
        assert share == pytest.approx((table()["kind"] == "large").mean(), abs=0.01)

    def test_no_rows(self) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})
        empty = pd.DataFrame({"pay": np.zeros(0), "kind": np.zeros(0, dtype=object)})

        made = method().fit(empty, schema).sample(20, seed=0)

        assert made["pay"].between(0, 9).all()

    def test_a_hundred_thousand_categories(self) -> None:
        pytest.importorskip("torch")
        labels = [f"c{i}" for i in range(100_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 2_000), "few": rng.choice(["a", "b"], 2_000)})
        frame.loc[rng.random(2_000) < 0.4, "many"] = "c7"
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        made = method(training=Training(steps=10, learning_rate=0.2)).fit(frame, schema).sample(1_000, seed=0)

        assert 0.25 < (made["many"] == "c7").mean() < 0.55
        assert made["many"].nunique() > 100


class TestOptions:
    def test_they_are_listed_by_part_and_changed_by_name(self) -> None:
        changed = method().with_options(states=7, smoothing=3, seconds=3)

        assert [*st.method_options("circuit")] == ["model", "training"]
        assert (changed.model.states, changed.model.smoothing, changed.training.seconds) == (7, 3.0, 3)

    @pytest.mark.parametrize(("name", "wrong"), [("states", 0), ("smoothing", -1), ("smoothing", math.inf)])
    def test_wrong_ones_are_refused(self, name: str, wrong: float) -> None:
        with pytest.raises(ArgumentError, match=name):
            method().with_options(**{name: wrong})

    def test_a_plan_says_how_long_training_takes_before_a_table_is_there(self) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

        short, long = (method().with_options(steps=n).plan(schema, 5_000) for n in (10, 100_000))

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"
