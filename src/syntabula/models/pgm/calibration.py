"""The probability table of every clique of a junction tree, from the tables of a factor graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import aligned, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree


def clique_tables(tree: JunctionTree, potentials: Mapping[Clique, FloatArray]) -> list[FloatArray]:
    """Return the probabilities of each clique of the tree; each table sums to one.

    Two passes of messages in the linear domain: every table is scaled to a maximum of one, so that only
    probabilities some e^700 times smaller than the largest of their clique are lost.

    Args:
        tree: Holds each clique that has a potential.
        potentials: Log-potentials by clique.
    """
    tables = _products(tree, potentials)
    inward: dict[int, FloatArray] = {}
    for edge in reversed(tree.edges):
        message = sum_over(tables[edge.child], axes_outside(tree.cliques[edge.child], edge.separator))
        message /= message.max()
        inward[edge.child] = message
        parent = tables[edge.parent]
        parent *= aligned(message, edge.separator, tree.cliques[edge.parent])
        parent /= parent.max()
    children = {edge.child for edge in tree.edges}
    for position, table in enumerate(tables):
        if position not in children:
            table /= table.sum()
    for edge in tree.edges:
        marginal = sum_over(tables[edge.parent], axes_outside(tree.cliques[edge.parent], edge.separator))
        own = sum_over(tables[edge.child], axes_outside(tree.cliques[edge.child], edge.separator))
        update = np.divide(marginal, own, out=np.zeros_like(own), where=own > 0)
        tables[edge.child] *= aligned(update, edge.separator, tree.cliques[edge.child])
    return tables


def _products(tree: JunctionTree, potentials: Mapping[Clique, FloatArray]) -> list[FloatArray]:
    """Multiply the tables that each clique of the tree holds, to a maximum of one."""
    held: list[list[tuple[Clique, FloatArray]]] = [[] for _ in tree.cliques]
    for clique, potential in potentials.items():
        holder = tree.holder(clique)
        assert holder is not None
        held[holder].append((clique, potential))
    products = []
    for clique, tables in zip(tree.cliques, held, strict=True):
        total: FloatArray = np.zeros([1] * len(clique))
        # Small tables first: the full size is then touched by few additions.
        for columns, table in sorted(tables, key=lambda pair: pair[1].size):
            total = total + aligned(table, columns, clique)
        total = total - total.max()
        products.append(np.array(np.broadcast_to(np.exp(total), tree.domain.shape(clique))))
    return products
