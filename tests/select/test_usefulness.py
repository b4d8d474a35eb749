"""Theta-usefulness: how large a marginal may be, and the largest sets of columns within that."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.usefulness import Limit, largest_useful, maximal_sets, useful_sets

DOMAIN = Domain(("a", "b", "c", "d", "e"), (3, 2, 4, 2, 6))


def curator(budget: Budget | None = None) -> Curator:
    empty = EncodedTable(DOMAIN, tuple(np.zeros(0, dtype=np.uint8) for _ in DOMAIN.columns))
    ledger = Ledger(budget or Budget(epsilon=1.0, delta=1e-5, accounting="zcdp"))
    return Curator(MemoryEngine(empty), ledger, SeededNoise(0))


class TestMaximalSets:
    def test_they_are_all_sets_that_fit_and_that_nothing_fits_into(self) -> None:
        columns = DOMAIN.columns
        for cells, most in product((1, 2, 7, 24, 1000), (1, 2, 3, 5)):
            fitting = {
                frozenset(c)
                for k in range(most + 1)
                for c in combinations(columns, k)
                if DOMAIN.cells(c) <= cells
            }
            maximal = {s for s in fitting if len(s) == most or not any(s < other for other in fitting)}

            found = list(maximal_sets(DOMAIN, columns, cells, most))

            assert len(found) == len(set(found)), (cells, most)
            assert {frozenset(f) for f in found} == maximal, (cells, most)
            assert all(DOMAIN.canonical(f) == f for f in found), (cells, most)

    def test_without_columns_there_is_the_empty_set(self) -> None:
        assert list(maximal_sets(DOMAIN, [], 100, 3)) == [()]


class TestUsefulSets:
    def test_they_are_all_sets_within_a_clique_that_are_allowed(self) -> None:
        cliques = [("a", "b", "c"), ("b", "c", "d"), ("e",)]
        for cells, most, slack in product((1, 6, 12, 24, 1000), (1, 2, 3, 5), (1, 3)):
            expected = {
                s
                for c in cliques
                for k in range(1, most + 1)
                for s in combinations(c, k)
                if k == 1 or DOMAIN.cells(s) <= cells * (slack if k == 2 else 1)
            }

            found = useful_sets(DOMAIN, cliques, Limit(cells, cells * slack), most)

            assert set(found) == expected, (cells, most, slack)
            assert len(found) == len(expected), (cells, most, slack)


class TestUsefulness:
    def test_the_average_count_is_theta_times_the_average_noise(self) -> None:
        private = curator()
        rho = float(private.ledger.budget.total)
        sigma = math.sqrt(5 / (2 * 0.7 * rho))

        limit = largest_useful(private, 3000.0, 5, Fraction(7, 10), theta=4.0)

        assert 3000 / limit == pytest.approx(4 * math.sqrt(2 / math.pi) * sigma)

    def test_laplace_noise_counts_with_its_mean(self) -> None:
        limit = largest_useful(curator(Budget.pure(1.0)), 3000.0, 5, Fraction(1), theta=4.0)

        # The scale is 5: discrete Laplace noise of that scale is within 1 % of its continuous mean.
        assert limit == pytest.approx(3000 / (4 * 5), rel=0.01)

    def test_without_noise_everything_is_useful(self) -> None:
        assert largest_useful(curator(NO_PRIVACY), 10.0, 5, Fraction(1), theta=4.0) == math.inf

    def test_a_noisy_number_below_one_counts_as_one(self) -> None:
        assert largest_useful(curator(), -50.0, 5, Fraction(1), theta=4.0) == largest_useful(
            curator(), 1.0, 5, Fraction(1), theta=4.0
        )
