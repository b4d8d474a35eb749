"""Trees of halves: what comes of decisions to split, which `privacy.mechanisms.split_tree` draws; free of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError

STEPS = 1 << 10
"""Noise is whole steps of this fraction of a record, so that it is drawn exactly."""

MOST_DEPTH = 24
"""Leaves are no narrower than 2^-24 of the root: a point mass would else take one leaf for each level."""


@dataclass(frozen=True)
class Node:
    """An interval low <= x < high, of integers or of floats, and its depth below the root."""

    low: int | float
    high: int | float
    depth: int = 0

    def halves(self) -> tuple[Node, Node] | None:
        """Return both halves; None if there is no number between the ends."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            middle: int | float = (self.low + self.high) // 2
        else:
            middle = self.low / 2 + self.high / 2
        if not self.low < middle < self.high:
            return None
        return Node(self.low, middle, self.depth + 1), Node(middle, self.high, self.depth + 1)


def leaves_of(root: Node, decisions: NDArray[np.int64], *, most_leaves: int) -> list[Node]:
    """Return the leaves that the decisions of a tree lead to, in ascending order; free of the data.

    Where the leaves would exceed `most_leaves`, only some of a level's nodes split, evenly spread over those
    that would; that, and the stop at `MOST_DEPTH` or where no number is left between two ends, rest on released
    decisions and public widths alone (ranking by the noisy counts themselves would not be covered by the proof).

    Args:
        root: As it was given to `split_tree`.
        decisions: What that returned.
        most_leaves: As it was given there.

    Raises:
        ArgumentError: If there are not as many decisions as this tree needs.
    """
    taken = 0

    def decide(nodes: Sequence[Node]) -> NDArray[np.bool_]:
        nonlocal taken
        part = decisions[taken : taken + len(nodes)]
        taken += len(nodes)
        if part.size < len(nodes):
            raise ArgumentError("there are fewer decisions than the tree needs")
        return part.astype(np.bool_)

    leaves = grow(root, decide, most_leaves)
    if taken < decisions.size:
        raise ArgumentError("there are more decisions than the tree needs")
    return leaves


def are_decisions(root: Node, decisions: NDArray[np.int64], *, most_leaves: int) -> bool:
    """Say whether there are as many decisions as `leaves_of` needs."""
    try:
        leaves_of(root, decisions, most_leaves=most_leaves)
    except ArgumentError:
        return False
    return True


def most_decisions(most_leaves: int) -> int:
    """Return the number of decisions of a tree, at most: one a node, and each split makes two more of them."""
    return 2 * most_leaves - 1


def grow(root: Node, decide: Callable[[Sequence[Node]], NDArray[np.bool_]], most_leaves: int) -> list[Node]:
    """Return the leaves in ascending order; all nodes of a level are decided together, from the root down."""
    leaves: list[Node] = []
    level = [root]
    while level:
        halves = [node.halves() if node.depth < MOST_DEPTH else None for node in level]
        leaves += [node for node, pair in zip(level, halves, strict=True) if pair is None]
        open_nodes = [node for node, pair in zip(level, halves, strict=True) if pair is not None]
        if not open_nodes:
            break
        wanted = np.flatnonzero(decide(open_nodes))
        # Each split turns one leaf into two.
        room = min(max(most_leaves - len(leaves) - len(open_nodes), 0), wanted.size)
        chosen = set(wanted[np.arange(room) * wanted.size // max(room, 1)].tolist())
        pairs = [pair for pair in halves if pair is not None]
        leaves += [node for i, node in enumerate(open_nodes) if i not in chosen]
        level = [half for i, pair in enumerate(pairs) if i in chosen for half in pair]
    return sorted(leaves, key=lambda node: node.low)
