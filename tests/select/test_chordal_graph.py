"""The attribute graph: chordal, within its limits, and as good as brute force on small domains."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pgm.junction_tree import junction_tree
from syntabula.select.chordal_graph import chordal_cliques

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
