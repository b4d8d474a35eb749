"""Private-GSD as a whole: from a table to a table, with what the statement says of it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.models.genetic import Genetic
from syntabula.select.adaptive import Adaptive
from syntabula.select.fixed_marginals import GivenWorkload

SCHEMA = st.datasets.schema_of("census")
NARROW = st.Schema({c: SCHEMA.columns[c] for c in ("household_size", "marital_status", "education", "sex")})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return st.datasets.census(n_rows=4000)


def distance(one: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> float:
    """Return the total variation distance of two tables over some columns."""
    parts = [t.groupby(columns, dropna=False, observed=False).size() / len(t) for t in (one, other)]
    return float(parts[0].sub(parts[1], fill_value=0).abs().sum() / 2)


class TestPrivateGSD:
    @pytest.mark.thorough
    def test_the_whole_budget_measures_all_pairs_once(self, frame: pd.DataFrame) -> None:
        release = st.PrivateGSD(epsilon=1.0, seed=0).fit(frame, SCHEMA)

        assert "private-gsd" in release.privacy.text()
        assert "measure all pairs" in release.privacy.text()
        assert 0.999 < release.privacy.epsilon_spent <= 1.0

    @pytest.mark.parametrize("epsilon", [10.0, math.inf])
    def test_a_dependent_pair_is_nearer_than_independent_columns_would_be(
        self, frame: pd.DataFrame, epsilon: float
    ) -> None:
        pair = ["household_size", "marital_status"]

        ours, alone = (
            method(epsilon=epsilon, seed=0).fit(frame[list(NARROW.columns)], NARROW).sample(4000, seed=1)
            for method in (st.PrivateGSD, st.Independent)
        )

        assert distance(frame, ours, pair) < 0.5 * distance(frame, alone, pair)

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "selector",
        [
            GivenWorkload(workload=[["household_size", "marital_status"], ["education"]]),
            Adaptive(max_rounds=5),
        ],
    )
    def test_other_selectors_choose_for_it(self, frame: pd.DataFrame, selector: object) -> None:
        release = st.PrivateGSD(epsilon=5.0, seed=0, selector=selector, model=Genetic(max_rows=2000)).fit(
            frame[list(NARROW.columns)], NARROW
        )

        (counts,) = release.marginals([("household_size", "marital_status")])
        assert np.isclose(counts.sum(), release.model.total)
        assert len(release.sample(10, seed=0)) == 10
