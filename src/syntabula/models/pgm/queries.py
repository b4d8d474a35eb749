"""Marginals of a calibrated junction tree: within its cliques, of all other pairs, and of any set of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import arranged, axes_outside, sum_over
from syntabula.models.pgm.junction_tree import JunctionTree

_CELLS_AT_ONCE = 2**20


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
        memory_mb = tree.domain.cells(clique) * 8 / 2**20
        if memory_mb > max_memory_mb:
            raise ResourceError(
                f"a marginal over {clique} would take {memory_mb:,.0f} MB, above the limit of {max_memory_mb:,.0f} MB; "
                "ask for fewer columns at once"
            )
    found |= _Walk(tree, tables).pairs([c for c in across if len(c) == 2])
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


@dataclass
class _Walk:
    """Walks from a column along the tree, carrying the column's joint table with each separator.

    Attributes:
        tree: The tree.
        tables: Probabilities of its cliques.
    """

    tree: JunctionTree
    tables: Sequence[FloatArray]
    _sums: dict[int, dict[Clique, FloatArray]] = field(default_factory=dict)
    _conditionals: dict[tuple[int, Clique, Clique], FloatArray] = field(default_factory=dict)
    _kept: int = 0

    def pairs(self, wanted: Sequence[Clique]) -> dict[Clique, FloatArray]:
        """Return the tables of pairs, each of columns that no clique of the tree holds together."""
        partners: dict[str, set[str]] = {}
        for one, other in wanted:
            partners.setdefault(one, set()).add(other)
        widest = max((self.tree.domain.cells(e.separator) for e in self.tree.edges), default=1)
        rows = max(1, _CELLS_AT_ONCE // widest)
        found: dict[Clique, FloatArray] = {}
        for column, others in partners.items():
            parts = [
                self._from(column, slice(start, start + rows), others)
                for start in range(0, self.tree.domain.size(column), rows)
            ]
            for other in others:
                if other in parts[0]:
                    found[(column, other)] = np.concatenate([part[other] for part in parts])
                else:  # in another part of the forest: independent
                    found[(column, other)] = np.multiply.outer(self._alone(column), self._alone(other))
        return found

    @cached_property
    def _ahead(self) -> list[list[tuple[int, Clique, frozenset[str]]]]:
        """For each clique its neighbours, the separators, and all columns that lie that way."""
        around: list[list[tuple[int, Clique]]] = [[] for _ in self.tree.cliques]
        for edge in self.tree.edges:
            around[edge.child].append((edge.parent, edge.separator))
            around[edge.parent].append((edge.child, edge.separator))

        @cache
        def beyond(before: int, position: int) -> frozenset[str]:
            ways = [beyond(position, to) for to, _ in around[position] if to != before]
            return frozenset(self.tree.cliques[position]).union(*ways)

        return [
            [(to, separator, beyond(position, to)) for to, separator in ways]
            for position, ways in enumerate(around)
        ]

    def _from(self, column: str, codes: slice, others: set[str]) -> dict[str, FloatArray]:
        """Return the joint tables of some codes of a column with the others of its part of the forest."""
        found: dict[str, FloatArray] = {}
        home = self.tree.holder((column,))
        assert home is not None
        # Where to go, where from, over which separator, and the column's table with it (None: it is in it).
        waiting: list[tuple[int, int, Clique, FloatArray | None]] = [(home, -1, (), None)]
        while waiting:
            position, before, separator, joint = waiting.pop()
            if joint is not None:
                for other in others.intersection(self.tree.cliques[position]).difference(separator, found):
                    found[other] = joint @ self._conditional(position, separator, (other,))
            for to, next_, columns in self._ahead[position]:
                if to == before or not columns.intersection(others).difference(found):
                    continue
                if joint is not None:
                    carried = self._carry(joint, position, separator, next_)
                elif column in next_:
                    carried = None
                else:
                    together = self.tree.domain.canonical((column, *next_))
                    table = np.moveaxis(self._sum(position, together), together.index(column), 0)[codes]
                    carried = table.reshape(table.shape[0], -1)
                waiting.append((to, position, next_, carried))
        return found

    def _carry(self, joint: FloatArray, position: int, separator: Clique, target: Clique) -> FloatArray:
        """Return the joint table of a column with a target separator [codes, cells], from one before it."""
        domain = self.tree.domain
        shared = tuple(c for c in separator if c in target)
        if not shared:
            return joint @ self._conditional(position, separator, target)
        gone = tuple(c for c in separator if c not in target)
        new = tuple(c for c in target if c not in separator)
        order = [1 + separator.index(c) for c in (*shared, *gone)]
        left = joint.reshape(-1, *domain.shape(separator)).transpose(
            [*order[: len(shared)], 0, *order[len(shared) :]]
        )
        left = left.reshape(domain.cells(shared), joint.shape[0], domain.cells(gone))
        carried = left @ self._conditional(position, separator, target)
        carried = carried.reshape(*domain.shape(shared), joint.shape[0], *domain.shape(new))
        placed = (*shared, *new)
        order = [n + (n >= len(shared)) for n in (placed.index(c) for c in target)]
        return carried.transpose([len(shared), *order]).reshape(joint.shape[0], -1)

    def _conditional(self, position: int, separator: Clique, target: Clique) -> FloatArray:
        """Return the probabilities of a target given a separator of the same clique.

        Returns:
            [cells of the separator, cells of the target] if they share no column, else
            [cells of the shared columns, cells of the separator's others, cells of the target's others].
        """
        key = position, separator, target
        if key in self._conditionals:
            return self._conditionals[key]
        domain = self.tree.domain
        shared = tuple(c for c in separator if c in target)
        gone = tuple(c for c in separator if c not in target)
        new = tuple(c for c in target if c not in separator)
        together = domain.canonical({*separator, *target})
        table = arranged(self._sum(position, together), together, (*shared, *gone, *new))
        shape = (domain.cells(gone), domain.cells(new))
        table = table.reshape(domain.cells(shared), *shape) if shared else table.reshape(shape)
        below = table.sum(axis=-1, keepdims=True)
        conditional: FloatArray = table * np.divide(
            1.0, below, out=np.zeros_like(below), where=below > 1e-300
        )
        # Kept for the next columns that come this way, as long as there is room.
        if self._kept + conditional.size <= _CELLS_AT_ONCE:
            self._kept += conditional.size
            self._conditionals[key] = conditional
        return conditional

    def _alone(self, column: str) -> FloatArray:
        home = self.tree.holder((column,))
        assert home is not None
        return self._sum(home, (column,))

    def _sum(self, position: int, wanted: Clique) -> FloatArray:
        """Return the probabilities of some columns of a clique, summed once, from the smallest table at hand."""
        sums = self._sums.setdefault(position, {self.tree.cliques[position]: self.tables[position]})
        if wanted not in sums:
            held = min((c for c in sums if set(wanted) <= set(c)), key=lambda c: sums[c].size)
            sums[wanted] = sum_over(sums[held], axes_outside(held, wanted))
        return sums[wanted]


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
