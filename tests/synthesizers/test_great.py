"""GReaT from end to end, beside `contracts/test_record_methods.py`: its text is a row, whatever names there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.record_models.generated_rows import RakedRows
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


class TestRows:
    @pytest.mark.thorough
    def test_they_keep_dependences_and_awkward_names_and_labels(self, release: st.Release) -> None:
        made = release.sample(2_000, seed=0)

        assert list(made) == list(table())
        assert set(made["kind"]) == set(table()["kind"])
        assert np.corrcoef(made["size is"], made['a, "half"'])[0, 1] > 0.8
        means = made.groupby("kind")["size is"].mean()
        assert means["large, is"] > 40 > 30 > means['small "one"']

    @pytest.mark.thorough
    def test_numbers_are_written_in_digits_and_labels_in_words(self, release: st.Release) -> None:
        model = release.model
        assert isinstance(model, RakedRows)
        size, half, kind = model.inner._spellings

        assert (size.places, size.letters) == (2, 10)
        assert (half.places, half.letters) == (3, 10)
        assert (kind.places, kind.letters) == (1, 2)

    @pytest.mark.thorough
    def test_conditions_and_given_values_hold(self, release: st.Release) -> None:
        above = release.sample(200, where={"size is": (45, 50), "kind": "large, is"}, seed=0)
        given = release.sample(given=pd.DataFrame({'a, "half"': [10.0, 25.0] * 20}), seed=0)

        assert above["size is"].between(45, 50).all()
        assert (above["kind"] == "large, is").all()
        assert given['a, "half"'].tolist() == [10.0, 25.0] * 20
        assert given["size is"][::2].mean() < given["size is"][1::2].mean()
        assert 0 < release.probability({"kind": "large, is"}) < 1


class TestOddTables:
    @pytest.mark.thorough
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
    def test_units_that_heads_do_not_divide_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="multiple of heads"):
            method().with_options(units=7)
