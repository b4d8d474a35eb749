"""Probabilities of a junction tree's cliques, and of any other columns, by message passing.

Fits do not use them: `factor_graph` computes the marginals of its tables up to seven times faster in AIM on adult. But
it is two to three times slower in making all tables of a tree, which answers (`pairs`) and samples (`sample`) need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from syntabula._memory import above_limit, table_mb
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.pairs import pairs_across
from syntabula.models.junction_tree.tree import Edge, JunctionTree
from syntabula.models.tables import aligned, arranged, axes_outside, sum_over


def weigh(
    tree: JunctionTree, probabilities: Sequence[FloatArray], weights: Mapping[str, FloatArray]
) -> tuple[float, list[FloatArray]]:
    """Multiply a distribution by one weight per code of some columns.

    The weights are only passed inwards. Rows drawn from the roots outwards (`sample_rows`) then have exactly the
    new distribution: every clique has received the weights behind it, and the columns already drawn
    determine the effect of those before it.

    Args:
        tree: The tree.
        probabilities: Probabilities of its cliques.
        weights: 0 .. 1 [codes] by column.

    Returns:
        The expected product of a row's weights, and a table for each clique up to a constant factor.
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
        # The scale is kept separately, so that rare combinations do not underflow.
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


_LEAST_MAXIMUM = {8: 1e-50, 4: 1e-15}
"""Keyed by the bytes of a number."""

_DOUBLE = np.dtype(np.float64)


def clique_tables(
    tree: JunctionTree, potentials: Mapping[Clique, FloatArray], precision: np.dtype[Any] = _DOUBLE
) -> list[FloatArray]:
    """Return the probabilities of each clique of the tree; each table sums to one.

    There are two passes of messages; those of the first are multiplied in like any other table. The maximum of a
    table is kept above 1e-50 (1e-15 in single precision), so that only probabilities some e^500 (e^50) times
    smaller than the largest of their clique are lost.

    Args:
        tree: A tree that contains each clique with a potential.
        potentials: Log-potentials by clique.
        precision: Floating-point type of the tables.
    """
    held: list[list[tuple[Clique, FloatArray]]] = [[] for _ in tree.cliques]
    for clique, potential in potentials.items():
        holder = tree.holder(clique)
        assert holder is not None
        held[holder].append((clique, potential))
    tables: list[FloatArray] = [np.empty(0)] * len(tree.cliques)
    sums: dict[int, FloatArray] = {}
    for edge in reversed(tree.edges):
        clique = tree.cliques[edge.child]
        tables[edge.child] = _product(tree.domain.shape(clique), clique, held[edge.child], precision)
        sums[edge.child] = sum_over(tables[edge.child], axes_outside(clique, edge.separator))
        with np.errstate(divide="ignore"):
            message = np.log(sums[edge.child], dtype=np.float64)
        held[edge.parent].append((edge.separator, message))
    children = {edge.child for edge in tree.edges}
    for position, clique in enumerate(tree.cliques):
        if position not in children:
            tables[position] = _product(tree.domain.shape(clique), clique, held[position], precision)
            tables[position] /= tables[position].sum()
    for edge in tree.edges:
        marginal = sum_over(tables[edge.parent], axes_outside(tree.cliques[edge.parent], edge.separator))
        own = sums[edge.child]
        update = np.divide(marginal, own, out=np.zeros_like(own), where=own > 0)
        tables[edge.child] *= aligned(update, edge.separator, tree.cliques[edge.child])
    return tables


def _product(
    shape: tuple[int, ...],
    clique: Clique,
    factors: Sequence[tuple[Clique, FloatArray]],
    precision: np.dtype[Any],
) -> FloatArray:
    """Return the exponential of a sum of log-tables up to a constant factor, with a maximum that is not too small.

    The exponentials of the tables are multiplied, as the tables are smaller than the product. Only if tables
    contradict each other so much that the product would underflow are logarithms added instead.
    """
    logs = [aligned(table, columns, clique) for columns, table in factors]
    left = [np.exp(np.subtract(table, table.max(), dtype=precision)) for table in logs]
    # Small tables first, each with the one that it widens least, so that few products have the full size.
    while len(left) > 1:
        left.sort(key=lambda table: -table.size)
        small = left.pop()
        partner = min(range(len(left)), key=lambda i: _joined_size(left[i], small))
        left[partner] = left[partner] * small
    product: FloatArray = left[0] if left else np.ones([1] * len(clique), precision)
    if product.max() < _LEAST_MAXIMUM[precision.itemsize]:
        total: FloatArray = np.zeros([1] * len(clique))
        for table in logs:
            total = total + table
        product = np.exp(np.subtract(total, total.max(), dtype=precision))
    return product if product.shape == shape else np.array(np.broadcast_to(product, shape))


def _joined_size(one: FloatArray, other: FloatArray) -> int:
    """Return the size of the product of two tables that broadcast over each other."""
    return math.prod(map(max, one.shape, other.shape))


