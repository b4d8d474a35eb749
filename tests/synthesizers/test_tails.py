"""Releases of columns whose bounds lie far beyond their values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st

N = 25_000


def drawn_table(seed: int = 5) -> pd.DataFrame:
    """Return amounts in hundreds, many of them zero, a second amount that follows the first, and limits."""
    rng = np.random.default_rng(seed)
    level = rng.standard_normal(N)
    follows = 0.95 * level + np.sqrt(1 - 0.95**2) * rng.standard_normal(N)
    nothing = rng.random(N) < 0.22
    limits = np.array([10_000, 20_000, 50_000, 100_000, 150_000, 300_000])
    place = np.searchsorted([-1, -0.2, 0.5, 1.1, 1.8], level + 0.8 * rng.standard_normal(N))
    months = pd.array(rng.integers(0, 60, N), dtype="Int64")
    months[rng.random(N) < 0.03] = pd.NA

    def amount(level: np.ndarray) -> np.ndarray:
        return np.where(nothing, 0, 100 * np.rint(18 * np.exp(1.1 * level))).astype(int)

    return pd.DataFrame(
        {
            "amount": amount(level),
            "next": amount(follows),
            "limit": limits[place],
            "months": months,
            "region": rng.choice(list("abcdefgh"), N, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.06, 0.03, 0.01]),
        }
    )


SCHEMA = st.Schema(
    {
        "amount": st.Numeric(0, 1_000_000, integer=True),
        "next": st.Numeric(0, 1_000_000, integer=True),
        "limit": st.Numeric(0, 1_000_000, integer=True),
        "months": st.Numeric(0, 1000, integer=True, nullable=True),
        "region": st.Categorical(tuple("abcdefghijkl"), open=True, nullable=True),
    }
)
TABLE = drawn_table()


@pytest.fixture(scope="module")
def releases() -> list[st.Release]:
    return [st.MST(epsilon=1.0, delta=1e-6, seed=seed).fit(TABLE, SCHEMA) for seed in range(3)]


@pytest.fixture(scope="module")
def samples(releases: list[st.Release]) -> list[pd.DataFrame]:
    return [release.sample(N, seed=0) for release in releases]


# Noise is seeded. The limits lie far from what was seen (spread .92 to 1.06, correlation .54 to .64, nothing far out)
# and farther from what even bins up to the bounds give (spread 2 to 6, correlation .1 to .2, .1 % far out).
class TestTails:
    @pytest.mark.thorough
    def test_the_spread_is_that_of_the_table(self, samples: list[pd.DataFrame]) -> None:
        for name in ("amount", "next"):
            ratios = [made[name].std() / TABLE[name].std() for made in samples]
            assert 0.75 < min(ratios) <= max(ratios) < 1.35

    @pytest.mark.thorough
    def test_nothing_lies_far_beyond_the_values(self, samples: list[pd.DataFrame]) -> None:
        for made in samples:
            assert (made["amount"] > 2 * TABLE["amount"].max()).mean() < 2e-4
            assert (made["months"] > 120).mean() < 2e-4

    def test_the_tail_is_not_cut(self, samples: list[pd.DataFrame]) -> None:
        real = TABLE["amount"].quantile(0.999)
        assert all(0.6 * real < made["amount"].quantile(0.999) < 1.7 * real for made in samples)

    def test_amounts_that_follow_each_other_do(self, samples: list[pd.DataFrame]) -> None:
        assert min(made["amount"].corr(made["next"]) for made in samples) > 0.45

    def test_bins_of_a_release_add_up_to_those_of_the_model(self, releases: list[st.Release]) -> None:
        release = releases[0]
        model = release.model

        (counts,) = model.marginals([("amount",)])  # type: ignore[attr-defined]

        assert counts.size == release.codec.bins["amount"].size
        assert counts.sum() == pytest.approx(model.total)

    def test_conditions_and_files_work_on_parts_of_bins(
        self, releases: list[st.Release], tmp_path: Path
    ) -> None:
        releases[0].save(tmp_path / "tails.syn")
        loaded = st.load(tmp_path / "tails.syn")

        made = loaded.sample(200, where={"amount": (30_000, 70_000)}, seed=1)

        assert made["amount"].between(30_000, 70_000).all()
        assert made.equals(releases[0].sample(200, where={"amount": (30_000, 70_000)}, seed=1))

    def test_bins_far_out_are_doublings_where_noise_tells_empty_ones_apart(self) -> None:
        lasts = {}
        for epsilon in (1.0, 5.0):
            release = st.Independent(epsilon=epsilon, delta=1e-6, seed=0).fit(TABLE, SCHEMA)
            before, last = (float(edge) for edge in release.codec.bins["amount"].edges[-2:])
            lasts[epsilon] = last / before

        # A bin of PrivTree ends at the far bound.
        assert lasts[5.0] < 2.02
        assert lasts[1.0] > 5


class TestCodesWithoutEvidence:
    def test_other_missing_and_unseen_categories_do_not_come_out(self, samples: list[pd.DataFrame]) -> None:
        invented = [made["region"].isna() | made["region"].isin([*"ijkl", "other"]) for made in samples]

        # Six codes of three releases, of which noise lifts one in forty above two deviations, or 90 records.
        assert np.mean([i.mean() for i in invented]) < 0.002

    def test_missing_cells_of_three_percent_stay(self, samples: list[pd.DataFrame]) -> None:
        # The noise is about 40 of 25,000 records.
        assert all(0.02 < made["months"].isna().mean() < 0.04 for made in samples)


class TestUsual:
    def test_bins_are_narrow_in_the_usual_range(self) -> None:
        schema = st.Schema({"x": st.Numeric(-1e6, 1e6, usual=(20, 40))})
        frame = pd.DataFrame({"x": np.random.default_rng(0).uniform(20, 40, 5000)})
        settings = st.Preprocessing(discretizer="uniform")

        release = st.Independent(epsilon=5.0, seed=1, bins=40, preprocessing=settings).fit(frame, schema)
        made = release.sample(5000, seed=1)["x"]

        assert abs(made.mean() - 30) < 1
        assert 0.85 < made.std() / frame["x"].std() < 1.2

    def test_it_is_kept_in_files(self, tmp_path: Path) -> None:
        schema = st.Schema({"x": st.Numeric(0, 10**6, integer=True, usual=(100, 5000))})

        assert st.Schema.from_json(schema.to_json()) == schema
        schema.to_yaml(tmp_path / "schema.yaml")
        assert st.Schema.from_yaml(tmp_path / "schema.yaml") == schema

    def test_dates_are_even(self) -> None:
        assert st.Date(dt.date(1900, 1, 1), dt.date(2100, 1, 1)).scale() is None
