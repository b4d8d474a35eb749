"""Categories of an open set: frequent ones come out, those of one record do not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from syntabula.errors import BudgetError, BudgetExceededError
from syntabula.prepare.categories import extract_categories
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.rules import smallest_threshold as threshold_event

DELTA = Fraction(1, 10**6)
BUDGET = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(DELTA)


def found(counts, budget=BUDGET, *, delta=DELTA, share=Fraction(1, 2), seed=0):
    ledger = Ledger(budget)
    column = LabelCurator(counts, ledger, SeededNoise(seed))
    return extract_categories(column, share=share, delta=delta, step="labels"), ledger


class TestFound:
    def test_frequent_labels_come_out_in_alphabetical_order(self):
        categories, _ = found({"pear": 5_000, "apple": 9_000, None: 800, "quince": 3})

        assert categories.labels == ("apple", "pear")
        assert categories.has_missing

    def test_labels_of_single_records_stay_in(self):
        # 20,000 labels of one record each, at delta 1e-6: one comes out with probability below 2 %.
        categories, _ = found({f"person {i}": 1 for i in range(20_000)})

        assert categories.labels == ()

    def test_without_privacy_a_label_needs_two_records(self):
        categories, _ = found({"a": 2, "b": 1}, Budget.none())

        assert categories.labels == ("a",)


class TestPayment:
    def test_costs_its_share_and_its_delta(self):
        _, ledger = found({"a": 100})

        assert 0 < ledger.spent <= BUDGET.total / 2
        assert ledger.epsilon_spent < 1.0

    def test_delta_cannot_be_spent_twice(self):
        ledger = Ledger(BUDGET)
        column = LabelCurator({"a": 100}, ledger, SeededNoise(0))
        extract_categories(column, share=Fraction(1, 4), delta=DELTA, step="one")

        with pytest.raises(BudgetExceededError, match="delta"):
            extract_categories(column, share=Fraction(1, 4), delta=DELTA, step="two")

    def test_a_pure_budget_has_no_delta_to_set_aside(self):
        with pytest.raises(BudgetError, match="schema"):
            Budget.pure(1.0).with_failure_delta(DELTA)

    def test_the_threshold_follows_its_formula_and_never_costs_more_than_its_delta(self):
        event = threshold_event(10.0, DELTA)

        assert event.threshold == pytest.approx(1 + 10 * (2 * 13.815510557964274) ** 0.5)
        assert Fraction(event.delta) <= DELTA


class TestBudget:
    def test_setting_delta_aside_leaves_a_little_less_to_spend(self):
        whole = Budget(epsilon=1.0, delta=1e-5)
        less = whole.with_failure_delta(1e-6)

        assert 0.9 * whole.total < less.total < whole.total
        assert Budget.from_json(less.to_json()) == less
        assert less.epsilon == 1.0

    def test_a_budget_in_zcdp_keeps_rho_and_reports_a_larger_epsilon(self):
        whole = Budget.zcdp(0.1, 1e-5)
        less = whole.with_failure_delta(1e-6)

        assert less.total == whole.total
        assert less.epsilon > whole.epsilon
        assert Budget.from_json(less.to_json()) == less
