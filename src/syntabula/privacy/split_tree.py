"""Binary trees from decisions to split, which `privacy.mechanisms.split_tree` draws; nothing here sees data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError

STEPS = 1 << 10
"""Noise is a whole number of steps of this fraction of a record, so that it is drawn exactly."""

MOST_DEPTH = 24
"""Leaves are at least 2^-24 of the root wide; otherwise a point mass would use one leaf per level."""


@dataclass(frozen=True)
class Node:
    """An interval low <= x < high, of integers or of floats, and its depth below the root."""

    low: int | float
    high: int | float
    depth: int = 0

    def halves(self) -> tuple[Node, Node] | None:
        """Return both halves; None if no number lies between the ends."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            middle: int | float = (self.low + self.high) // 2
        else:
            middle = self.low / 2 + self.high / 2
        if not self.low < middle < self.high:
            return None
        return Node(self.low, middle, self.depth + 1), Node(middle, self.high, self.depth + 1)


def leaves_of(root: Node, decisions: NDArray[np.int64], *, most_leaves: int) -> list[Node]:
    """Return the leaves that follow from a tree's decisions, in ascending order, without the data.

    If the leaves would exceed `most_leaves`, only some of a level's nodes split, evenly spread over those that would.
    This, and the stop at `MOST_DEPTH` or if no number is left between two ends, depend only on released decisions and
    public widths (the proof would not cover a ranking by the noisy counts).

    Args:
        root: The argument of `split_tree`.
        decisions: The result of `split_tree`.
        most_leaves: The argument of `split_tree`.

    Raises:
        ArgumentError: If there are too few or too many decisions for this tree.
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
    """Return whether there are as many decisions as `leaves_of` needs."""
    try:
        leaves_of(root, decisions, most_leaves=most_leaves)
    except ArgumentError:
        return False
    return True


def most_decisions(most_leaves: int) -> int:
    """Return the largest number of decisions of a tree: one per node, and each split adds two nodes."""
    return 2 * most_leaves - 1


def grow(root: Node, decide: Callable[[Sequence[Node]], NDArray[np.bool_]], most_leaves: int) -> list[Node]:
    """Return the leaves in ascending order; the nodes of a level are decided together, from the root down."""
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
