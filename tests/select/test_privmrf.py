"""PrivMRF's selection: its price, its marginals, and that nothing rests on an exact number of records."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.memory import MemoryEngine
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.curator import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.privmrf import (
    CHOOSE,
    GRAPH,
    MEASURE,
    TOTAL,
    AttributeGraph,
    _initial,
    _spread,
)
from syntabula.select.usefulness import Limit

DOMAIN = Domain(("a", "b", "c", "d", "e", "f"), (3, 2, 4, 2, 3, 2))


def table(n: int = 4000) -> EncodedTable:
    """The exclusive or of b and d is f, which no pair shows; c follows a; e follows a and c."""
    rng = np.random.default_rng(0)
    a, b, d = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    c = np.where(rng.random(n) < 0.8, a, 3)
    e = np.where(rng.random(n) < 0.8, (a + c) % 3, rng.integers(0, 3, n))
    f = np.where(rng.random(n) < 0.9, b ^ d, d)
    return EncodedTable(DOMAIN, (a, b, c, d, e, f))


def curator(budget: Budget | None = None, rows: EncodedTable | None = None) -> Curator:
    ledger = Ledger(budget or Budget(epsilon=2.0, delta=1e-5))
    return Curator(MemoryEngine(rows or table()), ledger, SeededNoise(0))


def measured_with(selector: AttributeGraph, private: Curator) -> tuple[list[tuple[str, ...]], PGM]:
    """Return all marginals that are measured, and the model."""
    seen: list[tuple[str, ...]] = []
    measure = private.measure

    def record(cliques, **options):
        seen.extend(cliques)
        return measure(cliques, **options)

    private.measure = record
    model = selector.select(private, PGM())
    return seen, model


class TestBudget:
    @pytest.mark.parametrize("budget", [Budget(epsilon=1.0, delta=1e-5), Budget.pure(2.0)])
    def test_all_of_it_is_spent_and_no_more(self, budget: Budget) -> None:
        private = curator(budget)

        AttributeGraph().select(private, PGM())

        shares = {step: share for step, _, share in private.ledger.by_step()}
        assert shares == pytest.approx({TOTAL: 0.001, GRAPH: 0.099, CHOOSE: 0.1, MEASURE: 0.8})
        assert private.ledger.spent <= private.ledger.budget.total

    def test_the_plan_is_what_will_be_spent(self) -> None:
        steps = AttributeGraph().plan(DOMAIN)

        assert [(s.name, float(s.share)) for s in steps] == [
            (TOTAL, 0.001), (GRAPH, 0.099), (CHOOSE, 0.1), (MEASURE, 0.8),
        ]  # fmt: skip
        assert sum(s.share for s in steps) == 1

    def test_a_table_of_two_columns_measures_its_pair_again(self) -> None:
        private = curator(rows=table().project(("a", "c")))

        measured, _ = measured_with(AttributeGraph(), private)

        assert measured[:2] == [(), ("a", "c")]
        assert len(measured) == 3
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

        assert max(len(c) for c in measured[1:]) == 2
        assert max(len(c) for c in strict[1:]) == 1

    @pytest.mark.thorough
    def test_without_privacy_refinement_finds_what_no_pair_shows(self) -> None:
        _, model = measured_with(AttributeGraph(), curator(NO_PRIVACY))

        (exact,) = MemoryEngine(table()).counts([("b", "d", "f")])
        (found,) = model.marginals([("b", "d", "f")])
        assert np.abs(found - exact).sum() < 0.05 * 4000

    def test_where_nothing_is_useful_columns_are_measured_alone(self) -> None:
        measured, _ = measured_with(AttributeGraph(theta=1e6), curator())

        assert set(measured[1:]) == {(c,) for c in DOMAIN.columns}

    def test_a_seed_repeats_the_marginals(self) -> None:
        assert measured_with(AttributeGraph(), curator())[0] == measured_with(AttributeGraph(), curator())[0]

    def test_no_choice_is_among_more_candidates_than_allowed(self) -> None:
        asked = []
        private = curator(NO_PRIVACY)
        choose = private.choose
        private.choose = lambda c, e, **options: asked.append(len(c)) or choose(c, e, **options)

        AttributeGraph(candidates=5).select(private, PGM())

        assert max(asked) <= 5


class TestParts:
    def test_refinements_are_spread_over_the_steps(self) -> None:
        assert _spread(11, 14) == [1, 2, 1, 2, 1, 2, 2]
        assert sum(_spread(80, 100)) == 80
        assert len(_spread(80, 100)) == 8
        assert _spread(1, 2) == [1]

    def test_initial_marginals_hold_the_strongest_parents_that_fit(self) -> None:
        dependence = dict.fromkeys(combinations(DOMAIN.columns, 2), 0.0)
        dependence |= {("a", "c"): 0.4, ("a", "e"): 0.3, ("c", "e"): 0.2}

        found = _initial(DOMAIN, [("a", "c", "e"), ("b",), ("d",), ("f",)], dependence, Limit(12, 12), 6)

        assert set(found) == {("a", "c"), ("a", "e"), ("b",), ("d",), ("f",)}

    def test_a_pair_beyond_the_limit_is_a_family_where_pairs_may_be_larger(self) -> None:
        dependence = dict.fromkeys(combinations(DOMAIN.columns, 2), 0.0)
        dependence |= {("a", "c"): 0.4, ("a", "e"): 0.3, ("c", "e"): 0.2}

        found = _initial(DOMAIN, [("a", "c", "e"), ("b",), ("d",), ("f",)], dependence, Limit(9, 12), 6)

        assert set(found) == {("a", "c"), ("a", "e"), ("b",), ("d",), ("f",)}

    def test_there_are_at_most_as_many_families_as_columns(self) -> None:
        rng = np.random.default_rng(0)
        dependence = {pair: rng.random() for pair in combinations(DOMAIN.columns, 2)}
        cliques = list(combinations(DOMAIN.columns, 4))

        found = _initial(DOMAIN, cliques, dependence, Limit(30, 30), 6)

        assert len(found) == len(set(found)) <= 6
        assert set().union(*found) == set(DOMAIN.columns)


@pytest.mark.parametrize(
    "options",
    [
        {"graph_share": 0},
        {"refine_share": 0.95},
        {"theta": -1},
        {"pair_slack": 0.5},
        {"candidates": 0},
        {"size_penalty": -1e-8},
        {"max_columns": 1.5},
        {"max_graph_cells": math.inf},
    ],
)
def test_senseless_options_are_refused(options) -> None:
    with pytest.raises(ArgumentError):
        AttributeGraph(**options)
