from __future__ import annotations

import copy
import math
import pickle
import random
import threading
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import ArgumentError, BudgetError, BudgetExceededError, PrivacyWarning
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)
from syntabula.privacy.gdp import exponential_epsilon, gaussian_sigma
from syntabula.privacy.journal import Journal, MemoryJournal
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.pricing import counting_event
from syntabula.privacy.rules import cost_of, rho_of

BUDGET = Budget(epsilon=1.0, delta=1e-5, accounting="zcdp")

EVENTS = st.one_of(
    st.builds(GaussianEvent, st.floats(3, 1e4), st.integers(1, 4), st.just(3)),
    st.builds(LaplaceEvent, st.floats(3, 1e4), st.integers(1, 4), st.just(3)),
    st.builds(ExponentialEvent, st.floats(1e-4, 0.5), st.just(3)),
)


def spend_all(ledger: Ledger, events: list[Event]) -> Ledger:
    for event in events:
        ledger.spend(event, step="measure")
    return ledger


class TestSpend:
    def test_three_thirds_are_a_whole(self) -> None:
        # Costs 1/3 each: sigma^2 = 9/6 is no float square, so the sensitivity carries the third.
        ledger = Ledger(Budget.zcdp(1.0, 1e-5))
        third = GaussianEvent(1.0, Fraction(2, 3), 1)
        spend_all(ledger, [third] * 3)
        assert ledger.spent == 1
        assert ledger.remaining == 0
        assert ledger.epsilon_spent == ledger.budget.epsilon
        with pytest.raises(BudgetExceededError):
            ledger.spend(GaussianEvent(1e150, 1, 1), step="more")

    def test_a_refusal_names_the_step_and_changes_nothing(self) -> None:
        ledger = Ledger(BUDGET)
        ledger.spend(GaussianEvent(10.0, 1, 1), step="first")
        before = (ledger.entries, ledger.spent)
        with pytest.raises(
            BudgetExceededError, match=r"'second' costs 0\.5 rho, but 0\.02555\d+ of 0\.03055"
        ):
            ledger.spend(GaussianEvent(1.0, 1, 1), step="second")
        assert (ledger.entries, ledger.spent) == before
        ledger.spend(GaussianEvent(10.0, 1, 1), step="third")
        assert [entry.step for entry in ledger.entries] == ["first", "third"]

    def test_events_without_a_cost_change_nothing(self) -> None:
        pure = Ledger(Budget.pure(1.0))
        for event in (GaussianEvent(1e6, 1, 1), ExactEvent("rows")):
            with pytest.raises(BudgetError):
                pure.spend(event, step="x")
        with pytest.raises(BudgetError):
            Ledger(BUDGET).spend(ExactEvent("rows"), step="x")
        assert pure.entries == ()

    def test_wrong_types_are_refused(self) -> None:
        for arguments in (("event", "x"), (GaussianEvent(9.0, 1, 1), ""), (GaussianEvent(9.0, 1, 1), 3)):
            with pytest.raises(ArgumentError):
                Ledger(BUDGET).spend(arguments[0], step=arguments[1])  # type: ignore[arg-type]
        with pytest.raises(ArgumentError):
            Ledger(1.0)  # type: ignore[arg-type]

    def test_pure_budget_adds_epsilons(self) -> None:
        ledger = Ledger(Budget.pure(1.0))
        spend_all(ledger, [LaplaceEvent(4.0, 1, 5), ExponentialEvent(0.75, 4)])
        assert (ledger.spent, ledger.epsilon_spent, ledger.budget.delta) == (1, 1.0, 0.0)

    def test_no_privacy_allows_and_records_everything(self) -> None:
        ledger = Ledger(NO_PRIVACY)
        assert ledger.epsilon_spent == 0
        spend_all(ledger, [ExactEvent("counts"), GaussianEvent(1e-9, 1, 1)])
        assert (len(ledger.entries), ledger.spent, ledger.remaining) == (2, 0, None)
        assert ledger.epsilon_spent == math.inf
        assert ledger.by_step() == [("measure", Fraction(0), 0.0)]

    def test_by_step_sums_to_what_was_spent(self) -> None:
        ledger = Ledger(Budget.zcdp(0.5, 1e-5))
        for step, sigma in (("bins", 4.0), ("measure", 8.0), ("bins", 4.0), ("measure", 2.0)):
            ledger.spend(GaussianEvent(sigma, 1, 1), step=step)
        table = ledger.by_step()
        assert [row[0] for row in table] == ["bins", "measure"]
        assert sum(row[1] for row in table) == ledger.spent
        assert table[0][2] == 0.125
        assert ledger.unit.relation == "add or remove one record"


