"""Splits: each record's leaf by brute force, and arrays that are no tree."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.splits import Splits

SIZES = (4, 5)
# a by its ranks 3 1 0 2: those up to 1 go below, where b is split after 2.
NODES = np.array([[0, 1, 1, 2], [1, 2, 3, 4], [-1, 0, 0, 0], [-1, 0, 0, 0], [-1, 0, 0, 0]], dtype=np.int32)
RANKS = np.array([3, 1, 0, 2, *range(5)], dtype=np.int32)


def splits(nodes: np.ndarray = NODES, ranks: np.ndarray = RANKS) -> Splits:
    return Splits(("a", "b"), SIZES, nodes, ranks)


def test_each_record_is_in_the_leaf_that_its_codes_lead_to() -> None:
    a, b = (x.ravel() for x in np.meshgrid(range(4), range(5), indexing="ij"))
    table = EncodedTable(Domain(("b", "a"), (5, 4)), (b.astype(np.uint8), a.astype(np.uint8)))

    found = splits().leaves(table)

    below = np.isin(a, (1, 2))
    assert found.tolist() == np.where(~below, 0, np.where(b <= 2, 1, 2)).tolist()
    assert splits().n_leaves == 3


def test_a_root_alone_has_all_records_and_none_has_none() -> None:
    table = EncodedTable(Domain(("a", "b"), SIZES), (np.zeros(3, np.uint8), np.zeros(3, np.uint8)))

    assert splits(NODES[2:3]).leaves(table).tolist() == [0, 0, 0]
    assert splits().leaves(EncodedTable(table.domain, (np.zeros(0, np.uint8),) * 2)).size == 0


def grown(sizes: tuple[int, ...], n_splits: int, rng: np.random.Generator) -> Splits:
    """Return a tree of random splits, some of which no code goes below or above."""
    nodes = [[-1, 0, 0, 0]]
    for _ in range(n_splits):
        at = int(rng.choice([i for i, node in enumerate(nodes) if node[0] < 0]))
        predictor = int(rng.integers(len(sizes)))
        nodes[at] = [predictor, int(rng.integers(sizes[predictor])), len(nodes), len(nodes) + 1]
        nodes += [[-1, 0, 0, 0], [-1, 0, 0, 0]]
    ranks = np.concatenate([rng.permutation(size) for size in sizes]).astype(np.int32)
    return Splits(tuple(map(str, range(len(sizes)))), sizes, np.array(nodes, dtype=np.int32), ranks)


def rows_of(sizes: tuple[int, ...], n: int, rng: np.random.Generator) -> EncodedTable:
    domain = Domain(tuple(map(str, range(len(sizes)))), sizes)
    return EncodedTable(domain, tuple(rng.integers(size, size=n, dtype=np.uint16) for size in sizes))


@pytest.mark.parametrize("n", [30, 3_000])
def test_leaves_of_few_and_of_many_records_are_those_of_a_walk_from_the_root(n: int) -> None:
    """Those of many follow from the cells that splits tell apart."""
    rng, sizes = np.random.default_rng(0), (7, 300, 2, 40)
    for n_splits in (1, 3, 40):
        tree, table = grown(sizes, n_splits, rng), rows_of(sizes, n, rng)
        starts = np.cumsum([0, *sizes])

        found = tree.leaves(table)

        leaves = np.flatnonzero(tree.nodes[:, 0] < 0).tolist()
        for row in range(0, n, 10):
            at = 0
            while (node := tree.nodes[at])[0] >= 0:
                rank = tree.ranks[starts[node[0]] + table.codes[node[0]][row]]
                at = node[2] if rank <= node[1] else node[3]
            assert found[row] == leaves.index(at)


def test_splits_see_codes_that_are_still_to_be_joined_as_they_see_joined_ones() -> None:
    rng = np.random.default_rng(0)
    table = rows_of((12, 5, 40), 200, rng)
    joined = {"0": rng.permutation(np.arange(12) % 4), "2": np.arange(40) // 10}
    recoding = Recoding(table.domain, joined)
    tree = grown((4, 5, 4), 6, rng)

    found = tree.before(recoding).leaves(table)

    assert (found == tree.leaves(recoding.encode(table))).all()
    assert len(set(found.tolist())) > 3


def test_what_is_no_tree_is_refused() -> None:
    for nodes, ranks, message in [
        (NODES[:, :3], RANKS, "array \\[nodes, 4\\]"),
        (NODES[:0], RANKS, "at least the root"),
        (NODES, RANKS[:-1], "rank for each code"),
        (NODES[:2], RANKS, "nodes in another order"),
        (np.array([[0, 1, 0, 0]], np.int32), RANKS, "nodes in another order"),
        (np.array([[2, 1, 1, 2], *NODES[2:4]], np.int32), RANKS, "an unknown predictor"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            splits(nodes, ranks)
