"""Splits of records by their own codes: which leaf of a tree each record lies in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Codes, EncodedTable

PREDICTOR, CUT, BELOW, ABOVE = range(4)
"""What the numbers of a node say: the position of a split's predictor, the largest rank that goes below, and the nodes
below and above. Those have larger numbers than their own."""

LEAF = -1
"""Stands for the predictor of a leaf, which has none."""

_MOST_GOING = 0.75
"""Part of the records at hand that still move, up to which the others are left behind."""

Nodes = NDArray[np.int32]
"""The nodes of a tree [nodes, 4], the root first."""


def leaf_nodes(nodes: Nodes) -> NDArray[np.intp]:
    """Return the numbers of the leaves, ascending."""
    return np.flatnonzero(nodes[:, PREDICTOR] == LEAF)


def check_splits(nodes: Nodes, n_predictors: int) -> None:
    """Raise ValueError unless each way from the root ends in a leaf and splits by a predictor that there is."""
    splits = nodes[nodes[:, PREDICTOR] != LEAF]
    if ((splits[:, PREDICTOR] < 0) | (splits[:, PREDICTOR] >= n_predictors)).any():
        raise ValueError("an unknown predictor")
    own = np.flatnonzero(nodes[:, PREDICTOR] != LEAF)[:, None]
    ahead = splits[:, [BELOW, ABOVE]]
    if (ahead <= own).any() or (ahead >= len(nodes)).any():
        raise ValueError("nodes in another order")


def node_of(
    nodes: Nodes, ranks: NDArray[np.int32], predictors: Sequence[Codes], sizes: Sequence[int], n: int
) -> NDArray[np.intp]:
    """Return the number of each record's leaf among the nodes [n].

    Args:
        nodes: The tree.
        ranks: Where splits see each code, predictor by predictor [codes of all].
        predictors: Codes [n] of each predictor.
        sizes: Number of codes of each.
        n: Number of records.
    """
    at = np.zeros(n, dtype=np.intp)
    if nodes[0, PREDICTOR] == LEAF:
        return at
    starts = np.cumsum([0, *sizes[:-1]])
    splits = nodes[:, PREDICTOR] != LEAF
    used, positions = np.unique(nodes[splits, PREDICTOR], return_inverse=True)
    # Side by side, so that one gather serves records at any split.
    seen = np.concatenate([ranks[starts[p] : starts[p] + sizes[p]].take(predictors[p]) for p in used])
    first = np.zeros(len(nodes), dtype=np.intp)
    first[splits] = positions * n
    cut = nodes[:, CUT].copy()
    # A leaf leads to itself: most steps then need no look at which records still move.
    after = np.where(splits[:, None], nodes[:, [ABOVE, BELOW]], np.arange(len(nodes))[:, None]).ravel()
    moving, here = np.arange(n), at
    while True:
        below = seen.take(first.take(here) + moving) <= cut.take(here)
        here = after.take(2 * here + below)
        going = splits.take(here)
        n_going = np.count_nonzero(going)
        if n_going <= _MOST_GOING * going.size:
            at[moving] = here
            if not n_going:
                return at
            moving, here = moving[going], here[going]


@dataclass(frozen=True, eq=False)
class Splits:
    """A tree whose leaves are cells: a record lies in one of them, that follows from its own codes alone.

    Attributes:
        columns: The predictors.
        sizes: Number of codes of each.
        nodes: The tree; of a leaf the other three numbers are of no matter.
        ranks: Where splits see each code, predictor by predictor [codes of all].

    Raises:
        ArgumentError: If they do not fit together.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    nodes: Nodes
    ranks: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.nodes.ndim != 2 or self.nodes.shape[1:] != (4,) or not len(self.nodes):
            raise ArgumentError("nodes must be an array [nodes, 4] with at least the root")
        if len(self.columns) != len(self.sizes) or self.ranks.shape != (sum(self.sizes),):
            raise ArgumentError("ranks must hold a rank for each code of each predictor")
        try:
            check_splits(self.nodes, len(self.columns))
        except ValueError as error:
            raise ArgumentError(f"these nodes are no tree: they have {error}") from None

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return leaf_nodes(self.nodes).size

    def leaves(self, table: EncodedTable) -> NDArray[np.intp]:
        """Return the leaf of each record, numbered in the order of the nodes [rows]."""
        at = node_of(
            self.nodes, self.ranks, [table.column(c) for c in self.columns], self.sizes, table.n_rows
        )
        return np.searchsorted(leaf_nodes(self.nodes), at)
