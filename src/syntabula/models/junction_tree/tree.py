"""Junction trees: construction from a set of marginals, size, and order of traversal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from syntabula._memory import above_limit, cells_shown, table_mb
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.junction_tree.elimination import (
    Order,
    as_clique,
    as_mask,
    bits,
    eliminate,
    maximal,
    tree_cells,
)
from syntabula.models.junction_tree.growth import tree_cells_with_each


@dataclass(frozen=True)
class Edge:
    """A clique and its parent in the tree.

    Attributes:
        child: Position of the clique.
        parent: Position of its parent, which precedes it in every traversal from the roots.
        separator: The columns in both, in the order of the domain; never empty.
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
        edges: Edges from the roots outwards; a clique that is not a child is a root.
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
        """Return the position of the smallest tree clique that contains all columns of a clique, if there is one."""
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
        """For each column the positions of the cliques that contain it."""
        return {
            c: frozenset(i for i, held in enumerate(self.cliques) if c in held) for c in self.domain.columns
        }


def junction_tree(domain: Domain, cliques: Iterable[Clique]) -> JunctionTree:
    """Build a junction tree that contains each of the cliques.

    Columns are eliminated greedily, the one whose elimination makes the smallest clique first.
    """
    return tree_of(domain, elimination_order(domain, cliques))


def elimination_order(domain: Domain, cliques: Iterable[Clique]) -> Order:
    """Return an elimination order for the columns of tables over some cliques."""
    return eliminate(domain.sizes, [as_mask(domain, c) for c in cliques])


def tree_of(domain: Domain, order: Order) -> JunctionTree:
    """Build the junction tree of an elimination order."""
    held = sorted(maximal(clique for _, clique in order), key=lambda mask: list(bits(mask)))
    nodes = tuple(as_clique(domain, mask) for mask in held)
    return JunctionTree(domain, nodes, _spanning_forest(domain, nodes))


def junction_tree_memory_mb(domain: Domain, cliques: Iterable[Clique]) -> float:
    """Return the size of the junction tree over some cliques, at 8 bytes a cell, without allocating it."""
    return table_mb(tree_cells(domain.sizes, [as_mask(domain, c) for c in cliques]))


def memory_with_each_mb(
    domain: Domain, cliques: Iterable[Clique], candidates: Iterable[Clique]
) -> list[float]:
    """Return the size of the junction tree over some cliques and each candidate in turn, at 8 bytes a cell."""
    masks = [as_mask(domain, c) for c in cliques]
    cells = tree_cells_with_each(domain.sizes, masks, [as_mask(domain, c) for c in candidates])
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
    """Join cliques that share the most columns (Prim's algorithm), roots outwards."""
    edges: list[Edge] = []
    outside = set(range(len(cliques)))
    while outside:
        root = min(outside)
        outside.discard(root)
        # For each clique outside the tree: the most columns shared with a clique inside, and that clique.
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


def inwards(tree: JunctionTree, weights: Sequence[int]) -> Iterator[list[tuple[int, int, Clique]]]:
    """Yield each tree of the forest, leaves first and centroid last, as (clique, next inwards, separator)."""
    around: list[list[tuple[int, Clique]]] = [[] for _ in tree.cliques]
    for edge in tree.edges:
        around[edge.child].append((edge.parent, edge.separator))
        around[edge.parent].append((edge.child, edge.separator))

    def outwards(root: int) -> list[tuple[int, int, Clique]]:
        ways: list[tuple[int, int, Clique]] = [(root, -1, ())]
        for position, before, _ in ways:
            ways += [(to, position, separator) for to, separator in around[position] if to != before]
        return ways

    children = {edge.child for edge in tree.edges}
    for root in (i for i in range(len(tree.cliques)) if i not in children):
        ways = outwards(root)
        beyond = {position: weights[position] for position, _, _ in ways}
        for position, before, _ in reversed(ways):
            if before >= 0:
                beyond[before] += beyond[position]
        centroid = [position for position, _, _ in ways if 2 * beyond[position] >= beyond[root]][-1]
        yield outwards(centroid)[::-1]
