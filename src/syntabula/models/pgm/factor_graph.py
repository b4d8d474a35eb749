"""Marginals of a product of tables, by elimination of one column at a time and its reverse.

The tree's cliques are never built. Summing out column v multiplies all tables that hold v; these are split in
two groups, each group is multiplied out over its own columns alone, and the sum over v of the product of the
two groups is a matrix product. The marginals of all tables are the derivatives of the logarithm of the last
sum by the logarithms of the tables, found by walking the same steps backwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.elimination import bits, cells_of, eliminate, maximal
from syntabula.models.pgm.factor import sum_over

Axes = tuple[int, ...]
_TABLES_SPLIT_BY_TRIAL = 8
_LEAST_MAXIMUM = 1e-200
_LEAST_CELL = 1e-280
_MOST_LOST = 1e-6
_CHEAP_TO_CHECK = 256


class ImpossibleError(ArithmeticError):
    """Floating point cannot tell the product from zero, in all cells or too many."""


class FactorGraph:
    """A product of tables over the columns of a domain.

    Args:
        sizes: Number of codes of each column.
        factors: The columns of each table, as positions in ascending order.
    """

    def __init__(self, sizes: Sequence[int], factors: Sequence[Axes]) -> None:
        self._sizes = tuple(sizes)
        self._n_factors = len(factors)
        order = eliminate(sizes, [sum(1 << i for i in axes) for axes in factors])
        rank = {column: place for place, (column, _) in enumerate(order)}
        members: list[list[tuple[int, Axes]]] = [[] for _ in sizes]
        for number, axes in enumerate(factors):
            members[min(rank[i] for i in axes)].append((number, axes))
        self._steps: list[_Step] = []
        for place, (column, clique) in enumerate(order):
            around = tuple(bits(clique & ~(1 << column)))
            # Tables are numbered: the factors first, then the message that each step sends on.
            self._steps.append(_step(self._sizes, column, around, members[place]))
            if around:
                members[min(rank[i] for i in around)].append((self._n_factors + place, around))

    def marginals(self, factors: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the marginal probabilities of each factor's columns under the normalised product.

        Args:
            factors: One table per factor, not negative, of the shape of its columns; best with maximum 1.

        Raises:
            ImpossibleError: If the product is zero everywhere, or tables are too extreme for floating point.
        """
        tables: list[FloatArray | None] = [*factors, *[None] * len(self._steps)]
        groups: list[tuple[FloatArray, FloatArray | None]] = []
        sums: list[FloatArray] = []
        for place, step in enumerate(self._steps):
            group = step.multiply([_present(tables[number]) for number in step.members])
            total = step.contract(*group)
            highest = float(total.max())
            if not highest > _LEAST_MAXIMUM:
                raise ImpossibleError
            groups.append(group)
            sums.append(total)
            # A message may be scaled at will: only its shape matters for probabilities.
            tables[self._n_factors + place] = step.arrange(total * (1.0 / highest))
        found: list[FloatArray | None] = [None] * len(tables)
        for place in reversed(range(len(self._steps))):
            step = self._steps[place]
            probability = found[self._n_factors + place]
            above = np.ones(()) if probability is None else probability
            ratio = _ratio(step.arrange_back(above), sums[place])
            for number, marginal in zip(step.members, step.spread(*groups[place], ratio), strict=True):
                found[number] = marginal
        marginals = [_present(m) for m in found[: self._n_factors]]
        # Where tables differ by more than floating point can hold, part of the whole is lost on the way.
        if any(abs(float(m.sum()) - 1.0) > _MOST_LOST for m in marginals if m.size <= _CHEAP_TO_CHECK):
            raise ImpossibleError
        return marginals


