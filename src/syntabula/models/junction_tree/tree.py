"""Junction trees: construction from a set of marginals, order of traversal, and size, also with one more marginal.

Columns that no chain of tables joins are eliminated independently of each other. So a candidate changes only the parts
that it touches: their trees are made side by side, and kept for as long as the tables over these parts stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import above_limit, cells_shown, table_mb
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.tables import (
    Order,
    as_clique,
    as_mask,
    bits,
    counted_cliques,
    eliminate,
    maximal,
    neighbours,
    tree_cells,
    union,
)

Members = NDArray[np.bool_]
Words = NDArray[np.unsignedinteger[Any]]

_MEMBERS_AT_ONCE = 2**24


def tree_cells_with_each(
    sizes: Sequence[int], masks: Iterable[int], candidates: Sequence[int]
) -> tuple[float, ...]:
    """Return the cells of the junction tree of some tables and each candidate in turn.

    Args:
        sizes: Number of codes of each column.
        masks: The sets of columns of the tables, as integers (see `elimination`).
        candidates: For each tree, the set of columns of one more table.

    Returns:
        For each candidate `tree_cells(sizes, [*masks, candidate])`: exact up to 2^53 cells and rounded above.
    """
    parts = _parts(sizes, masks)
    total = sum(parts.values())
    memory = _memory(tuple(sizes))
    before = memory.last
    changed = union(part.columns for part in parts if part not in before.parts)
    known = [None if c & changed else before.growth.get(c) for c in candidates]
    new = _growth(sizes, parts, [c for c, growth in zip(candidates, known, strict=True) if growth is None])
    growths = [new[c] if growth is None else growth for c, growth in zip(candidates, known, strict=True)]
    memory.last = _Last(frozenset(parts), dict(zip(candidates, growths, strict=True)))
    return tuple(_rounded(total, growth) for growth in growths)


@dataclass(frozen=True)
class _Part:
    """Columns that tables join, at least through each other, and these tables; or a column on its own."""

    columns: int
    masks: frozenset[int]


@dataclass(frozen=True)
class _Last:
    """The parts of a graph, and by how many cells each candidate makes its tree grow."""

    parts: frozenset[_Part] = frozenset()
    growth: dict[int, float] = field(default_factory=dict)


@dataclass
class _Memory:
    """What was found last: replaced as a whole, as others may read it meanwhile."""

    last: _Last = _Last()


@lru_cache(maxsize=2)
def _memory(sizes: tuple[int, ...]) -> _Memory:
    """Return what was found last of columns of these sizes: two rounds of one selection differ in a part or two."""
    del sizes
    return _Memory()


def _rounded(total: int, growth: float) -> float:
    try:
        return float(total + growth)
    except OverflowError:
        return math.inf


def _parts(sizes: Sequence[int], masks: Iterable[int]) -> dict[_Part, int]:
    """Return the parts of a graph, each with the cells of its tree."""
    columns, held = [1 << i for i in range(len(sizes))], set(masks)
    for mask in held:
        joined = union(columns[i] for i in bits(mask))
        for i in bits(joined):
            columns[i] = joined
    within: dict[int, list[int]] = {part: [] for part in columns}
    for mask in held:
        if mask:
            within[columns[bits(mask)[0]]].append(mask)
    cells = dict.fromkeys(within, 0)
    for column, n_cells in counted_cliques(sizes, held):
        cells[columns[column]] += n_cells
    return {_Part(part, frozenset(inside)): cells[part] for part, inside in within.items()}


def _growth(sizes: Sequence[int], parts: dict[_Part, int], candidates: Sequence[int]) -> dict[int, float]:
    """Return by how many cells each candidate makes the tree of some parts grow."""
    alone = {part.columns: cells for part, cells in parts.items()}
    part_of = {i: columns for columns in alone for i in bits(columns)}
    around = neighbours(len(sizes), (mask for part in parts for mask in part.masks))
    # Large columns first: among columns of equal cost, the first is eliminated.
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    place, size = np.argsort(order), np.array([float(sizes[i]) for i in order])
    joined = _members(around, place)[order]
    growth: dict[int, float] = {}
    trees: dict[
        int, list[tuple[int, int]]
    ] = {}  # by number of columns: those of the touched parts, and the candidate
    before: dict[int, int] = {}  # the cells of the touched parts
    for candidate in candidates:
        columns = bits(candidate)
        if not any(candidate & ~around[i] for i in columns):
            growth[candidate] = 0
            continue
        touched = {part_of[i] for i in columns}
        held = union(touched)
        before[held] = sum(alone[part] for part in touched)
        trees.setdefault(held.bit_count(), []).append((held, candidate))
    for n_columns, same in trees.items():
        chunk = max(1, _MEMBERS_AT_ONCE // max(n_columns**2, len(sizes)))
        for start in range(0, len(same), chunk):
            helds, wanted = zip(*same[start : start + chunk], strict=True)
            chosen = np.sort(place[np.array([bits(held) for held in helds])], axis=1)
            asked = np.take_along_axis(_members(wanted, place), chosen, axis=1)
            members = joined[chosen[:, :, None], chosen[:, None, :]]
            members |= asked[:, :, None] & asked[:, None, :]
            cells = _eliminated(size[chosen], members).tolist()
            for held, candidate, n_cells in zip(helds, wanted, cells, strict=True):
                growth[candidate] = n_cells if math.isinf(n_cells) else int(n_cells) - before[held]
    return growth


def _members(masks: Sequence[int], place: NDArray[np.intp]) -> Members:
    """Return which columns each set holds [sets, places]."""
    held = [bits(mask) for mask in masks]
    members = np.zeros((len(held), len(place)), dtype=bool)
    owner = np.repeat(np.arange(len(held)), [len(columns) for columns in held])
    members[owner, place[[i for columns in held for i in columns]]] = True
    return members


def _packed(members: Members) -> Words:
    """Return sets of columns as words of 64 bits along the last axis."""
    packed = np.packbits(members, axis=-1, bitorder="little")
    padded = np.zeros((*packed.shape[:-1], -(-packed.shape[-1] // 8) * 8), dtype=np.uint8)
    padded[..., : packed.shape[-1]] = packed
    words: Words = padded.view("<u8")
    return words


def _eliminated(sizes: FloatArray, members: Members) -> FloatArray:
    """Eliminate all columns of many graphs greedily, and return the cells of their trees.

    Args:
        sizes: Number of codes of each column [graphs, columns].
        members: For each graph and column, the column and its neighbours [graphs, columns, columns].
    """
    n_graphs, n_columns = sizes.shape
    products = _Products(sizes)
    around, alone, graphs = _packed(members), _packed(np.eye(n_columns, dtype=bool)), np.arange(n_graphs)
    cost = products.cells(graphs[:, None], around)
    rests = np.zeros((n_columns, *around[:, 0].shape), dtype=around.dtype)
    folded = np.zeros((n_columns, n_graphs), dtype=around.dtype)  # sets that are equal fold to the same word
    total = np.zeros(n_graphs)
    for step in range(n_columns):
        column = cost.argmin(axis=1)
        clique, cells = around[graphs, column], cost[graphs, column]
        # A clique is within an earlier one exactly if it remains after the elimination of a column.
        earlier, graph = np.nonzero(folded[:step] == np.bitwise_xor.reduce(clique, axis=1))
        within = graph[(rests[earlier, graph] == clique[graph]).all(axis=1)]
        cells[within] = 0.0
        total += cells
        cost[graphs, column] = np.inf
        rest = rests[step] = clique & ~alone[column]
        folded[step] = np.bitwise_xor.reduce(rest, axis=1)
        graph, other = np.nonzero(
            np.unpackbits(rest.view(np.uint8), axis=1, bitorder="little", count=n_columns)
        )
        now = (around[graph, other] | rest[graph]) & ~alone[column[graph]]
        around[graph, other] = now
        cost[graph, other] = products.cells(graph, now)
    return total


class _Products:
    """Cells of tables over the columns of each byte, for each of its values.

    Args:
        sizes: Number of codes of each column [graphs, columns].
    """

    def __init__(self, sizes: FloatArray) -> None:
        kinds, kind = np.unique(sizes, axis=0, return_inverse=True)
        self._start = 256 * kind.reshape(-1)
        products = np.ones((-(-sizes.shape[1] // 8), len(kinds), 256))
        for column in range(sizes.shape[1]):
            holding = (np.arange(256) >> column % 8 & 1).astype(bool)
            products[column // 8][:, holding] *= kinds[:, column, None]
        self._products = products.reshape(len(products), -1)

    def cells(self, graphs: NDArray[np.intp], sets: Words) -> FloatArray:
        """Return the cells of tables over sets of columns [..., words], each of a graph [...]."""
        octets = np.moveaxis(np.ascontiguousarray(sets).view(np.uint8), -1, 0)
        start = self._start[graphs]
        cells: FloatArray = self._products[0].take(start + octets[0])
        with np.errstate(over="ignore"):
            for products, octet in zip(self._products[1:], octets[1:], strict=False):
                cells *= products.take(start + octet)
        return cells


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
        held = holding[wanted[0]].intersection(*[holding[c] for c in wanted[1:]])
        return min(held, key=lambda i: (self._sizes[i], i)) if held else None

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
