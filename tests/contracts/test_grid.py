"""Every selector with every model: a pair is either refused beforehand, or keeps all promises of a method."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError

SCHEMA = st.Schema(
    {"a": st.Numeric(0, 3, integer=True), "b": st.Categorical(("x", "y", "z")), "c": st.Boolean()}
)
SELECTORS = [info.key for info in st.list_selectors()]
MODELS = [info.key for info in st.list_models()]
NEED_TORCH = {"neural", "relaxed_projection"}
# What is promised of a pair holds at any size of its parts.
SMALL: dict[str, Any] = {
    "n_rows": 16,
    "units": 4,
    "iterations": 5,
    "passes": 3,
    "generations": 20,
    "mutations": 5,
    "crossovers": 5,
    "rounds_per_column": 1,
    "cells_per_round": 1,
    "candidates": 10,
}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 300)
    return pd.DataFrame(
        {"a": a, "b": np.array(["x", "y", "z"])[np.minimum(a, 2)], "c": rng.random(300) < 0.3}
    )


def refusal(selector: str, model: str) -> str:
    """Return why a pair is refused, or nothing."""
    try:
        st.Marginal(selector=selector, model=model)
    except ArgumentError as refused:
        return str(refused)
    return ""


@cache
def pairs() -> list[tuple[str, str]]:
    """Return all pairs that are not refused; each is made for it, which takes a while."""
    return [(s, m) for s in SELECTORS for m in MODELS if not refusal(s, m)]


def models_of(selector: str) -> list[str]:
    """Return the models of a selector's pairs whose library is installed."""
    here = find_spec("torch") is not None
    return [model for s, model in pairs() if s == selector and (here or model not in NEED_TORCH)]


def pair(selector: str, model: str) -> dict[str, Any]:
    """Return the parts of a pair with small settings."""
    method = st.Marginal(selector=selector, model=model)
    known = {name for options in st.method_options(method).values() for name in options}
    small = method.with_options(**{n: v for n, v in SMALL.items() if n in known})
    return {"selector": small.selector, "model": small.model}


@pytest.mark.thorough
def test_every_other_pair_is_refused_with_why() -> None:
    refused = [(s, m) for s in SELECTORS for m in MODELS if (s, m) not in pairs()]

    assert {model for _, model in refused} == {"bayesian_network"}
    assert all("cannot be combined with" in refusal(*pair) for pair in refused)


@pytest.mark.parametrize("selector", SELECTORS)
class TestEveryPair:
    def test_its_plan_is_its_budget(self, selector: str) -> None:
        for model in models_of(selector):
            planned = st.Marginal(**pair(selector, model)).plan(SCHEMA)

            assert planned.method == f"{selector}+{model}"
            assert sum(step.share for step in planned.steps) == pytest.approx(1.0), model
            assert planned.memory_mb < 4000, model

    @pytest.mark.thorough
    def test_it_spends_its_budget_and_no_more_and_comes_back_from_a_file(
        self, selector: str, tmp_path: Path
    ) -> None:
        budget = st.Budget(epsilon=1.0, delta=1e-5)
        for model in models_of(selector):
            method = st.Marginal(**pair(selector, model), budget=budget, seed=1)

            release = method.fit(table(), SCHEMA)

            assert release.method == f"{selector}+{model}"
            assert 1 - 1e-6 < release.privacy.epsilon_spent <= 1, model
            release.save(tmp_path / "x.syn")
            rows = st.load(tmp_path / "x.syn").sample(20, seed=2)
            pd.testing.assert_frame_equal(rows, release.sample(20, seed=2), obj=model)
            assert set(rows["b"]) <= {"x", "y", "z"}, model


@pytest.mark.thorough
def test_each_selector_and_each_model_runs_without_privacy() -> None:
    every = [(selector, model) for selector in SELECTORS for model in models_of(selector)]
    # One pair for each selector, and one for each model.
    tried = {*{selector: (selector, model) for selector, model in every}.values()}
    tried |= {*{model: (selector, model) for selector, model in every}.values()}
    for selector, model in sorted(tried):
        release = st.Marginal(**pair(selector, model), epsilon=float("inf")).fit(table(), SCHEMA)

        assert release.n_estimated == pytest.approx(300, abs=1), (selector, model)
        assert len(release.sample(5)) == 5

    assert {selector for selector, _ in tried} == {*SELECTORS}
