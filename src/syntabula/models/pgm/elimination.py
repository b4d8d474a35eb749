"""The order in which columns are summed out of a product of tables, and the cliques that this makes.

A set of columns is an integer here, bit i standing for column i of the domain: unions and inclusions of small
sets are then single operations, and a candidate marginal can be judged in microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from syntabula.marginals.domain import Clique, Domain


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


def eliminate(sizes: Sequence[int], masks: Iterable[int]) -> list[tuple[int, int]]:
    """Sum columns out greedily: always the one that makes the smallest clique.

    Of several such the largest column goes first: the clique is the same, what is left of it is smaller.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns that tables are given for.

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
            # Dropping one column and joining none is the common case in a sparse graph.
            cost[i] = (
                cost[i] // sizes[column] if joined | 1 << column == around[i] else cells_of(sizes, joined)
            )
            around[i] = joined
    return made


def maximal(masks: Iterable[int]) -> list[int]:
    """Return the sets that no other one holds, largest first."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda m: (-m.bit_count(), m)):
        if not any(mask & other == mask for other in kept):
            kept.append(mask)
    return kept


def tree_cells(sizes: Sequence[int], masks: Iterable[int]) -> int:
    """Return the number of cells over all cliques of the junction tree of some tables."""
    total, rests = 0, set[int]()
    for column, clique in eliminate(sizes, masks):
        # A clique lies within an earlier one just if it is what the elimination of a column left behind.
        if clique not in rests:
            total += cells_of(sizes, clique)
        rests.add(clique & ~(1 << column))
    return total
