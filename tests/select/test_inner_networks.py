"""The families that PrivMRF measures first: the strongest parents that fit, and no more than there are columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.select.inner_networks import best_families, within
from syntabula.select.usefulness import Limit

DOMAIN = Domain(("a", "b", "c", "d", "e", "f"), (3, 2, 4, 2, 3, 2))
CLIQUES = [("a", "c", "e"), ("b",), ("d",), ("f",)]
DEPENDENCE = dict.fromkeys(combinations(DOMAIN.columns, 2), 0.0) | {
    ("a", "c"): 0.4, ("a", "e"): 0.3, ("c", "e"): 0.2,
}  # fmt: skip


def test_families_hold_the_strongest_parents_that_fit() -> None:
    assert set(best_families(DOMAIN, CLIQUES, DEPENDENCE, Limit(12, 12), 6)) == {("a", "c"), ("a", "e")}


def test_a_pair_beyond_the_limit_is_a_family_where_pairs_may_be_larger() -> None:
    assert set(best_families(DOMAIN, CLIQUES, DEPENDENCE, Limit(9, 12), 6)) == {("a", "c"), ("a", "e")}


def test_there_are_at_most_as_many_families_as_columns() -> None:
    rng = np.random.default_rng(0)
    dependence = {pair: rng.random() for pair in combinations(DOMAIN.columns, 2)}

    found = best_families(DOMAIN, list(combinations(DOMAIN.columns, 4)), dependence, Limit(30, 30), 6)

    assert len(found) == len(set(found)) <= 6
    assert all(len(family) > 1 for family in found)


def test_noise_below_zero_counts_as_no_dependence() -> None:
    assert within(("a", "c", "e"), DEPENDENCE | {("c", "e"): -5.0}) == 0.7