class TestFailureProbabilities:
    """What several thresholds may fail with adds up, as any of them may be the one that does."""

    THRESHOLD = ThresholdEvent(sigma=10.0, threshold=60.0)
    ONE = Fraction(THRESHOLD.delta)

    def allowing(self, parts: Fraction | int) -> Ledger:
        return Ledger(Budget(5.0, 1e-5).with_failure_delta(parts * self.ONE))

    def test_four_need_four_times_the_delta_of_one(self) -> None:
        ledger = self.allowing(4)

        for spent in (1, 2, 3, 4):
            ledger.spend(self.THRESHOLD, step="find")
            assert ledger.failure_spent == spent * self.ONE
        with pytest.raises(BudgetExceededError, match="may fail with probability"):
            ledger.spend(self.THRESHOLD, step="find")

    def test_a_third_that_does_not_fit_is_refused_and_changes_nothing(self) -> None:
        ledger = self.allowing(Fraction(29, 10))
        spend_all(ledger, [self.THRESHOLD] * 2)
        before = (ledger.entries, ledger.spent, ledger.failure_spent)

        with pytest.raises(BudgetExceededError, match=r"probability 2\.46e-09, but only 2\.21e-09"):
            ledger.spend(self.THRESHOLD, step="find")

        assert (ledger.entries, ledger.spent, ledger.failure_spent) == before
        ledger.spend(GaussianEvent(10.0, 1, 1), step="measure")

    def test_different_ones_add_up_too_in_whatever_order(self) -> None:
        events = [ThresholdEvent(sigma=10.0, threshold=t) for t in (60.5, 60.0, 61.0)]

        for order in (events, events[::-1], [events[1], events[2], events[0]]):
            ledger = spend_all(self.allowing(4), order)
            assert ledger.failure_spent == sum(Fraction(event.delta) for event in events)

    def test_those_of_a_journal_add_up_with_those_of_this_run(self) -> None:
        journal = MemoryJournal()
        for _ in range(2):
            journal.record_spend("find", self.THRESHOLD)
        budget = Budget(5.0, 1e-5).with_failure_delta(4 * self.ONE)

        ledger = Ledger(budget, journal)

        assert ledger.failure_allowance == 2 * self.ONE
        spend_all(ledger, [self.THRESHOLD] * 2)
        with pytest.raises(BudgetExceededError, match="may fail"):
            ledger.spend(self.THRESHOLD, step="find")

    def test_what_needs_no_delta_takes_none(self) -> None:
        ledger = spend_all(self.allowing(1), [GaussianEvent(10.0, 1, 1), ExponentialEvent(0.1, 3)])

        assert ledger.failure_spent == 0


class TestToken:
    def test_pays_once(self) -> None:
        event = GaussianEvent(10.0, 1, 1)
        token = Ledger(BUDGET).spend(event, step="x")
        assert token.consume() is event
        with pytest.raises(BudgetError, match="used before"):
            token.consume()

    def test_cannot_be_copied(self) -> None:
        token = Ledger(BUDGET).spend(GaussianEvent(10.0, 1, 1), step="x")
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                duplicate(token)

    def test_threads_use_it_once(self) -> None:
        token = Ledger(BUDGET).spend(GaussianEvent(10.0, 1, 1), step="x")
        wins: list[int] = []

        def use() -> None:
            try:
                token.consume()
                wins.append(1)
            except BudgetError:
                pass

        run_in_threads(use)
        assert len(wins) == 1


