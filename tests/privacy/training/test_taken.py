"""Which records a step takes.

Secure draws are fresh in each run: about 8 p-values, each compared with 1e-9, so a run fails by chance with
probability below 1e-8.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

from syntabula.privacy.training.taken import sampled_records

pytestmark = pytest.mark.fresh_noise

LEAST_P = 1e-9


class TestRecords:
    def test_are_taken_at_their_rate(self) -> None:
        for rate in [0.5, 1 / 256, 0.9999, 1e-4]:
            n = 400_000

            taken = sampled_records(n, rate, os.urandom)

            assert stats.binomtest(taken.size, n, rate).pvalue > LEAST_P
            assert (np.diff(taken) > 0).all()
            assert stats.kstest(taken / n, "uniform").pvalue > LEAST_P

    def test_are_all_taken_at_rate_one_and_no_more_than_none_of_none(self) -> None:
        assert sampled_records(1000, 1.0, os.urandom).size == 1000
        assert sampled_records(0, 0.5, os.urandom).size == 0

    @pytest.mark.thorough
    def test_are_taken_independently(self) -> None:
        taken = np.zeros((4000, 2), dtype=bool)
        source = np.random.Generator(np.random.PCG64(3)).bytes
        for row in taken:
            row[sampled_records(2, 0.3, source)] = True

        table = np.histogram2d(*taken.T, bins=2)[0]
        assert stats.chi2_contingency(table).pvalue > LEAST_P

    def test_of_a_rate_below_the_last_digit_are_none(self) -> None:
        # The rate is rounded down: less is taken than was paid for, never more.
        assert sampled_records(1000, 2.0**-80, os.urandom).size == 0
