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
from syntabula.record_models.loop import Training
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


@pytest.mark.parametrize("budget", [st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
def test_a_finite_budget_is_refused_in_one_sentence_that_says_what_is_missing(budget: st.Budget) -> None:
    with pytest.raises(BudgetError, match=r"tabddpm trains on records, .* is missing; use an infinite"):
        st.TabDDPM(budget=budget)


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
    assert [*st.method_options("tabddpm")] == ["model", "training"]
    changed = method().with_options(levels=7, seconds=3)

    assert (changed.model.levels, changed.training.seconds) == (7, 3)
    assert set(st.option_notes("tabddpm")) >= {"levels", "steps_back", "ancestral", "draws", "seconds"}