def marginal_probabilities(
    tree: JunctionTree, tables: Sequence[FloatArray], cliques: Sequence[Clique], max_memory_mb: float
) -> list[FloatArray]:
    """Return the probability table of each clique, its axes in the clique's order.

    Args:
        tree: The tree.
        tables: Probabilities of its cliques.
        cliques: Any sets of columns.
        max_memory_mb: Largest intermediate table.

    Raises:
        ResourceError: If an intermediate table would be larger; it was not allocated.
    """
    wanted = {clique: tree.domain.canonical(clique) for clique in cliques}
    inside: list[list[Clique]] = [[] for _ in tree.cliques]
    across: list[Clique] = []
    for clique in dict.fromkeys(wanted.values()):
        holder = tree.holder(clique)
        (across if holder is None else inside[holder]).append(clique)
    found: dict[Clique, FloatArray] = {}
    for held, table, members in zip(tree.cliques, tables, inside, strict=True):
        found |= projections(table, held, members)
    for clique in across:
        memory_mb = table_mb(tree.domain.cells(clique))
        if memory_mb > max_memory_mb:
            raise ResourceError(
                f"a marginal over {clique} would take {above_limit(memory_mb, max_memory_mb)}; request fewer columns at "
                "once, or raise max_memory_mb"
            )
    found |= pairs_across(tree, tables, [c for c in across if len(c) == 2])
    for clique in across:
        if clique not in found:
            found[clique] = _eliminate(tree, tables, clique, max_memory_mb)
    return [arranged(found[wanted[c]], wanted[c], c) for c in cliques]


def projections(table: FloatArray, held: Clique, wanted: Iterable[Clique]) -> dict[Clique, FloatArray]:
    """Sum a table onto several sets of its columns, sharing the large sums.

    Args:
        table: One axis per column of `held`.
        held: Columns of the table.
        wanted: Sets of these columns, in the same order.
    """
    left, found = list(wanted), {}
    if held in left:
        left.remove(held)
        found[held] = table
    while left:
        # Sum out one column for all sets without it: the column that saves most in total.
        gains = [
            (sum(c not in clique for clique in left) * math.log(max(n, 1) + 1), -axis)
            for axis, (c, n) in enumerate(zip(held, table.shape, strict=True))
        ]
        axis = -max(gains)[1]
        without = [clique for clique in left if held[axis] not in clique]
        left = [clique for clique in left if held[axis] in clique]
        rest = held[:axis] + held[axis + 1 :]
        found |= projections(sum_over(table, (axis,)), rest, without)
    return found


def across_mb(tree: JunctionTree, clique: Clique) -> float:
    """Return the size of the largest table that `marginal_probabilities` makes for a clique across the tree."""
    messages, roots = _messages(tree, clique)
    made = [*messages.values(), *roots.values(), clique]
    return max(table_mb(tree.domain.cells(columns)) for columns in made)


def _messages(tree: JunctionTree, clique: Clique) -> tuple[dict[Edge, Clique], dict[int, Clique]]:
    """Return the columns of the table that passes each edge inwards, and of that of each root, for a wanted clique.

    A column is kept while it is requested or shared with the next clique. What is not requested sums to one: no table
    passes then.
    """
    below = [set(held) & set(clique) for held in tree.cliques]
    messages: dict[Edge, Clique] = {}
    for edge in reversed(tree.edges):
        if not below[edge.child] <= set(edge.separator):
            messages[edge] = tree.domain.canonical(below[edge.child] | set(edge.separator))
            below[edge.parent] |= below[edge.child]
    children = {e.child for e in tree.edges}
    roots = {i: tree.domain.canonical(below[i]) for i in tree.order if i not in children and below[i]}
    return messages, roots


def _eliminate(
    tree: JunctionTree, tables: Sequence[FloatArray], clique: Clique, max_memory_mb: float
) -> FloatArray:
    """Multiply the tree's conditionals from the leaves inwards, and sum out all columns not requested."""
    parts: dict[int, list[tuple[Clique, FloatArray]]] = {
        i: [(c, tables[i])] for i, c in enumerate(tree.cliques)
    }
    messages, roots = _messages(tree, clique)
    for edge, wanted in messages.items():
        separator = sum_over(tables[edge.child], axes_outside(tree.cliques[edge.child], edge.separator))
        inverse = np.divide(1.0, separator, out=np.zeros_like(separator), where=separator > 0)
        factors = [*parts[edge.child], (edge.separator, inverse)]
        parts[edge.parent].append((wanted, _summed_product(tree, factors, wanted, max_memory_mb)))
    found = [(w, _summed_product(tree, parts[root], w, max_memory_mb)) for root, w in roots.items()]
    return _summed_product(tree, found, clique, max_memory_mb)


def _summed_product(
    tree: JunctionTree, parts: list[tuple[Clique, FloatArray]], wanted: Clique, max_memory_mb: float
) -> FloatArray:
    """Multiply tables and sum out all other columns."""
    memory_mb = table_mb(math.prod(tree.domain.shape(wanted)))
    if memory_mb > max_memory_mb:
        raise ResourceError(
            f"a marginal over {wanted} would take {above_limit(memory_mb, max_memory_mb)}; request fewer columns at "
            "once, or raise max_memory_mb"
        )
    names = list(dict.fromkeys(c for columns, _ in parts for c in columns))
    operands: list[object] = []
    for columns, table in parts:
        operands += [table, [names.index(c) for c in columns]]
    product: FloatArray = np.einsum(*operands, [names.index(c) for c in wanted], optimize=True)  # type: ignore[call-overload]
    return product
