"""How large the junction tree becomes with each of many candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from syntabula.models.junction_tree import tree
from syntabula.models.junction_tree.tree import tree_cells_with_each
from syntabula.models.tables import cells_of, eliminate, maximal, tree_cells


def test_many_trees_at_once_have_the_sizes_that_each_has_alone() -> None:
    for n_columns in [1, 30, 70]:
        rng = np.random.default_rng(n_columns)
        sizes = tuple(int(n) for n in rng.integers(1, 12, n_columns))
        masks = _random_sets(rng, n_columns, n_columns)
        candidates = _random_sets(rng, n_columns, 40)

        found = tree_cells_with_each(sizes, masks, candidates)

        assert found == tuple(_cells_by_definition(sizes, [*masks, c]) for c in candidates)
        assert found == tuple(tree_cells(sizes, [*masks, c]) for c in candidates)


@pytest.mark.thorough
def test_graphs_of_any_density_with_many_ties_have_the_sizes_by_definition_in_every_round() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_columns = int(rng.integers(1, 20))
        # Few sizes make many ties; few tables leave the columns in many parts.
        sizes = [int(n) for n in rng.integers(1, rng.choice([2, 3, 4, 12]), n_columns, endpoint=True)]
        masks = _random_sets(rng, n_columns, int(rng.integers(0, 2 * n_columns)))
        candidates = _random_sets(rng, n_columns, 20)
        for _ in range(4):  # what was found before is used again, where the new table does not reach
            found = tree_cells_with_each(sizes, masks, candidates)

            assert found == tuple(_cells_by_definition(sizes, [*masks, c]) for c in candidates), seed
            masks = masks + _random_sets(rng, n_columns, 1)


def test_trees_made_in_several_chunks_have_the_same_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sizes = [int(n) for n in rng.integers(2, 5, 12)]
    masks, candidates = _random_sets(rng, 12, 9), [1 << a | 1 << b for a, b in combinations(range(12), 2)]
    monkeypatch.setattr(tree, "_MEMBERS_AT_ONCE", 500)

    found = tree_cells_with_each(sizes, masks, candidates)

    assert found == tuple(tree_cells(sizes, [*masks, c]) for c in candidates)


def test_trees_that_no_float_holds_are_infinitely_large() -> None:
    sizes, every = [100] * 200, 2**200 - 1

    assert tree_cells_with_each(sizes, [], [every, 3]) == (math.inf, 198 * 100 + 10_000)
    assert tree_cells_with_each(sizes, [every], [1, every]) == (math.inf, math.inf)


def test_candidates_over_no_tables_and_no_candidates_have_sizes_too() -> None:
    assert tree_cells_with_each((2, 3, 4), [], (0b011, 0b111)) == (10, 24)
    assert tree_cells_with_each((2, 3, 4), [0b011], ()) == ()


def _random_sets(rng: np.random.Generator, n_columns: int, n: int) -> list[int]:
    """Draw sets of one to three columns."""
    return [sum(1 << int(i) for i in set(rng.integers(0, n_columns, rng.integers(1, 4)))) for _ in range(n)]


def _cells_by_definition(sizes: Sequence[int], masks: Sequence[int]) -> int:
    """Add up the cells of all cliques that no other one holds."""
    return sum(cells_of(sizes, clique) for clique in maximal(made for _, made in eliminate(sizes, masks)))
