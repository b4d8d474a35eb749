"""Private discretisers on the columns that break naive ones."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from syntabula.bins.uniform import Bins
from syntabula.prepare.kmeans import KMeansBins
from syntabula.prepare.preprocessing import FittedDiscretizer, bins_through, fit_spread, is_worth_fitting
from syntabula.prepare.privtree import PrivTreeBins
from syntabula.prepare.quantile import QuantileBins, candidate_edges
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

N = 20_000
RNG = np.random.default_rng(3)
MONEY = np.rint(np.clip(RNG.lognormal(8.5, 1, N), 0, 99_999)).astype(np.int64)
COLUMNS = {
    "a normal column": (RNG.normal(0, 1, N), -4.0, 4.0),
    "skewed money": (MONEY, 0, 99_999),
    "92 % zeros": (np.where(RNG.random(N) < 0.92, 0, MONEY), 0, 99_999),
    "92 % zeros among floats": (np.where(RNG.random(N) < 0.92, 0.0, MONEY / 7), 0.0, 14_286.0),
    "five tied values": (RNG.choice([1, 10, 100, 1000, 10_000], N), 0, 16_383),
    "days": (RNG.integers(18_000, 19_000, N), 17_920, 19_199),
    "values beyond the bounds": (RNG.normal(0, 9, N), -4.0, 4.0),
    "no values": (np.zeros(0), -4.0, 4.0),
    "a narrow range far from 0": (
        RNG.integers(2**63, 2**63 + 1000, N, dtype=np.uint64),
        2**63 - 500,
        2**63 + 1500,
    ),
    "all of 64 bits": (RNG.integers(0, 2**64, N, dtype=np.uint64), 0, 2**64 - 1),
}
DISCRETIZERS = [QuantileBins(), KMeansBins(), PrivTreeBins(), PrivTreeBins("zero"), PrivTreeBins("fraction")]
BUDGETS = [Budget(epsilon=1.0, delta=1e-5), Budget.pure(1.0), Budget.none()]


def fit(discretizer, points, lower, upper, *, count=20, budget=BUDGETS[0], share=Fraction(1, 2)):
    ledger = Ledger(budget)
    column = ColumnCurator(points, ledger, SeededNoise(0))
    bins = discretizer.fit(
        column, lower, upper, count=count, n_estimated=points.size, share=share, step="bins"
    )
    return bins, ledger


def counts_of(bins, points) -> np.ndarray:
    low, high = bins.edges[0], bins.edges[-1] - bins.integer
    held = np.clip(points, points.dtype.type(low), points.dtype.type(high))
    return np.bincount(bins.codes(held), minlength=bins.size)


@pytest.mark.parametrize(
    "discretizer",
    DISCRETIZERS,
    ids=["quantile", "kmeans", "privtree", "privtree zero", "privtree fraction"],
)
class TestEveryDiscretizer:
    def test_bins_span_the_domain_exactly_within_count_and_budget(self, discretizer):
        for name in COLUMNS:
            points, lower, upper = COLUMNS[name]
            # Counts and kinds of budgets take turns, so that each discretizer and each column meets all pairs of them.
            turn = DISCRETIZERS.index(discretizer) + list(COLUMNS).index(name)

            for count, budget in zip((2, 20, 100), BUDGETS[turn % 3 :] + BUDGETS[: turn % 3], strict=True):
                bins, ledger = fit(discretizer, points, lower, upper, count=count, budget=budget)

                integer = points.dtype != np.float64
                assert bins.integer == integer
                assert (bins.edges[0], bins.edges[-1]) == (lower, upper + integer)
                assert 1 <= bins.size <= count
                if budget.total is not None:
                    assert 0 < ledger.spent <= Fraction(1, 2) * budget.total

    def test_a_point_mass_gets_a_narrow_bin(self, discretizer):
        for name in ["92 % zeros", "92 % zeros among floats"]:
            points, lower, upper = COLUMNS[name]

            bins, _ = fit(discretizer, points, lower, upper, count=50)

            first = bins.edges[1] - bins.edges[0]
            assert first <= 0.05 * (upper - lower)


def test_all_are_fitted_discretizers():
    assert all(isinstance(discretizer, FittedDiscretizer) for discretizer in DISCRETIZERS)


class TestUtility:
    def test_quantile_bins_hold_about_equally_many(self):
        points, lower, upper = COLUMNS["skewed money"]

        bins, _ = fit(QuantileBins(), points, lower, upper, count=10)

        assert bins.size == 10
        assert counts_of(bins, points).max() <= 2 * N / 10

    def test_private_quantiles_follow_skew_better_than_even_bins(self):
        points, lower, upper = COLUMNS["skewed money"]

        for discretizer in DISCRETIZERS:
            bins, _ = fit(discretizer, points, lower, upper, count=20)
            even = np.bincount((points * 20) // 100_000, minlength=20).max()
            assert counts_of(bins, points).max() < even

    def test_without_privacy_kmeans_finds_separate_clusters(self):
        points = np.concatenate([RNG.normal(c, 0.05, 1000) for c in (1.0, 4.0, 9.0)])

        bins, _ = fit(KMeansBins(), points, 0.0, 10.0, count=3, budget=Budget.none())

        assert counts_of(bins, points).tolist() == [1000, 1000, 1000]

    def test_a_point_mass_gets_a_leaf_of_its_own_however_little_noise_there_is(self):
        for epsilon in [1.0, 5.0, 10.0]:
            # With a threshold of 0 all leaves are used up, level by level, before one is as narrow.
            rng = np.random.default_rng(6)
            gains = np.where(rng.random(50_000) < 0.92, 0, np.rint(rng.lognormal(8.5, 0.8, 50_000))).astype(
                np.int64
            )

            bins, _ = fit(
                PrivTreeBins(),
                gains,
                0,
                99_999,
                count=73,
                budget=Budget(epsilon, 1e-5),
                share=Fraction(1, 120),
            )

            assert bins.edges[1] == 1

    def test_the_largest_integer_can_have_a_leaf_of_its_own(self):
        bins, _ = fit(PrivTreeBins("zero"), np.full(100, 1023), 0, 1023, count=50, budget=Budget.none())

        assert bins.edges[-2:] == (1023, 1024)

    def test_a_smaller_budget_gives_a_smaller_tree(self):
        points, lower, upper = COLUMNS["a normal column"]

        sizes = [
            fit(PrivTreeBins(), points, lower, upper, count=5000, budget=Budget.pure(e))[0].size
            for e in (0.02, 0.2, 2.0)
        ]

        assert sizes[0] < sizes[1] < sizes[2]


class TestCandidates:
    def test_they_ascend_from_bound_to_bound(self):
        for lower, upper, integer in [
            (0, 1023, True),
            (0, 2**64 - 1, True),
            (-(2**63), 2**63 - 1, True),
            (-1e308, 1e308, False),
            (0.0, 1e-300, False),
        ]:
            edges = candidate_edges(lower, upper, integer=integer)

            assert (edges[0], edges[-1]) == (lower, upper + integer)
            assert all(a < b for a, b in itertools.pairwise(edges))
            assert len(edges) <= 1_300


class TestHelp:
    def test_a_domain_of_few_integers_needs_no_fit(self):
        assert not is_worth_fitting(0, 19, integer=True, count=20)
        assert is_worth_fitting(0, 20, integer=True, count=20)
        assert not is_worth_fitting(3.0, 3.0, integer=False, count=20)

    def test_cuts_outside_or_repeated_are_left_out(self):
        assert bins_through([5, 5, -1, 20, 7], 0, 9, integer=True).edges == (0, 5, 7, 10)

    def test_a_cut_between_integers_leaves_them_on_their_sides(self):
        assert bins_through([0.4, -2.5, 6.2, 9.5], -3, 9, integer=True).edges == (-3, -2, 1, 7, 10)


SPREAD_RNG = np.random.default_rng(0)


def fitted_spread(points, bins, budget):
    ledger = Ledger(budget)
    column = ColumnCurator(points, ledger, SeededNoise(0))
    return fit_spread(column, bins, share=Fraction(1, 2), step="spread"), ledger


class TestSpread:
    def test_finds_where_the_values_of_each_bin_lie(self):
        for budget in [Budget.none(), Budget.pure(10.0), Budget(epsilon=5.0, delta=1e-5)]:
            points = np.concatenate(
                [SPREAD_RNG.normal(0.3, 0.05, 5_000), SPREAD_RNG.normal(1.8, 0.02, 5_000)]
            )

            spread, ledger = fitted_spread(points, Bins((0.0, 1.0, 2.0)), budget)

            assert spread.means == pytest.approx((0.3, 0.8), abs=0.02)
            assert spread.deviations == pytest.approx((0.05, 0.02), abs=0.02)
            if budget.total is not None:
                assert 0 < ledger.spent <= Fraction(1, 2) * budget.total

    def test_an_empty_bin_keeps_even_values(self):
        spread, _ = fitted_spread(np.full(1_000, 0.5), Bins((0.0, 1.0, 2.0)), Budget.pure(5.0))

        assert spread.deviations[1] == 0
