"""Where updates begin: rows that have the marginals of a tree already."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.gum.separation import Join


def strongest_tree(tables: Mapping[Clique, FloatArray]) -> list[Join]:
    """Return how to draw all columns, each given the columns before it that tell most of it.

    Of all marginals the one is taken next whose columns that are there already have the most mutual information
    with its others (for pairs: the maximum spanning tree of Chow and Liu 1968). It is post-processing.

    Args:
        tables: Counts of marginals, not negative, each with a sum above 0.

    Returns:
        What is to be drawn, first to last.
    """
    there: set[str] = set()
    joins: list[Join] = []
    known: dict[tuple[Clique, Clique], float] = {}
    while open_ := [clique for clique in tables if not there.issuperset(clique)]:
        given = {clique: tuple(c for c in clique if c in there) for clique in open_}
        for clique in open_:
            if (clique, given[clique]) not in known:
                known[clique, given[clique]] = _information(tables[clique], clique, given[clique])
        best = max(open_, key=lambda clique: known[clique, given[clique]])
        new = tuple(c for c in best if c not in there)
        order = [best.index(c) for c in (*given[best], *new)]
        joins.append(Join(new, given[best], tables[best].transpose(order)))
        there.update(new)
    return joins


def _information(table: FloatArray, clique: Clique, given: Clique) -> float:
    """Return the mutual information of the given columns of a marginal and its others, in nats."""
    if not given:
        return 0.0
    part = table / table.sum()
    axes = {c: axis for axis, c in enumerate(clique)}
    ahead = part.sum(axis=tuple(axes[c] for c in clique if c not in given), keepdims=True)
    rest = part.sum(axis=tuple(axes[c] for c in given), keepdims=True)
    alone = np.broadcast_to(ahead * rest, part.shape)
    there = part > 0
    return float((part[there] * np.log(part[there] / alone[there])).sum())
