"""Scores and dependences: one record changes them by no more than is declared, and they are priced so."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError, ResourceError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import scores as module
from syntabula.privacy.doors.scores import (
    SENSITIVITY_STEPS,
    STEPS_PER_RECORD,
    batches,
    dependence_steps,
    distances,
    on_grid,
    quantile_scores,
    shortfall_scores,
)
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

SCALES = [1.0, 1e6, 1e14, 1e17, 1e30, 1e300]  # twice the sensitivity over epsilon, up to the tiniest budgets


def test_a_record_changes_the_scores_of_quantiles_by_the_sensitivity_at_most() -> None:
    for scale in SCALES:
        for fraction in [Fraction(1, 2), Fraction(19, 20)]:
            rng = np.random.default_rng(0)
            log_widths = np.log(rng.random(50))
            ranks = np.sort(rng.integers(0, 10_000_001, 50))
            one, declared = quantile_scores(ranks, 10_000_000, fraction, log_widths, scale)

            for first_above in range(51):
                more = ranks + (np.arange(50) >= first_above)
                other, _ = quantile_scores(more, 10_000_001, fraction, log_widths, scale)
                assert (
                    np.abs(one - other).max() <= declared == max(fraction.numerator, (1 - fraction).numerator)
                )


def test_a_record_changes_a_shortfall_by_one_at_most() -> None:
    for scale in SCALES:
        rng = np.random.default_rng(1)
        counts, enough = rng.integers(0, 10_000_000, 50), 9e6
        merits, log_weights = rng.random(50) * enough, np.log(rng.random(50))
        one = shortfall_scores(counts, enough, merits, log_weights, scale)

        other = shortfall_scores(counts + (rng.random(50) < 0.5), enough, merits, log_weights, scale)

        assert np.abs(one - other).max() <= 1


class TestDistances:
    @pytest.mark.parametrize("at_once", [1, 7, 2**18])
    def test_they_are_those_of_each_table_whatever_goes_at_a_time(
        self, at_once: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rng = np.random.default_rng(2)
        shapes = [(3, 2), (1,), (), (4, 5, 2), (2,), (6,)]
        counts = [rng.integers(0, 1000, shape) for shape in shapes]
        estimates = [rng.uniform(0, 1000, shape) for shape in shapes]
        monkeypatch.setattr(module, "_CELLS_AT_ONCE", at_once)

        found = distances([np.asarray(c) for c in counts], estimates)

        expected = [np.abs(c - on_grid(e)).sum() for c, e in zip(counts, estimates, strict=True)]
        assert found.tolist() == expected

    def test_a_large_table_beside_a_small_one_changes_nothing_of_it(self) -> None:
        counts = [np.array([5, 5]), np.array([1, 2])]

        assert distances(counts, [np.array([1e300, 0.0]), np.array([1.0, 1.5])]).tolist() == [2.0**31, 0.5]


DOMAIN = Domain(("a", "b", "c"), (3, 2, 4))
FAMILIES = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "c", "b")]


def codes(n: int = 500) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    return [a, (a > 0).astype(np.int64), rng.integers(0, 4, n)]


def curator(budget: Budget | None = None, n: int = 500, limit_mb: float = 100.0) -> Curator:
    table = EncodedTable(DOMAIN, tuple(codes(n)))
    ledger = Ledger(budget or Budget(epsilon=1.0, delta=1e-5, accounting="zcdp"))
    return Curator(MemoryEngine(table, limit_mb=limit_mb), ledger, SeededNoise(0))


class TestDependenceSteps:
    def test_it_is_the_distance_of_joint_counts_from_the_product_of_their_margins(self) -> None:
        joint = np.array([[3, 1], [1, 3]])

        assert dependence_steps(joint) == 4 * STEPS_PER_RECORD  # independent: 2 everywhere

    def test_independent_columns_and_an_empty_table_have_none(self) -> None:
        assert dependence_steps(np.outer([1, 2], [3, 6])) == 0
        assert dependence_steps(np.zeros((2, 3), dtype=np.int64)) == 0

    def test_one_record_changes_it_by_at_most_four(self) -> None:
        worst = 0
        for cells in product(range(4), repeat=4):
            joint = np.array(cells).reshape(2, 2)
            for position in np.ndindex(2, 2):
                more = joint.copy()
                more[position] += 1
                worst = max(worst, abs(dependence_steps(more) - dependence_steps(joint)))

        assert STEPS_PER_RECORD < worst <= SENSITIVITY_STEPS

    def test_a_record_of_its_own_kind_in_a_large_table_comes_close_to_the_bound(self) -> None:
        alike = np.array([[100_000, 0], [0, 0]])
        with_other = alike + np.array([[0, 0], [0, 1]])

        change = dependence_steps(with_other) - dependence_steps(alike)

        assert 0.99 * SENSITIVITY_STEPS < change <= SENSITIVITY_STEPS


class TestBatches:
    def test_every_family_comes_once_in_order(self) -> None:
        wide = Domain(("a", "b", "c"), (2000, 2000, 2000))
        families = [("a", "b"), ("a", "c"), ("a",), ("b", "c")]

        parts = list(batches(wide.cells, families))

        assert [f for part in parts for f in part] == families
        assert len(parts) > 1


class TestMeasure:
    def test_without_privacy_it_is_exact_to_a_step(self) -> None:
        exact = [
            dependence_steps(MemoryEngine(EncodedTable(DOMAIN, tuple(codes()))).counts([f])[0])
            for f in FAMILIES
        ]

        measured = curator(NO_PRIVACY).measure_dependence(FAMILIES, share=1, step="s")

        assert np.array_equal(measured * STEPS_PER_RECORD, exact)
        assert measured[0] > 300  # b follows from a

    def test_the_event_states_four_records_for_each_family(self) -> None:
        private = curator()

        private.measure_dependence(FAMILIES, share=Fraction(1, 3), step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, GaussianEvent)
        assert entry.event.l2_sensitivity_squared == 4 * SENSITIVITY_STEPS**2
        assert entry.cost <= private.ledger.budget.total / 3
        rho = float(private.ledger.budget.total) / 3
        assert entry.event.sigma / STEPS_PER_RECORD == pytest.approx(np.sqrt(8 * 4 / rho), rel=1e-3)

    def test_a_pure_budget_draws_laplace_noise(self) -> None:
        private = curator(Budget.pure(1.0))

        private.measure_dependence(FAMILIES, share=1, step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, LaplaceEvent)
        assert entry.event.l1_sensitivity == 4 * SENSITIVITY_STEPS
        assert entry.cost == 1

    def test_it_is_refused_without_money_or_memory_before_anything_is_drawn(self) -> None:
        private = curator()
        private.measure([("a",)], share=1, step="all")
        small = curator(limit_mb=0.1)

        with pytest.raises(BudgetExceededError):
            private.measure_dependence(FAMILIES, share=1, step="again")
        with pytest.raises(ResourceError):
            small.measure_dependence(FAMILIES, share=1, step="s")

        assert small.ledger.entries == ()

    def test_merged_codes_count_together(self) -> None:
        merged = curator(NO_PRIVACY).recoded(Recoding(DOMAIN, {"a": np.array([0, 0, 0])}, {}))

        (measured,) = merged.measure_dependence([("a", "b")], share=1, step="s")

        assert measured == 0

    def test_no_family_is_refused(self) -> None:
        for families in [[], [()]]:
            with pytest.raises(ArgumentError, match="family"):
                curator().measure_dependence(families, share=1, step="s")


class TestChoose:
    def test_without_privacy_the_strongest_dependence_wins(self) -> None:
        assert curator(NO_PRIVACY).choose_dependent(FAMILIES[:3], share=1, step="s") == 0

    def test_scores_are_records_with_sensitivity_four(self) -> None:
        private = curator()
        seen = {}
        draw = private._source.noisy_max
        private._source.noisy_max = lambda s, scale: seen.update(scale=scale, scores=s) or draw(s, scale)

        private.choose_dependent([("b",), *FAMILIES], share=Fraction(1, 2), step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, ExponentialEvent)
        assert entry.event.candidates == 5
        assert seen["scale"] == pytest.approx(2 * 4 / entry.event.epsilon, rel=1e-3)
        assert seen["scores"][0] == 0
        assert seen["scores"][1] > 300

    def test_a_score_is_counted_once(self) -> None:
        private = curator(NO_PRIVACY)
        private.choose_dependent(FAMILIES, share=1, step="s")
        asked = []
        private._engine.counts = lambda cliques: asked.append(cliques)

        private.choose_dependent(FAMILIES, share=1, step="s")

        assert not asked
