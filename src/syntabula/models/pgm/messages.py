"""Belief propagation on a junction tree, in the log domain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import aligned, arranged, axes_outside, log_sum
from syntabula.models.pgm.junction_tree import JunctionTree


def calibrate(tree: JunctionTree, potentials: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the probability table of each clique of the tree; each sums to one.

    Args:
        tree: The tree.
        potentials: One table of log-potentials per clique.
    """
    beliefs = [p.copy() for p in potentials]
    separators: list[FloatArray] = []
    # Inwards: each child tells its parent what it believes of their separator.
    for edge in reversed(tree.edges):
        clique = tree.cliques[edge.child]
        message = log_sum(beliefs[edge.child], axes_outside(clique, edge.separator))
        separators.append(message)
        beliefs[edge.parent] += aligned(message, edge.separator, tree.cliques[edge.parent])
    # Outwards: each parent tells the child what the rest believes, without the child's own message.
    for edge in tree.edges:
        own = separators.pop()
        clique = tree.cliques[edge.parent]
        message = log_sum(beliefs[edge.parent], axes_outside(clique, edge.separator)) - own
        beliefs[edge.child] += aligned(message, edge.separator, tree.cliques[edge.child])
    for belief in beliefs:
        belief -= belief.max()
        np.exp(belief, out=belief)
        belief /= belief.sum()
    return beliefs


def query(
    tree: JunctionTree, probabilities: Sequence[FloatArray], clique: Clique, max_memory_mb: float
) -> FloatArray:
    """Return the probability table of any clique from a calibrated tree.

    Within a tree clique it is a sum. Otherwise the conditionals of the tree are multiplied from the leaves
    inwards, and all columns that are neither asked for nor shared with the next clique are summed out.

    Args:
        tree: The tree.
        probabilities: Calibrated tables of its cliques.
        clique: Columns; the axes of the result follow their order.
        max_memory_mb: No intermediate table may be larger.

    Raises:
        ResourceError: If one would be.
    """
    holder = tree.holder(clique)
    if holder is not None:
        held = tree.cliques[holder]
        table = probabilities[holder].sum(axis=axes_outside(held, clique))
        return arranged(table, tuple(c for c in held if c in clique), clique)
    return _eliminate(tree, probabilities, clique, max_memory_mb)


def _eliminate(
    tree: JunctionTree, probabilities: Sequence[FloatArray], clique: Clique, max_memory_mb: float
) -> FloatArray:
    tables: dict[int, list[tuple[Clique, FloatArray]]] = {
        i: [(c, probabilities[i])] for i, c in enumerate(tree.cliques)
    }
    for edge in reversed(tree.edges):
        held = tree.cliques[edge.child]
        below = {c for columns, _ in tables[edge.child] for c in columns} & set(clique)
        if below <= set(edge.separator):
            continue  # nothing asked for on that side: its conditional sums to one
        separator = probabilities[edge.child].sum(axis=axes_outside(held, edge.separator))
        inverse = np.divide(1.0, separator, out=np.zeros_like(separator), where=separator > 0)
        wanted = tree.domain.canonical(below | set(edge.separator))
        parts = [*tables[edge.child], (edge.separator, inverse)]
        tables[edge.parent].append((wanted, _product(tree, parts, wanted, max_memory_mb)))
    roots = [i for i in tree.order if i not in {e.child for e in tree.edges}]
    parts = []
    for root in roots:
        below = {c for columns, _ in tables[root] for c in columns} & set(clique)
        if below:
            wanted = tree.domain.canonical(below)
            parts.append((wanted, _product(tree, tables[root], wanted, max_memory_mb)))
    return _product(tree, parts, clique, max_memory_mb)


def _product(
    tree: JunctionTree, parts: list[tuple[Clique, FloatArray]], wanted: Clique, max_memory_mb: float
) -> FloatArray:
    """Multiply tables and sum out what is not wanted."""
    memory_mb = math.prod(tree.domain.shape(wanted)) * 8 / 2**20
    if memory_mb > max_memory_mb:
        raise ResourceError(
            f"a marginal over {wanted} would take {memory_mb:,.0f} MB, above the limit of {max_memory_mb:,.0f} MB; "
            "ask for fewer columns at once"
        )
    names = list(dict.fromkeys(c for columns, _ in parts for c in columns))
    operands: list[object] = []
    for columns, table in parts:
        operands += [table, [names.index(c) for c in columns]]
    product: FloatArray = np.einsum(*operands, [names.index(c) for c in wanted], optimize=True)  # type: ignore[call-overload]
    return product
