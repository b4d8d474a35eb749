"""PrivBayes's choice of a network: its candidates, its price and what it finds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.privbayes import CHOOSE, MEASURE, ONE_WAY, TOTAL, ParentSets
from syntabula.select.usefulness import largest_useful

DOMAIN = Domain(("a", "b", "c", "d", "e"), (3, 2, 4, 2, 6))


def table(n: int = 3000) -> EncodedTable:
    """A chain e -> c -> a, a pair b -> d that it has nothing to do with."""
    rng = np.random.default_rng(0)
    e = rng.integers(0, 6, n)
    c = np.where(rng.random(n) < 0.9, e % 4, rng.integers(0, 4, n))
    a = np.where(rng.random(n) < 0.9, c % 3, rng.integers(0, 3, n))
    b = rng.integers(0, 2, n)
    d = np.where(rng.random(n) < 0.9, b, 1 - b)
    return EncodedTable(DOMAIN, (a, b, c, d, e))


def curator(budget: Budget | None = None, rows: EncodedTable | None = None) -> Curator:
    ledger = Ledger(budget or Budget(epsilon=1.0, delta=1e-5))
    return Curator(MemoryEngine(rows or table()), ledger, SeededNoise(0))


def measured_with(selector: ParentSets, private: Curator, model=None) -> list[tuple[str, ...]]:
    """Return the families that a selection measures."""
    seen = []
    measure = private.measure

    def record(cliques, **options):
        seen.append(list(cliques))
        return measure(cliques, **options)

    private.measure = record
    selector.select(private, model or BayesianNetwork())
    return seen[-1]


class TestSelect:
    def test_without_privacy_dependent_columns_are_joined(self) -> None:
        families = measured_with(ParentSets(max_parents=1, records_per_noise=None), curator(NO_PRIVACY))

        assert {frozenset(f) for f in families} >= {frozenset("ac"), frozenset("ce"), frozenset("bd")}

    def test_the_budget_is_spent_and_not_exceeded(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(1.0)]:
            for least, first in [(4.0, {ONE_WAY: 0.05}), (None, {TOTAL: 0.01})]:
                private = curator(budget)
                selector = ParentSets(records_per_noise=least)

                selector.select(private, BayesianNetwork())

                shares = {step: share for step, _, share in private.ledger.by_step()}
                families = 0.7 - sum(first.values())
                assert shares == pytest.approx(first | {CHOOSE: 0.3, MEASURE: families})
                planned = {step.name: float(step.share) for step in selector.plan(DOMAIN)}
                assert planned == pytest.approx(shares)
                assert private.ledger.spent <= private.ledger.budget.total
                assert len([e for e in private.ledger.entries if e.step == CHOOSE]) == 4

    def test_wide_columns_are_joined_in_merged_codes(self) -> None:
        # No pair of 60 codes is useful at this budget, so that the columns come out independent, 0.6 from the table;
        # merged they are 0.4 away, many times the spread of five seeds.
        rng = np.random.default_rng(0)
        wide = Domain(("a", "b"), (60, 60))
        a, b = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 4000).T
        codes = tuple(np.clip((x + 4) * 60 / 8, 0, 59).astype(np.uint8) for x in (a, b))
        rows = EncodedTable(wide, codes)
        (exact,) = MemoryEngine(rows).counts([("a", "b")])
        distances: dict[float | None, list[float]] = {None: [], 4.0: []}
        for least, found in distances.items():
            for seed in range(5):
                private = Curator(MemoryEngine(rows), Ledger(Budget.zcdp(0.02, 1e-6)), SeededNoise(seed))
                model = ParentSets(records_per_noise=least).select(private, BayesianNetwork())
                (pair,) = model.marginals([("a", "b")])
                found.append(np.abs(pair - exact).sum() / 2 / 4000)

        assert max(distances[4.0]) < 0.8 * min(distances[None])
        assert model.domain == wide

    def test_every_family_is_useful_and_every_column_is_in_one(self) -> None:
        private = curator()
        limit = largest_useful(curator(), 3000.0, 5, Fraction(69, 100), theta=4.0)

        families = measured_with(ParentSets(records_per_noise=None), private)

        # The noisy number of records is within a tenth of 3000: its standard deviation is below 60.
        assert all(DOMAIN.cells(f) <= 1.1 * limit for f in families)
        assert set().union(*families) == set(DOMAIN.columns)

    def test_where_nothing_is_useful_columns_are_measured_alone(self) -> None:
        families = measured_with(ParentSets(theta=1e6, records_per_noise=None), curator())

        assert sorted(families) == [(c,) for c in DOMAIN.columns]

    def test_a_model_with_a_limited_size_gets_families_that_it_can_hold(self) -> None:
        limit_mb = 20 * 8 / 2**20
        selector = ParentSets(max_model_mb=limit_mb, records_per_noise=None)

        families = measured_with(selector, curator(NO_PRIVACY), PGM())

        empty = PGM().over(DOMAIN).memory_mb([])
        assert PGM().over(DOMAIN).memory_mb(families) <= empty + limit_mb
        assert max(map(len, families)) > 1

    def test_many_candidates_are_kept_off_by_smaller_parent_sets(self) -> None:
        asked = []
        private = curator(NO_PRIVACY)
        choose = private.choose_dependent
        private.choose_dependent = lambda f, **options: asked.append(len(f)) or choose(f, **options)

        ParentSets(max_candidates=6, records_per_noise=None).select(private, BayesianNetwork())

        assert max(asked) <= 6

    def test_a_single_column_takes_the_whole_budget(self) -> None:
        private = curator(rows=table().project(("e",)))

        ParentSets().select(private, BayesianNetwork())

        (entry,) = private.ledger.entries
        assert float(entry.cost / private.ledger.budget.total) == pytest.approx(1.0)
        assert [s.share for s in ParentSets().plan(Domain(("e",), (6,)))] == [1]

    def test_a_seed_repeats_the_network(self) -> None:
        one, other = (ParentSets().select(curator(), BayesianNetwork()) for _ in range(2))

        assert one.families == other.families
        assert np.array_equal(one.marginals([("a", "e")])[0], other.marginals([("a", "e")])[0])

    def test_senseless_options_are_refused(self) -> None:
        cases = [
            {"structure_share": 0},
            {"structure_share": 0.995},
            {"total_share": 1.0},
            {"theta": 0},
            {"max_parents": 0},
            {"max_cells": 2.5},
            {"max_candidates": True},
            {"max_model_mb": math.inf},
            {"records_per_noise": 0},
        ]
        for options in cases:
            with pytest.raises(ArgumentError):
                ParentSets(**options)
