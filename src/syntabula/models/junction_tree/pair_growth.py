"""By how much each pair of columns makes a junction tree grow at most, for all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syntabula.marginals.domain import Clique
from syntabula.models.junction_tree.tree import JunctionTree


def most_growth(tree: JunctionTree, pairs: Sequence[Clique]) -> list[int]:
    """Return by how many cells a tree grows at most so that it holds a pair too, for each pair.

    It holds the pair if one of both columns joins every clique on the way to the other one. Often that is the least; a
    tree made anew (`tree_cells_with_each`) may also be smaller or larger, and takes a hundred times as long.
    """
    domain = tree.domain
    place = {column: i for i, column in enumerate(domain.columns)}
    sizes = np.array(domain.sizes, dtype=np.float64)
    inside = np.array([[c in clique for c in domain.columns] for clique in map(set, tree.cliques)])
    cells = np.array([domain.cells(clique) for clique in tree.cliques], dtype=np.float64)
    # Cells of all cliques from each one, itself among them, to the nearest that holds a column [cliques, columns].
    far = np.where(inside, 0.0, np.inf)
    for edge in reversed(tree.edges):
        through = np.minimum(far[edge.parent], cells[edge.parent] + far[edge.child])
        far[edge.parent] = np.where(inside[edge.parent], 0.0, through)
    for edge in tree.edges:
        through = np.minimum(far[edge.child], cells[edge.child] + far[edge.parent])
        far[edge.child] = np.where(inside[edge.child], 0.0, through)
    # Cells that each column [first axis] would join to reach another one [second axis].
    reached = np.stack([far[inside[:, i]].min(axis=0) for i in range(len(sizes))], axis=1)
    apart = np.isinf(reached)
    reached[apart] = 0.0
    growth = np.minimum(reached * (sizes[:, np.newaxis] - 1), reached.T * (sizes - 1))
    # Columns of different trees make a clique of their own.
    growth = np.where(apart, np.outer(sizes, sizes), growth)
    return [int(growth[place[one], place[other]]) for one, other in pairs]
