"""Marginals of a product of tables, by variable elimination and a backward pass; used in fits.

The tree's cliques are never built. Summing out column v multiplies all tables that contain v. They are split
into two groups, each group is multiplied over its own columns alone, and the sum over v of the product of the
two groups is a matrix product. The marginals of all tables are the derivatives of the log of the final sum
with respect to the log of each table, computed by the same steps in reverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.models.tables import Order, bits, cheapest_split, sum_over, union

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Tables that are multiplied together.

    Attributes:
        tables: Positions among the step's members, small tables first.
        layouts: For each table: its columns, in the order of the group.
        views: For each table: the order of its axes, and the shape that broadcasts over the group.
        sums: For each table: the position of the later table that its marginal is summed from (the number of
            tables stands for the group's joint), the axes to sum, and the axis order afterwards.
        shape: Shape of the product, one axis per column.
        flat: Shape of the product with columns merged: [shared, the column to sum out, own].
    """

    tables: tuple[int, ...]
    layouts: tuple[Axes, ...]
    views: tuple[tuple[Axes, Axes], ...]
    sums: tuple[tuple[int, Axes, Axes], ...]
    shape: Axes
    flat: tuple[int, int, int]

    def multiply(self, tables: Sequence[FloatArray]) -> FloatArray:
        """Return the product in the shape `flat`."""
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
class SumOut:
    """The elimination of one column.

    Attributes:
        members: Numbers of the tables that contain the column.
        first: One group of them.
        second: The others; None if one group contains all columns anyway.
        split: Shape of the sum with one axis per column, in the order of the groups.
        order: Permutes the axes of the sum from the order of the groups to the order that the next step needs.
        back: The inverse permutation.
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
        """Return the product of each group in its shape `flat`."""
        if self.first is None:
            return np.ones((1, self.size, 1), np.float32), None  # counts codes, exactly
        return self.first.multiply(tables), self.second.multiply(tables) if self.second else None

    def contract(self, one: FloatArray, other: FloatArray | None) -> FloatArray:
        """Return the sum over the column, [shared, own of the first, own of the second]."""
        return one.sum(axis=1)[:, :, None] if other is None else one.transpose(0, 2, 1) @ other

    def arrange(self, total: FloatArray) -> FloatArray:
        """Return the sum with one axis per column, as the next step needs it."""
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
) -> SumOut:
    """Plan the elimination of a column.

    Args:
        sizes: Number of codes of all columns.
        column: The column to sum out.
        target: The columns of the message, in the order that the next step needs.
        members: Numbers and columns of the tables that contain the column.
        n_factors: Tables below this number have their columns in the given order; the others are messages,
            ordered as in `Group.layouts`.
    """
    others = [sum(1 << i for i in axes if i != column) for _, axes in members]
    if not members:
        return SumOut((), None, None, (), (), (), sizes[column])
    first, second = cheapest_split(sizes, sizes[column], others)
    held_first, held_second = union(others[i] for i in first), union(others[i] for i in second)
    shared = tuple(bits(held_first & held_second))
    own_first, own_second = tuple(bits(held_first & ~held_second)), tuple(bits(held_second & ~held_first))
    placed = (*shared, *own_first, *own_second)
    return SumOut(
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
        # A marginal is summed from the smallest table that contains it; the joint contains all.
        held = [*layouts, columns]
        source = next(m for m in range(n + 1, len(held)) if set(layout) <= set(held[m]))
        summed = tuple(m for m, i in enumerate(held[source]) if i not in layout)
        sums.append((source, summed, tuple(map(layout.index, axes))))
    flat = (_cells(sizes, shared), sizes[column], _cells(sizes, own))
    shape = tuple(sizes[i] for i in columns)
    return Group(tuple(tables), tuple(layouts), tuple(views), tuple(sums), shape, flat)


def _cells(sizes: Axes, axes: Axes) -> int:
    return math.prod(sizes[i] for i in axes)


_LEAST_MAXIMUM = {8: 1e-200, 4: 1e-25}
_LEAST_CELL = {8: 1e-280, 4: 1e-34}
_MOST_LOST = {8: 1e-6, 4: 1e-4}
"""Keyed by the bytes of a number."""


class ImpossibleError(ArithmeticError):
    """The product underflows to zero in all cells or too many."""


class FactorGraph:
    """A product of tables over the columns of a domain.

    Args:
        sizes: Number of codes of each column.
        factors: The columns of each table, as positions in ascending order.
        order: Elimination order, as `eliminate` returns it for these tables.
    """

    def __init__(self, sizes: Sequence[int], factors: Sequence[Axes], order: Order) -> None:
        self._sizes = tuple(sizes)
        self._n_factors = len(factors)
        rank = {column: place for place, (column, _) in enumerate(order)}
        members: list[list[tuple[int, Axes]]] = [[] for _ in sizes]
        for number, axes in enumerate(factors):
            members[min(rank[i] for i in axes)].append((number, axes))
        for place, (column, clique) in enumerate(order):
            around = tuple(bits(clique & ~(1 << column)))
            # Tables are numbered: the factors first, then the message of each step.
            if around:
                members[min(rank[i] for i in around)].append((self._n_factors + place, around))
        # A message has its axes in the order that the receiving step needs, so that step is planned first.
        layouts: dict[int, Axes] = {}
        steps: list[SumOut] = []
        for place, (column, _) in reversed(list(enumerate(order))):
            target = layouts.get(self._n_factors + place, ())
            step = planned_step(self._sizes, column, target, members[place], self._n_factors)
            steps.append(step)
            for group in (step.first, step.second):
                if group:
                    layouts |= {
                        step.members[p]: layout for p, layout in zip(group.tables, group.layouts, strict=True)
                    }
        self._steps = steps[::-1]

    def marginals(self, factors: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the marginal probabilities of each factor's columns under the normalised product.

        Args:
            factors: One non-negative table per factor, with the shape of its columns; best with maximum 1. All
                in double or all in single precision, like the results.

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
            if not highest > _LEAST_MAXIMUM[total.itemsize]:
                raise ImpossibleError
            groups.append(group)
            sums.append(total)
            # A message may be rescaled: constant factors do not change probabilities.
            tables[self._n_factors + place] = step.arrange(total * total.dtype.type(1.0 / highest))
        found: list[FloatArray | None] = [None] * len(tables)
        for place in reversed(range(len(self._steps))):
            step = self._steps[place]
            probability = found[self._n_factors + place]
            above = np.ones((), sums[place].dtype) if probability is None else probability
            ratio = _ratio(step.arrange_back(above), sums[place])
            for number, marginal in zip(step.members, step.spread(*groups[place], ratio), strict=True):
                found[number] = marginal
        marginals = [_present(m) for m in found[: self._n_factors]]
        # If tables differ by more than floating point can represent, some probability mass is lost.
        if any(abs(float(m.sum()) - 1.0) > _MOST_LOST[m.itemsize] for m in marginals if m.ndim == 1):
            raise ImpossibleError
        return marginals


def _ratio(above: FloatArray, total: FloatArray) -> FloatArray:
    """Divide, with zero where the sum is practically zero, so that no quotient overflows."""
    above = above.reshape(total.shape)
    least = _LEAST_CELL[total.itemsize]
    if total.min() > least:
        quotient: FloatArray = above / total
        return quotient
    return np.divide(above, total, out=np.zeros_like(total), where=total > least)


def _present(table: FloatArray | None) -> FloatArray:
    assert table is not None
    return table
