"""What guesses prove about epsilon, against brute force and a mechanism whose epsilon is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from syntabula.attacks.bounds import (
    area_error,
    area_under_curve,
    auc_ceiling,
    best_threshold,
    epsilon_lower_bound,
    true_positive_rate,
)
from syntabula.errors import ArgumentError


class TestAreaUnderCurve:
    def test_it_is_the_part_of_pairs_that_are_ordered_rightly(self):
        rng = np.random.default_rng(1)
        members, others = rng.integers(0, 5, 40).astype(float), rng.integers(0, 4, 30).astype(float)

        pairs = [(m > o) + (m == o) / 2 for m in members for o in others]

        assert area_under_curve(members, others) == pytest.approx(np.mean(pairs))

    def test_equal_scores_are_chance(self):
        assert area_under_curve(np.ones(5), np.ones(7)) == 0.5


class TestAreaError:
    def test_it_is_how_much_areas_differ_between_draws(self):
        rng = np.random.default_rng(2)
        areas = [area_under_curve(rng.normal(0.7, 1, 60), rng.normal(size=80)) for _ in range(2000)]

        error = area_error(float(np.mean(areas)), 60, 80)

        # The deviation of 2000 areas errs by 1.6 %, the formula (made for exponential scores) by a few.
        assert error == pytest.approx(np.std(areas), rel=0.15)

    def test_few_scores_in_perfect_order_prove_little(self) -> None:
        assert area_error(1.0, 4, 4) > 0.1
        assert area_error(1.0, 4, 4) > area_error(1.0, 50, 50) > 0.005
        assert area_error(0.0, 10, 40) == pytest.approx(area_error(1.0, 40, 10))
        assert area_error(1.0, 1000, 1000) < 0.001


class TestTruePositiveRate:
    def test_it_accuses_no_more_of_the_others_than_allowed(self):
        members, others = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.5, 2.5, 0.2])

        assert true_positive_rate(members, others, 0.0) == 0.5
        assert true_positive_rate(members, others, 0.25) == 1.0

    def test_equal_scores_find_nobody(self):
        assert true_positive_rate(np.ones(5), np.ones(5), 0.1) == 0.0


class TestCeiling:
    def test_it_is_the_area_under_the_trade_off_curve(self):
        for epsilon, delta in [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (800.0, 0.0)]:
            x = np.linspace(0, 1, 200_001)
            e = math.exp(min(epsilon, 700))

            found = np.minimum(np.minimum(delta + e * x, 1 - (1 - delta - x) / e), 1.0)

            assert auc_ceiling(epsilon, delta) == pytest.approx(np.trapezoid(found, x), abs=1e-5)


class TestLowerBound:
    def test_it_is_what_clopper_and_pearson_give(self):
        limit = stats.binomtest(3, 100).proportion_ci(0.95, method="exact").high
        missed = stats.binomtest(20, 80).proportion_ci(0.95, method="exact").high

        found = epsilon_lower_bound(3, 100, 20, 80, confidence=0.95)

        assert found == pytest.approx(math.log((1 - missed) / limit))

    def test_a_test_at_chance_shows_nothing(self):
        assert epsilon_lower_bound(50, 100, 50, 100) == 0.0
        assert epsilon_lower_bound(100, 100, 0, 100) == 0.0

    def test_more_runs_and_a_smaller_delta_show_more(self):
        assert epsilon_lower_bound(0, 100, 0, 100) < epsilon_lower_bound(0, 1000, 0, 1000)
        assert epsilon_lower_bound(0, 100, 50, 100, delta=0.1) < epsilon_lower_bound(0, 100, 50, 100)

    def test_counts_that_make_no_sense_are_refused(self):
        for arguments in [(-1, 5, 0, 5), (6, 5, 0, 5), (0, 0, 0, 5)]:
            with pytest.raises(ArgumentError):
                epsilon_lower_bound(*arguments)

    def test_it_does_not_exceed_the_epsilon_of_randomised_response(self):
        for epsilon in [0.5, 1.0, 3.0]:
            # Each of 3 x 200 bounds exceeds the truth with probability below 1e-9: a false alarm of the whole
            # test has probability below 6e-7.
            rng = np.random.default_rng(int(epsilon * 10))
            honest = math.exp(epsilon) / (1 + math.exp(epsilon))

            for _ in range(200):
                alarms, misses = rng.binomial(2000, 1 - honest), rng.binomial(2000, 1 - honest)
                assert epsilon_lower_bound(alarms, 2000, misses, 2000, confidence=1 - 1e-9) <= epsilon

    def test_it_comes_near_the_epsilon_of_randomised_response(self):
        # The expected numbers of errors of a million runs, not a draw.
        wrong = round(1e6 / (1 + math.e))

        assert epsilon_lower_bound(wrong, 10**6, wrong, 10**6) > 0.99


class TestThreshold:
    def test_it_separates_what_can_be_separated(self):
        threshold = best_threshold(np.array([3.0, 4.0]), np.array([1.0, 2.0]), delta=0.0, confidence=0.95)

        assert 2.0 < threshold <= 3.0

    def test_with_little_data_it_makes_the_fewest_errors(self):
        members, others = np.array([1.0, 5.0, 6.0]), np.array([0.0, 1.5, 2.0])

        threshold = best_threshold(members, others, delta=0.0, confidence=0.95)

        assert 2.0 < threshold <= 5.0
