"""The probability table of every clique of a junction tree, from the tables of a factor graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import aligned, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree

_LEAST_MAXIMUM = 1e-50


def clique_tables(tree: JunctionTree, potentials: Mapping[Clique, FloatArray]) -> list[FloatArray]:
    """Return the probabilities of each clique of the tree; each table sums to one.

    Two passes of messages in the linear domain: the maximum of a table is kept above 1e-50, so that only
    probabilities some e^500 times smaller than the largest of their clique are lost.

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
        _raise(parent)
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
    """Multiply the tables that each clique of the tree holds, up to a factor."""
    held: list[list[tuple[Clique, FloatArray]]] = [[] for _ in tree.cliques]
    for clique, potential in potentials.items():
        holder = tree.holder(clique)
        assert holder is not None
        held[holder].append((clique, potential))
    return [
        _product(tree.domain.shape(clique), clique, tables)
        for clique, tables in zip(tree.cliques, held, strict=True)
    ]


def _product(
    shape: tuple[int, ...], clique: Clique, potentials: list[tuple[Clique, FloatArray]]
) -> FloatArray:
    """Return the exponential of a sum of log-tables, up to a factor, with a maximum between 1e-50 and 1.

    The tables' own exponentials are multiplied, as these are smaller; only where tables contradict each other so
    much that floating point would lose the product, are logarithms added instead.
    """
    # Small tables first: the full size is then touched by few operations.
    parts = [
        (aligned(table, columns, clique), float(table.max()))
        for columns, table in sorted(potentials, key=lambda pair: pair[1].size)
    ]
    product: FloatArray = np.ones([1] * len(clique))
    for table, highest in parts:
        factor = np.exp(table - highest)
        if product.shape == shape:
            product *= factor
        else:
            product = product * factor
    if product.max() < _LEAST_MAXIMUM:
        total: FloatArray = np.zeros([1] * len(clique))
        for table, _ in parts:
            total = total + table
        product = np.exp(total - total.max())
    return product if product.shape == shape else np.array(np.broadcast_to(product, shape))


def _raise(table: FloatArray) -> None:
    """Scale a table to a maximum of one if it has become small."""
    highest = table.max()
    if highest < _LEAST_MAXIMUM:
        table /= highest
