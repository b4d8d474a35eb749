"""GReaT from end to end: what it takes, what it refuses, and that its text is always a row."""

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
from syntabula.record_models.language import LanguageModel
from syntabula.record_models.loop import Training

QUICK = Training(steps=150, batch=128, learning_rate=1e-2)
SMALL = LanguageModel(units=16, layers=1, heads=2)


def method(**options: Any) -> st.GReaT:
    given = {"epsilon": math.inf, "model": SMALL, "training": QUICK, "allow_observed": True}
    return st.GReaT(**(given | options))


def table(n: int = 2_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.integers(10, 60, n)
    kind = np.where(size + rng.normal(0, 3, n) > 35, "large, is", 'small "one"')
    return pd.DataFrame({"size is": size, 'a, "half"': size / 2, "kind": kind})


@pytest.fixture(scope="module")
def release() -> st.Release:
    pytest.importorskip("torch")
    return method().fit(table())


@pytest.mark.parametrize("budget", [st.Budget(1.0, 1e-5), st.Budget.pure(1.0), st.Budget.zcdp(0.5, 1e-5)])
def test_a_finite_budget_is_refused_in_one_sentence_that_says_what_is_missing(budget: st.Budget) -> None:
    with pytest.raises(
        BudgetError, match=r"private form .* privacy/doors/records.py\) is missing; use an infinite"
    ):
        st.GReaT(budget=budget)


def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    schema = st.Schema({"kind": st.Categorical(("a", "b"))})

    with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
        method(model=LanguageModel(units=20)).fit(tmp_path / "not there.csv", schema)


class TestRows:
    def test_they_keep_dependences_and_awkward_names_and_labels(self, release: st.Release) -> None:
        made = release.sample(2_000, seed=0)

        assert list(made) == list(table())
        assert set(made["kind"]) == set(table()["kind"])
        assert np.corrcoef(made["size is"], made['a, "half"'])[0, 1] > 0.8
        means = made.groupby("kind")["size is"].mean()
        assert means["large, is"] > 40 > 30 > means['small "one"']

    def test_numbers_are_written_in_digits_and_labels_in_words(self, release: st.Release) -> None:
        size, half, kind = release.model._spellings

        assert (size.places, size.letters) == (2, 10)
        assert (half.places, half.letters) == (3, 10)
        assert (kind.places, kind.letters) == (1, 2)

    def test_conditions_and_given_values_hold(self, release: st.Release) -> None:
        above = release.sample(200, where={"size is": (45, 50), "kind": "large, is"}, seed=0)
        given = release.sample(given=pd.DataFrame({'a, "half"': [10.0, 25.0] * 20}), seed=0)

        assert above["size is"].between(45, 50).all()
        assert (above["kind"] == "large, is").all()
        assert given['a, "half"'].tolist() == [10.0, 25.0] * 20
        assert given["size is"][::2].mean() < given["size is"][1::2].mean()
        assert 0 < release.probability({"kind": "large, is"}) < 1

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

        assert len(method().with_options(steps=5).fit(table(10)).sample(50, seed=0)) == 50

    def test_one_column(self) -> None:
        pytest.importorskip("torch")

        made = method().with_options(steps=20).fit(table()[["kind"]]).sample(2_000, seed=0)

        assert abs((made["kind"] == "large, is").mean() - (table()["kind"] == "large, is").mean()) < 0.1

    def test_many_labels_some_of_which_are_merged(self) -> None:
        pytest.importorskip("torch")
        labels = [f"c, is {i}" for i in range(20_000)]
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"many": rng.choice(labels, 2_000), "few": rng.choice(["a", "b"], 2_000)})
        frame.loc[rng.random(2_000) < 0.4, "many"] = labels[7]
        schema = st.Schema({"many": st.Categorical(tuple(labels)), "few": st.Categorical(("a", "b"))})

        for rare in (st.RareCategories(theta=0.0005, least_categories=1000), None):
            made = method(rare=rare).with_options(steps=5).fit(frame, schema).sample(1_000, seed=0)

            assert 0.25 < (made["many"] == labels[7]).mean() < 0.55
            assert made["many"].nunique() > 100

    def test_missing_values_times_and_floats_of_any_size(self) -> None:
        pytest.importorskip("torch")
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, 300), unit="s"),
                "float": np.exp(rng.normal(0, 30, 300)),
                "flag": rng.random(300) < 0.3,
            }
        )
        frame.loc[::3, "when"] = pd.NaT
        frame.loc[1::3, "float"] = np.nan

        made = method().with_options(steps=5).fit(frame).sample(600, seed=0)

        assert 0.2 < made["when"].isna().mean() < 0.5
        assert 0.2 < made["float"].isna().mean() < 0.5
        assert made["float"].dropna().between(frame["float"].min(), frame["float"].max()).all()


class TestOptions:
    def test_they_are_listed_by_part_and_changed_by_name(self) -> None:
        changed = method().with_options(units=8, seconds=3)

        assert [*st.method_options("great")] == ["model", "training"]
        assert (changed.model.units, changed.training.seconds) == (8, 3)
        assert set(st.option_notes("great")) >= {"units", "layers", "heads", "seconds", "device"}

    def test_units_that_heads_do_not_divide_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="multiple of heads"):
            method().with_options(units=7)

    def test_a_plan_says_how_long_training_takes_before_a_table_is_there(self) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"pay": st.Numeric(0.0, 9.0), "kind": st.Categorical(("a", "b"))})

        short, long = (method().with_options(steps=n).plan(schema, 5_000) for n in (10, 10_000))

        assert short.seconds < long.seconds
        assert long.steps[-1].name == "train on the records"
        assert long.steps[-1].seconds > 1
