"""Junction trees: which cliques hold a set of marginals, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import above_limit, cells_shown, table_mb
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.elimination import as_clique, as_mask, bits, eliminate, maximal, tree_cells

Words = NDArray[np.unsignedinteger[Any]]
_BITS_AT_ONCE = 2**24


@lru_cache(maxsize=8)
def tree_cells_with_each(
    sizes: tuple[int, ...], masks: frozenset[int], candidates: tuple[int, ...]
) -> tuple[float, ...]:
    """Return the cells of the junction tree of some tables and each candidate in turn.

    The last results are kept: a round that measured what was measured before asks the same again.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns of the tables, as integers (see `elimination`).
        candidates: For each tree, the set of columns of one more table.

    Returns:
        For each candidate `tree_cells(sizes, [*masks, candidate])`: exact up to 2^53 cells, rounded above.
    """
    around = [1 << i for i in range(len(sizes))]
    for mask in masks:
        for i in bits(mask):
            around[i] |= mask
    # Only candidates that join columns which no table joins make a tree of their own.
    new = np.flatnonzero([any(mask & ~around[i] for i in bits(mask)) for mask in candidates])
    # Large columns first: among columns that cost the same, the first is eliminated.
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    joined, wanted = _members(around, order)[order], _members(candidates, order)
    cells = np.full(len(candidates), float(tree_cells(sizes, masks)))
    chunk = max(1, _BITS_AT_ONCE // len(sizes) ** 2)
    for start in range(0, new.size, chunk):
        some = new[start : start + chunk]
        members = joined | (wanted[some, :, None] & wanted[some, None, :])
        cells[some] = _eliminated([sizes[i] for i in order], _packed(members))
    return tuple(cells.tolist())


def _members(masks: Sequence[int], order: Sequence[int]) -> NDArray[np.bool_]:
    """Return which columns, in an order, each set holds."""
    place = np.argsort(order)
    held = [bits(mask) for mask in masks]
    members = np.zeros((len(held), len(order)), dtype=bool)
    owner = np.repeat(np.arange(len(held)), [len(columns) for columns in held])
    members[owner, place[[i for columns in held for i in columns]]] = True
    return members


def _packed(members: NDArray[np.bool_]) -> Words:
    """Return sets of columns as words of 64 bits along the last axis."""
    packed = np.packbits(members, axis=-1, bitorder="little")
    missing = -packed.shape[-1] % 8
    padded = np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, missing)])
    words: Words = np.ascontiguousarray(padded).view("<u8")
    return words


def _eliminated(sizes: Sequence[int], around: Words) -> FloatArray:
    """Eliminate all columns of many graphs greedily, and return the cells of their trees.

    Args:
        sizes: Number of codes of each column.
        around: For each graph and column, the column and its neighbours [graphs, columns, words]; overwritten.
    """
    n_graphs, n_columns, n_words = around.shape
    alone = _packed(np.eye(n_columns, dtype=bool))
    products = _products(sizes, n_words)
    cost = _cells(products, around)
    graphs = np.arange(n_graphs)
    rests = np.zeros((n_columns, n_graphs, n_words), dtype=around.dtype)
    total = np.zeros(n_graphs)
    for step in range(n_columns):
        column = cost.argmin(axis=1)
        clique = around[graphs, column]
        # A clique lies within an earlier one just if it is what the elimination of a column left behind.
        held = np.ones((step, n_graphs), dtype=bool)
        for word in range(n_words):
            held &= rests[:step, :, word] == clique[:, word]
        total += np.where(held.any(axis=0), 0.0, cost[graphs, column])
        cost[graphs, column] = np.inf
        rest = rests[step] = clique & ~alone[column]
        graph, other = np.nonzero(
            np.unpackbits(rest.view(np.uint8), axis=1, bitorder="little", count=n_columns)
        )
        now = (around[graph, other] | rest[graph]) & ~alone[column[graph]]
        around[graph, other] = now
        cost[graph, other] = _cells(products, now)
    return total


def _products(sizes: Sequence[int], n_words: int) -> FloatArray:
    """Return the cells of a table over the columns of each byte, for each of its values [bytes, 256]."""
    products = np.ones((8 * n_words, 256))
    for column, size in enumerate(sizes):
        products[column // 8, (np.arange(256) >> column % 8 & 1).astype(bool)] *= size
    return products


def _cells(products: FloatArray, sets: Words) -> FloatArray:
    """Return the cells of tables over sets of columns [..., words]."""
    octets = np.ascontiguousarray(sets).view(np.uint8)
    cells: FloatArray = products[0][octets[..., 0]]
    for position in range(1, octets.shape[-1]):
        cells = cells * products[position][octets[..., position]]
    return cells


@dataclass(frozen=True)
class Edge:
    """A clique and its parent in the tree.

    Attributes:
        child: Position of the clique.
        parent: Position of its parent, which comes before it in every walk from the roots.
        separator: The columns that both hold, in the order of the domain; never empty.
    """

    child: int
    parent: int
    separator: Clique


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulated graph, and a maximum spanning forest over them.

    Attributes:
        domain: All columns; each is in at least one clique.
        cliques: Maximal cliques, columns in the order of the domain.
        edges: Edges from the roots outwards; a clique that is no child is a root.
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """Positions of all cliques, parents first."""
        children = {e.child for e in self.edges}
        return (*(i for i in range(len(self.cliques)) if i not in children), *(e.child for e in self.edges))

    @property
    def cells(self) -> int:
        """Number of cells over all cliques."""
        return sum(self.domain.cells(c) for c in self.cliques)

    def holder(self, clique: Iterable[str]) -> int | None:
        """Return the position of the smallest tree clique that holds all columns of a clique, if there is one."""
        wanted = tuple(clique)
        if not wanted:
            return min(range(len(self.cliques)), key=self._sizes.__getitem__, default=None)
        holding = self._holding
        held = holding[wanted[0]].intersection(*(holding[c] for c in wanted[1:]))
        return min(held, key=lambda i: (self._sizes[i], i), default=None)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.domain.cells(c) for c in self.cliques)

    @cached_property
    def _holding(self) -> dict[str, frozenset[int]]:
        """For each column the positions of the cliques that hold it."""
        return {
            c: frozenset(i for i, held in enumerate(self.cliques) if c in held) for c in self.domain.columns
        }


def junction_tree(domain: Domain, cliques: Iterable[Clique]) -> JunctionTree:
    """Build a junction tree that holds each of the cliques.

    Columns are eliminated greedily, the one whose elimination makes the smallest clique first.
    """
    made = eliminate(domain.sizes, [as_mask(domain, c) for c in cliques])
    held = sorted(maximal(clique for _, clique in made), key=lambda mask: list(bits(mask)))
    nodes = tuple(as_clique(domain, mask) for mask in held)
    return JunctionTree(domain, nodes, _spanning_forest(domain, nodes))


def junction_tree_memory_mb(domain: Domain, cliques: Iterable[Clique]) -> float:
    """Return the size of the junction tree over some cliques, at 8 bytes a cell, before anything is allocated."""
    return table_mb(tree_cells(domain.sizes, [as_mask(domain, c) for c in cliques]))


def memory_with_each_mb(
    domain: Domain, cliques: Iterable[Clique], candidates: Iterable[Clique]
) -> list[float]:
    """Return the size of the junction tree over some cliques and each candidate in turn, at 8 bytes a cell."""
    masks = frozenset(as_mask(domain, c) for c in cliques)
    cells = tree_cells_with_each(domain.sizes, masks, tuple(as_mask(domain, c) for c in candidates))
    return [n * 8 / 2**20 for n in cells]


def check_memory(tree: JunctionTree, max_memory_mb: float) -> None:
    """Raise ResourceError, naming the largest clique and remedies, if the tree is larger than allowed."""
    memory_mb = table_mb(tree.cells)
    if memory_mb > max_memory_mb:
        largest = max(tree.cliques, key=tree.domain.cells)
        raise ResourceError(
            f"the model would take {above_limit(memory_mb, max_memory_mb)}; its largest clique, {largest}, has "
            f"{cells_shown(tree.domain.cells(largest))} cells of 8 bytes. Measure fewer marginals together, use fewer "
            "bins or categories, or raise max_memory_mb"
        )


def _spanning_forest(domain: Domain, cliques: tuple[Clique, ...]) -> tuple[Edge, ...]:
    """Join cliques by as many shared columns as possible (Prim), roots outwards."""
    edges: list[Edge] = []
    outside = set(range(len(cliques)))
    while outside:
        root = min(outside)
        outside.discard(root)
        # For each clique outside: the most shared columns with a clique inside, and that clique.
        best = {i: (len(set(cliques[i]) & set(cliques[root])), root) for i in outside}
        while best:
            child = max(best, key=lambda i: (best[i][0], -i))
            shared, parent = best.pop(child)
            if not shared:
                break
            outside.discard(child)
            edges.append(Edge(child, parent, domain.canonical(set(cliques[child]) & set(cliques[parent]))))
            for i in best:
                overlap = len(set(cliques[i]) & set(cliques[child]))
                if overlap > best[i][0]:
                    best[i] = (overlap, child)
    return tuple(edges)
