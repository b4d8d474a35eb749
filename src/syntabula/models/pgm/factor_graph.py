"""Marginals of a product of tables, by elimination of one column at a time and its reverse.

The tree's cliques are never built. Summing out column v multiplies all tables that hold v; these are split in
two groups, each group is multiplied out over its own columns alone, and the sum over v of the product of the
two groups is a matrix product. The marginals of all tables are the derivatives of the logarithm of the last
sum by the logarithms of the tables, found by walking the same steps backwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.elimination import Axes, Step, bits, eliminate, planned_step

_LEAST_MAXIMUM = {8: 1e-200, 4: 1e-25}
_LEAST_CELL = {8: 1e-280, 4: 1e-34}
_MOST_LOST = {8: 1e-6, 4: 1e-4}
"""By bytes of a number."""


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
        for place, (column, clique) in enumerate(order):
            around = tuple(bits(clique & ~(1 << column)))
            # Tables are numbered: the factors first, then the message that each step sends on.
            if around:
                members[min(rank[i] for i in around)].append((self._n_factors + place, around))
        # A message has its axes in the order in which the step that takes it multiplies: that step is made first.
        layouts: dict[int, Axes] = {}
        steps: list[Step] = []
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
            factors: One table per factor, not negative, of the shape of its columns; best with maximum 1. All in
                double precision or all in single, and so are the results.

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
            # A message may be scaled at will: only its shape matters for probabilities.
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
        # Where tables differ by more than floating point can hold, part of the whole is lost on the way.
        if any(abs(float(m.sum()) - 1.0) > _MOST_LOST[m.itemsize] for m in marginals if m.ndim == 1):
            raise ImpossibleError
        return marginals


def _ratio(above: FloatArray, total: FloatArray) -> FloatArray:
    """Divide, with zero where the sum is as good as zero: no quotient may overflow."""
    above = above.reshape(total.shape)
    least = _LEAST_CELL[total.itemsize]
    if total.min() > least:
        quotient: FloatArray = above / total
        return quotient
    return np.divide(above, total, out=np.zeros_like(total), where=total > least)


def _present(table: FloatArray | None) -> FloatArray:
    assert table is not None
    return table
