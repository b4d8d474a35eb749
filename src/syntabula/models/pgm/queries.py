"""Marginals of a calibrated junction tree: within its cliques, of all other pairs, and of any set of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from syntabula._memory import above_limit, table_mb
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import arranged, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree
from syntabula.models.pgm.pairs import pairs_across


def marginal_probabilities(
    tree: JunctionTree, tables: Sequence[FloatArray], cliques: Sequence[Clique], max_memory_mb: float
) -> list[FloatArray]:
    """Return the probability table of each clique, its axes in the clique's order.

    Args:
        tree: The tree.
        tables: Probabilities of its cliques.
        cliques: Any sets of columns.
        max_memory_mb: No intermediate table may be larger.

    Raises:
        ResourceError: If one would be; nothing was allocated for it.
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
                f"a marginal over {clique} would take {above_limit(memory_mb, max_memory_mb)}; ask for fewer columns at "
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
        held: Its columns.
        wanted: Sets of them, in the same order of columns.
    """
    left, found = list(wanted), {}
    if held in left:
        left.remove(held)
        found[held] = table
    while left:
        # Sum out one column for all that do without it: the one that shrinks most for most of them.
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


def _eliminate(
    tree: JunctionTree, tables: Sequence[FloatArray], clique: Clique, max_memory_mb: float
) -> FloatArray:
    """Multiply the tree's conditionals from the leaves inwards, summing out what is not asked for.

    A column stays as long as it is asked for or shared with the next clique.
    """
    parts: dict[int, list[tuple[Clique, FloatArray]]] = {
        i: [(c, tables[i])] for i, c in enumerate(tree.cliques)
    }
    for edge in reversed(tree.edges):
        held = tree.cliques[edge.child]
        below = {c for columns, _ in parts[edge.child] for c in columns} & set(clique)
        if below <= set(edge.separator):
            continue  # nothing asked for on that side: its conditional sums to one
        separator = sum_over(tables[edge.child], axes_outside(held, edge.separator))
        inverse = np.divide(1.0, separator, out=np.zeros_like(separator), where=separator > 0)
        wanted = tree.domain.canonical(below | set(edge.separator))
        factors = [*parts[edge.child], (edge.separator, inverse)]
        parts[edge.parent].append((wanted, _product(tree, factors, wanted, max_memory_mb)))
    children = {e.child for e in tree.edges}
    roots = []
    for root in (i for i in tree.order if i not in children):
        below = {c for columns, _ in parts[root] for c in columns} & set(clique)
        if below:
            wanted = tree.domain.canonical(below)
            roots.append((wanted, _product(tree, parts[root], wanted, max_memory_mb)))
    return _product(tree, roots, clique, max_memory_mb)


def _product(
    tree: JunctionTree, parts: list[tuple[Clique, FloatArray]], wanted: Clique, max_memory_mb: float
) -> FloatArray:
    """Multiply tables and sum out what is not wanted."""
    memory_mb = table_mb(math.prod(tree.domain.shape(wanted)))
    if memory_mb > max_memory_mb:
        raise ResourceError(
            f"a marginal over {wanted} would take {above_limit(memory_mb, max_memory_mb)}; ask for fewer columns at "
            "once, or raise max_memory_mb"
        )
    names = list(dict.fromkeys(c for columns, _ in parts for c in columns))
    operands: list[object] = []
    for columns, table in parts:
        operands += [table, [names.index(c) for c in columns]]
    product: FloatArray = np.einsum(*operands, [names.index(c) for c in wanted], optimize=True)  # type: ignore[call-overload]
    return product
