"""Costs in Gaussian privacy: proven in `privacy.gdp`, and checked here by brute force on exact trade-off curves."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtri_exp

from syntabula.errors import BudgetError, BudgetExceededError
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import delta_of_gaussian
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.gdp import (
    exponential_epsilon,
    gaussian_cost,
    gaussian_precision,
    gaussian_sigma,
    laplace_epsilon,
    laplace_scale,
    range_bought,
    ranged_cost,
    ranged_cost_before,
)
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.rules import cost_of, epsilon_of, mu_squared_of, mu_squared_together, rho_of

ONE = Budget(1.0, 1e-5, accounting="gdp")
COSTS = st.fractions(min_value=Fraction(1, 10**9), max_value=10**3)
ALL_COSTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)


def exact_mu_squared(sigma: float, shift: int = 1) -> float:
    """Largest gap between quantiles of the normal at the masses that the best tests have, from the exact curve."""
    furthest = int(4 * sigma * sigma + 12 * sigma + 40)
    beyond = 40  # each further count has at most exp(-4) of the mass before
    log_mass = -0.5 * (np.arange(furthest + beyond, -furthest - beyond, -1) / sigma) ** 2
    log_above = np.logaddexp.accumulate(log_mass)
    log_above = (log_above - log_above[-1])[beyond : beyond + furthest + 1]  # ln P[X >= k], k = furthest .. 0
    quantiles = -ndtri_exp(log_above[::-1])
    edges = np.concatenate([-quantiles[:0:-1], quantiles[1:]])  # P[X >= 1 - k] = 1 - P[X >= k]
    return float(np.max(edges[shift:] - edges[:-shift]) ** 2)


def gaussian_delta(epsilon: float, mu_squared: float) -> float:
    """Privacy curve of the Gaussian for epsilons of either sign."""
    if mu_squared <= 0:
        return max(0.0, -math.expm1(epsilon))
    if epsilon >= 0:
        return delta_of_gaussian(epsilon, math.sqrt(mu_squared))
    return -math.expm1(epsilon) + math.exp(epsilon) * delta_of_gaussian(-epsilon, math.sqrt(mu_squared))


def two_outcomes(high: float, width: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Probability and privacy loss of each outcome of the worst event with losses high and high - width."""
    low = high - width
    if not low < 0 < high:
        return (1.0, 0.0), (0.0, 0.0)
    first = math.exp(high) * -math.expm1(low) / (math.exp(high) - math.exp(low))
    return (first, high), (1 - first, low)


class TestDiscreteGaussian:
    SIGMAS = (*np.geomspace(0.05, 30, 80), 1 / math.sqrt(3), math.nextafter(1 / math.sqrt(3), 0), 0.58)

    def test_cost_covers_the_exact_curve(self) -> None:
        for sigma in self.SIGMAS:
            cost = float(gaussian_cost(float(sigma)))
            assert exact_mu_squared(sigma) <= cost * (1 + 1e-10), sigma

    def test_cost_is_tight_and_a_mu_that_is_3_percent_too_small_is_caught(self) -> None:
        for sigma in np.geomspace(1, 30, 20):
            exact, cost = exact_mu_squared(sigma), float(gaussian_cost(float(sigma)))
            assert cost <= 1.007 * exact
            assert exact > cost * 0.97**2
            assert cost > 1 / sigma**2

    def test_a_larger_move_costs_at_most_its_square(self) -> None:
        for shift in [2, 3, 7]:
            for sigma in (0.3, 0.8, 2.0, 9.0):
                assert exact_mu_squared(sigma, shift) <= shift**2 * float(gaussian_cost(sigma)) * (1 + 1e-10)

    def test_falls_as_the_noise_grows(self) -> None:
        costs = [gaussian_cost(s) for s in np.geomspace(1e-3, 1e6, 2_000).tolist()]
        assert all(a > b for a, b in itertools.pairwise(costs))

    @pytest.mark.thorough
    @settings(max_examples=100)
    @given(COSTS, st.integers(1, 10**6))
    def test_sigma_is_the_smallest_that_does_not_overspend(self, cost: Fraction, squared: int) -> None:
        sigma = gaussian_sigma(cost, squared, "mu_squared")
        assert mu_squared_of(GaussianEvent(sigma, squared, 1), cost) <= cost
        assert mu_squared_of(GaussianEvent(sigma * (1 - 1e-14), squared, 1), cost) > cost

    @settings(max_examples=100)
    @given(COSTS)
    def test_precision_is_the_inverse(self, cost: Fraction) -> None:
        precision = gaussian_precision(cost)
        sigma = 1 / math.sqrt(precision)
        assert float(gaussian_cost(sigma)) == pytest.approx(float(cost), rel=1e-6)
        # The condition of the proof, exactly.
        assert precision <= max(cost * (1 - cost / 12), (cost + 6) / 4)

    def test_the_bound_for_little_noise_holds_on_its_own_terms(self) -> None:
        # 2 ln(q_0 / q_1) >= t with mu^2 = 4 t - 6, from the proof.
        for t in np.geomspace(3, 400, 500):
            z = math.sqrt(t - 1.5)
            middle = math.log1p(-2 * math.exp(log_ndtr(-z)))
            beside = log_ndtr(-z) + math.log1p(-math.exp(log_ndtr(-3 * z) - log_ndtr(-z)))
            assert 2 * (middle - beside) >= t


