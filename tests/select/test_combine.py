"""Merging pairs into wider marginals: the rules of PrivSyn's algorithm 2."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Clique, Domain, contains
from syntabula.select.combine import combined

FIVE = Domain.from_sizes(dict.fromkeys("abcde", 3))


def pairs_of(columns: str) -> list[Clique]:
    return list(combinations(columns, 2))


class TestRules:
    def test_a_triangle_becomes_one_marginal_and_other_pairs_stay(self) -> None:
        assert combined([*pairs_of("abc"), ("c", "d")], FIVE, max_cells=5000) == [("a", "b", "c"), ("c", "d")]

    def test_the_largest_clique_comes_first(self) -> None:
        assert combined(pairs_of("abcde"), FIVE, max_cells=5000) == [("a", "b", "c", "d", "e")]

    def test_a_marginal_of_too_many_cells_is_not_made(self) -> None:
        found = combined(pairs_of("abcde"), FIVE, max_cells=243)

        assert max(FIVE.cells(c) for c in found) == 81

    def test_no_cells_allowed_merges_nothing(self) -> None:
        assert combined(pairs_of("abc"), FIVE, max_cells=0) == pairs_of("abc")

    def test_two_merged_marginals_share_at_most_two_columns(self) -> None:
        # (b, c, d, e) is a clique as well, but shares three columns with the first one.
        edges = [p for p in pairs_of("abcde") if p != ("a", "e")]

        found = combined(edges, FIVE, max_cells=5000)

        assert found == [("a", "b", "c", "d"), ("b", "c", "e"), ("d", "e")]

    def test_a_second_marginal_may_take_two_columns_of_the_first(self) -> None:
        assert combined([*pairs_of("abc"), *pairs_of("bcd")], FIVE, max_cells=5000) == [
            ("a", "b", "c"),
            ("b", "c", "d"),
        ]

    def test_nothing_chosen_is_nothing_merged(self) -> None:
        assert combined([], FIVE, max_cells=5000) == []

    def test_every_pair_is_held_and_every_marginal_is_a_clique_of_pairs(self) -> None:
        for seed in range(20):
            rng = np.random.default_rng(seed)
            domain = Domain.from_sizes({f"c{i}": int(rng.integers(2, 12)) for i in range(9)})
            pairs = [p for p in combinations(domain.columns, 2) if rng.random() < 0.6]

            found = combined(pairs, domain, max_cells=600)

            assert all(any(contains(c, p) for c in found) for p in pairs), seed
            assert all(p in pairs for c in found for p in combinations(c, 2)), seed
            wide = [c for c in found if len(c) > 2]
            assert all(domain.cells(c) < 600 for c in wide), seed
            covered: set[str] = set()
            for clique in wide:
                assert len(covered & set(clique)) <= 2, seed
                covered |= set(clique)
            assert [len(c) for c in wide] == sorted((len(c) for c in wide), reverse=True), seed

    def test_dense_pairs_of_many_columns_are_merged_without_listing_all_cliques(self) -> None:
        # There are more than 10^13 cliques of twelve columns here.
        domain = Domain.from_sizes({f"c{i}": 2 for i in range(60)})

        found = combined(list(combinations(domain.columns, 2)), domain, max_cells=5000)

        assert len(found[0]) == 12
        assert all(domain.cells(c) < 5000 for c in found)
