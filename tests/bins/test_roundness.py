"""Draws at round numbers: only these, in their proportions, within each bin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.bins.roundness import Roundness, first_multiples
from syntabula.bins.spread import cut
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.errors import SchemaError

HUNDREDS = Roundness((Fraction(1000), Fraction(500), Fraction(100)), (0.5, 0.2, 0.3, 0.0))
CENTS = Roundness((Fraction(1), Fraction(1, 10), Fraction(1, 100)), (0.6, 0.3, 0.0, 0.1))


def drawn(roundness: Roundness, bins: Bins, n: int) -> np.ndarray:
    return roundness.within(bins, np.repeat(np.arange(bins.size), n), np.random.default_rng(1))


class TestDraws:
    def test_levels_come_in_their_proportions(self):
        bins = UniformBins(1).bins(0, 9_999, integer=True)

        values = drawn(HUNDREDS, bins, 50_000)

        assert (values % 100 == 0).all()
        # Binomial with standard deviation at most .0023: .012 is above 5 of them, so below 1e-6.
        assert np.mean(values % 1000 == 0) == pytest.approx(0.5, abs=0.012)
        assert np.mean(values % 500 == 0) == pytest.approx(0.7, abs=0.012)

    def test_numbers_of_a_level_are_equally_likely(self):
        values = drawn(HUNDREDS, UniformBins(1).bins(0, 9_999, integer=True), 80_000)

        counts = np.bincount(values // 100, minlength=100)
        # 80 numbers share .3 of 80,000: 300 each, standard deviation 17.3; 6 of them for 80 draws are below 1e-6.
        only = counts[[i for i in range(100) if i % 5]]
        assert abs(only - 300).max() < 6 * 17.3

    def test_values_stay_in_their_bins_and_are_nearest_floats(self):
        bins = UniformBins(7).bins(0.0, 2.5, integer=False)

        values = drawn(CENTS, bins, 3_000)

        assert np.array_equal(bins.codes(values), np.repeat(np.arange(7), 3_000))
        wide = drawn(CENTS, UniformBins(1).bins(0.0, 100.0, integer=False), 40_000)
        # A tenth of the values may be any, the others are read from text: standard deviation .0015.
        assert np.mean([len(repr(float(v))) > 5 for v in wide]) == pytest.approx(0.1, abs=0.01)

    def test_a_bin_without_a_round_number_has_its_lower_end(self):
        bins = Bins((0, 950, 951, 999, 1001), integer=True)

        assert {*drawn(HUNDREDS, bins, 50)[50:150].tolist()} == {950, 951}


class TestParts:
    @pytest.mark.parametrize("roundness", [CENTS, Roundness((Fraction(1),), (1.0, 0.0))])
    def test_shares_of_parts_are_those_of_draws(self, roundness):
        bins = UniformBins(2).bins(0.0, 5.0, integer=False)
        parts = cut(bins, None, [0.15, 0.3, 2.75, 3.0])

        shares = roundness.shares_of(parts.bins, parts.whole)

        values = drawn(roundness, bins, 40_000)
        found = np.bincount(parts.bins.codes(values), minlength=parts.bins.size) / 40_000
        # Standard deviation at most .0025.
        assert np.allclose(found, shares, atol=0.0135)


class TestMultiples:
    def test_the_nearest_float_stands_for_a_multiple(self):
        tenths = np.array([i / 10 for i in range(-50, 50)])

        assert first_multiples(tenths, Fraction(1, 10), integer=False).tolist() == [*range(-50, 50)]
        above = np.nextafter(tenths, np.inf)
        assert first_multiples(above, Fraction(1, 10), integer=False).tolist() == [*range(-49, 51)]


class TestRefusals:
    @pytest.mark.parametrize(
        ("steps", "shares"),
        [((5, 3), (1, 1, 0)), ((1, 10), (1, 1, 0)), ((0,), (1, 0)), ((1,), (1,)), ((1,), (-1, 0))],
    )
    def test_what_makes_no_distribution(self, steps, shares):
        with pytest.raises(SchemaError, match="roundness"):
            Roundness(steps, shares)

    def test_parts_of_whole_numbers(self):
        with pytest.raises(SchemaError, match="whole"):
            CENTS.check(UniformBins(3).bins(0, 99, integer=True))
