"""PrivSyn as a whole: from a table to a table, with what the statement says of it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM

SCHEMA = st.datasets.schema_of("census")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return st.datasets.census(n_rows=4000)


def distance(one: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> float:
    """Return the total variation distance of two tables over some columns."""
    parts = [t.groupby(columns, dropna=False, observed=False).size() / len(t) for t in (one, other)]
    return float(parts[0].sub(parts[1], fill_value=0).abs().sum() / 2)


def dependent_pairs(frame: pd.DataFrame) -> list[list[str]]:
    """Return the four pairs of small columns that are farthest from independence."""
    small = [c for c in frame.columns if frame[c].nunique() < 10]
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame({c: frame[c].to_numpy()[rng.permutation(len(frame))] for c in small})
    pairs = [[a, b] for i, a in enumerate(small) for b in small[:i]]
    return sorted(pairs, key=lambda pair: -distance(frame, mixed, pair))[:4]


class TestPrivSyn:
    @pytest.mark.thorough
    def test_the_statement_says_how_the_whole_budget_was_spent(self, frame: pd.DataFrame) -> None:
        release = st.PrivSyn(epsilon=1.0, seed=0).fit(frame, SCHEMA)

        text = release.privacy.text()
        assert "privsyn" in text
        assert "dependence of pairs" in text
        assert 0.999 < release.privacy.epsilon_spent <= 1.0

    @pytest.mark.thorough
    @pytest.mark.parametrize("epsilon", [10.0, math.inf])
    def test_dependent_pairs_are_nearer_than_independent_columns_would_be(
        self, frame: pd.DataFrame, epsilon: float
    ) -> None:
        ours, alone = (
            method(epsilon=epsilon, seed=0).fit(frame, SCHEMA).sample(4000, seed=1)
            for method in (st.PrivSyn, st.Independent)
        )

        pairs = dependent_pairs(frame)
        near = np.mean([distance(frame, ours, p) for p in pairs])
        far = np.mean([distance(frame, alone, p) for p in pairs])
        assert near < 0.6 * far

    def test_options_of_its_parts_can_be_named(self) -> None:
        options = st.method_options(st.PrivSyn)

        assert options["model"]["passes"] == 50
        assert options["selector"]["max_merged_cells"] == 5000

    @pytest.mark.thorough
    @pytest.mark.parametrize("model", [PGM(), GUM()])
    def test_its_selector_runs_with_other_models(self, frame: pd.DataFrame, model: object) -> None:
        selector = st.PrivSyn().selector

        release = st.Marginal(selector=selector, model=model, epsilon=1.0, seed=0).fit(frame, SCHEMA)

        assert len(release.sample(10, seed=0)) == 10
