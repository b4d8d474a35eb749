"""The tree of strongest dependences: compared with sums over pairs and with all trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from syntabula.record_models.dependence_tree import _information, _spanning_tree, dependence_tree
from syntabula.record_models.latent_tree import outwards
from syntabula.record_models.representation import column_lookup


def rows(n: int = 3_000) -> np.ndarray:
    """A chain: each of five columns is the one before it in three of four rows."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 4, n)]
    for _ in range(4):
        columns.append(np.where(rng.random(n) < 0.75, columns[-1], rng.integers(0, 4, n)))
    return np.stack(columns, 1)


def test_information_is_that_of_each_pairs_table() -> None:
    codes = rows()

    found = _information(codes)

    for first, second in itertools.permutations(range(5), 2):
        joint = np.bincount(codes[:, first] * 4 + codes[:, second], minlength=16).reshape(4, 4) / len(codes)
        product = np.outer(joint.sum(1), joint.sum(0))
        assert found[first, second] == pytest.approx((joint * np.log(joint / product)).sum(), rel=1e-4)


def test_no_other_tree_weighs_more() -> None:
    weights = np.random.default_rng(0).random((5, 5))
    weights += weights.T

    parents = _spanning_tree(weights)

    def weight(edges: object) -> float:
        return sum(weights[edge] for edge in edges)  # type: ignore[attr-defined]

    def joins_all(edges: tuple[tuple[int, int], ...]) -> bool:
        reached = {0}
        for _ in range(5):
            reached |= {c for edge in edges if reached & set(edge) for c in edge}
        return len(reached) == 5

    trees = itertools.combinations(itertools.combinations(range(5), 2), 4)
    best = max(weight(edges) for edges in trees if joins_all(edges))
    assert weight((c, p) for c, p in enumerate(parents) if p >= 0) == pytest.approx(best)


def test_a_chain_is_found_however_many_codes_there_are() -> None:
    for codes in [4, 100]:
        spread = rows() * (codes // 4)
        lookups = [column_lookup(np.bincount(spread[:, c], minlength=codes) + 1.0, waves=1) for c in range(5)]

        parents = dependence_tree(spread, lookups)

        assert {frozenset((c, p)) for c, p in enumerate(parents) if p >= 0} == {
            frozenset((c, c + 1)) for c in range(4)
        }


def test_few_rows_and_one_column_have_a_tree() -> None:
    lookups = [column_lookup(np.ones(3), waves=None)] * 3

    assert len(outwards(dependence_tree(np.zeros((0, 3), dtype=np.intp), lookups))) == 3
    assert dependence_tree(np.zeros((1, 1), dtype=np.intp), lookups[:1]) == (-1,)
