"""TabDDPM from end to end: what it takes, what it refuses, and that rows keep what columns tell of each other."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import BudgetError, ConditionWarning
from syntabula.privacy.journal import Journal
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.tabular_diffusion import TabularDiffusion

QUICK = Training(steps=400, batch=256, learning_rate=5e-3)
SMALL = TabularDiffusion(units=64, levels=100, steps_back=10)


def method(**options: Any) -> st.TabDDPM:
    return st.TabDDPM(**({"epsilon": math.inf, "model": SMALL, "training": QUICK} | options))


def table(n: int = 2_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


@pytest.fixture(scope="module")
def release() -> st.Release:
    pytest.importorskip("torch")
    return method(allow_observed=True).fit(table())


@pytest.mark.thorough
def test_rows_keep_dependences_of_numbers_and_labels(release: st.Release) -> None:
    made = release.sample(2_000, seed=0)

    assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.9
    assert (
        made["size"][made["kind"] == "large"].mean() > 11 > 9 > made["size"][made["kind"] == "small"].mean()
    )
    assert abs(made["size"].mean() - table()["size"].mean()) < 0.5
    assert made["size"].std() == pytest.approx(table()["size"].std(), rel=0.2)


def test_conditions_and_given_values_hold(release: st.Release) -> None:
    with pytest.warns(ConditionWarning, match="rows are drawn until enough satisfy them"):
        above = release.sample(100, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
    given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0] * 50}), seed=0)

    assert above["size"].between(12, 13).all()
    assert given["double"].tolist() == [14.0, 26.0] * 50
    assert given["size"][::2].mean() < 9 < 11 < given["size"][1::2].mean()


def test_a_release_is_saved_and_samples_the_same_without_torch(
    release: st.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.save(tmp_path / "x.syn")
    monkeypatch.setitem(sys.modules, "torch", None)

    loaded = st.load(tmp_path / "x.syn")

    assert loaded.sample(100, seed=1).equals(release.sample(100, seed=1))


class TestOddTables:
    def test_ten_rows_and_a_batch_beyond_them(self) -> None:
        pytest.importorskip("torch")

        made = method(allow_observed=True).with_options(steps=5).fit(table(10))

        assert len(made.sample(50, seed=0)) == 50

    def test_a_hundred_thousand_categories(self) -> None:
        pytest.importorskip("torch")
        labels = [f"c{i}" for i in range(100_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 500), "few": rng.choice(["a", "b"], 500)})
        frame.loc[rng.random(500) < 0.4, "many"] = "c7"
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        made = method(training=Training(steps=5, batch=64)).fit(frame, schema).sample(400, seed=0)

        assert 0.2 < (made["many"] == "c7").mean() < 0.6
        assert made["many"].nunique() > 50

    def test_missing_cells_are_drawn_about_as_often(self) -> None:
        pytest.importorskip("torch")
        frame = table()
        frame.loc[frame.index % 5 == 0, "size"] = None

        made = method(allow_observed=True).fit(frame).sample(2_000, seed=0)

        assert made["size"].isna().mean() == pytest.approx(0.2, abs=0.08)


def test_options_are_listed_by_part_and_changed_by_name() -> None:
    assert [*st.method_options("tabddpm")] == ["model", "training", "noisy"]
    changed = method().with_options(levels=7, seconds=3)

    assert (changed.model.levels, changed.training.seconds) == (7, 3)
    assert set(st.option_notes("tabddpm")) >= {"levels", "steps_back", "ancestral", "draws", "seconds"}


SCHEMA = st.Schema(
    {
        "size": st.Numeric(-10.0, 40.0),
        "double": st.Numeric(-20.0, 80.0),
        "kind": st.Categorical(("large", "small", "none")),
    }
)
FEW_STEPS = NoisyTraining(steps=20, rate=0.2)
TINY = TabularDiffusion(units=16, levels=50, steps_back=5, draws=2)


def private(**options: Any) -> st.TabDDPM:
    usual = {"epsilon": 5.0, "model": TINY, "noisy": FEW_STEPS, "seed": 3, "bins": 12}
    return st.TabDDPM(**(usual | {"preprocessing": st.Preprocessing(discretizer="uniform")} | options))


class Interrupted(Exception):
    """Stands for whatever ends a run."""


class TestBudget:
    @pytest.mark.parametrize("budget", [st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
    def test_is_refused_at_once_where_training_has_no_cost(self, budget: st.Budget) -> None:
        with pytest.raises(BudgetError, match=r"zero-concentrated|pure"):
            private(budget=budget)

    def test_so_small_that_noise_would_be_infinite_is_refused_with_what_to_do(self) -> None:
        pytest.importorskip("torch")

        with pytest.raises(BudgetError, match=r"too small"):
            private(budget=st.Budget(1e-9, 1e-12)).fit(table(100), SCHEMA)

    @pytest.mark.thorough
    def test_rows_have_the_marginals_and_keep_a_dependence(self) -> None:
        pytest.importorskip("torch")
        noisy, model = NoisyTraining(steps=100, rate=0.1), TabularDiffusion(units=32, steps_back=8, draws=4)

        made = private(epsilon=10.0, noisy=noisy, model=model).fit(table(), SCHEMA).sample(3_000, seed=0)

        real = table()
        # 3,000 rows, and 2,000 records: a share is off by 0.07 with probability below 1e-6.
        assert abs((made["kind"] == "large").mean() - (real["kind"] == "large").mean()) < 0.07
        assert abs(made["size"].mean() - real["size"].mean()) < 0.6
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.4

    def test_the_statement_names_rate_steps_clip_and_noise(self) -> None:
        pytest.importorskip("torch")

        said = " ".join(private().fit(table(400), SCHEMA).privacy.text().split())

        assert "20 steps on records sampled at rate 0.2" in said
        assert "clipped to L2 length 1" in said
        assert "discrete Gaussian noise on their sums, standard deviation" in said

    def test_a_plan_says_how_long_its_steps_take(self) -> None:
        pytest.importorskip("torch")

        short, long = (
            private(noisy=NoisyTraining(steps=n, rate=0.2)).plan(SCHEMA, 5_000) for n in (10, 100_000)
        )

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"

    @pytest.mark.thorough
    def test_an_interrupted_training_goes_on_and_pays_nothing_more(self, tmp_path: Path) -> None:
        pytest.importorskip("torch")
        whole = private(journal=tmp_path / "whole").fit(table(400), SCHEMA)

        def interrupt(step: str, done: float) -> None:
            if "s left" in step:
                raise Interrupted

        with pytest.raises(Interrupted):
            private(journal=tmp_path / "broken", progress=interrupt).fit(table(400), SCHEMA)
        again = private(journal=tmp_path / "broken", resume=True).fit(table(400), SCHEMA)

        assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))
        assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent
        with Journal(tmp_path / "broken") as journal:
            assert [r.step for r in journal.records] == ["measure one-way marginals", "train on the records"]
