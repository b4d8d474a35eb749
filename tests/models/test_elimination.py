"""Orders of elimination, and the size of the junction tree they make."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.models.junction_tree.tree import junction_tree, junction_tree_memory_mb
from syntabula.models.pgm import PGM
from syntabula.models.tables import (
    as_clique,
    as_mask,
    eliminate,
    maximal,
)


def test_a_chain_is_eliminated_without_fill() -> None:
    domain = Domain.from_sizes(dict.fromkeys("abcd", 3))

    tree = junction_tree(domain, [("a", "b"), ("b", "c"), ("c", "d")])

    assert set(tree.cliques) == {("a", "b"), ("b", "c"), ("c", "d")}


def test_a_cycle_is_triangulated_through_its_smallest_columns() -> None:
    domain = Domain.from_sizes({"a": 100, "b": 2, "c": 100, "d": 2})

    tree = junction_tree(domain, [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])

    assert set(tree.cliques) == {("a", "b", "d"), ("b", "c", "d")}


def test_columns_in_no_table_stand_alone() -> None:
    domain = Domain.from_sizes({"a": 2, "b": 3})

    assert junction_tree(domain, []).cliques == (("a",), ("b",))


def test_the_tree_holds_every_clique_and_runs_without_gaps() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        domain = Domain.from_sizes({f"c{i}": int(rng.integers(1, 9)) for i in range(9)})
        sets = list(combinations(domain.columns, 2)) + list(combinations(domain.columns, 3))
        cliques = [sets[i] for i in rng.choice(len(sets), 7, replace=False)]

        tree = junction_tree(domain, cliques)

        assert all(tree.holder(c) is not None for c in cliques), seed
        reached = {i for i in range(len(tree.cliques)) if i not in {e.child for e in tree.edges}}
        for edge in tree.edges:
            assert edge.parent in reached, seed
            reached.add(edge.child)
        # Running intersection: the cliques with a column are one more than the separators with it, per part.
        for column in domain.columns:
            holding = [i for i, c in enumerate(tree.cliques) if column in c]
            joining = [e for e in tree.edges if column in e.separator]
            assert len(holding) == len(joining) + 1, seed
        cells = sum(domain.cells(c) for c in tree.cliques)
        assert junction_tree_memory_mb(domain, cliques) == pytest.approx(cells * 8 / 2**20), seed
        assert PGM().over(domain).memory_mb(cliques) == pytest.approx(cells * 8 / 2**20), seed


def test_the_cost_that_is_kept_up_to_date_is_the_true_one() -> None:
    rng = np.random.default_rng(3)
    sizes = [int(n) for n in rng.integers(1, 30, 12)]
    masks = [int(1 << a | 1 << b) for a, b in rng.integers(0, 12, (20, 2))]

    made = eliminate(sizes, masks)

    # At each step no column that is left would make a smaller clique.
    around = {i: 1 << i for i in range(12)}
    for mask in masks:
        for i in range(12):
            if mask >> i & 1:
                around[i] |= mask
    for column, clique in made:
        cells = {
            i: np.prod([sizes[j] for j in range(12) if m >> j & 1], dtype=float) for i, m in around.items()
        }
        assert around[column] == clique
        assert cells[column] == min(cells.values())
        rest = around.pop(column) & ~(1 << column)
        for i in around:
            if rest >> i & 1:
                around[i] = (around[i] | rest) & ~(1 << column)


def test_masks_and_cliques_are_one_to_one() -> None:
    domain = Domain.from_sizes({"a": 2, "b": 3, "c": 4})

    assert as_clique(domain, as_mask(domain, ("c", "a"))) == ("a", "c")
    assert maximal([0b001, 0b011, 0b100, 0b011]) == [0b011, 0b100]
