"""Bins cut into parts: values of the parts are those of the bins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from syntabula.bins.cutting import Parts, cut
from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins
from syntabula.bins.within_bin import normal_within, uniform_within

LEAST_P = 1e-8  # of each test of a distribution: all of this file together raise a false alarm below 1e-6

INTEGERS = Bins((0, 10, 11, 100), integer=True)
FLOATS = Bins((0.0, 1.0, 4.0))


def drawn(parts: Parts, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if parts.spread is None:
        return uniform_within(parts.bins, codes, rng)
    return normal_within(parts.bins, parts.spread, codes, rng)


class TestCut:
    def test_parts_know_their_bin_and_their_share_of_it(self) -> None:
        parts = cut(INTEGERS, None, [4, 11, 90])

        assert parts.bins.edges == (0, 4, 10, 11, 90, 100)
        assert parts.whole.tolist() == [0, 0, 1, 2, 2]
        assert parts.shares == pytest.approx([0.4, 0.6, 1, 79 / 89, 10 / 89])

    def test_without_cuts_all_stays(self) -> None:
        one_value = Bins((7.0, 7.0))

        for bins in (INTEGERS, FLOATS, one_value):
            parts = cut(bins, None, [])
            assert parts.bins == bins
            assert parts.shares.tolist() == [1.0] * bins.size

    @pytest.mark.parametrize("spread", [None, Spread((0.9,), (0.5,)), Spread((0.9,), (0.0,))])
    def test_integers_of_64_bits_are_cut_exactly(self, spread: Spread | None) -> None:
        parts = cut(Bins((0, 2**64), integer=True), spread, [2**64 - 1])

        assert parts.bins.edges == (0, 2**64 - 1, 2**64)
        density = (
            1.0 if spread is None or not spread.deviations[0] else stats.truncnorm.pdf(1, -1.8, 0.2, 0.9, 0.5)
        )
        assert parts.shares[1] == pytest.approx(2**-64 * density)
        assert drawn(parts, np.array([1, 1]), np.random.default_rng(0)).tolist() == [2**64 - 1] * 2

    def test_shares_of_a_normal_spread_are_those_of_its_distribution(self) -> None:
        spread = Spread((0.3, 0.5), (0.1, 0.0))

        parts = cut(FLOATS, spread, [0.25, 0.9, 2.5])

        law = stats.truncnorm(-3, 7, loc=0.3, scale=0.1)
        expected = [*np.diff(law.cdf([0, 0.25, 0.9, 1])), 0.5, 0.5]
        assert parts.shares == pytest.approx(expected, rel=1e-6)

    def test_shares_far_out_are_exact(self) -> None:
        parts = cut(Bins((0.0, 1.0)), Spread((0.0,), (0.1,)), [0.8, 0.9])

        assert parts.shares[2] == pytest.approx(2 * stats.norm.sf(9), rel=1e-4)
        assert cut(Bins((0.0, 1.0)), Spread((1.0,), (0.1,)), [0.1]).shares[0] == pytest.approx(
            2 * stats.norm.sf(9)
        )


class TestValues:
    @pytest.mark.parametrize("bins", [INTEGERS, FLOATS], ids=["integers", "floats"])
    @pytest.mark.parametrize("normal", [False, True])
    def test_of_the_parts_are_distributed_as_those_of_the_whole(self, bins: Bins, normal: bool) -> None:
        rng = np.random.default_rng(0)
        means, deviations = (0.2, 0.9, 0.6)[: bins.size], (0.05, 1.0, 0.0)[: bins.size]
        spread = Spread(means, deviations) if normal else None
        parts = cut(bins, spread, [type(bins.edges[0])(c) for c in (2, 3, 50) if c < bins.edges[-1]])
        n = 20_000

        for code in range(bins.size):
            mine = np.flatnonzero(parts.whole == code)
            chosen = rng.choice(mine, n, p=parts.shares[mine] / parts.shares[mine].sum())
            values = drawn(parts, chosen, rng)
            codes = np.full(n, code)
            whole = normal_within(bins, spread, codes, rng) if spread else uniform_within(bins, codes, rng)
            assert np.array_equal(parts.bins.codes(values), chosen)
            if np.unique(whole).size > 1:
                assert stats.ks_2samp(values, whole).pvalue > LEAST_P

    @pytest.mark.parametrize(("low", "high"), [(0.0, 0.02), (0.1, 0.9), (0.6, 1.0), (0.45, 0.55)])
    def test_of_one_part_follow_the_normal_distribution_there(self, low: float, high: float) -> None:
        spread = Spread((0.5,), (0.02,))
        parts = cut(Bins((0.0, 1.0)), spread, [c for c in (low, high) if 0 < c < 1])
        part = int(np.searchsorted(parts.bins.edges, low))
        rng = np.random.default_rng(0)

        values = drawn(parts, np.full(5_000, part), rng)

        scaled = (low - 0.5) / 0.02, (high - 0.5) / 0.02
        law = stats.truncnorm(*scaled, loc=0.5, scale=0.02)
        assert ((values >= low) & (values <= high)).all()
        assert stats.kstest(values, law.cdf).pvalue > LEAST_P
