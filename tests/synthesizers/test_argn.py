"""ARGN from end to end: what it takes, what it refuses, and that rows keep what columns tell of each other."""

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
from syntabula.privacy.journal import Journal
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining

QUICK = Training(steps=150, batch=256, learning_rate=1e-2)
SMALL = Autoregressive(units=32, embedding=4, waves=4)


def method(**options: Any) -> st.ARGN:
    return st.ARGN(**({"epsilon": math.inf, "model": SMALL, "training": QUICK} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    schema = st.Schema({"kind": st.Categorical(("a", "b"))})

    with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
        method(model=Autoregressive(units=31)).fit(tmp_path / "not there.csv", schema)


class TestRows:
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        pytest.importorskip("torch")

        made = method(allow_observed=True).fit(table()).sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.97
        assert (
            made["size"][made["kind"] == "large"].mean()
            > 11
            > 9
            > made["size"][made["kind"] == "small"].mean()
        )
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    def test_numbers_have_fine_codes(self) -> None:
        pytest.importorskip("torch")

        sizes = method(allow_observed=True).fit(table()).codec.domain.sizes

        assert min(sizes[:2]) > 200

    def test_conditions_and_given_values_hold(self) -> None:
        pytest.importorskip("torch")
        release = method(allow_observed=True).fit(table())

        above = release.sample(200, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert above["size"].between(12, 13).all()
        assert (above["double"] > 20).all()
        assert given["double"].tolist() == [14.0, 26.0]
        assert given["size"][0] < given["size"][1]
        assert 0 < release.probability({"kind": "large"}) < 1

    def test_a_release_is_saved_and_samples_the_same_without_torch(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        release = method(allow_observed=True).fit(table())
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

        made = method(allow_observed=True).fit(table()[["kind"]]).sample(2_000, seed=0)

        assert abs((made["kind"] == "large").mean() - (table()["kind"] == "large").mean()) < 0.1

    def test_a_hundred_thousand_categories(self) -> None:
        pytest.importorskip("torch")
        labels = [f"c{i}" for i in range(100_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 2_000), "few": rng.choice(["a", "b"], 2_000)})
        frame.loc[rng.random(2_000) < 0.4, "many"] = "c7"
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        made = method(training=Training(steps=20)).fit(frame, schema).sample(1_000, seed=0)

        assert 0.25 < (made["many"] == "c7").mean() < 0.55
        assert made["many"].nunique() > 100


class TestOptions:
    def test_they_are_listed_by_part_and_changed_by_name(self) -> None:
        assert [*st.method_options("argn")] == ["model", "training", "noisy"]
        changed = method().with_options(units=7, seconds=3)

        assert (changed.model.units, changed.training.seconds) == (7, 3)
        assert set(st.option_notes("argn")) >= {"units", "seconds", "device", "patience"}

    def test_no_steps_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="steps"):
            method().with_options(steps=0)

    def test_what_is_no_model_of_records_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="model must be a model that is trained on records"):
            method(model=3)

    def test_a_plan_says_how_long_training_takes_before_a_table_is_there(self) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

        short, long = (method().with_options(steps=n).plan(schema, 5_000) for n in (10, 10_000))

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"
        assert long.steps[-1].seconds > 1


SCHEMA = st.Schema(
    {
        "size": st.Numeric(-10.0, 40.0),
        "double": st.Numeric(-20.0, 80.0),
        "kind": st.Categorical(("large", "small", "none")),
    }
)
NOISY = NoisyTraining(steps=40, rate=0.2)


def private(**options: Any) -> st.ARGN:
    usual = {"epsilon": 5.0, "model": SMALL, "noisy": NOISY, "seed": 3, "bins": 12}
    return st.ARGN(**(usual | {"preprocessing": st.Preprocessing(discretizer="uniform")} | options))


class Interrupted(Exception):
    """Stands for whatever ends a run."""


class TestBudget:
    @pytest.mark.parametrize("budget", [st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
    def test_is_refused_at_once_where_training_has_no_cost(self, budget: st.Budget) -> None:
        with pytest.raises(BudgetError, match=r"zero-concentrated|pure"):
            private(budget=budget)

    def test_takes_no_limit_of_time(self) -> None:
        with pytest.raises(ArgumentError, match="set steps"):
            private(training=Training(seconds=3))

    def test_needs_a_model_that_can_be_trained_with_noise(self) -> None:
        class Plain:
            kind = "plain"
            trained = trained_with_noise = None

        del Plain.trained_with_noise
        with pytest.raises((BudgetError, ArgumentError)):
            private(model=Plain())

    def test_so_small_that_noise_would_be_infinite_is_refused_with_what_to_do(self) -> None:
        pytest.importorskip("torch")

        with pytest.raises(BudgetError, match=r"too small"):
            private(budget=st.Budget(1e-9, 1e-12)).fit(table(100), SCHEMA)

    @pytest.mark.thorough
    def test_rows_have_the_marginals_and_keep_a_dependence(self) -> None:
        pytest.importorskip("torch")
        noisy = NoisyTraining(steps=300, rate=0.1)

        made = private(epsilon=10.0, noisy=noisy).fit(table(), SCHEMA).sample(3_000, seed=0)

        real = table()
        # 3,000 rows of each: a share is off by 0.04 with probability below 1e-5.
        assert abs((made["kind"] == "large").mean() - (real["kind"] == "large").mean()) < 0.04
        assert abs(made["size"].mean() - real["size"].mean()) < 0.6
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.5

    def test_the_statement_names_rate_steps_clip_and_noise(self) -> None:
        pytest.importorskip("torch")

        said = " ".join(private().fit(table(400), SCHEMA).privacy.text().split())

        assert "40 steps on records sampled at rate 0.2" in said
        assert "clipped to L2 length 1" in said
        assert "discrete Gaussian noise on their sums, standard deviation" in said

    def test_no_loss_is_told(self) -> None:
        pytest.importorskip("torch")
        told: list[str] = []

        private(progress=lambda step, done: told.append(step)).fit(table(400), SCHEMA)

        assert any("s left" in step for step in told)
        assert not any("loss" in step for step in told)

    def test_a_plan_says_how_long_its_steps_take(self) -> None:
        pytest.importorskip("torch")

        short, long = (
            private(noisy=NoisyTraining(steps=n, rate=0.2)).plan(SCHEMA, 5_000) for n in (10, 100_000)
        )

        assert short.seconds < 60 < long.seconds

    @pytest.mark.thorough
    @pytest.mark.parametrize("told", [1, 2, 4])
    def test_an_interrupted_training_goes_on_and_pays_nothing_more(self, tmp_path: Path, told: int) -> None:
        pytest.importorskip("torch")
        whole = private(journal=tmp_path / "whole").fit(table(400), SCHEMA)
        times = 0

        def interrupt(step: str, done: float) -> None:
            nonlocal times
            times += "s left" in step
            if times == told:
                raise Interrupted

        with pytest.raises(Interrupted):
            private(journal=tmp_path / "broken", progress=interrupt).fit(table(400), SCHEMA)
        again = private(journal=tmp_path / "broken", resume=True).fit(table(400), SCHEMA)

        assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))
        assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent
        with Journal(tmp_path / "broken") as journal:
            assert [r.step for r in journal.records] == ["measure one-way marginals", "train on the records"]

    def test_found_categories_leave_training_its_part_of_delta(self) -> None:
        pytest.importorskip("torch")
        frame = table()[["kind", "size"]]

        release = private(epsilon=10.0, preprocessing=st.Preprocessing()).fit(frame)

        assert set(release.provenance.values()) == {"private"}
        assert {*release.sample(200, seed=0)["kind"]} == {"large", "small"}