class TestLossRange:
    WIDTHS = (1e-4, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 40.0)
    SHARES = (1e-4, 0.003, 0.03, 0.1, 0.3, 0.49)
    BEFORE = (0.004, 0.07, 1.2, 4.0, 30.0)

    def test_alone_it_covers_all_worst_pairs(self) -> None:
        for width in self.WIDTHS:
            logits = np.linspace(-width - 5, 5, 2_001)
            # ln of the logistic function is exact for both signs.
            log_first, log_second = -np.logaddexp(0, -logits), -np.logaddexp(0, -(logits + width))
            rise = ndtri_exp(log_second) - ndtri_exp(log_first)
            cost = float(ranged_cost(Fraction(width), Fraction(0)))
            assert np.max(rise) ** 2 <= cost, width
            if width <= 0.1:
                assert np.max(rise) ** 2 > cost * 0.97**2, width

    def test_even_odds_are_the_worst_alone(self) -> None:
        for width in self.WIDTHS:
            centres = np.linspace(-6, 6, 601)
            log_upper = -np.logaddexp(0, -(centres + width / 2))
            log_lower = -np.logaddexp(0, -(centres - width / 2))
            rises = ndtri_exp(log_upper) - ndtri_exp(log_lower)
            assert int(np.argmax(rises)) == 300

    @pytest.mark.thorough
    def test_next_to_others_it_covers_all_worst_pairs(self) -> None:
        for share, before in itertools.product(self.SHARES, self.BEFORE):
            width = math.sqrt(4 * share * (1 - share) * before)
            cost = float(ranged_cost(Fraction(width), Fraction(before)))
            assert cost <= share * before * (1 + 1e-9), (share, before)
            assert self.least_slack(width, before - cost, before) >= -1e-13, (share, before)

    def test_next_to_others_a_mu_that_is_3_percent_too_small_is_caught(self) -> None:
        for before in (0.07, 1.2, 4.0):
            width = 0.1 * math.sqrt(before)
            cost = float(ranged_cost(Fraction(width), Fraction(before)))
            assert self.least_slack(width, before - cost, before - cost + cost * 0.97**2) < -1e-8

    def least_slack(self, width: float, rest: float, whole: float) -> float:
        """Least of the whole's curve less that of the event next to a Gaussian, over worst pairs and epsilons."""
        reach = 5 * math.sqrt(whole) + whole / 2
        return min(
            gaussian_delta(epsilon, whole) - sum(p * gaussian_delta(epsilon - loss, rest) for p, loss in pair)
            for part in (0.05, 0.3, 0.5, 0.7, 0.95)
            for pair in (two_outcomes(part * width, width),)
            for epsilon in np.linspace(-reach, reach, 41).tolist()
        )

    @pytest.mark.thorough
    @settings(max_examples=100)
    @given(COSTS, st.fractions(min_value=1, max_value=10**6))
    def test_parameters_are_the_largest_that_do_not_overspend(self, cost: Fraction, times: Fraction) -> None:
        left = cost * times
        epsilon = exponential_epsilon(cost, "mu_squared", left)
        assert mu_squared_of(ExponentialEvent(epsilon, 2), left) <= cost
        assert mu_squared_of(ExponentialEvent(epsilon * (1 + 1e-14), 2), left) > cost
        scale = laplace_scale(laplace_epsilon(cost, "mu_squared", left), 3)
        assert mu_squared_of(LaplaceEvent(scale, 3, 3), left) <= cost
        assert mu_squared_of(TreeEvent(scale), left) <= cost
        assert range_bought(cost, left) >= Fraction(epsilon) ** 2

    @pytest.mark.thorough
    @settings(max_examples=100)
    @given(st.fractions(min_value=Fraction(1, 1000), max_value=30), COSTS, COSTS)
    def test_price_from_before_and_from_after_agree_and_fall(
        self, width: Fraction, left: Fraction, more: Fraction
    ) -> None:
        cost = ranged_cost(width, left)
        assert ranged_cost(width, left + more) <= cost
        assert ranged_cost(width * Fraction(11, 10), left) > cost
        if cost <= left:
            assert float(ranged_cost_before(width, left - cost)) == pytest.approx(float(cost), rel=1e-12)

    def test_with_much_left_it_is_twice_the_rho_of_zcdp(self) -> None:
        assert float(mu_squared_of(ExponentialEvent(0.01, 9), Fraction(10**6))) == pytest.approx(0.01**2 / 4)
        assert float(mu_squared_of(LaplaceEvent(100.0, 1, 9), Fraction(10**6))) == pytest.approx(0.01**2)


