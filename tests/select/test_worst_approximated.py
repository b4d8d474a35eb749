"""MWEM's rounds: their price, what they choose, and the size of the model."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.worst_approximated import CHOOSE, MEASURE, TOTAL, WorstApproximated

DOMAIN = Domain(("a", "b", "c", "d"), (3, 2, 4, 2))


def table(n: int = 2000) -> EncodedTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = (a > 0).astype(np.int64)
    c = rng.integers(0, 4, n)
    return EncodedTable(DOMAIN, (a, b, c, np.where(rng.random(n) < 0.8, c % 2, 0)))


def curator(budget: Budget | None = None) -> Curator:
    ledger = Ledger(budget or Budget(epsilon=1.0, delta=1e-5))
    return Curator(MemoryEngine(table()), ledger, SeededNoise(0))


def run(selector: WorstApproximated, private: Curator) -> tuple[list, list, object]:
    """Return the marginals that were measured, the candidates and estimates of each choice, and the model."""
    measured, asked = [], []
    measure, choose = private.measure, private.choose

    def recorded_measure(cliques, **options):
        measured.extend(cliques)
        return measure(cliques, **options)

    def recorded_choose(candidates, estimates, **options):
        asked.append((list(candidates), list(estimates), options))
        return choose(candidates, estimates, **options)

    private.measure, private.choose = recorded_measure, recorded_choose
    return measured, asked, selector.select(private, PGM())


class TestBudget:
    def test_all_of_it_is_spent_in_equal_rounds_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(1.0)]:
            private = curator(budget)

            WorstApproximated().select(private, PGM())

            ledger = private.ledger
            shares = {step: share for step, _, share in ledger.by_step()}
            assert shares == pytest.approx({TOTAL: 0.01, CHOOSE: 0.099, MEASURE: 0.891})
            assert ledger.spent <= ledger.budget.total
            costs = [e.cost for e in ledger.entries if e.step == MEASURE]
            assert len(costs) == 4
            assert max(costs) - min(costs) <= ledger.budget.total / 10**9

    def test_the_plan_is_what_will_be_spent(self) -> None:
        steps = WorstApproximated(rounds=2, measure_share=Fraction(1, 2)).plan(DOMAIN)

        assert [(s.name, float(s.share)) for s in steps] == [(TOTAL, 0.01), (CHOOSE, 0.495), (MEASURE, 0.495)]
        assert sum(s.share for s in steps) == 1
        assert steps[2].noisy_cells == 2 * 12

    def test_a_part_of_the_budget_is_enough(self) -> None:
        private = curator()

        WorstApproximated().select(private, PGM(), share=Fraction(1, 4))

        assert 0.2499 < private.ledger.spent / private.ledger.budget.total <= 0.25


class TestChoice:
    def test_the_first_belief_is_even_and_sums_to_the_noisy_number_of_records(self) -> None:
        _, asked, _ = run(WorstApproximated(), curator(NO_PRIVACY))

        candidates, estimates, options = asked[0]
        assert len(candidates) == 6
        for clique, estimate, penalty in zip(candidates, estimates, options["penalties"], strict=True):
            assert np.allclose(estimate, 2000 / DOMAIN.cells(clique))
            assert penalty == DOMAIN.cells(clique)

    def test_without_privacy_the_dependent_pairs_are_measured_and_fitted(self) -> None:
        measured, _, model = run(WorstApproximated(), curator(NO_PRIVACY))

        assert {("a", "b"), ("c", "d")} <= set(measured)
        exact = MemoryEngine(table()).counts([("a", "b"), ("c", "d")])
        for one, other in zip(exact, model.marginals([("a", "b"), ("c", "d")]), strict=True):
            assert np.abs(one - other).max() < 20

    def test_candidates_are_the_workload(self) -> None:
        measured, asked, _ = run(WorstApproximated(workload=[["b", "a"], ["c"]], rounds=3), curator())

        assert len(asked) == 3
        assert all(candidates == [("a", "b"), ("c",)] for candidates, _, _ in asked)
        assert set(measured) <= {(), ("a", "b"), ("c",)}

    def test_a_seed_repeats_the_choice(self) -> None:
        assert run(WorstApproximated(), curator())[0] == run(WorstApproximated(), curator())[0]


class TestMemory:
    def test_the_model_grows_in_proportion_to_the_rounds(self) -> None:
        limit_mb = 40 * 8 / 2**20
        measured, asked, _ = run(WorstApproximated(max_model_mb=limit_mb), curator(NO_PRIVACY))

        bound = PGM().over(DOMAIN)
        for number, _ in enumerate(asked, 1):
            size = bound.memory_mb(measured[1 : number + 1])
            assert size <= bound.memory_mb([]) + limit_mb * number / 4

    def test_a_workload_of_which_nothing_fits_is_refused_before_anything_is_spent(self) -> None:
        private = curator()

        with pytest.raises(ResourceError, match="smallest marginal"):
            WorstApproximated(workload=3, max_model_mb=1e-5).select(private, PGM())

        assert private.ledger.entries == ()


def test_senseless_options_are_refused() -> None:
    for options in [
        {"rounds": 0},
        {"workload": 0},
        {"measure_share": 1},
        {"total_share": 0},
        {"max_model_mb": math.inf},
    ]:
        with pytest.raises(ArgumentError):
            WorstApproximated(**options)


def test_an_unknown_column_is_refused_before_anything_is_spent() -> None:
    private = curator()

    with pytest.raises(SchemaError, match="height"):
        WorstApproximated(workload=[["a", "height"]]).select(private, PGM())

    assert private.ledger.entries == ()
