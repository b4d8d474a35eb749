"""DP-MERF from end to end: with and without a budget, and that rows keep what columns tell of each other."""

from __future__ import annotations

import math
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, MissingExtraError, TrainingError, TrainingWarning
from syntabula.record_models.mean_embedding import MeanEmbedding

SMALL = MeanEmbedding(features=300, rows=96, units=32, steps=300, learning_rate=1e-2)
SCHEMA = st.Schema(
    {
        "size": st.Numeric(0.0, 20.0),
        "double": st.Numeric(0.0, 40.0),
        "kind": st.Categorical(("large", "small")),
    }
)


def method(**options: Any) -> st.DPMERF:
    return st.DPMERF(**({"epsilon": 5.0, "model": SMALL, "seed": 0} | options))


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = np.clip(rng.normal(10, 3, n), 0, 20)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    double = np.clip(2 * size + rng.normal(0, 0.5, n), 0, 40)
    return pd.DataFrame({"size": size, "double": double, "kind": kind})


def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
        method(model=MeanEmbedding(units=31)).fit(tmp_path / "not there.csv", SCHEMA)


@pytest.mark.thorough
def test_a_generator_that_diverges_leaves_the_marginals_that_were_paid_for(tmp_path: Path) -> None:
    pytest.importorskip("torch")

    with pytest.warns(TrainingWarning, match="Lower learning_rate"):
        release = method().with_options(learning_rate=1.0).fit(table(), SCHEMA)
    release.save(tmp_path / "t.syn")

    rows = st.load(tmp_path / "t.syn").sample(3_000, seed=0)
    assert abs(rows["size"].mean() - table()["size"].mean()) < 0.5
    with pytest.raises(TrainingError, match="lower learning_rate"):
        method(epsilon=math.inf).with_options(learning_rate=1.0, steps=40).fit(table(), SCHEMA)


@pytest.mark.parametrize("rate", [1e-12, 1e3, 1e30])
def test_rates_at_which_nothing_is_learned_are_refused_before_anything_is_paid(rate: float) -> None:
    with pytest.raises(ArgumentError, match=r"learning_rate must be a number from 1e-7 to 1"):
        method().with_options(learning_rate=rate)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [5.0, math.inf])
def test_rows_keep_dependences_of_numbers_and_labels(epsilon: float) -> None:
    pytest.importorskip("torch")

    made = method(epsilon=epsilon).fit(table(), SCHEMA).sample(3_000, seed=0)

    assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.7
    assert made["size"][made["kind"] == "large"].mean() > made["size"][made["kind"] == "small"].mean() + 2
    assert abs(made["size"].mean() - table()["size"].mean()) < 0.5


@pytest.mark.thorough
def test_the_statement_has_releases_that_cost_the_whole_budget() -> None:
    pytest.importorskip("torch")

    privacy = (
        method(bins=10, preprocessing=st.Preprocessing(discretizer="uniform")).fit(table(), SCHEMA).privacy
    )

    steps = privacy.to_json()["steps"]
    assert [step["step"] for step in steps] == [
        "measure one-way marginals",
        "sum the features of all records",
    ]
    assert [event["kind"] for step in steps for event in step["events"]] == ["gaussian", "gaussian"]
    assert 4.9 < privacy.epsilon_spent <= 5.0


def test_a_plan_says_how_long_training_takes_before_a_table_is_there() -> None:
    pytest.importorskip("torch")

    short, long = (method().with_options(steps=n).plan(SCHEMA, 5_000) for n in (10, 10_000))

    assert short.seconds < long.seconds
    assert long.steps[-1].name == "sum the features of all records"


def test_options_are_listed_and_wrong_ones_refused() -> None:
    assert [*st.method_options("dp-merf")] == ["model"]
    assert set(st.option_notes("dp-merf")) == set(st.method_options("dp-merf")["model"])
    for name, value in {"features": 1, "together": 5, "levels": 1, "rows": 1, "steps": 0}.items():
        with pytest.raises(ArgumentError, match=name):
            method().with_options(**{name: value})


def test_a_limit_of_seconds_ends_training_and_changes_nothing_of_what_is_paid() -> None:
    pytest.importorskip("torch")
    told: list[tuple[str, float]] = []
    even = st.Preprocessing(discretizer="uniform")
    limited = method(bins=4, preprocessing=even, progress=lambda step, done: told.append((step, done)))
    began = time.perf_counter()

    release = limited.with_options(steps=10**6, seconds=0.5).fit(table(), SCHEMA)

    assert time.perf_counter() - began < 60
    assert 4.9 < release.privacy.epsilon_spent <= 5.0
    trained = [
        (step, done) for step, done in told if step.startswith("train the generator: at most 0 s left")
    ]
    assert trained
    assert all(before <= after for (_, before), (_, after) in pairwise(told))
    assert limited.with_options(steps=10**6, seconds=0.5).plan(SCHEMA, 500).steps[-1].seconds < 5