class TestFilter:
    def test_runs_that_choose_by_earlier_answers_stay_within_the_total(self) -> None:
        # Exact curves of random adaptive runs of two-outcome events, ended by Gaussian noise of all that is left.
        rng = random.Random(7)

        def curve(epsilon: float, left: Fraction, depth: int) -> float:
            if depth == 0:
                return gaussian_delta(epsilon, float(left))
            share = Fraction(rng.choice((1, 10, 30, 45, 95)), 100)
            width = math.sqrt(range_bought(share * left, left)) * (1 - 1e-12)
            cost = ranged_cost(Fraction(width), left)
            assert cost <= share * left
            pair = two_outcomes(rng.choice((0.3, 0.5, 0.7)) * width, width)
            return sum(p * curve(epsilon - loss, left - cost, depth - 1) for p, loss in pair)

        for total, epsilon in itertools.product((0.07, 1.3, 5.0), (-1.0, 0.0, 0.3, 1.0, 3.0)):
            for _ in range(6):
                assert curve(epsilon, Fraction(total), 4) <= gaussian_delta(epsilon, total) + 1e-13

    @pytest.mark.thorough
    def test_events_on_their_own_stay_within_the_total(self) -> None:
        rng = random.Random(3)
        for _ in range(50):
            ledger = Ledger(ONE)
            while ledger.remaining is not None and ledger.remaining > ONE.total / 10**6:
                cost = ledger.remaining * Fraction(rng.choice((1, 5, 20, 60, 100)), 100)
                event: Event = (
                    GaussianEvent(gaussian_sigma(cost, 2, "mu_squared"), 2, 4)
                    if rng.random() < 0.5
                    else ExponentialEvent(exponential_epsilon(cost, "mu_squared", ledger.remaining), 2)
                )
                ledger.spend(event, step="x")
                assert mu_squared_together(e.event for e in ledger.entries) <= ONE.total
                assert ledger.epsilon_spent <= 1.0


class TestLedger:
    def test_the_whole_is_spent_and_no_more(self) -> None:
        ledger = Ledger(ONE)
        for share in (Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)):
            sigma = gaussian_sigma(share * ONE.total, 5, "mu_squared")
            ledger.spend(GaussianEvent(sigma, 5, 5), step="x")
        assert float(1 - ledger.spent / ONE.total) < 1e-14
        assert 1 - 1e-12 < ledger.epsilon_spent <= 1.0
        with pytest.raises(BudgetExceededError, match="mu_squared"):
            ledger.spend(GaussianEvent(10.0, 1, 1), step="more")

    def test_nothing_spent_is_epsilon_0(self) -> None:
        assert Ledger(ONE).epsilon_spent == 0

    def test_a_journal_is_priced_again_as_it_was(self) -> None:
        journal = MemoryJournal()
        first = Ledger(ONE, journal)
        for event in (ExponentialEvent(0.1, 3), GaussianEvent(9.0, 1, 4), LaplaceEvent(20.0, 1, 4)):
            first.spend(event, step="x")
        again = Ledger(ONE, journal)
        assert again.entries == first.entries
        assert again.spent == first.spent
        # A journal of a run in zCDP is read by its events.
        assert Ledger(Budget(1.0, 1e-5, accounting="zcdp"), journal).epsilon_spent < 1

    def test_a_threshold_costs_its_noise_and_its_delta(self) -> None:
        event = ThresholdEvent(sigma=20.0, threshold=120.0)
        ledger = Ledger(ONE.with_failure_delta(Fraction(event.delta)))
        ledger.spend(event, step="x")
        assert ledger.spent == gaussian_cost(20.0)
        with pytest.raises(BudgetExceededError, match="fail"):
            ledger.spend(event, step="x")

    def test_exact_answers_have_no_cost(self) -> None:
        with pytest.raises(BudgetError, match="exact answers"):
            Ledger(ONE).spend(ExactEvent("rows"), step="x")


