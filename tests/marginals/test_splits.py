"""Splits: each record's leaf by brute force, and arrays that are no tree."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, EncodedTable
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