@dataclass(frozen=True)
class _Group:
    """Tables that are multiplied out together.

    Attributes:
        tables: Positions among the members of the step.
        views: For each table: the order of its axes, and the shape in which it broadcasts over the group.
        sums: For each table: the axes of the group that are summed for its marginal, and the order after it.
        shape: Shape of the product, one axis per column.
        flat: Shape of the product with columns joined: [shared, the column that is summed out, own].
    """

    tables: tuple[int, ...]
    views: tuple[tuple[Axes, Axes], ...]
    sums: tuple[tuple[Axes, Axes], ...]
    shape: Axes
    flat: tuple[int, int, int]

    def multiply(self, tables: Sequence[FloatArray]) -> FloatArray:
        product: FloatArray | None = None
        for position, (order, shape) in zip(self.tables, self.views, strict=True):
            view = tables[position].transpose(order).reshape(shape)
            product = view if product is None else product * view
        assert product is not None
        return np.ascontiguousarray(np.broadcast_to(product, self.shape)).reshape(self.flat)

    def spread(self, joint: FloatArray) -> list[FloatArray]:
        """Return the marginal of each table of the group from the probabilities of the group's columns."""
        joint = joint.reshape(self.shape)
        return [np.ascontiguousarray(sum_over(joint, axes).transpose(order)) for axes, order in self.sums]


@dataclass(frozen=True)
class _Step:
    """The elimination of one column.

    Attributes:
        members: Numbers of the tables that hold the column.
        first: One group of them.
        second: The others; None if one group holds all columns anyway.
        split: Shape of the sum with one axis per column, in the order of the groups.
        order: Takes the axes of the sum from the order of the groups to ascending order.
        back: The opposite.
        size: Number of codes of the column, for a column without any table.
    """

    members: tuple[int, ...]
    first: _Group | None
    second: _Group | None
    split: Axes
    order: Axes
    back: Axes
    size: int

    def multiply(self, tables: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray | None]:
        """Return the product of each group, flat."""
        if self.first is None:
            return np.ones((1, self.size, 1)), None
        return self.first.multiply(tables), self.second.multiply(tables) if self.second else None

    def contract(self, one: FloatArray, other: FloatArray | None) -> FloatArray:
        """Return the sum over the column, [shared, own of the first, own of the second]."""
        return one.sum(axis=1)[:, :, None] if other is None else one.transpose(0, 2, 1) @ other

    def arrange(self, total: FloatArray) -> FloatArray:
        """Return the sum with one axis per column, ascending."""
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
            results = [
                (self.first, one * (other @ ratio.transpose(0, 2, 1))),
                (self.second, other * (one @ ratio)),
            ]
        for group, joint in results:
            for position, marginal in zip(group.tables, group.spread(joint), strict=True):
                found[position] = marginal
        return found


def _step(sizes: Axes, column: int, around: Axes, members: Sequence[tuple[int, Axes]]) -> _Step:
    others = [sum(1 << i for i in axes if i != column) for _, axes in members]
    if not members:
        return _Step((), None, None, (), (), (), sizes[column])
    first, second = _split(sizes, sizes[column], others)
    held_first, held_second = _union(others[i] for i in first), _union(others[i] for i in second)
    shared = tuple(bits(held_first & held_second))
    own_first, own_second = tuple(bits(held_first & ~held_second)), tuple(bits(held_second & ~held_first))

    def group(tables: tuple[int, ...], own: Axes) -> _Group:
        columns = (*shared, column, *own)
        views, sums = [], []
        for position in tables:
            axes = members[position][1]
            order = tuple(axes.index(i) for i in columns if i in axes)
            views.append((order, tuple(sizes[i] if i in axes else 1 for i in columns)))
            kept = [i for i in columns if i in axes]
            summed = tuple(n for n, i in enumerate(columns) if i not in axes)
            sums.append((summed, tuple(kept.index(i) for i in axes)))
        flat = (_cells(sizes, shared), sizes[column], _cells(sizes, own))
        return _Group(tables, tuple(views), tuple(sums), tuple(sizes[i] for i in columns), flat)

    placed = (*shared, *own_first, *own_second)
    return _Step(
        tuple(number for number, _ in members),
        group(first, own_first),
        group(second, own_second) if second else None,
        tuple(sizes[i] for i in placed),
        tuple(placed.index(i) for i in around),
        tuple(around.index(i) for i in placed),
        sizes[column],
    )


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


def _ratio(above: FloatArray, total: FloatArray) -> FloatArray:
    """Divide, with zero where the sum is as good as zero: no quotient may overflow."""
    above = above.reshape(total.shape)
    return np.divide(above, total, out=np.zeros_like(total), where=total > _LEAST_CELL)


def _present(table: FloatArray | None) -> FloatArray:
    assert table is not None
    return table
