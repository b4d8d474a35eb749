"""Variables eliminated one after the other: the pass that a fit makes in every step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import sum_over

Axes = tuple[int, ...]
_TABLES_SPLIT_BY_TRIAL = 8


@dataclass(frozen=True)
class Group:
    """Tables that are multiplied out together.

    Attributes:
        tables: Positions among the members of the step, small tables first.
        layouts: For each table: its columns, in the order of the group.
        views: For each table: the order of its axes, and the shape in which it broadcasts over the group.
        sums: For each table: which later one its marginal is summed from (the joint of the group if there are as
            many), the axes that are summed, and the order after it.
        shape: Shape of the product, one axis per column.
        flat: Shape of the product with columns joined: [shared, the column that is summed out, own].
    """

    tables: tuple[int, ...]
    layouts: tuple[Axes, ...]
    views: tuple[tuple[Axes, Axes], ...]
    sums: tuple[tuple[int, Axes, Axes], ...]
    shape: Axes
    flat: tuple[int, int, int]

    def multiply(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Return the product, flat."""
        product: FloatArray | None = None
        for position, (order, shape) in zip(self.tables, self.views, strict=True):
            view = tables[position].transpose(order).reshape(shape)
            product = view if product is None else product * view
        assert product is not None
        if product.shape != self.shape:
            product = np.broadcast_to(product, self.shape)
        return np.ascontiguousarray(product).reshape(self.flat)

    def spread(self, joint: FloatArray) -> list[FloatArray]:
        """Return the marginal of each table of the group from the probabilities of the group's columns."""
        found: list[FloatArray] = [joint] * len(self.tables) + [joint.reshape(self.shape)]
        for position in reversed(range(len(self.tables))):
            source, axes, _ = self.sums[position]
            found[position] = sum_over(found[source], axes)
        return [
            np.ascontiguousarray(table.transpose(order))
            for table, (_, _, order) in zip(found, self.sums, strict=False)
        ]


@dataclass(frozen=True)
class Step:
    """The elimination of one column.

    Attributes:
        members: Numbers of the tables that hold the column.
        first: One group of them.
        second: The others; None if one group holds all columns anyway.
        split: Shape of the sum with one axis per column, in the order of the groups.
        order: Takes the axes of the sum from the order of the groups to the order that the next step wants.
        back: The opposite.
        size: Number of codes of the column, for a column without any table.
    """

    members: tuple[int, ...]
    first: Group | None
    second: Group | None
    split: Axes
    order: Axes
    back: Axes
    size: int

    def multiply(self, tables: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray | None]:
        """Return the product of each group, flat."""
        if self.first is None:
            return np.ones((1, self.size, 1), np.float32), None  # counts codes, exactly
        return self.first.multiply(tables), self.second.multiply(tables) if self.second else None

    def contract(self, one: FloatArray, other: FloatArray | None) -> FloatArray:
        """Return the sum over the column, [shared, own of the first, own of the second]."""
        return one.sum(axis=1)[:, :, None] if other is None else one.transpose(0, 2, 1) @ other

    def arrange(self, total: FloatArray) -> FloatArray:
        """Return the sum with one axis per column, as the next step wants it."""
        return np.ascontiguousarray(total.reshape(self.split).transpose(self.order))

    def arrange_back(self, table: FloatArray) -> FloatArray:
        """Undo `arrange`."""
        return np.ascontiguousarray(table.transpose(self.back))

    def spread(self, one: FloatArray, other: FloatArray | None, ratio: FloatArray) -> list[FloatArray]:
        """Return the marginals of all members.

        Args:
            one: Product of the first group.
            other: Product of the second group.
            ratio: Probability of the other columns over the sum, in the shape of the sum.
        """
        if self.first is None:
            return []
        found: list[FloatArray] = [np.empty(0)] * len(self.members)
        if other is None:
            results = [(self.first, one * ratio.transpose(0, 2, 1))]
        else:
            assert self.second is not None
            joint_first, joint_second = other @ ratio.transpose(0, 2, 1), one @ ratio
            joint_first *= one
            joint_second *= other
            results = [(self.first, joint_first), (self.second, joint_second)]
        for group, joint in results:
            for position, marginal in zip(group.tables, group.spread(joint), strict=True):
                found[position] = marginal
        return found


