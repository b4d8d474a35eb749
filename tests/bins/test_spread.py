"""Truncated normal distributions within bins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.bins.within_bin import normal_within
from syntabula.errors import SchemaError
from syntabula.prepare.spread import fit_spread
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

RNG = np.random.default_rng(0)


def fitted(points, bins, budget):
    ledger = Ledger(budget)
    column = ColumnCurator(points, ledger, SeededNoise(0))
    return fit_spread(column, bins, share=Fraction(1, 2), step="spread"), ledger


class TestFit:
    @pytest.mark.parametrize("budget", [Budget.none(), Budget.pure(10.0), Budget(epsilon=5.0, delta=1e-5)])
    def test_finds_where_the_values_of_each_bin_lie(self, budget):
        points = np.concatenate([RNG.normal(0.3, 0.05, 5_000), RNG.normal(1.8, 0.02, 5_000)])

        spread, ledger = fitted(points, Bins((0.0, 1.0, 2.0)), budget)

        assert spread.means == pytest.approx((0.3, 0.8), abs=0.02)
        assert spread.deviations == pytest.approx((0.05, 0.02), abs=0.02)
        if budget.total is not None:
            assert 0 < ledger.spent <= Fraction(1, 2) * budget.total

    def test_an_empty_bin_keeps_even_values(self):
        spread, _ = fitted(np.full(1_000, 0.5), Bins((0.0, 1.0, 2.0)), Budget.pure(5.0))

        assert spread.deviations[1] == 0

    def test_numbers_outside_their_range_are_refused(self):
        with pytest.raises(SchemaError):
            Spread((1.5,), (0.1,))
        with pytest.raises(SchemaError):
            Spread((0.5,), (0.1, 0.2))


class TestDraw:
    @pytest.mark.parametrize("integer", [True, False])
    def test_values_keep_their_code_and_integers_their_type(self, integer):
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
