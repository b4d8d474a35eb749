"""A junction tree whose codes are weighed anew, column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import aligned, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree


def weigh(
    tree: JunctionTree, probabilities: Sequence[FloatArray], weights: Mapping[str, FloatArray]
) -> tuple[float, list[FloatArray]]:
    """Multiply a distribution by one weight per code of some columns.

    The weights are passed inwards alone: rows that are drawn from the roots outwards (`sample_rows`) then have
    exactly the new distribution, as every clique knows of the weights behind it and the columns drawn say all of
    those before it.

    Args:
        tree: The tree.
        probabilities: Of its cliques.
        weights: 0 .. 1 [codes] by column.

    Returns:
        The expected product of a row's weights; and a table for each clique, up to a factor.
    """
    tables = list(probabilities)
    changed: set[int] = set()
    logarithm = 0.0
    for column, weight in weights.items():
        holder = tree.holder((column,))
        assert holder is not None
        factor = aligned(weight.astype(tables[holder].dtype), (column,), tree.cliques[holder])
        tables[holder] = tables[holder] * factor
        changed.add(holder)
    for edge in reversed(tree.edges):
        if edge.child not in changed:
            continue
        outside = axes_outside(tree.cliques[edge.child], edge.separator)
        before = sum_over(probabilities[edge.child], outside)
        after = sum_over(tables[edge.child], outside)
        message = np.divide(after, before, out=np.zeros_like(before), where=before > 0)
        # Small numbers are kept apart, so that rare combinations do not vanish.
        largest = float(message.max())
        if largest == 0:
            return 0.0, tables
        logarithm += math.log(largest)
        factor = aligned(message / largest, edge.separator, tree.cliques[edge.parent])
        tables[edge.parent] = tables[edge.parent] * factor
        changed.add(edge.parent)
    for root in changed - {edge.child for edge in tree.edges}:
        part = float(tables[root].sum(dtype=np.float64))
        if part == 0:
            return 0.0, tables
        logarithm += math.log(part / float(probabilities[root].sum(dtype=np.float64)))
        tables[root] = tables[root] / part
    return min(1.0, math.exp(logarithm)), tables
