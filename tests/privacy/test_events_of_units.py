"""What the rows of a unit cost: no more than is proven, and no less than an exact computation finds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from syntabula.errors import BudgetError, BudgetExceededError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TrainingEvent,
    TreeEvent,
    event_from_json,
    noise_reaches,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.pricing import bought, counting_event, laplace_epsilon_of_share, whole_count
from syntabula.privacy.rules import cost_of, failure_of, smallest_threshold
from syntabula.privacy.units import Unit

BUDGETS = {
    "gdp": Budget(1.0, 1e-5).with_failure_delta(1e-6),
    "zcdp": Budget.zcdp(0.1, 1e-5).with_failure_delta(1e-6),
    "pure": Budget.pure(2.0),
}
QUERIES = {
    ExponentialEvent: {"candidates": 5},
    TreeEvent: {},
    LaplaceEvent: {"l1_sensitivity": 2, "cells": 3},
    GaussianEvent: {"l2_sensitivity_squared": 2, "cells": 3},
    ThresholdEvent: {"failure": Fraction(1, 10**6)},
}


def event_for(kind: type[Event], budget: str, rows: int) -> Event:
    ledger = Ledger(BUDGETS[budget], unit=Unit("person", rows))
    return bought(ledger, Fraction(1, 3), kind, what="x", **QUERIES[kind])


PAIRS = [
    (kind, budget)
    for kind, budget in itertools.product(QUERIES, BUDGETS)
    if budget != "pure" or kind not in (GaussianEvent, ThresholdEvent)
]


class TestBought:
    def test_all_rows_together_cost_the_share(self):
        for kind, budget in PAIRS:
            for rows in [2, 1000]:
                whole = Ledger(BUDGETS[budget])
                event = event_for(kind, budget, rows)
                cost = cost_of(event, whole.budget.currency, whole.allowance)

                assert cost <= whole.allowance / 3
                # A trace of it is left by the rounding of the noise.
                assert float(cost / (whole.allowance / 3)) == pytest.approx(1, abs=1e-5)

    def test_noise_grows_as_the_rows_do(self):
        for kind, budget in [pair for pair in PAIRS if pair[1] != "zcdp"]:
            one, seven = (event_for(kind, budget, rows) for rows in (1, 7))
            name = {ExponentialEvent: "epsilon", GaussianEvent: "sigma", ThresholdEvent: "sigma"}.get(
                kind, "scale"
            )
            ratio = getattr(seven, name) / getattr(one, name)

            assert (1 / ratio if name == "epsilon" else ratio) == pytest.approx(7, rel=0.02)

    def test_a_query_of_units_pays_as_one_of_records(self):
        single, several = Ledger(BUDGETS["gdp"]), Ledger(BUDGETS["gdp"], unit=Unit("person", 7))

        of_units = counting_event(several, Fraction(1, 3), sensitivity=1, cells=4, of_units=True)

        assert of_units == counting_event(single, Fraction(1, 3), sensitivity=1, cells=4)

    def test_training_takes_units_as_often_as_all_of_their_rows(self):
        pytest.importorskip("torch", reason="the neural extra is not installed")
        query = {"rate": 0.1, "steps": 5, "clip": 1.0, "cells": 3, "failure": Fraction(1, 10**6)}
        event = bought(Ledger(BUDGETS["gdp"], unit=Unit("person", 3)), 1, TrainingEvent, what="x", **query)

        assert event.rate == pytest.approx(0.3)

    def test_the_epsilon_of_laplace_noise_is_that_of_one_row(self):
        several = Ledger(BUDGETS["pure"], unit=Unit("person", 4))

        assert laplace_epsilon_of_share(several, 1) == Fraction(1, 2)

    def test_a_whole_count_has_noise_in_proportion(self):
        assert whole_count(BUDGETS["gdp"], 10).sigma == pytest.approx(
            10 * whole_count(BUDGETS["gdp"], 1).sigma, rel=0.01
        )


class TestThreshold:
    def test_no_division_of_the_rows_among_labels_is_released_more_often(self):
        for rows in [1, 3, 6]:
            for sigma in [0.4, 30.0]:
                event = smallest_threshold(sigma, 1e-3, rows)

                assert event.delta <= 1e-3
                for parts in partitions(rows):
                    # Discrete Gaussian noise, whose probabilities are summed far beyond what they are compared with.
                    released = sum(
                        chance(event.threshold - part, sigma, event.largest_noise) for part in parts
                    )
                    assert released <= event.delta

    def test_what_a_unit_changes_is_covered_by_unbounded_noise_and_delta(self):
        for rows in [1, 5]:
            for sigma in [0.4, 6.5]:
                for failure in [1e-2, 1e-5]:
                    event = smallest_threshold(sigma, failure, rows)

                    for count, moved in itertools.product([0, 1, 40, 200], range(1, rows + 1)):
                        assert excess(event, count, moved) <= event.delta

    def test_noise_that_is_not_drawn_again_is_found(self):
        for sigma in [6.5, 30.0]:
            # The planted bug: noise without bounds, at the threshold and the delta of noise with bounds.
            event = smallest_threshold(sigma, 1e-5)

            assert excess(event, 0, 1, bounded=False) > event.delta

    def test_a_smaller_threshold_would_not_do(self):
        for rows in [1, 4]:
            event = smallest_threshold(5.0, 1e-3, rows)

            assert replace(event, threshold=event.threshold * (1 - 1e-6)).delta > 1e-3

    def test_it_fails_about_as_often_as_allowed_and_is_lower_than_that_of_unbounded_noise(self):
        for failure in [1e-4, 1e-6, 1e-9]:
            event = smallest_threshold(30.0, failure)

            # The threshold is compared with whole numbers, which costs up to one of them: a fifth at 1e-9.
            assert 0.75 * failure < chance(event.threshold - 1, 30.0, event.largest_noise) <= failure
            # A normal distribution's: 4 to 8 % more.
            assert event.threshold < 0.97 * (1.5 + 30 * stats.norm.isf(failure))

    def test_files_say_by_true_or_false_whether_noise_is_bounded(self):
        with pytest.raises(BudgetError, match="bounded must be True or False"):
            ThresholdEvent(5.0, 20.5, bounded=1)

    def test_both_kinds_are_read_from_files(self):
        for event in (smallest_threshold(5.0, 1e-3, 2), ThresholdEvent(5.0, 20.5)):
            assert event_from_json(event.to_json()) == event

    def test_noise_reaches_nothing_more_often_than_bounded(self):
        for sigma in [0.2, 0.9, 1.7, 40.0]:
            for least in (*np.arange(0.25, 8, 0.25) * sigma, *range(1, 9), 0.5, 1.49, 2.01):
                # 1e-12 for the rounding of the sums.
                assert chance(least, sigma) <= noise_reaches(least, sigma) * (1 + 1e-12)

    def test_the_rows_of_a_unit_lie_below_the_threshold(self):
        with pytest.raises(BudgetError, match="all rows of a unit"):
            ThresholdEvent(1.0, 3.0, 3)

    def test_many_rows_of_one_label_move_the_count_by_all_of_them(self):
        one, four = ThresholdEvent(5.0, 40.0), ThresholdEvent(5.0, 40.0, 4)

        assert cost_of(four, "rho") == 16 * cost_of(one, "rho")
        assert failure_of(four) > 4 * failure_of(one)


def partitions(rows: int) -> list[list[int]]:
    """Return the ways to divide rows among labels."""
    if rows == 0:
        return [[]]
    return [[first, *rest] for first in range(1, rows + 1) for rest in partitions(rows - first)]


def chance(least: float, sigma: float, largest: float = math.inf) -> float:
    """Return the probability that discrete Gaussian noise is at least this much, of noise up to a size."""
    values = np.arange(-int(40 * sigma) - 40, int(40 * sigma) + 41)
    masses = np.exp(-np.square(values) / (2 * sigma**2)) * (abs(values) <= largest)
    return float(masses[values >= least].sum() / masses.sum())


def excess(event: ThresholdEvent, count: int, moved: int, *, bounded: bool = True) -> float:
    """Return the largest sum of (Q - g P)+ of the answers on two counts, less what noise without bounds allows."""
    noise = np.arange(-int(12 * event.sigma) - 20, int(12 * event.sigma) + 21)
    normal = np.exp(-np.square(noise) / (2 * event.sigma**2))
    drawn = normal * (abs(noise) <= event.largest_noise) if bounded else normal
    # On either count, over the same answers; a count below the threshold is not answered, nor is one of nobody.
    whole = [np.pad(normal / normal.sum(), ends) for ends in ((0, moved), (moved, 0))]
    answers = np.arange(noise[0], noise[-1] + moved + 1) + count
    held = []
    for at, ends in ((count, (0, moved)), (count + moved, (moved, 0))):
        masses = np.pad(drawn / drawn.sum(), ends) * (answers >= event.threshold) * (at > 0)
        held.append(np.append(masses, max(1 - masses.sum(), 0.0)))
    found = -math.inf
    reach = moved * (2 * len(answers)) / (2 * event.sigma**2)
    for g in np.exp(np.linspace(-reach, reach, 81).clip(-300, 300)):
        for one, other in ((0, 1), (1, 0)):
            allowed = np.maximum(whole[one] - g * whole[other], 0).sum()
            found = max(found, float(np.maximum(held[one] - g * held[other], 0).sum() - allowed))
    # 1e-15 for the rounding of the sums.
    return found - 1e-15


class TestExponential:
    def test_scores_that_all_rows_move_change_odds_by_no_more_than_is_paid(self):
        for rows in [1, 3]:
            event = ExponentialEvent(0.8, 3, rows)
            before = np.array([0.0, 2.0, 5.0])
            after = before + rows * np.array([1.0, -1.0, 1.0])
            weights = [np.exp(event.epsilon * scores / 2) for scores in (before, after)]
            odds = np.log(weights[0] / weights[0].sum()) - np.log(weights[1] / weights[1].sum())

            assert np.ptp(odds) == pytest.approx(float(cost_of(event, "epsilon")))


class TestFiles:
    def test_rows_come_back(self):
        for event in [ExponentialEvent(0.8, 3, 4), TreeEvent(2.0, 4), ThresholdEvent(5.0, 40.0, 4)]:
            assert event.to_json()["rows"] == 4
            assert event_from_json(event.to_json()) == event

    def test_a_single_row_is_not_written_as_in_earlier_versions(self):
        for event in [ExponentialEvent(0.8, 3), TreeEvent(2.0), ThresholdEvent(5.0, 40.0)]:
            assert "rows" not in event.to_json()
            assert event_from_json(event.to_json()) == event


class TestGroups:
    def test_a_ledger_that_protects_so_many_rows_needs_their_bound(self):
        for rows in [1, 7]:
            # What one row may cost, a unit of so many rows may cost in a ledger with the larger budget.
            budget = Budget(1.0, 1e-5)
            epsilon, delta = budget.for_rows(rows)
            event = counting_event(Ledger(budget), 1, sensitivity=1, cells=1)
            of_unit = GaussianEvent(event.sigma, rows**2, 1)

            Ledger(Budget(epsilon * (1 + 1e-9), delta), unit=Unit("person", rows)).spend(of_unit, step="s")
            with pytest.raises(BudgetExceededError):
                Ledger(Budget(epsilon * 0.99, delta), unit=Unit("person", rows)).spend(of_unit, step="s")

    def test_a_gaussian_of_several_rows_has_the_exact_delta(self):
        budget = Budget(1.0, 1e-5)
        epsilon, delta = budget.for_rows(5)
        mu = 5 * math.sqrt(budget.total)

        exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
            -mu / 2 - epsilon / mu
        )

        assert exact == pytest.approx(delta, rel=1e-6)

    def test_pure_privacy_multiplies_epsilon(self):
        assert Budget.pure(0.5).for_rows(4) == (2.0, 0.0)

    def test_zcdp_multiplies_rho_by_the_square(self):
        assert Budget.zcdp(0.01, 1e-5).for_rows(3)[0] == pytest.approx(Budget.zcdp(0.09, 1e-5).epsilon)

    def test_chances_to_fail_go_from_record_to_record(self):
        epsilon, delta = Budget(1.0, 1e-5).with_failure_delta(1e-6).for_rows(3)

        assert epsilon == 3.0
        assert delta == pytest.approx(1e-5 * (1 + math.e + math.e**2))

    def test_the_best_of_trials_goes_from_record_to_record(self):
        epsilon, delta = Budget.best_of(1.0, 1e-5, 4).for_rows(2)

        assert epsilon == 2.0
        assert delta == pytest.approx(1e-5 * (1 + math.e))

    def test_without_privacy_nothing_is_promised(self):
        assert Budget.none().for_rows(3) == (math.inf, 0.0)
