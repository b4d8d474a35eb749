from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import all_cliques, contains, distinct, downward_closure, maximal

CLIQUES = st.lists(st.lists(st.sampled_from("abcde"), unique=True).map(tuple), max_size=8)


class TestAllCliques:
    def test_are_as_many_as_the_binomial_says(self):
        for k in range(5):
            made = all_cliques("abcd", k)
            assert len(made) == len({frozenset(c) for c in made}) == comb(4, k)

    def test_of_an_impossible_width_are_refused(self):
        for k in [-1, 5, 1.0]:
            with pytest.raises(ArgumentError, match="k must be an integer from 0 to 4"):
                all_cliques("abcd", k)

    def test_of_repeated_columns_are_refused(self):
        with pytest.raises(ArgumentError, match="twice"):
            all_cliques("aba", 2)


class TestClosureAndMaxima:
    @given(CLIQUES)
    def test_the_closure_holds_exactly_the_non_empty_subsets(self, cliques):
        closed = downward_closure(cliques)
        sets = [frozenset(c) for c in closed]
        assert len(sets) == len(set(sets))
        subsets = {
            frozenset(c for i, c in enumerate(q) if mask >> i & 1)
            for q in cliques
            for mask in range(2 ** len(q))
        }
        assert set(sets) == subsets - {frozenset()}
        assert [len(c) for c in closed] == sorted(len(c) for c in closed)

    @pytest.mark.thorough
    @given(CLIQUES)
    def test_the_closure_of_a_closure_is_itself(self, cliques):
        closed = downward_closure(cliques)
        assert downward_closure(closed) == closed

    @given(CLIQUES)
    def test_maxima_hold_all_cliques_and_lie_in_none(self, cliques):
        top = maximal(cliques)
        assert all(any(contains(t, c) for t in top) for c in cliques)
        assert not any(set(a) < set(b) for a in top for b in top)
        assert downward_closure(top) == downward_closure(top + cliques) or set(
            map(frozenset, downward_closure(top))
        ) == set(map(frozenset, downward_closure(cliques)))

    def test_the_same_columns_in_another_order_are_one_clique(self):
        assert distinct([("b", "a"), ("a", "b"), ("a",)]) == [("b", "a"), ("a",)]
        assert maximal([("b", "a"), ("a", "b"), ("a",)]) == [("b", "a")]
