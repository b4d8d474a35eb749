"""Splits of records by their own codes: which leaf of a tree each record lies in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Codes, EncodedTable
from syntabula.marginals.recoding import Recoding

PREDICTOR, CUT, BELOW, ABOVE = range(4)
"""What the numbers of a node say: the position of a split's predictor, the largest rank that goes below, and the nodes
below and above. Those have larger numbers than their own."""

LEAF = -1
"""Stands for the predictor of a leaf, which has none."""

_MOST_GOING = 0.75
"""Part of the records at hand that still move, up to which the others are left behind."""

_MOST_CELLS = 0.5
"""Cells of records that splits tell apart, beside the number of records, up to which leaves are found of cells."""

Nodes = NDArray[np.int32]
"""The nodes of a tree [nodes, 4], the root first."""


def leaf_nodes(nodes: Nodes) -> NDArray[np.intp]:
    """Return the numbers of the leaves, ascending."""
    return np.flatnonzero(nodes[:, PREDICTOR] == LEAF)


def leaf_numbers(nodes: Nodes) -> NDArray[np.intp]:
    """Return the number of each node among the leaves; of no matter where it is none [nodes]."""
    return np.cumsum(nodes[:, PREDICTOR] == LEAF) - 1


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
) -> NDArray[np.unsignedinteger]:
    """Return the number of each record's leaf among the nodes [n], as small integers.

    Args:
        nodes: The tree.
        ranks: Where splits see each code, predictor by predictor [codes of all].
        predictors: Codes [n] of each predictor.
        sizes: Number of codes of each.
        n: Number of records.
    """
    splits = nodes[:, PREDICTOR] != LEAF
    # Small numbers, as memory takes longer than sums.
    of_nodes = np.min_scalar_type(len(nodes))
    if not splits[0]:
        return np.zeros(n, dtype=of_nodes)
    starts = np.cumsum([0, *sizes[:-1]])
    used = np.unique(nodes[splits, PREDICTOR])
    # A code matters by the number of cuts of its predictor that lie below its rank.
    steps, numbered = [], nodes.copy()
    for position, p in enumerate(used):
        own = nodes[:, PREDICTOR] == p
        cuts, number = np.unique(nodes[own, CUT], return_inverse=True)
        numbered[own, PREDICTOR], numbered[own, CUT] = position, number
        steps.append(np.searchsorted(cuts, ranks[starts[p] : starts[p] + sizes[p]]))
    shape = [int(own.max()) + 1 for own in steps]
    codes = [predictors[p] for p in used]
    if math.prod(shape) > n * _MOST_CELLS:
        seen = np.stack([own.take(c) for own, c in zip(steps, codes, strict=True)])
        return _walked(numbered, seen).astype(of_nodes)
    of_cells = _walked(numbered, np.indices(shape).reshape(len(shape), -1)).astype(of_nodes)
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    kind = np.min_scalar_type(of_cells.size)
    cells = np.zeros(n, dtype=kind)
    for own, stride, c in zip(steps, strides, codes, strict=True):
        cells += (own * stride).astype(kind).take(c)
    return of_cells.take(cells)


def _walked(nodes: Nodes, seen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the number of each record's leaf [n], from what splits see of it, side by side [predictors, n]."""
    n = seen.shape[1]
    at = np.zeros(n, dtype=np.intp)
    splits = nodes[:, PREDICTOR] != LEAF
    # Of 64 bits, as places of many rows times predictors need more than the 32 of nodes.
    first, cut = nodes[:, PREDICTOR].astype(np.intp) * n, nodes[:, CUT]
    seen = seen.ravel()
    # A leaf leads to itself: most steps then need no look at which records still move.
    first[~splits] = 0
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

    def leaves(self, table: EncodedTable, width: int = 1) -> NDArray[np.unsignedinteger]:
        """Return the leaf of each record, numbered in the order of the nodes, times a width [rows].

        The integers are as small as all numbers below that of the leaves times the width allow.
        """
        at = node_of(
            self.nodes, self.ranks, [table.column(c) for c in self.columns], self.sizes, table.n_rows
        )
        numbers = leaf_numbers(self.nodes) * width
        return numbers.astype(np.min_scalar_type(self.n_leaves * width)).take(at)

    def before(self, recoding: Recoding) -> Splits:
        """Return the same splits of records whose codes a recoding has still to map."""
        parts = np.split(self.ranks, np.cumsum(self.sizes)[:-1])
        ranks = [
            own[recoding.maps[c]] if c in recoding.maps else own
            for c, own in zip(self.columns, parts, strict=True)
        ]
        sizes = tuple(own.size for own in ranks)
        return Splits(self.columns, sizes, self.nodes, np.concatenate([*ranks, self.ranks[:0]]))
