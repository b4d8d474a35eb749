"""Sizes of many junction trees at once: some tables, and one more that differs from tree to tree.

A choice among candidate marginals asks for the tree of each candidate: a thousand trees a round, which differ in
an edge or two. All are eliminated side by side, in the order that `eliminate` would take for each alone, so that the
sizes are the same to the last cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.elimination import bits, tree_cells

Words = NDArray[np.unsignedinteger[Any]]
_BITS_AT_ONCE = 2**24


@lru_cache(maxsize=8)
def tree_cells_with_each(
    sizes: tuple[int, ...], masks: frozenset[int], candidates: tuple[int, ...]
) -> tuple[float, ...]:
    """Return the cells of the junction tree of some tables and each candidate in turn.

    The last results are kept: a round that measured what was measured before asks the same again.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns of the tables, as integers (see `elimination`).
        candidates: For each tree, the set of columns of one more table.

    Returns:
        For each candidate `tree_cells(sizes, [*masks, candidate])`: exact up to 2^53 cells, rounded above.
    """
    around = [1 << i for i in range(len(sizes))]
    for mask in masks:
        for i in bits(mask):
            around[i] |= mask
    # Only candidates that join columns which no table joins make a tree of their own.
    new = np.flatnonzero([any(mask & ~around[i] for i in bits(mask)) for mask in candidates])
    # Large columns first: among columns that cost the same, the first is eliminated.
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    joined, wanted = _members(around, order)[order], _members(candidates, order)
    cells = np.full(len(candidates), float(tree_cells(sizes, masks)))
    chunk = max(1, _BITS_AT_ONCE // len(sizes) ** 2)
    for start in range(0, new.size, chunk):
        some = new[start : start + chunk]
        members = joined | (wanted[some, :, None] & wanted[some, None, :])
        cells[some] = _eliminated([sizes[i] for i in order], _packed(members))
    return tuple(cells.tolist())


def _members(masks: Sequence[int], order: Sequence[int]) -> NDArray[np.bool_]:
    """Return which columns, in an order, each set holds."""
    return np.array([[mask >> i & 1 for i in order] for mask in masks], dtype=bool).reshape(-1, len(order))


def _packed(members: NDArray[np.bool_]) -> Words:
    """Return sets of columns as words of 64 bits along the last axis."""
    packed = np.packbits(members, axis=-1, bitorder="little")
    missing = -packed.shape[-1] % 8
    padded = np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, missing)])
    words: Words = np.ascontiguousarray(padded).view("<u8")
    return words


def _eliminated(sizes: Sequence[int], around: Words) -> FloatArray:
    """Eliminate all columns of many graphs greedily, and return the cells of their trees.

    Args:
        sizes: Number of codes of each column.
        around: For each graph and column, the column and its neighbours [graphs, columns, words]; overwritten.
    """
    n_graphs, n_columns, n_words = around.shape
    alone = _packed(np.eye(n_columns, dtype=bool))
    products = _products(sizes, n_words)
    cost = _cells(products, around)
    graphs = np.arange(n_graphs)
    rests = np.zeros((n_columns, n_graphs, n_words), dtype=around.dtype)
    total = np.zeros(n_graphs)
    for step in range(n_columns):
        column = cost.argmin(axis=1)
        clique = around[graphs, column]
        # A clique lies within an earlier one just if it is what the elimination of a column left behind.
        held = np.ones((step, n_graphs), dtype=bool)
        for word in range(n_words):
            held &= rests[:step, :, word] == clique[:, word]
        total += np.where(held.any(axis=0), 0.0, cost[graphs, column])
        cost[graphs, column] = np.inf
        rest = rests[step] = clique & ~alone[column]
        graph, other = np.nonzero(
            np.unpackbits(rest.view(np.uint8), axis=1, bitorder="little", count=n_columns)
        )
        now = (around[graph, other] | rest[graph]) & ~alone[column[graph]]
        around[graph, other] = now
        cost[graph, other] = _cells(products, now)
    return total


def _products(sizes: Sequence[int], n_words: int) -> FloatArray:
    """Return the cells of a table over the columns of each byte, for each of its values [bytes, 256]."""
    products = np.ones((8 * n_words, 256))
    for column, size in enumerate(sizes):
        products[column // 8, (np.arange(256) >> column % 8 & 1).astype(bool)] *= size
    return products


def _cells(products: FloatArray, sets: Words) -> FloatArray:
    """Return the cells of tables over sets of columns [..., words]."""
    octets = np.ascontiguousarray(sets).view(np.uint8)
    cells: FloatArray = products[0][octets[..., 0]]
    for position in range(1, octets.shape[-1]):
        cells = cells * products[position][octets[..., position]]
    return cells
