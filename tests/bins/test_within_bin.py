"""Values within bins stay in their bin and are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.bins.uniform import Bins, UniformBins
from syntabula.bins.within_bin import uniform_within


class TestRoundTrip:
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

    @pytest.mark.parametrize(("lower", "upper"), [(0, 2**64 - 1), (2**63, 2**64 - 1), (2**64 - 1, 2**64 - 1)])
    def test_unsigned_integers_keep_their_code(self, lower, upper):
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
