"""Tables over named columns, and elimination orders: how columns are summed out of them, and how large they become."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray

_LEAST_PRODUCT = 64


def axes_outside(clique: Clique, kept: Clique) -> tuple[int, ...]:
    """Return the axes of a clique's table that are not kept."""
    return tuple(i for i, c in enumerate(clique) if c not in kept)


def sum_over(table: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """Sum a table over some axes.

    Products with vectors of ones are two to ten times faster than numpy's own sums, which are slow if the
    summed runs of memory are short.
    """
    if not axes:
        return table
    if len(axes) == table.ndim or not table.flags.c_contiguous:
        whole: FloatArray = table.sum(axis=axes)
        return whole
    runs, shape = _runs(table.shape, axes)
    for before, summed, after in runs:
        if after == 1:
            table = table.reshape(before, summed) @ _ones(summed, table.dtype)
        elif before == 1:
            table = _ones(summed, table.dtype) @ table.reshape(summed, after)
        elif summed * after < _LEAST_PRODUCT:  # a product for each of many small parts
            table = np.einsum("abc->ac", table.reshape(before, summed, after))
        else:
            table = _ones(summed, table.dtype) @ table.reshape(before, summed, after)
    return table.reshape(shape)


@lru_cache(maxsize=2**14)
def _runs(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]]:
    """Return the cells before, in and after each run of summed axes, run by run, and the axes that remain.

    The run that shrinks the table most comes first.
    """
    parts = [(n in axes, math.prod(shape[i] for i in run)) for n, run in _alternating(len(shape), axes)]
    runs = []
    while any(gone for gone, _ in parts):
        position = max(range(len(parts)), key=lambda i: parts[i][0] * parts[i][1])
        before, after = parts[:position], parts[position + 1 :]
        runs.append((math.prod(n for _, n in before), parts[position][1], math.prod(n for _, n in after)))
        parts = [*before, (False, 1), *after]
    return tuple(runs), tuple(n for i, n in enumerate(shape) if i not in axes)


def _alternating(n_axes: int, axes: tuple[int, ...]) -> list[tuple[int, list[int]]]:
    """Return runs of neighbouring axes that are all summed or all kept, each with its first axis."""
    found: list[tuple[int, list[int]]] = []
    for i in range(n_axes):
        if found and (i in axes) == (found[-1][0] in axes):
            found[-1][1].append(i)
        else:
            found.append((i, [i]))
    return found


@lru_cache(maxsize=2**10)
def _ones(n: int, dtype: np.dtype[Any]) -> FloatArray:
    ones: FloatArray = np.ones(n, dtype)
    ones.flags.writeable = False
    return ones


def aligned(table: FloatArray, columns: Clique, clique: Clique) -> FloatArray:
    """View a table over some columns, in the clique's order, so that it broadcasts over the clique."""
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(c, 1) for c in clique])


def arranged(table: FloatArray, columns: Clique, wanted: Clique) -> FloatArray:
    """Return a table with its axes in the wanted order of the same columns."""
    return table.transpose([columns.index(c) for c in wanted])


def round_rows(
    expected: FloatArray, sums: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Round each row of expected counts to integers with the given sum.

    Every count is rounded down; the remainder of a row goes to distinct cells, drawn without replacement in
    proportion to their fractional parts.

    Args:
        expected: Non-negative expected counts [rows, codes].
        sums: Sum that each row must have [rows]; the sum of its expected counts, up to rounding.
        rng: Source of randomness.
    """
    counts = np.floor(expected + 1e-9).astype(np.int64)
    fractions = np.maximum(expected - counts, 0.0)
    left = sums - counts.sum(axis=1)
    # The largest keys log(fraction) + Gumbel are a weighted draw without replacement.
    with np.errstate(divide="ignore"):
        keys = np.log(fractions) + rng.gumbel(size=fractions.shape)
    ranks = np.argsort(np.argsort(-keys, axis=1), axis=1)
    counts += ranks < left[:, None]
    return counts


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


def neighbours(n_columns: int, masks: Iterable[int]) -> list[int]:
    """Return for each column the set of itself and all columns that share a table with it."""
    around = [1 << i for i in range(n_columns)]
    for mask in masks:
        for i in bits(mask):
            around[i] |= mask
    return around


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
    around = neighbours(len(sizes), masks)
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
    return sum(cells for _, cells in counted_cliques(sizes, masks))


def counted_cliques(sizes: Sequence[int], masks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the cells of each clique of the junction tree of some tables, with the column whose elimination makes it."""
    rests = set[int]()
    for column, clique in eliminate(sizes, masks):
        # A clique is within an earlier one exactly if it remains after the elimination of a column.
        if clique not in rests:
            yield column, cells_of(sizes, clique)
        rests.add(clique & ~(1 << column))


_TABLES_SPLIT_BY_TRIAL = 8


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


class CliqueTable:
    """The table of one clique and its sums, each made once.

    Args:
        domain: The domain of its columns.
        clique: Its columns.
        table: Its probabilities.
    """

    def __init__(self, domain: Domain, clique: Clique, table: FloatArray) -> None:
        self.clique = clique
        self._domain = domain
        self._sums = {clique: table}

    def sum(self, columns: Clique) -> FloatArray:
        """Return the probabilities of some columns, in their order, summed once from the smallest available table."""
        wanted = self._domain.canonical(columns)
        if wanted not in self._sums:
            held = min((c for c in self._sums if set(wanted) <= set(c)), key=lambda c: self._sums[c].size)
            self._sums[wanted] = sum_over(self._sums[held], axes_outside(held, wanted))
        return arranged(self._sums[wanted], wanted, columns)
