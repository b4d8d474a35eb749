"""Bins are cut by one question to the model, or by what it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies

import syntabula as st
from syntabula.bins.scale import Scale
from syntabula.bins.uniform import Bins, Parts
from syntabula.marginals.domain import Clique
from syntabula.record_models.codes_network import CodesNetwork
from syntabula.synthesizers import fitting
from syntabula.synthesizers.joining import joined, with_joined_bins

EVEN = Bins((0.0, 1.0, 2.0, 3.0, 4.0))


def density(parts: Parts, counts: list[float]) -> np.ndarray:
    held = np.array(counts)[parts.whole] * parts.shares
    return held / np.diff(np.array(parts.bins.edges, dtype=float))


def mean(parts: Parts, code: int) -> float:
    """Return the mean of the values of a bin."""
    edges = np.array(parts.bins.edges, dtype=float)
    inside = parts.whole == code
    middles = (edges[1:] + edges[:-1]) / 2
    return float(middles[inside] @ parts.shares[inside])


class TestJoined:
    def test_even_counts_stay_even(self) -> None:
        parts = joined(EVEN, np.full(4, 100.0))

        assert parts.bins == EVEN
        assert parts.shares.tolist() == [1, 1, 1, 1]

    def test_the_density_goes_over_from_one_bin_to_the_next(self) -> None:
        counts = [400.0, 200.0, 100.0, 50.0]

        heights = density(joined(EVEN, np.array(counts)), counts)

        # The first bin has nothing before it, and stays even.
        ratios = heights[2:] / heights[1:-1]
        assert heights.size > 20
        assert np.all((ratios > 0.85) & (ratios < 1))

    def test_every_bin_keeps_its_count(self) -> None:
        parts = joined(EVEN, np.array([400.0, 200.0, 0.0, 50.0]))

        assert np.bincount(parts.whole, parts.shares) == pytest.approx(np.ones(4))

    def test_a_wide_last_bin_holds_little_near_the_bound(self) -> None:
        bins = Bins((0, 10, 100, 1000, 2000, 1_000_001), integer=True)
        scale = Scale.of(0, 1_000_000, integer=True)

        parts = joined(bins, np.array([50.0, 400, 3000, 600, 300]), scale)

        # Exponential with the density of the bin before at 2000: 300 records at about .4 a unit.
        assert 2300 < mean(parts, 4) < 4500
        far = np.array(parts.bins.edges[:-1]) > 50_000
        assert parts.shares[far].sum() < 1e-4

    def test_where_less_than_one_record_in_20_000_of_a_bin_would_lie_none_does(self) -> None:
        bins = Bins((0, 10, 100, 1000, 2000, 1_000_001), integer=True)
        scale = Scale.of(0, 1_000_000, integer=True)

        parts = joined(bins, np.array([50.0, 400, 3000, 600, 300]), scale)

        assert parts.bins.edges[-2] < 20_000
        assert parts.shares[-1] == 0
        assert (parts.shares[:-1] > 0).all()

    def test_the_lowest_bin_declines_downwards(self) -> None:
        bins = Bins((-1_000_000, -1000, 0, 1000, 2001), integer=True)
        scale = Scale.of(-1_000_000, 2000, integer=True)

        assert mean(joined(bins, np.array([30.0, 1000, 5000, 100]), scale), 0) > -3000

    def test_empty_bins_beyond_count_as_the_end(self) -> None:
        bins = Bins((0.0, 1.0, 2.0, 10.0, 100.0))

        assert mean(joined(bins, np.array([500.0, 300, 100, 0])), 2) < 4.5

    def test_a_frequent_value_is_passed_over(self) -> None:
        bins = Bins((0, 10, 20, 21, 30, 40), integer=True)
        plain = joined(bins, np.array([100.0, 90, 9, 80, 70]))
        spiked = joined(bins, np.array([100.0, 90, 5000, 80, 70]))

        assert mean(spiked, 1) == pytest.approx(mean(plain, 1), abs=0.2)
        assert mean(spiked, 3) == pytest.approx(mean(plain, 3), abs=0.2)

    def test_an_outer_bin_beyond_a_gap_declines_from_its_inner_end(self) -> None:
        scale = Scale.of(0, 1_000_000, integer=True)
        bins = Bins((0, 1000, 20_000, 50_000, 1_000_001), integer=True)

        parts = joined(bins, np.array([5000.0, 300, 0, 240]), scale)

        assert 80_000 < mean(parts, 3) < 120_000

    def test_a_lone_wide_bin_is_even_on_its_scale(self) -> None:
        scale = Scale.of(0, 1_000_000, integer=True)
        bins = Bins((0, 100, 1_000_001), integer=True)

        parts = joined(bins, np.array([0.0, 100.0]), scale)

        below = np.array(parts.bins.edges[1:]) <= 10_500
        assert parts.shares[below & (parts.whole == 1)].sum() == pytest.approx(0.5, abs=0.15)

    @pytest.mark.thorough
    @given(
        strategies.lists(strategies.floats(0, 1e9), min_size=1, max_size=6),
        strategies.lists(strategies.integers(-(10**9), 10**9), min_size=7, max_size=7, unique=True),
        strategies.booleans(),
    )
    def test_any_bins_are_cut_into_parts_of_themselves(
        self, counts: list[float], ends: list[int], scaled: bool
    ) -> None:
        edges = sorted(ends)[: len(counts) + 1]
        scale = (
            Scale.of(edges[0], edges[-1] - 1, integer=True) if scaled and edges[-1] - edges[0] > 1 else None
        )
        bins = Bins(tuple(edges), integer=True)

        parts = joined(bins, np.array(counts), scale)

        assert set(edges) <= set(parts.bins.edges)
        assert np.bincount(parts.whole, parts.shares) == pytest.approx(np.ones(bins.size))
        assert (parts.shares >= 0).all()
        starts = np.array(parts.bins.edges[:-1])
        assert bins.codes(starts).tolist() == parts.whole.tolist()


def test_a_model_is_asked_once_for_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    # A model of records draws rows to answer: asked column by column, TabDDPM took as long again as its training.
    asked: list[Sequence[Clique]] = []

    class Counting:
        def __init__(self, model: Any) -> None:
            self.inner, self.domain, self.total = model, model.domain, model.total

        def marginals(self, cliques: Sequence[Clique]) -> Any:
            asked.append(cliques)
            return self.inner.marginals(cliques)

    monkeypatch.setattr(fitting, "with_joined_bins", lambda c, m: with_joined_bins(c, Counting(m)))  # type: ignore[arg-type]
    frame = pd.DataFrame(np.random.default_rng(0).normal(50, 9, (500, 3)).clip(0, 99), columns=list("abc"))
    schema = st.Schema({name: st.Numeric(0, 99, bins=6) for name in frame})

    release = st.MST(epsilon=1.0, seed=1).fit(frame, schema)

    assert asked == [[("a",), ("b",), ("c",)]]
    assert release.codec.domain.size("a") > 6


@pytest.mark.thorough
def test_a_model_of_records_draws_no_rows_to_join_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    # It knows the one-way marginals that it was made of.
    drawn: list[int] = []
    sample = CodesNetwork.sample

    def counted(self: Any, n: int, *rest: Any) -> Any:
        drawn.append(n)
        return sample(self, n, *rest)

    monkeypatch.setattr(CodesNetwork, "sample", counted)
    frame = pd.DataFrame(np.random.default_rng(0).normal(50, 9, (300, 2)).clip(0, 99), columns=list("ab"))
    schema = st.Schema({name: st.Numeric(0, 99, bins=6) for name in frame})

    release = st.ARGN(epsilon=5.0, seed=1).with_options(steps=3).fit(frame, schema)

    assert drawn == [4096]  # whether its training went astray
    assert release.codec.domain.size("a") > 6
