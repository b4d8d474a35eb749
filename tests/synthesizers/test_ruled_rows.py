"""Rows that break a rule by the values within their codes get others, and are not discarded."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import RuleWarning
from syntabula.synthesizers import ruled_rows

COLUMNS = {"asked": st.Numeric(0.0, 100.0, bins=4), "paid": st.Numeric(0.0, 100.0, bins=4)}
SCHEMA = st.Schema(COLUMNS, rules=st.Rules(require=["paid <= asked"]))


def loans(n: int = 2000) -> pd.DataFrame:
    """Draw a table in which most loans are paid in full, so that both amounts share a bin."""
    rng = np.random.default_rng(0)
    asked = rng.uniform(0, 100, n)
    return pd.DataFrame({"asked": asked, "paid": np.where(rng.random(n) < 0.8, asked, asked / 2)})


def shares(frame: pd.DataFrame) -> np.ndarray:
    """Return the share of rows in each pair of quarters."""
    found = np.histogram2d(frame["asked"], frame["paid"], bins=[[0, 25, 50, 75, 100]] * 2)[0]
    return found / len(frame)


@pytest.fixture(scope="module")
def release() -> st.Release:
    plain = st.Preprocessing(discretizer="uniform", atoms="declared")
    return st.MST(epsilon=math.inf, preprocessing=plain).fit(loans(), SCHEMA)


class TestRedrawn:
    @pytest.mark.thorough
    def test_values_of_one_bin_are_drawn_again_and_no_row_is_discarded(self, release):
        rows = release.sample(20_000, seed=1)

        # Half of the four in five pairs that share a bin would break the rule, each again with half of the odds.
        assert sum(release.rules_broken().values()) < 0.01
        assert (rows["paid"] <= rows["asked"]).all()

    def test_pairs_of_bins_are_as_frequent_as_the_model_says(self, release, monkeypatch):
        apart = np.abs(shares(release.sample(20_000, seed=1)) - shares(loans())).sum()
        monkeypatch.setattr(ruled_rows, "_MOST_REDRAWS", 0)
        with pytest.warns(RuleWarning):
            discarded = np.abs(shares(release.sample(20_000, seed=1)) - shares(loans())).sum()

        # Discarding every second row whose amounts share a bin leaves too few of them.
        assert apart < 0.05 < 0.15 < discarded

    @pytest.mark.thorough
    def test_conditions_stay_satisfied(self, release):
        rows = release.sample(2000, where={"asked": (30.0, 40.0)}, seed=1)

        assert rows["asked"].between(30, 40).all()
        assert (rows["paid"] <= rows["asked"]).all()

    @pytest.mark.thorough
    def test_codes_that_were_merged_are_drawn_again_too(self, monkeypatch):
        # Most levels are rare, so that noise merges them, and pairs on both sides of the diagonal become one cell.
        rng = np.random.default_rng(1)
        low = rng.choice(30, 3000, p=[0.3, 0.3, 0.3, *[0.1 / 27] * 27])
        frame = pd.DataFrame({"low": low, "high": low})
        columns = {name: st.Numeric(0, 29, integer=True) for name in frame}
        schema = st.Schema(columns, rules=st.Rules(require=["low * low = high * high"]))

        release = st.MST(epsilon=1.0, seed=0).fit(frame, schema)

        assert sum(release.rules_broken().values()) < 0.02
        monkeypatch.setattr(ruled_rows, "_MOST_REDRAWS", 0)
        assert sum(release.rules_broken().values()) > 0.05
