"""A pass over a junction tree, from its leaves to the centroid of each part: what each clique sends inwards.

It ends in a centroid, so that over each edge the lighter side is carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from syntabula.marginals.domain import Clique
from syntabula.models.pgm.junction_tree import JunctionTree


@dataclass(frozen=True)
class Step:
    """What happens in one clique.

    Attributes:
        position: The clique.
        reader: The next clique inwards; -1 in a centroid.
        separator: What both hold.
        sent: Columns beyond the separator that are still asked for further inwards.
    """

    position: int
    reader: int
    separator: Clique
    sent: Clique


def plan_pass(tree: JunctionTree, wanted: Sequence[Clique]) -> list[Step]:
    """Say what each clique sends, so that each pair of columns meets in a clique."""
    partners: dict[str, set[str]] = {}
    for one, other in wanted:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    weights = [0] * len(tree.cliques)
    for column in partners:
        home = tree.holder((column,))
        assert home is not None
        weights[home] += tree.domain.size(column)
    steps = []
    for ways in _inwards(tree, weights):
        below: dict[int, set[str]] = {}
        for position, reader, separator in ways:
            held = below.setdefault(position, set()).union(tree.cliques[position])
            sent = [c for c in partners if c in held and c not in separator and partners[c] - held]
            below.setdefault(reader, set()).update(held)
            steps.append(Step(position, reader, separator, tuple(sent)))
    return steps


def _inwards(tree: JunctionTree, weights: Sequence[int]) -> Iterator[list[tuple[int, int, Clique]]]:
    """Yield each part of the forest, leaves first and its centroid last: cliques, the next inwards, the separators."""
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


def most_cells(tree: JunctionTree, steps: Sequence[Step]) -> int:
    """Return the most cells that messages hold at one time."""
    waiting: dict[int, int] = {}
    held = most = 0
    for step in steps:
        made = tree.domain.cells(step.separator) * sum(tree.domain.size(c) for c in step.sent)
        held += made
        most = max(most, held)
        waiting[step.reader] = waiting.get(step.reader, 0) + made
        held -= waiting.pop(step.position, 0)
    return most
