"""How large the junction tree of some tables becomes with one more, for each of many.

Columns that no chain of tables joins are eliminated independently of each other. So a candidate changes only the parts
that it touches: their trees are made side by side, and kept for as long as the tables over these parts stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.elimination import bits, counted_cliques, neighbours, union

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