def planned_step(
    sizes: Axes, column: int, target: Axes, members: Sequence[tuple[int, Axes]], n_factors: int
) -> Step:
    """Plan the elimination of a column.

    Args:
        sizes: Number of codes of all columns.
        column: What is summed out.
        target: The columns of the message, in the order that the next step wants.
        members: Numbers and columns of the tables that hold the column.
        n_factors: Tables below this number come with their columns in the given order; the others, messages, as
            `Group.layouts` says.
    """
    others = [sum(1 << i for i in axes if i != column) for _, axes in members]
    if not members:
        return Step((), None, None, (), (), (), sizes[column])
    first, second = _split(sizes, sizes[column], others)
    held_first, held_second = _union(others[i] for i in first), _union(others[i] for i in second)
    shared = tuple(bits(held_first & held_second))
    own_first, own_second = tuple(bits(held_first & ~held_second)), tuple(bits(held_second & ~held_first))
    placed = (*shared, *own_first, *own_second)
    return Step(
        tuple(number for number, _ in members),
        _group(sizes, (shared, column, own_first), first, members, n_factors),
        _group(sizes, (shared, column, own_second), second, members, n_factors) if second else None,
        tuple(sizes[i] for i in placed),
        tuple(map(placed.index, target)),
        tuple(map(target.index, placed)),
        sizes[column],
    )


def _group(
    sizes: Axes,
    parts: tuple[Axes, int, Axes],
    tables: Sequence[int],
    members: Sequence[tuple[int, Axes]],
    n_factors: int,
) -> Group:
    shared, column, own = parts
    columns = (*shared, column, *own)
    tables = sorted(tables, key=lambda position: _cells(sizes, members[position][1]))
    layouts = [tuple(i for i in columns if i in members[position][1]) for position in tables]
    views, sums = [], []
    for n, (position, layout) in enumerate(zip(tables, layouts, strict=True)):
        number, axes = members[position]
        axes = axes if number < n_factors else layout
        views.append((tuple(map(axes.index, layout)), tuple(sizes[i] if i in axes else 1 for i in columns)))
        # A marginal is summed from the smallest table that holds it; the joint holds all.
        held = [*layouts, columns]
        source = next(m for m in range(n + 1, len(held)) if set(layout) <= set(held[m]))
        summed = tuple(m for m, i in enumerate(held[source]) if i not in layout)
        sums.append((source, summed, tuple(map(layout.index, axes))))
    flat = (_cells(sizes, shared), sizes[column], _cells(sizes, own))
    shape = tuple(sizes[i] for i in columns)
    return Group(tuple(tables), tuple(layouts), tuple(views), tuple(sums), shape, flat)


def _split(sizes: Axes, size: int, others: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split tables in two groups so that multiplying them out and contracting costs least.

    All splits are tried for few tables; for more, one table after the other changes sides while that helps.

    Args:
        sizes: Number of codes of all columns.
        size: Number of codes of the column that is summed out.
        others: The other columns of each table, as sets.

    Returns:
        Positions of the tables in each group; the second may be empty.
    """
    free = maximal(others)

    def cost(second: frozenset[int]) -> float:
        held_second = _union(second)
        held_first = _union(m for m in free if m not in second)
        alone = cells_of(sizes, held_first) * (len(free) - len(second))
        alone += cells_of(sizes, held_second) * len(second) if second else 0
        # A multiplication within a matrix product is about twenty times cheaper than one on its own.
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
    held_first, held_second = _union(m for m in free if m not in best), _union(best)
    first: list[int] = []
    second: list[int] = []
    for i, mask in enumerate(others):
        inside_first, inside_second = not mask & ~held_first, bool(best) and not mask & ~held_second
        smaller = cells_of(sizes, held_first) <= cells_of(sizes, held_second)
        (first if inside_first and (smaller or not inside_second) else second).append(i)
    return tuple(first), tuple(second)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _cells(sizes: Axes, axes: Axes) -> int:
    return math.prod(sizes[i] for i in axes)


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
