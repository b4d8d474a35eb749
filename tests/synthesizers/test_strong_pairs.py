"""Two amounts that rise together do so in drawn rows as well, also where their bins are wide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.coding import values_within

SCHEMA = st.Schema({name: st.Numeric(0, 1_000_000) for name in ("rent", "income")})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    wealth = rng.standard_normal(10_000)
    rent = np.exp(6 + 0.8 * wealth + 0.15 * rng.standard_normal(10_000))
    income = np.exp(9 + 0.9 * wealth + 0.15 * rng.standard_normal(10_000))
    return pd.DataFrame({"rent": rent, "income": income})


@pytest.fixture(scope="module")
def release(frame: pd.DataFrame) -> st.Release:
    return st.MST(epsilon=3.0, seed=0).fit(frame, SCHEMA)


def ranks(rows: pd.DataFrame) -> float:
    return float(rows.corr("spearman").iloc[0, 1])


def test_rank_correlations_of_rows_come_near_the_real_one(
    frame: pd.DataFrame, release: st.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = release.sample(seed=1)
    monkeypatch.setattr(values_within, "_STRONG", 2.0)
    apart = release.sample(seed=1)

    # The standard error of the real one, .97, is below .001. Noise in the pair takes the rest.
    assert ranks(apart) + 0.005 < ranks(drawn) <= ranks(frame)
    for column in frame:
        assert np.array_equal(np.sort(drawn[column]), np.sort(apart[column]))


def test_a_saved_release_draws_the_same_rows(release: st.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "amounts.syn")

    again = st.load(tmp_path / "amounts.syn")

    pd.testing.assert_frame_equal(again.sample(2_000, seed=2), release.sample(2_000, seed=2))


def test_rows_satisfy_conditions_and_rise_together_within_them(release: st.Release) -> None:
    rows = release.sample(5_000, where={"rent": (500, 5_000)}, seed=3)

    assert rows["rent"].between(500, 5_000).all()
    whole = release.sample(50_000, seed=5)
    same = whole[whole["rent"].between(500, 5_000)]
    # Standard errors of both are below .01.
    assert ranks(rows) == pytest.approx(ranks(same), abs=0.07)
    assert np.log(rows["income"]).mean() == pytest.approx(np.log(same["income"]).mean(), abs=0.07)


def test_given_values_stay(frame: pd.DataFrame, release: st.Release) -> None:
    given = frame[["rent"]].head(1_000)

    rows = release.sample(given=given, seed=4)

    pd.testing.assert_frame_equal(rows[["rent"]], given)
    assert ranks(rows) > 0.8
