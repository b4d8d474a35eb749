"""Values within bins, even or truncated normal, stay in their bin; those of parts are those of the whole bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from syntabula.bins.uniform import Bins, Parts, Spread, UniformBins, cut, normal_within, uniform_within
from syntabula.errors import SchemaError


class TestRoundTrip:
    @pytest.mark.thorough
    @given(
        st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1), st.integers(1, 60), st.integers(0, 99)
    )
    def test_integers_keep_their_code(self, lower, span, count, seed):
        bins = UniformBins(count).bins(lower, min(lower + span, 2**63 - 1), integer=True)
        codes = np.arange(bins.size).repeat(3)
        values = uniform_within(bins, codes, np.random.default_rng(seed))
        assert values.dtype == np.int64
        assert (bins.codes(values) == codes).all()

    @given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
    def test_floats_keep_their_code(self, first, second):
        bins = UniformBins(20).bins(min(first, second) + 0.0, max(first, second) + 0.0, integer=False)
        codes = np.arange(bins.size).repeat(3)
        values = uniform_within(bins, codes, np.random.default_rng(1))
        assert (bins.codes(values) == codes).all()
        assert bins.edges[0] <= values.min()
        assert values.max() <= bins.edges[-1]

    def test_a_draw_that_rounds_to_the_end_of_its_bin_stays_below_it(self):
        class Largest:
            def random(self, n):
                return np.full(n, np.nextafter(1.0, 0.0))

        bins = Bins((1.0, 2.0, 3.0))

        values = uniform_within(bins, np.array([0, 1]), Largest())

        assert bins.codes(values).tolist() == [0, 1]
        assert values[0] < 2.0

    def test_unsigned_integers_keep_their_code(self):
        for lower, upper in [(0, 2**64 - 1), (2**63, 2**64 - 1), (2**64 - 1, 2**64 - 1)]:
            bins = UniformBins(1).bins(lower, upper, integer=True)
            values = uniform_within(bins, np.zeros(100, dtype=np.uint8), np.random.default_rng(2))
            assert values.dtype == np.uint64
            assert values.min() >= lower


class TestDistribution:
    def test_integers_of_a_bin_are_equally_likely(self):
        bins = Bins((0, 3, 10), integer=True)
        values = uniform_within(bins, np.zeros(30_000, dtype=int), np.random.default_rng(3))
        counts = np.bincount(values, minlength=3)
        # 6 standard deviations per cell (sd 82): false alarm rate below 1e-8.
        assert counts.size == 3
        assert np.abs(counts - 10_000).max() < 490

    def test_floats_of_a_bin_are_uniform(self):
        values = uniform_within(Bins((2.0, 4.0)), np.zeros(40_000, dtype=int), np.random.default_rng(4))
        # Kolmogorov distance: P(D > t) <= 2 exp(-2 n t^2) = 2e-7 at t = 0.0142.
        uniform = (np.sort(values) - 2) / 2
        assert np.abs(uniform - np.arange(40_000) / 40_000).max() < 0.0142


class TestRefusals:
    def test_numbers_outside_their_range_are_refused(self):
        with pytest.raises(SchemaError):
            Spread((1.5,), (0.1,))
        with pytest.raises(SchemaError):
            Spread((0.5,), (0.1, 0.2))


class TestDraw:
    def test_values_keep_their_code_and_integers_their_type(self):
        for integer in [True, False]:
            bins = UniformBins(7).bins(-50, 2**40 if integer else 99.5, integer=integer)
            spread = Spread((0.0, 1.0, 0.5, 0.2, 0.9, 0.5, 1.0), (0.01, 0.01, 1.0, 0.0, 0.3, 0.01, 1.0))
            codes = np.arange(7).repeat(200)

            values = normal_within(bins, spread, codes, np.random.default_rng(1))

            assert (bins.codes(values) == codes).all()
            assert values.dtype == (np.int64 if integer else np.float64)

    def test_values_gather_around_the_mean(self):
        drawn = normal_within(
            Bins((0.0, 10.0)), Spread((0.3,), (0.05,)), np.zeros(20_000, int), np.random.default_rng(2)
        )

        # The standard error of the mean is 0.0035: 5.5 of them are exceeded with probability below 1e-7.
        assert drawn.mean() == pytest.approx(3.0, abs=0.02)
        assert drawn.std() == pytest.approx(0.5, abs=0.02)


LEAST_P = 1e-8  # of each test of a distribution by it: all of them together raise a false alarm below 1e-6

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

    def test_integers_of_64_bits_are_cut_exactly(self) -> None:
        for spread in [None, Spread((0.9,), (0.5,)), Spread((0.9,), (0.0,))]:
            parts = cut(Bins((0, 2**64), integer=True), spread, [2**64 - 1])

            assert parts.bins.edges == (0, 2**64 - 1, 2**64)
            density = (
                1.0
                if spread is None or not spread.deviations[0]
                else stats.truncnorm.pdf(1, -1.8, 0.2, 0.9, 0.5)
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
    def test_of_the_parts_are_distributed_as_those_of_the_whole(self) -> None:
        for bins in [INTEGERS, FLOATS]:
            for normal in [False, True]:
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
                    whole = (
                        normal_within(bins, spread, codes, rng)
                        if spread
                        else uniform_within(bins, codes, rng)
                    )
                    assert np.array_equal(parts.bins.codes(values), chosen)
                    if np.unique(whole).size > 1:
                        assert stats.ks_2samp(values, whole).pvalue > LEAST_P

    def test_of_one_part_follow_the_normal_distribution_there(self) -> None:
        for low, high in [(0.0, 0.02), (0.1, 0.9), (0.6, 1.0)]:
            spread = Spread((0.5,), (0.02,))
            parts = cut(Bins((0.0, 1.0)), spread, [c for c in (low, high) if 0 < c < 1])
            part = int(np.searchsorted(parts.bins.edges, low))
            rng = np.random.default_rng(0)

            values = drawn(parts, np.full(5_000, part), rng)

            scaled = (low - 0.5) / 0.02, (high - 0.5) / 0.02
            law = stats.truncnorm(*scaled, loc=0.5, scale=0.02)
            assert ((values >= low) & (values <= high)).all()
            assert stats.kstest(values, law.cdf).pvalue > LEAST_P
