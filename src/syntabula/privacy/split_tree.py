"""PrivTree: the mechanism that draws decisions to split, and the tree that follows from them without the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.events import ExactEvent, TreeEvent
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive
from syntabula.privacy.noise import NoiseSource

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


def split_tree(
    token: Token,
    noise: NoiseSource,
    root: Node,
    counts_of: Callable[[Sequence[Node]], Sensitive[NDArray[np.int64]]],
    *,
    threshold: float,
    most_leaves: int,
) -> NDArray[np.int64]:
    """Release the splits of a PrivTree (Zhang, Xiao and Xie, 2016, Algorithm 2).

    A node with count c and depth k splits if max(c - k delta, theta - delta) + Laplace(lambda) > theta, with
    lambda = 3 / epsilon and delta = lambda ln 2. No count is released.

    Proof sketch, one record added. Only the nodes on the record's path change, each count by one. A node whose biased
    count is at the floor theta - delta in both tables decides alike. For the others, the probability to split grows
    by a factor of at most exp(1 / lambda), and of at most exp(exp((theta + 1 - b) / lambda) / lambda) if b >= theta +
    1, because splitting was nearly certain already. Up the path, biased counts grow by at least delta per level, so
    their logarithms sum to at most 1 + (1 + 1/2 + 1/4 + ...) = 3 over lambda. A decision not to split occurs once on
    the path, and its probability falls by a factor of at most exp(1 / lambda), in the other direction. Depth does not
    matter. Here counts and noise are whole multiples of 1 / 1024 record and delta is rounded up, which only speeds
    the decay; a test sums the exact probabilities of the discrete noise over all alignments and finds the sum below 3
    / lambda.

    Nodes are visited level by level, and one vectorised draw decides a whole level. The nodes of a level depend only on
    released decisions and public widths (`leaves_of`).

    Args:
        token: Pays for the whole tree: a tree event or, without privacy, an exact one.
        noise: Draws the noise.
        root: The interval to divide; public or released.
        counts_of: Returns the exact number of values in each of some nodes.
        threshold: Theta, in records, at least 0.
        most_leaves: At least 1.

    Returns:
        All decisions by level, 1 to split and 0 not to; `leaves_of` turns them into leaves.
    """
    event = token.consume()
    if not isinstance(event, TreeEvent | ExactEvent):
        raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release a tree")
    if most_leaves < 1 or not (math.isfinite(threshold) and threshold >= 0):
        raise ArgumentError("a tree needs a finite threshold of at least 0 and at least one leaf")
    theta = round(threshold * STEPS)
    delta = math.ceil(event.decay * STEPS) if isinstance(event, TreeEvent) else 0
    decisions: list[NDArray[np.int64]] = []

    def decide(nodes: Sequence[Node]) -> NDArray[np.bool_]:
        counts = counts_of(nodes).reveal_inside_privacy()
        biased = np.maximum(counts * STEPS - nodes[0].depth * delta, theta - delta)
        if isinstance(event, TreeEvent):
            biased = noise.discrete_laplace(biased.astype(np.int64), event.scale * STEPS)
        splits: NDArray[np.bool_] = biased > theta
        decisions.append(splits.astype(np.int64))
        return splits

    grow(root, decide, most_leaves)
    return np.concatenate(decisions) if decisions else np.zeros(0, dtype=np.int64)


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
