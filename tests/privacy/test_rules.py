from __future__ import annotations

from fractions import Fraction

import pytest

from syntabula.errors import BudgetError, BudgetExceededError
from syntabula.privacy.budget import Budget
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    TrainingEvent,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.pricing import bought
from syntabula.privacy.rules import cost_of, epsilon_of, failure_of, in_words, parameters_in_words, rho_of
from syntabula.privacy.training.sampled import training_mu

TRAINING = TrainingEvent(1.0, 0.01, 2000, 0.5, 1000, 1e-6)

EVENTS: list[Event] = [
    GaussianEvent(10.5, 2, 100),
    GaussianEvent(0.1, Fraction(7, 3), 1),
    LaplaceEvent(3.0, 2, 5),
    ExponentialEvent(0.1, 12),
    TRAINING,
    ExactEvent("counts of two columns"),
]


class TestCosts:
    def test_costs_are_exact(self) -> None:
        assert rho_of(GaussianEvent(0.1, 3, 9)) == Fraction(3) / (2 * Fraction(0.1) ** 2)
        assert rho_of(LaplaceEvent(4.0, 2, 9)) == Fraction(1, 8)
        assert epsilon_of(LaplaceEvent(4.0, 2, 9)) == Fraction(1, 2)
        assert rho_of(ExponentialEvent(0.5, 3)) == Fraction(1, 32)
        assert epsilon_of(ExponentialEvent(0.1, 3)) == Fraction(0.1)

    def test_events_without_a_cost_are_refused(self) -> None:
        with pytest.raises(BudgetError, match="Gaussian"):
            epsilon_of(GaussianEvent(1.0, 1, 1))
        for cost in (rho_of, epsilon_of):
            with pytest.raises(BudgetError, match="exact answers"):
                cost(ExactEvent("rows"))

    def test_nothing_is_counted_without_privacy(self) -> None:
        for event in EVENTS:
            assert cost_of(event, "none") == 0


def bought_training(budget: Budget, **query: object) -> Event:
    usual = {"rate": 0.04, "steps": 300, "clip": 1.0, "cells": 1000, "failure": Fraction(1, 10**6)}
    return bought(Ledger(budget), Fraction(1, 2), TrainingEvent, what="gradients", **(usual | query))


class TestTraining:
    def test_costs_its_mu_and_its_chance_to_fail(self) -> None:
        assert cost_of(TRAINING, "mu_squared") == Fraction(training_mu(1.0, 0.01, 2000, 1e-6)) ** 2
        assert failure_of(TRAINING) == Fraction(1e-6)

    def test_is_refused_by_other_budgets_with_the_reason(self) -> None:
        for budget, reason in [(Budget.zcdp(0.5, 1e-5), "zero-concentrated"), (Budget.pure(1.0), "pure")]:
            with pytest.raises(BudgetError, match=reason):
                bought_training(budget)
            with pytest.raises(BudgetError, match=reason):
                Ledger(budget).spend(TRAINING, step="train")

    def test_is_bought_for_a_share_and_fits_it(self) -> None:
        budget = Budget(1.0, 1e-5).with_failure_delta(1e-6)
        ledger = Ledger(budget)

        event = bought(
            ledger, Fraction(1, 2), TrainingEvent, what="gradients", rate=0.04, steps=300, clip=1.0, cells=1000,
            failure=budget.failure_delta,
        )  # fmt: skip
        ledger.spend(event, step="train")

        assert 0.49999 <= float(ledger.spent / budget.total) <= 0.5
        assert ledger.failure_spent <= budget.failure_delta
        with pytest.raises(BudgetExceededError, match="may fail"):
            ledger.spend(event, step="train again")

    def test_without_a_part_of_delta_is_refused(self) -> None:
        with pytest.raises(BudgetError, match="part of delta"):
            bought_training(Budget(1.0, 1e-5), failure=Fraction(0))

    def test_outside_its_range_is_refused_by_name(self) -> None:
        for query, name in [({"rate": 1.5}, "rate"), ({"steps": 0}, "steps"), ({"clip": -1.0}, "clip")]:
            with pytest.raises(BudgetError, match=name):
                bought_training(Budget(1.0, 1e-5), **query)

    def test_is_said_with_rate_steps_clip_and_noise(self) -> None:
        words = in_words(TRAINING) + parameters_in_words([TRAINING])

        for part in ("2000 steps", "rate 0.01", "length 0.5", "standard deviation 0.5", "delta 1e-06"):
            assert part in words