class TestThreads:
    @pytest.mark.parametrize("repeat", range(5))
    def test_eight_threads_never_overspend(self, repeat: int) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-5))
        event = GaussianEvent(1.0, Fraction(2, 100), 1)
        tokens: list[Token] = []

        def work() -> None:
            for _ in range(50):
                try:
                    tokens.append(ledger.spend(event, step="x"))
                except BudgetExceededError:
                    return

        run_in_threads(work)
        assert len(tokens) == 100
        assert ledger.spent == 1
        assert len({token.number for token in tokens}) == 100


class TestJournalled:
    def test_spend_is_on_disk_before_the_token(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        ledger = Ledger(BUDGET, Journal(path))
        token = ledger.spend(GaussianEvent(10.0, 1, 2), step="x")
        assert [record.outcome for record in Journal.read(path).records] == [None]
        ledger.record_outcome(token, np.array([3, -1]))
        assert Journal.read(path).records[0].outcome.tolist() == [3, -1]  # type: ignore[union-attr]

    def test_a_crash_before_the_draw_counts_as_spent(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        with Journal(path) as journal:
            first = Ledger(Budget.zcdp(0.5, 1e-5), journal)
            first.spend(GaussianEvent(2.0, 1, 2), step="x")
        with Journal(path) as journal:
            again = Ledger(Budget.zcdp(0.5, 1e-5), journal)
            assert (again.spent, again.allowance) == (Fraction(1, 8), Fraction(3, 8))
            token = again.spend(GaussianEvent(2.0, 1, 2), step="y")
        assert token.number == 1
        assert again.allowance == Fraction(3, 8)
        # Which of the earlier steps goes beyond the budget says nothing of this run.
        with (
            Journal(path) as journal,
            pytest.raises(BudgetExceededError, match=r"Resume the run .* new journal"),
        ):
            Ledger(Budget.zcdp(0.2, 1e-5), journal)

    def test_next_to_nothing_left_is_refused_before_anything_is_spent(self) -> None:
        journal = MemoryJournal()
        journal.record_spend("x", GaussianEvent(1.0, Fraction(198, 100), 2))
        with pytest.warns(PrivacyWarning):
            enough = Ledger(Budget.zcdp(100.0, 1e-5), journal)
        enough.require_allowance()
        exactly_a_hundredth = Ledger(Budget.zcdp(1.0, 1e-5), journal)
        exactly_a_hundredth.require_allowance()
        journal.record_spend("x", GaussianEvent(1.0, Fraction(1, 1000), 2))
        nearly_all = Ledger(Budget.zcdp(1.0, 1e-5), journal)
        with pytest.raises(BudgetExceededError, match="new journal"):
            nearly_all.require_allowance()
        assert len(journal.records) == 2

    def test_delta_for_categories_is_shared_with_the_run_before(self) -> None:
        journal = MemoryJournal()
        event = ThresholdEvent(sigma=10.0, threshold=60.0)
        journal.record_spend("x", event)
        twice = Budget.zcdp(1.0, 1e-5).with_failure_delta(2 * Fraction(event.delta))
        once = Budget.zcdp(1.0, 1e-5).with_failure_delta(Fraction(event.delta))
        assert Ledger(twice, journal).failure_allowance == Fraction(event.delta)
        with pytest.raises(BudgetExceededError, match="new journal"):
            Ledger(once, journal).require_allowance()

    def test_a_refused_spend_is_not_written(self) -> None:
        journal = MemoryJournal()
        with pytest.raises(BudgetExceededError):
            Ledger(BUDGET, journal).spend(GaussianEvent(1.0, 1, 1), step="x")
        assert journal.records == ()

    def test_a_failed_write_counts_and_gives_no_token(self) -> None:
        class Full(MemoryJournal):
            def record_spend(self, step: str, event: Event, query: str | None = None) -> int:
                raise OSError(28, "No space left on device")

        ledger = Ledger(BUDGET, Full())
        with pytest.raises(OSError, match="space"):
            ledger.spend(GaussianEvent(10.0, 1, 1), step="x")
        assert ledger.spent == rho_of(GaussianEvent(10.0, 1, 1))


class TestProperties:
    @pytest.mark.thorough
    @settings(max_examples=300)
    @given(st.lists(EVENTS, max_size=8), st.randoms(use_true_random=False))
    def test_order_does_not_matter_and_more_costs_more(
        self, events: list[Event], order: random.Random
    ) -> None:
        wide = quiet_zcdp(1000)
        shuffled = events.copy()
        order.shuffle(shuffled)
        one, other = spend_all(Ledger(wide), events), spend_all(Ledger(wide), shuffled)
        assert (one.spent, one.epsilon_spent) == (other.spent, other.epsilon_spent)
        assert one.spent == sum(cost_of(event, "rho") for event in events)
        before = one.epsilon_spent
        one.spend(ExponentialEvent(0.1, 2), step="more")
        assert one.epsilon_spent > before

    @pytest.mark.thorough
    @settings(max_examples=300)
    @given(
        st.floats(1e-3, 10), st.floats(1e-12, 1e-3), st.lists(st.integers(1, 1000), min_size=1, max_size=6)
    )
    def test_splitting_then_summing_spends_the_whole(
        self, epsilon: float, delta: float, weights: list[int]
    ) -> None:
        budget = Budget(epsilon, delta, accounting="zcdp")
        assert budget.total is not None
        ledger, exact = Ledger(budget), Ledger(budget)
        for position, weight in enumerate(weights):
            share = budget.total * weight / sum(weights)
            event: Event = (
                GaussianEvent(gaussian_sigma(share, 1, "rho"), 1, 1)
                if position % 2
                else ExponentialEvent(exponential_epsilon(share, "rho"), 2)
            )
            ledger.spend(event, step="x")
            exact.spend(GaussianEvent(1.0, 2 * share, 1), step="x")
        assert exact.spent == budget.total
        assert ledger.spent <= budget.total
        assert float(1 - ledger.spent / budget.total) < 1e-15
        assert ledger.epsilon_spent <= epsilon
        assert ledger.epsilon_spent >= epsilon * (1 - 1e-12)

    @pytest.mark.thorough
    @settings(max_examples=300)
    @given(st.lists(EVENTS, max_size=30))
    def test_never_above_the_total(self, events: list[Event]) -> None:
        ledger = Ledger(BUDGET)
        expected = Fraction(0)
        assert BUDGET.total is not None
        for event in events:
            before = ledger.entries
            cost = cost_of(event, "rho")
            if expected + cost <= BUDGET.total:
                ledger.spend(event, step="x")
                expected += cost
            else:
                with pytest.raises(BudgetExceededError):
                    ledger.spend(event, step="x")
                assert ledger.entries == before
            assert ledger.spent == expected
        assert ledger.epsilon_spent <= BUDGET.epsilon


def quiet_zcdp(rho: float) -> Budget:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return Budget.zcdp(rho, 1e-5)


def run_in_threads(work: object) -> None:
    threads = [threading.Thread(target=work) for _ in range(8)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_share_whose_noise_could_not_be_drawn_is_refused_before_it_is_spent() -> None:
    ledger = Ledger(Budget(1e-6, 1e-9))

    with pytest.raises(BudgetError, match=r"too small for any method.*raise epsilon"):
        counting_event(ledger, 1e-16, sensitivity=1, cells=1)

    assert not ledger.entries