class TestBudget:
    def test_buys_more_than_zcdp(self) -> None:
        for epsilon, least in ((0.2, 1.20), (1.0, 1.17), (5.0, 1.14), (10.0, 1.12)):
            gdp, zcdp = (Budget(epsilon, 1e-5, accounting=a) for a in ("gdp", "zcdp"))  # type: ignore[arg-type]
            assert (gdp.currency, zcdp.currency) == ("mu_squared", "rho")
            assert gdp.total / (2 * zcdp.total) > least

    def test_json_round_trip(self) -> None:
        for budget in (ONE, ONE.with_failure_delta(1e-7)):
            assert Budget.from_json(json.loads(json.dumps(budget.to_json()))) == budget

    def test_records_from_before_there_was_a_choice_are_in_zcdp(self) -> None:
        record = {"kind": "approximate", "epsilon": 1.0, "delta": 1e-5, "rho": 0.0305}
        assert Budget.from_json(record) == Budget(1.0, 1e-5, accounting="zcdp")

    def test_setting_delta_aside_leaves_less(self) -> None:
        less = ONE.with_failure_delta(1e-6)
        assert 0.98 * ONE.total < less.total < ONE.total
        assert (less.epsilon, less.delta, less.currency) == (1.0, 1e-5, "mu_squared")

    def test_other_kinds_of_accounting_are_refused(self) -> None:
        for accounting in ["rdp", None, []]:
            with pytest.raises(BudgetError, match="'gdp' or 'zcdp'"):
                Budget(1.0, 1e-5, accounting=accounting)  # type: ignore[arg-type]


class TestInverses:
    @pytest.mark.thorough
    @settings(max_examples=500)
    @given(ALL_COSTS, st.fractions(min_value=Fraction(1, 1000), max_value=10**6))
    def test_sigma_is_the_smallest_that_does_not_overspend(self, rho: Fraction, squared: Fraction) -> None:
        if squared == 0:
            return
        sigma = gaussian_sigma(rho, squared, "rho")
        assert rho_of(GaussianEvent(sigma, squared, 1)) <= rho
        assert rho_of(GaussianEvent(math.nextafter(sigma, 0), squared, 1)) > rho

    @pytest.mark.thorough
    @settings(max_examples=500)
    @given(ALL_COSTS, st.integers(1, 10**6))
    def test_laplace_scale_is_the_smallest_that_does_not_overspend(
        self, cost: Fraction, sensitivity: int
    ) -> None:
        scale = laplace_scale(cost, sensitivity)
        assert epsilon_of(LaplaceEvent(scale, sensitivity, 1)) <= cost
        assert epsilon_of(LaplaceEvent(math.nextafter(scale, 0), sensitivity, 1)) > cost
        assert (
            rho_of(LaplaceEvent(laplace_scale(laplace_epsilon(cost, "rho"), sensitivity), sensitivity, 1))
            <= cost
        )

    @pytest.mark.thorough
    @settings(max_examples=500)
    @given(ALL_COSTS)
    def test_exponential_is_the_largest_that_does_not_overspend(self, cost: Fraction) -> None:
        for currency in ("rho", "epsilon"):
            epsilon = exponential_epsilon(cost, currency)  # type: ignore[arg-type]
            assert cost_of(ExponentialEvent(epsilon, 2), currency) <= cost  # type: ignore[arg-type]
            more = ExponentialEvent(math.nextafter(epsilon, math.inf), 2)
            assert cost_of(more, currency) > cost  # type: ignore[arg-type]

    def test_extreme_costs_work_or_are_refused(self) -> None:
        assert rho_of(GaussianEvent(gaussian_sigma(Fraction(1, 10**500), 1, "rho"), 1, 1)) <= Fraction(
            1, 10**500
        )
        with pytest.raises(BudgetError, match="infinite"):
            gaussian_sigma(Fraction(1, 10**700), 1, "rho")
        with pytest.raises(BudgetError, match="infinite"):
            laplace_scale(Fraction(1, 10**400), 1)
        with pytest.raises(BudgetError, match="too small"):
            exponential_epsilon(Fraction(1, 10**700), "rho")
        assert gaussian_sigma(10**600, 1, "rho") > 0

    @pytest.mark.parametrize("bad", [0, math.nan, math.inf, True, "1"])
    def test_bad_costs_are_refused(self, bad: object) -> None:
        for make in (
            lambda: gaussian_sigma(bad, 1, "rho"),  # type: ignore[arg-type]
            lambda: gaussian_sigma(bad, 1, "mu_squared"),  # type: ignore[arg-type]
            lambda: gaussian_sigma(1.0, 1, "epsilon"),
            lambda: laplace_scale(bad, 1),  # type: ignore[arg-type]
            lambda: exponential_epsilon(bad, "rho"),  # type: ignore[arg-type]
            lambda: exponential_epsilon(1.0, "none"),
            lambda: laplace_epsilon(1.0, "none"),
        ):
            with pytest.raises(BudgetError):
                make()
