"""Marginals of a calibrated junction tree: within its cliques, of all other pairs, and of any set of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.models.pgm.factor import arranged, axes_outside
from syntabula.models.pgm.junction_tree import JunctionTree


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
        found |= projections(table.sum(axis=axis), rest, without)
    return found


@dataclass
class _Walk:
    """Walks from a column's clique along the tree, carrying the column's joint table with each separator."""

    tree: JunctionTree
    tables: Sequence[FloatArray]
    _sums: dict[int, dict[Clique, FloatArray]] = field(default_factory=dict)

    def pairs(self, wanted: Sequence[Clique]) -> dict[Clique, FloatArray]:
        """Return the tables of pairs, each of columns that no clique of the tree holds together."""
        neighbours: list[list[tuple[int, Clique]]] = [[] for _ in self.tree.cliques]
        for edge in self.tree.edges:
            neighbours[edge.child].append((edge.parent, edge.separator))
            neighbours[edge.parent].append((edge.child, edge.separator))
        partners: dict[str, list[str]] = {}
        for one, other in wanted:
            partners.setdefault(one, []).append(other)
        found: dict[Clique, FloatArray] = {}
        for column, others in partners.items():
            home = self.tree.holder((column,))
            assert home is not None
            joint = self._from(column, home, set(others), neighbours)
            alone = self._sum(home, (column,))
            for other in others:
                if other not in joint:  # in another part of the forest: independent
                    holder = self.tree.holder((other,))
                    assert holder is not None
                    joint[other] = np.multiply.outer(alone, self._sum(holder, (other,)))
                found[(column, other)] = joint[other]
        return found

    def _from(
        self, column: str, home: int, others: set[str], neighbours: list[list[tuple[int, Clique]]]
    ) -> dict[str, FloatArray]:
        """Return the joint tables of a column with the others of its part of the forest."""
        found: dict[str, FloatArray] = {}
        # Where to go, where from, over which separator, and the column's table with it (None: it is in it).
        waiting: list[tuple[int, int, Clique, FloatArray | None]] = [(home, -1, (), None)]
        while waiting:
            position, before, separator, joint = waiting.pop()
            ahead = [(to, next_) for to, next_ in neighbours[position] if to != before]
            if joint is None:
                for to, next_ in ahead:
                    waiting.append((to, position, next_, self._first(column, position, next_)))
                continue
            below = self._sum(position, separator)
            given = np.divide(joint, below, out=np.zeros_like(joint), where=below > 0)
            for other in others.intersection(self.tree.cliques[position]).difference(separator, found):
                found[other] = self._carry(given, position, separator, (other,))
            for to, next_ in ahead:
                waiting.append((to, position, next_, self._carry(given, position, separator, next_)))
        return found

    def _first(self, column: str, position: int, separator: Clique) -> FloatArray | None:
        """Return the joint table of a column of a clique with a separator, unless it is in the separator."""
        if column in separator:
            return None
        together = self.tree.domain.canonical((column, *separator))
        return np.moveaxis(self._sum(position, together), together.index(column), 0)

    def _carry(self, given: FloatArray, position: int, separator: Clique, target: Clique) -> FloatArray:
        """Return the joint table of a column and a target set within a clique.

        Args:
            given: Conditional probabilities of the column's codes, [codes, *separator].
            position: The clique.
            separator: What the column's codes are given.
            target: Other columns of the clique, in the order of the domain.
        """
        domain = self.tree.domain
        shared = tuple(c for c in separator if c in target)
        gone = tuple(c for c in separator if c not in target)
        new = tuple(c for c in target if c not in separator)
        together = domain.canonical({*separator, *target})
        table = arranged(self._sum(position, together), together, (*shared, *gone, *new))
        table = table.reshape(domain.cells(shared), domain.cells(gone), domain.cells(new))
        order = [1 + separator.index(c) for c in (*shared, *gone)]
        left = given.transpose([*order[: len(shared)], 0, *order[len(shared) :]])
        left = left.reshape(domain.cells(shared), given.shape[0], domain.cells(gone))
        joint = (left @ table).reshape(*domain.shape(shared), given.shape[0], *domain.shape(new))
        joint = np.moveaxis(joint, len(shared), 0)
        placed = (*shared, *new)
        return joint.transpose([0, *(1 + placed.index(c) for c in target)])

    def _sum(self, position: int, wanted: Clique) -> FloatArray:
        """Return the probabilities of some columns of a clique, summed once, from the smallest table at hand."""
        sums = self._sums.setdefault(position, {self.tree.cliques[position]: self.tables[position]})
        if wanted not in sums:
            held = min((c for c in sums if set(wanted) <= set(c)), key=lambda c: sums[c].size)
            sums[wanted] = sums[held].sum(axis=axes_outside(held, wanted))
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
        separator = tables[edge.child].sum(axis=axes_outside(held, edge.separator))
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
