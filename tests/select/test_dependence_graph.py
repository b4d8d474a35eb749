"""PrivMRF's graph: its cliques, the families within them, and what refines a model."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.models.junction_tree.tree import junction_tree
from syntabula.select.dependence_graph import (
    best_families,
    chordal_cliques,
    looked_at,
    refinement_count,
    spread_over_steps,
    within,
)
from syntabula.select.usefulness import Limit

DOMAIN = Domain(("a", "b", "c", "d"), (3, 2, 4, 5))
PAIRS = list(combinations(DOMAIN.columns, 2))


def worth(cliques: list[Clique], scores: dict[Clique, float], penalty: float) -> float:
    edges = {pair for c in cliques for pair in combinations(c, 2)}
    return sum(scores[e] for e in edges) - penalty * sum(map(DOMAIN.cells, cliques))


def search(scores: dict[Clique, float], **options: float) -> list[Clique]:
    limits = {"size_penalty": 0.0, "max_clique_cells": 1e6, "max_cells": 1e6} | options
    return chordal_cliques(DOMAIN, scores, **limits)


class TestSearch:
    def test_positive_scores_are_edges_and_negative_ones_are_not(self) -> None:
        scores = dict.fromkeys(PAIRS, -0.5) | {("a", "b"): 0.3, ("c", "d"): 0.2}

        assert sorted(search(scores)) == [("a", "b"), ("c", "d")]

    def test_a_cycle_gets_a_chord_if_it_is_worth_it(self) -> None:
        ring = {("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "d"): 1.0, ("a", "d"): 1.0}

        cliques = search(dict.fromkeys(PAIRS, -0.1) | ring)

        assert len(cliques) == 2
        assert all(len(c) == 3 for c in cliques)

    def test_cells_have_a_price(self) -> None:
        scores = dict.fromkeys(PAIRS, 1.0)

        assert search(scores, size_penalty=0.0) == [DOMAIN.columns]
        assert all(len(c) == 1 for c in search(scores, size_penalty=10.0))

    def test_no_clique_and_no_sum_of_cliques_is_above_its_limit(self) -> None:
        scores = dict.fromkeys(PAIRS, 1.0)

        narrow = search(scores, max_clique_cells=12)
        few = search(scores, max_cells=40)

        assert max(map(DOMAIN.cells, narrow)) <= 12
        assert sum(map(DOMAIN.cells, few)) <= 40
        assert max(map(len, narrow)) > 1
        assert max(map(len, few)) > 1

    def test_the_graph_is_chordal_and_no_single_edge_makes_it_better(self) -> None:
        for seed in range(10):
            scores = dict(zip(PAIRS, np.random.default_rng(seed).normal(0.1, 0.3, len(PAIRS)), strict=True))

            cliques = search(scores, size_penalty=1e-3)

            assert sorted(cliques) == sorted(junction_tree(DOMAIN, cliques).cliques), seed
            for pair in PAIRS:
                larger = list(junction_tree(DOMAIN, [*cliques, pair]).cliques)
                assert worth(larger, scores, 1e-3) <= worth(cliques, scores, 1e-3) + 1e-12, seed


SIX = Domain(("a", "b", "c", "d", "e", "f"), (3, 2, 4, 2, 3, 2))
CLIQUES = [("a", "c", "e"), ("b",), ("d",), ("f",)]
RELATED = dict.fromkeys(combinations(SIX.columns, 2), 0.0) | {
    ("a", "c"): 0.4, ("a", "e"): 0.3, ("c", "e"): 0.2,
}  # fmt: skip


def test_families_hold_the_strongest_parents_that_fit() -> None:
    assert set(best_families(SIX, CLIQUES, RELATED, Limit(12, 12), 6)) == {("a", "c"), ("a", "e")}


def test_the_best_family_comes_first_as_it_is_kept_where_the_model_may_not_hold_all() -> None:
    cliques = [("a", "b"), ("c", "d"), ("e", "f")]
    dependence = dict.fromkeys(combinations(SIX.columns, 2), 0.0) | dict(
        zip(cliques, (0.2, 0.1, 0.3), strict=True)
    )

    assert best_families(SIX, cliques, dependence, Limit(100, 100), 6) == [("e", "f"), ("a", "b"), ("c", "d")]


def test_a_pair_beyond_the_limit_is_a_family_where_pairs_may_be_larger() -> None:
    assert set(best_families(SIX, CLIQUES, RELATED, Limit(9, 12), 6)) == {("a", "c"), ("a", "e")}


def test_there_are_at_most_as_many_families_as_columns() -> None:
    rng = np.random.default_rng(0)
    dependence = {pair: rng.random() for pair in combinations(SIX.columns, 2)}

    found = best_families(SIX, list(combinations(SIX.columns, 4)), dependence, Limit(30, 30), 6)

    assert len(found) == len(set(found)) <= 6
    assert all(len(family) > 1 for family in found)


def test_noise_below_zero_counts_as_no_dependence() -> None:
    assert within(("a", "c", "e"), RELATED | {("c", "e"): -5.0}) == 0.7


COLUMNS = ("a", "b", "c", "d")
RISING = {pair: 0.1 * number for number, pair in enumerate(combinations(COLUMNS, 2))}
ALL = list(RISING)
TRIPLES = list(combinations(COLUMNS, 3))


def test_there_are_four_refinements_for_five_columns() -> None:
    assert refinement_count(Domain(tuple("abcde"), (2,) * 5)) == 4


def test_refinements_are_spread_over_the_steps() -> None:
    assert spread_over_steps(11, 14) == [1, 2, 1, 2, 1, 2, 2]
    assert sum(spread_over_steps(80, 100)) == 80
    assert len(spread_over_steps(80, 100)) == 8
    assert spread_over_steps(1, 2) == [1]


def test_the_most_dependent_come_first_and_those_looked_at_before_last() -> None:
    assert looked_at(ALL, set(), RISING, {}, most=2) == [("c", "d"), ("b", "d")]
    assert looked_at(ALL, set(), RISING, {("c", "d"): 1}, most=2) == [("b", "d"), ("b", "c")]


def test_wider_marginals_get_a_larger_part() -> None:
    found = looked_at([*ALL, *TRIPLES], set(), RISING, {}, most=5)

    assert [len(clique) for clique in found] == [2, 2, 3, 3, 3]


def test_what_was_measured_is_left_out_unless_nothing_else_is_there() -> None:
    assert looked_at(ALL, set(ALL[1:]), RISING, {}, most=9) == ALL[:1]
    assert set(looked_at(ALL, set(ALL), RISING, {}, most=9)) == set(ALL)
