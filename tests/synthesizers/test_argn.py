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
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.loop import Training

QUICK = Training(steps=150, batch=256, learning_rate=1e-2)
SMALL = Autoregressive(units=32, embedding=4, waves=4)


def method(**options: Any) -> st.ARGN:
    return st.ARGN(**({"epsilon": math.inf, "model": SMALL, "training": QUICK} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


@pytest.mark.parametrize("budget", [st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
def test_a_finite_budget_is_refused_in_one_sentence_that_says_what_is_missing(budget: st.Budget) -> None:
    with pytest.raises(
        BudgetError, match=r"private form .* privacy/doors/records.py\) is missing; use an infinite"
    ):
        st.ARGN(budget=budget)


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
        assert [*st.method_options("argn")] == ["model", "training"]
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
