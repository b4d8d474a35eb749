"""The rules for the number of bins give the numbers of their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from syntabula.bench.bin_rules import (
    doane_non_private,
    freedman_diaconis_non_private,
    shimazaki_shinomoto_non_private,
)
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, code_dtype
from syntabula.models.pgm import PGM
from syntabula.prepare.preprocessing import MOST_BINS, budget_rice, rice


class TestFreeOfTheData:
    def test_rice(self):
        assert rice(1000) == 20

    # n of wine, gas and adult, by the formula.
    def test_rice_under_a_budget(self):
        for n, expected in [(4898, (18, 25, 34)), (36_733, (35, 49, 67)), (48_842, (39, 54, 74))]:
            assert tuple(budget_rice(n, e) for e in (0.1, 1.0, 10.0)) == expected

    def test_rice_under_a_budget_has_a_floor_and_takes_noisy_counts(self):
        assert budget_rice(-20.0, 0.1) == 5
        assert budget_rice(1000, math.inf) == rice(1000)

    def test_rice_under_a_budget_has_an_end(self):
        for n in [10**7, 10**9, 10**18]:
            assert budget_rice(n, 1.0) == budget_rice(n, math.inf) == MOST_BINS == 250

    def test_codes_of_so_many_bins_fit_one_byte_with_those_of_missing_and_other_values(self):
        assert code_dtype(MOST_BINS + 2).itemsize == 1

    def test_three_such_columns_fit_the_memory_of_a_graphical_model(self):
        domain = Domain(("a", "b", "c"), (MOST_BINS + 2,) * 3)
        twice = Domain(("a", "b", "c"), (2 * MOST_BINS + 2,) * 3)
        model = PGM()

        assert model.over(domain).memory_mb([domain.columns]) < model.max_memory_mb / 5
        assert model.over(twice).memory_mb([twice.columns]) > 0.95 * model.max_memory_mb

    def test_no_budget_is_refused(self):
        with pytest.raises(ArgumentError):
            budget_rice(100, 0.0)


class TestNonPrivate:
    VALUES = np.random.default_rng(0).normal(0, 1, 10_000)

    def test_doane_of_a_symmetric_column_is_sturges(self):
        symmetric = np.concatenate([self.VALUES, -self.VALUES])

        assert doane_non_private(symmetric) == math.ceil(1 + math.log2(20_000))

    def test_doane_adds_bins_for_skew(self):
        assert doane_non_private(np.exp(self.VALUES)) > doane_non_private(self.VALUES)

    def test_freedman_diaconis(self):
        # 0 .. 1 with an IQR of a half: width 1 / cbrt(n), range 1.
        assert freedman_diaconis_non_private(np.linspace(0, 1, 8001)) == 21

    def test_freedman_diaconis_of_a_point_mass_falls_back_to_rice(self):
        assert freedman_diaconis_non_private(np.append(np.zeros(999), 1.0)) == 20

    def test_shimazaki_finds_the_period_of_a_comb(self):
        comb = np.concatenate([RNG.uniform(2 * i, 2 * i + 1, 500) for i in range(10)])

        assert shimazaki_shinomoto_non_private(comb) >= 19

    def test_a_constant_has_one_bin(self):
        assert shimazaki_shinomoto_non_private(np.ones(10)) == 1


RNG = np.random.default_rng(5)
