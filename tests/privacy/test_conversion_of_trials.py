"""The cost of the best of a random number of trials, against the exact privacy of such a search.

A trial is a Gaussian that says its own score: N(0, 1) in one world, N(mu, 1) in the other, which is mu^2 / 2-zCDP. With
a geometric number of trials of mean m, the largest has density f (1/m) / (1 - (1 - 1/m) F)^2, as the generating
function of that number has this derivative. So the delta of each epsilon is an integral, without any sampling.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from corners import thorough_but
from scipy.stats import norm

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import epsilon_from_rho, epsilon_from_trials, rho_from_trials
from syntabula.privacy.events import GaussianEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import number_of_trials

DELTAS = (1e-3, 1e-5, 1e-8)


def exact_delta(mu: float, trials: int, epsilon: float) -> float:
    """Return the smallest delta at which the largest of the trials' values has this epsilon."""
    values = np.linspace(-12, 12 + mu, 400_001)

    def density(shift: float) -> np.ndarray:
        below = norm.cdf(values - shift)
        return norm.pdf(values - shift) / trials / (1 - (1 - 1 / trials) * below) ** 2

    worlds = density(0.0), density(mu)
    step = values[1] - values[0]
    grown = math.exp(epsilon)
    return max(float(np.maximum(p - grown * q, 0).sum() * step) for p, q in (worlds, worlds[::-1]))


@pytest.mark.parametrize("trials", [2, 100])
@pytest.mark.parametrize("mu", thorough_but([0.3], [0.05, 0.3, 3.0]))
@pytest.mark.parametrize("delta", [DELTAS[0], DELTAS[-1]])
def test_no_search_exceeds_its_claim(mu, trials, delta):
    claimed = epsilon_from_trials(mu**2 / 2, delta, trials)

    assert exact_delta(mu, trials, claimed) <= delta


def test_the_cost_of_one_trial_alone_would_be_exceeded():
    """The planted bug: to release the best of many as if there had been one."""
    for trials, mu in [(10, 1.0), (100, 0.3)]:
        assert exact_delta(mu, trials, epsilon_from_rho(mu**2 / 2, 1e-5)) > 1e-5


def test_the_largest_cost_keeps_epsilon_and_hardly_a_larger_one_would():
    for trials in [2, 1000]:
        for epsilon in [0.01, 1.0, 50.0]:
            for delta in [DELTAS[0], DELTAS[-1]]:
                rho = rho_from_trials(epsilon, delta, trials)

                assert 0 < epsilon_from_trials(rho, delta, trials) <= epsilon
                assert epsilon_from_trials(rho * (1 + 1e-9), delta, trials) > epsilon


def test_it_is_the_cost_of_one_trial_at_its_part_of_delta_and_of_the_choice():
    """The bound is above what one mechanism shows: a whole delta for each trial would pass the tests above."""
    for rho, trials in [(0.01, 2), (0.1, 100), (5.0, 10)]:
        order = math.log(trials)
        choice = 4 * math.sqrt(rho * order) - 2 * rho if rho <= order else 2 * order
        expected = epsilon_from_rho(rho, 1e-5 / trials) + choice

        assert epsilon_from_trials(rho, 1e-5, trials) == pytest.approx(expected, rel=1e-6)


def test_more_trials_and_more_noise_cost_as_they_should():
    costs = [epsilon_from_trials(0.01, 1e-5, trials) for trials in (2, 5, 10, 100)]

    assert costs == sorted(costs)
    assert epsilon_from_trials(0.0, 1e-5, 10) == 0
    with pytest.raises(BudgetError, match="2 or more"):
        epsilon_from_trials(0.01, 1e-5, 1)


class TestBudget:
    BUDGET = Budget.best_of(1.0, 1e-5, 10)

    def test_a_ledger_holds_one_trial_and_reports_the_search(self):
        ledger = Ledger(self.BUDGET)
        sigma = math.sqrt(float(1 / (2 * self.BUDGET.total))) * (1 + 1e-12)

        ledger.spend(GaussianEvent(sigma=sigma, l2_sensitivity_squared=1, cells=1), step="count")

        assert 0.999 < ledger.epsilon_spent <= 1
        assert ledger.epsilon_spent > 1.9 * epsilon_from_rho(self.BUDGET.total, 1e-5)

    def test_is_stored_and_read(self):
        assert Budget.from_json(self.BUDGET.to_json()) == self.BUDGET
        assert "best of a random number of trials, 10 on average" in self.BUDGET.describe()
        assert "Papernot" in self.BUDGET.composition()

    def test_leaves_nothing_for_draws_that_may_fail(self):
        with pytest.raises(BudgetError, match="declare all columns"):
            self.BUDGET.with_failure_delta(Fraction(1, 10**7))

    def test_refuses_what_is_no_guarantee(self):
        for given, what in [
            ((1.0, 1e-5, 1), "trials"),
            ((1.0, 1e-5, 2.0), "trials"),
            ((1.0, 1e-5, True), "trials"),
            ((1.0, 0.0, 5), "delta"),
            ((math.inf, 1e-5, 5), "epsilon"),
            ((-1.0, 1e-5, 5), "epsilon"),
        ]:
            with pytest.raises(BudgetError, match=what):
                Budget.best_of(*given)


def test_the_number_of_trials_is_geometric():
    """Means and shares of one; each bound is 6 standard errors, so a false alarm has probability below 1e-8."""
    for seed in [None, 7]:
        n = 4000
        made = np.array([number_of_trials(5, None if seed is None else seed + i) for i in range(n)])

        assert made.min() == 1
        assert abs(made.mean() - 5) < 6 * math.sqrt(20 / n)
        assert abs((made == 1).mean() - 0.2) < 6 * math.sqrt(0.16 / n)
