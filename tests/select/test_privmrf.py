"""PrivMRF's selection: its price, its marginals, and that nothing rests on an exact number of records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.privmrf import CHOOSE, GRAPH, MEASURE, ONE_WAY, TOTAL, AttributeGraph

DOMAIN = Domain(("a", "b", "c", "d", "e", "f"), (3, 2, 4, 2, 3, 2))


def table(n: int = 4000) -> EncodedTable:
    """The exclusive or of b and d is f, which no pair shows; c follows a; e follows a and c."""
    rng = np.random.default_rng(0)
    a, b, d = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    c = np.where(rng.random(n) < 0.8, a, 3)
    e = np.where(rng.random(n) < 0.8, (a + c) % 3, rng.integers(0, 3, n))
    f = np.where(rng.random(n) < 0.9, b ^ d, d)
    return EncodedTable(DOMAIN, (a, b, c, d, e, f))


def wide_table(n: int = 4000) -> EncodedTable:
    """Two columns of a hundred codes that move together, far more than pairs can stand, and one of two."""
    rng = np.random.default_rng(1)
    place = rng.normal(50, 12, n)
    one, other = (np.clip(place + rng.normal(0, 3, n), 0, 99).astype(int) for _ in range(2))
    domain = Domain(("one", "other", "flag"), (100, 100, 2))
    return EncodedTable(domain, (one, other, (place > 60).astype(int)))


def curator(budget: Budget | None = None, rows: EncodedTable | None = None) -> Curator:
    ledger = Ledger(budget or Budget(epsilon=2.0, delta=1e-5))
    return Curator(MemoryEngine(rows or table()), ledger, SeededNoise(0))


def measured_with(selector: AttributeGraph, private: Curator) -> tuple[list[tuple[str, ...]], PGM]:
    """Return all marginals that are measured, and the model."""
    seen: list[tuple[str, ...]] = []
    measure = Curator.measure

    def record(self, cliques, **options):
        seen.extend(cliques)
        return measure(self, cliques, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "measure", record)
        model = selector.select(private, PGM())
    return seen, model


class TestBudget:
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            private = curator(budget)

            AttributeGraph().select(private, PGM())

            shares = {step: share for step, _, share in private.ledger.by_step()}
            assert shares == pytest.approx({ONE_WAY: 0.05, GRAPH: 0.1, CHOOSE: 0.1, MEASURE: 0.75})
            assert private.ledger.spent <= private.ledger.budget.total

    def test_the_papers_way_counts_the_records_instead_of_the_columns(self) -> None:
        for budget in [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)]:
            private = curator(budget)

            AttributeGraph(records_per_noise=None).select(private, PGM())

            shares = {step: share for step, _, share in private.ledger.by_step()}
            assert shares == pytest.approx({TOTAL: 0.001, GRAPH: 0.099, CHOOSE: 0.1, MEASURE: 0.8})
            assert private.ledger.spent <= private.ledger.budget.total

    def test_the_plan_is_what_will_be_spent(self) -> None:
        for selector, shares in [
            (AttributeGraph(), [(ONE_WAY, 0.05), (GRAPH, 0.1), (CHOOSE, 0.1), (MEASURE, 0.75)]),
            (
                AttributeGraph(records_per_noise=None),
                [(TOTAL, 0.001), (GRAPH, 0.099), (CHOOSE, 0.1), (MEASURE, 0.8)],
            ),
        ]:
            steps = selector.plan(DOMAIN)

            assert [(s.name, float(s.share)) for s in steps] == shares
            assert sum(s.share for s in steps) == 1

    def test_where_many_codes_merge_three_tenths_go_to_single_columns(self) -> None:
        private = curator(rows=wide_table())

        AttributeGraph().select(private, PGM())

        shares = {step: share for step, _, share in private.ledger.by_step()}
        assert shares == pytest.approx({ONE_WAY: 0.3, GRAPH: 0.1, CHOOSE: 0.1, MEASURE: 0.5})
        assert private.ledger.remaining < private.ledger.budget.total / 10**9

    def test_a_table_of_two_columns_measures_its_pair_again(self) -> None:
        private = curator(rows=table().project(("a", "c")))

        measured, _ = measured_with(AttributeGraph(), private)

        assert measured[:3] == [("a",), ("c",), ("a", "c")]
        assert len(measured) == 4
        assert private.ledger.remaining < private.ledger.budget.total / 10**9

    def test_a_single_column_takes_everything(self) -> None:
        private = curator(rows=table().project(("c",)))

        measured, _ = measured_with(AttributeGraph(), private)

        assert measured == [("c",)]
        assert [s.share for s in AttributeGraph().plan(Domain(("c",), (4,)))] == [1]
        assert private.ledger.remaining < private.ledger.budget.total / 10**9


class TestMarginals:
    def test_every_column_is_measured_and_every_marginal_is_useful(self) -> None:
        private = curator()

        measured, _ = measured_with(AttributeGraph(), private)

        sigma = private.noise_sigma(10, 0.8)
        limit = 4000 / (6 * math.sqrt(2 / math.pi) * sigma)
        assert set().union(*measured) == set(DOMAIN.columns)
        # The noisy number of records has a standard deviation below 80: six of them are 12 %.
        assert all(DOMAIN.cells(c) <= 1.12 * limit for c in measured if len(c) > 2)
        assert all(DOMAIN.cells(c) <= 5 * 1.12 * limit for c in measured)

    def test_pairs_stay_where_nothing_wider_is_useful(self) -> None:
        # Pairs have up to 12 cells; a limit of 3 leaves them out, and five times as much does not.
        sigma = curator().noise_sigma(10, 0.8)
        theta = 4000 / (3 * math.sqrt(2 / math.pi) * sigma)

        measured, _ = measured_with(AttributeGraph(theta=theta), curator())
        strict, _ = measured_with(AttributeGraph(theta=theta, pair_slack=1), curator())

        assert max(len(c) for c in measured) == 2
        assert max(len(c) for c in strict) == 1

    @pytest.mark.thorough
    def test_without_privacy_refinement_finds_what_no_pair_shows(self) -> None:
        _, model = measured_with(AttributeGraph(), curator(NO_PRIVACY))

        (exact,) = MemoryEngine(table()).counts([("b", "d", "f")])
        (found,) = model.marginals([("b", "d", "f")])
        assert np.abs(found - exact).sum() < 0.05 * 4000

    def test_where_nothing_is_useful_columns_are_measured_alone(self) -> None:
        measured, _ = measured_with(AttributeGraph(theta=1e6), curator())

        assert set(measured) == {(c,) for c in DOMAIN.columns}

    def test_a_seed_repeats_the_marginals(self) -> None:
        assert measured_with(AttributeGraph(), curator())[0] == measured_with(AttributeGraph(), curator())[0]

    def test_no_choice_is_among_more_candidates_than_allowed(self) -> None:
        private = curator()

        AttributeGraph(candidates=5).select(private, PGM())

        asked = [e.event.candidates for e in private.ledger.entries if e.step == CHOOSE]
        assert 1 <= max(asked) <= 5


class TestMerging:
    def test_codes_that_noise_would_drown_are_merged_and_come_back(self) -> None:
        model = AttributeGraph().select(curator(rows=wide_table()), PGM())

        assert isinstance(model, RecodedModel)
        assert model.inner.domain.size("one") < 50
        assert model.inner.domain.size("flag") == 2
        (learned,) = model.marginals([("one", "other")])
        assert learned.shape == (100, 100)

    def test_the_papers_way_keeps_all_codes(self) -> None:
        model = AttributeGraph(records_per_noise=None).select(curator(rows=wide_table()), PGM())

        assert isinstance(model, PGM)
        assert model.domain.sizes == (100, 100, 2)

    def test_merged_codes_bring_a_wide_pair_nearer(self) -> None:
        rows = wide_table()
        (exact,) = MemoryEngine(rows).counts([("one", "other")])

        def distance(selector: AttributeGraph) -> float:
            (found,) = selector.select(curator(Budget(epsilon=0.5, delta=1e-5), rows), PGM()).marginals(
                [("one", "other")]
            )
            return float(np.abs(found - exact).sum())

        assert distance(AttributeGraph()) < 0.9 * distance(AttributeGraph(records_per_noise=None))


class TestRefinement:
    def test_a_small_pair_that_the_graph_leaves_out_is_measured_all_the_same(self) -> None:
        # Where no edge may have a cell, the graph has none.
        measured, _ = measured_with(AttributeGraph(max_graph_cells=1, candidates=50), curator())

        pairs = [c for c in measured if len(c) == 2]
        assert {("a", "c"), ("a", "e")} & set(pairs)

    def test_small_pairs_that_matter_win_over_large_ones_that_chance_moves(self) -> None:
        # The label follows the flag; two columns of sixty codes are independent, and their pair of 3,600 cells of
        # one record each is as far from its even estimate as 4,000 records can be.
        rng = np.random.default_rng(0)
        flag = rng.integers(0, 2, 4000)
        label = np.where(rng.random(4000) < 0.7, flag, 1 - flag)
        domain = Domain(("wide", "wider", "flag", "label"), (60, 60, 2, 2))
        rows = EncodedTable(domain, (rng.integers(0, 60, 4000), rng.integers(0, 60, 4000), flag, label))
        selector = AttributeGraph(
            max_graph_cells=1, theta=1e-3, max_columns=2, records_per_noise=None, candidates=50
        )

        measured, _ = measured_with(selector, curator(rows=rows))

        refined = measured[1 + 4 :]
        assert refined[0] == ("flag", "label")
        assert ("wide", "wider") not in refined

    def test_marginals_that_are_chosen_together_keep_the_model_small(self) -> None:
        for limit in [0.002, 0.01]:
            rng = np.random.default_rng(0)
            place = rng.integers(0, 8, 20_000)
            domain = Domain(tuple("abcdefgh"), (8,) * 8)
            columns = tuple(
                np.where(rng.random(20_000) < 0.7, place, rng.integers(0, 8, 20_000)) for _ in range(8)
            )

            measured, _ = measured_with(
                AttributeGraph(max_model_mb=limit), curator(rows=EncodedTable(domain, columns))
            )

            model = PGM().over(domain)
            assert model.memory_mb(measured) <= model.memory_mb([]) + limit


def test_senseless_options_are_refused() -> None:
    cases = [
        {"graph_share": 0},
        {"refine_share": 0.95},
        {"theta": -1},
        {"pair_slack": 0.5},
        {"candidates": 0},
        {"size_penalty": -1e-8},
        {"max_columns": 1.5},
        {"max_graph_cells": math.inf},
        {"max_model_mb": 0},
        {"records_per_noise": -1},
        {"graph_share": 0.4, "refine_share": 0.4},
    ]
    for options in cases:
        with pytest.raises(ArgumentError):
            AttributeGraph(**options)
