"""Elimination orders: the cliques they make, the size of the resulting tree, and how to sum a column out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray

Order = list[tuple[int, int]]
"""Columns in elimination order, each with the clique that summing it out makes, as a set."""


def as_mask(domain: Domain, clique: Iterable[str]) -> int:
    """Return a set of columns as an integer; raises SchemaError for an unknown column."""
    mask = 0
    for column in clique:
        mask |= 1 << domain.index(column)
    return mask


def as_clique(domain: Domain, mask: int) -> Clique:
    """Return a set of columns as a clique, in the order of the domain."""
    return tuple(domain.columns[i] for i in bits(mask))


@lru_cache(maxsize=2**16)
def bits(mask: int) -> tuple[int, ...]:
    """Return the positions of the columns in a set, lowest first."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


def cells_of(sizes: Sequence[int], mask: int) -> int:
    """Return the number of cells of a table over a set of columns (exact, any magnitude)."""
    return math.prod([sizes[i] for i in bits(mask)])


def eliminate(sizes: Sequence[int], masks: Iterable[int]) -> Order:
    """Sum columns out greedily, always the one that makes the smallest clique.

    Among equals the largest column goes first: the clique is the same, but its remainder is smaller.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns of the tables.

    Returns:
        For each column, in the order of elimination: its position, and the clique that summing it out makes
        (itself and all columns that share a table with it by then).
    """
    around = [1 << i for i in range(len(sizes))]
    for mask in masks:
        for i in bits(mask):
            around[i] |= mask
    cost = [cells_of(sizes, mask) for mask in around]
    left = sorted(range(len(sizes)), key=lambda i: -sizes[i])  # the first of equals is taken
    made = []
    while left:
        column = min(left, key=cost.__getitem__)
        left.remove(column)
        made.append((column, around[column]))
        rest = around[column] & ~(1 << column)
        for i in bits(rest):
            joined = (around[i] | rest) & ~(1 << column)
            # In a sparse graph, one column usually drops out and none joins.
            cost[i] = (
                cost[i] // sizes[column] if joined | 1 << column == around[i] else cells_of(sizes, joined)
            )
            around[i] = joined
    return made


def maximal(masks: Iterable[int]) -> list[int]:
    """Return the sets that are not within another one, largest first."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda m: (-m.bit_count(), m)):
        if not any(mask & other == mask for other in kept):
            kept.append(mask)
    return kept


def tree_cells(sizes: Sequence[int], masks: Iterable[int]) -> int:
    """Return the number of cells over all cliques of the junction tree of some tables."""
    total, rests = 0, set[int]()
    for column, clique in eliminate(sizes, masks):
        # A clique is within an earlier one exactly if it remains after the elimination of a column.
        if clique not in rests:
            total += cells_of(sizes, clique)
        rests.add(clique & ~(1 << column))
    return total


Words = NDArray[np.unsignedinteger[Any]]

_BITS_AT_ONCE = 2**24
_TABLES_SPLIT_BY_TRIAL = 8


@lru_cache(maxsize=8)
def tree_cells_with_each(
    sizes: tuple[int, ...], masks: frozenset[int], candidates: tuple[int, ...]
) -> tuple[float, ...]:
    """Return the cells of the junction tree of some tables and each candidate in turn.

    The last results are cached: a round that repeats an earlier measurement makes the same call again.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns of the tables, as integers (see `elimination`).
        candidates: For each tree, the set of columns of one more table.

    Returns:
        For each candidate `tree_cells(sizes, [*masks, candidate])`, exact up to 2^53 cells and rounded above.
    """
    around = [1 << i for i in range(len(sizes))]
    for mask in masks:
        for i in bits(mask):
            around[i] |= mask
    # Only candidates that join columns which no table joins change the tree.
    new = np.flatnonzero([any(mask & ~around[i] for i in bits(mask)) for mask in candidates])
    # Large columns first: among columns of equal cost, the first is eliminated.
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
    """Return which columns each set contains, in the given order."""
    place = np.argsort(order)
    held = [bits(mask) for mask in masks]
    members = np.zeros((len(held), len(order)), dtype=bool)
    owner = np.repeat(np.arange(len(held)), [len(columns) for columns in held])
    members[owner, place[[i for columns in held for i in columns]]] = True
    return members


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
        # A clique is within an earlier one exactly if it remains after the elimination of a column.
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


def cheapest_split(
    sizes: Sequence[int], size: int, others: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split tables into two groups so that multiplying each out and contracting them costs least.

    For few tables all splits are tried; for more, tables change sides one by one while that helps.

    Args:
        sizes: Number of codes of all columns.
        size: Number of codes of the column to sum out.
        others: The other columns of each table, as sets.

    Returns:
        Positions of the tables in each group; the second may be empty.
    """
    free = maximal(others)

    def cost(second: frozenset[int]) -> float:
        held_second = union(second)
        held_first = union(m for m in free if m not in second)
        alone = cells_of(sizes, held_first) * (len(free) - len(second))
        alone += cells_of(sizes, held_second) * len(second) if second else 0
        # A multiplication within a matrix product is about twenty times cheaper than an element-wise one.
        return size * alone + cells_of(sizes, held_first | held_second) * (1 + size / 20)

    if len(free) <= _TABLES_SPLIT_BY_TRIAL:
        choices = (frozenset(free[i + 1] for i in bits(n)) for n in range(2 ** (len(free) - 1)))
        best = min(choices, key=cost)
    else:
        best, improved = frozenset[int](), True
        while improved:
            nearby = min((best ^ {m} for m in free[1:]), key=cost)
            improved = cost(nearby) < cost(best)
            best = nearby if improved else best
    held_first, held_second = union(m for m in free if m not in best), union(best)
    first: list[int] = []
    second: list[int] = []
    for i, mask in enumerate(others):
        inside_first, inside_second = not mask & ~held_first, bool(best) and not mask & ~held_second
        smaller = cells_of(sizes, held_first) <= cells_of(sizes, held_second)
        (first if inside_first and (smaller or not inside_second) else second).append(i)
    return tuple(first), tuple(second)


def union(masks: Iterable[int]) -> int:
    """Return the union of some sets of columns."""
    found = 0
    for mask in masks:
        found |= mask
    return found
