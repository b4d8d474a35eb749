"""Mechanisms: the only functions that turn an exact statistic into a released value.

Each takes a one-time token of the ledger, so nothing is drawn without payment and nothing is drawn twice. The token is
used up before anything else is checked: if the call then fails, it stays paid. It fails with an ArgumentError if the
token pays for another kind of event, or the statistic has another type or size than its event states. A token of an
exact event, where privacy is switched off, is answered without noise. Exact statistics come to them in a `Sensitive`,
which prevents that they are printed, stored or computed with by accident.

The last one, `split_tree`, draws decisions, from which its tree follows without the data (`leaves_of`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.conversion import float_above
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Token
from syntabula.privacy.noise import NoiseSource, checked_counts, checked_scale, checked_scores

StatisticT = TypeVar("StatisticT")

STEPS = 1 << 10
"""Noise is a whole number of steps of this fraction of a record, so that it is drawn exactly."""

MOST_DEPTH = 24
"""Leaves are at least 2^-24 of the root wide; otherwise a point mass would use one leaf per level."""

_LESSON = (
    "a Sensitive statistic cannot be {attempt}: it is exact, and only a noisy answer may leave privacy/; "
    "ask the Curator to measure or choose instead"
)


class Sensitive(Generic[StatisticT]):
    """An exact statistic of sensitive data, closed to everything but mechanisms.

    Printing shows the type and shape only. Pickling, copying, comparing, iterating, computing and converting
    to numpy raise TypeError. This guards against accidents, not against code that deliberately breaks it.
    The shape counts as public, so an array whose length depends on the records must not be wrapped.

    Examples:
        >>> Sensitive(np.array([3, 5]))
        Sensitive(ndarray, shape (2,))
    """

    __slots__ = ("__statistic",)

    def __init__(self, statistic: StatisticT) -> None:
        self.__statistic = statistic

    def reveal_inside_privacy(self) -> StatisticT:
        """Return the exact statistic; a test checks that no file outside privacy/ uses this method."""
        return self.__statistic

    def __repr__(self) -> str:
        kind = type(self.__statistic).__name__
        if isinstance(self.__statistic, np.ndarray):
            return f"Sensitive({kind}, shape {self.__statistic.shape})"
        return f"Sensitive({kind})"

    def __format__(self, specification: str) -> str:
        return repr(self)


def _refusing(attempt: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        raise TypeError(_LESSON.format(attempt=attempt))

    return refuse


_REFUSED = {
    "pickled or copied": "reduce reduce_ex getstate",
    "iterated over": "iter",
    "measured by len()": "len",
    "indexed": "getitem",
    "searched": "contains",
    "converted to a numpy array": "array",
    "passed to a numpy function": "array_function",
    "used as a condition": "bool",
    "converted to a number": "int float index complex",
    "compared": "eq ne lt le gt ge",
    "used in arithmetic": "array_ufunc add radd sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod "
    "rmod pow rpow and rand or ror xor rxor divmod rdivmod lshift rlshift rshift rrshift neg pos abs invert round",
}
for _attempt, _names in _REFUSED.items():
    for _name in _names.split():
        setattr(Sensitive, f"__{_name}__", _refusing(_attempt))


def noisy_counts(token: Token, noise: NoiseSource, counts: Sensitive[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Release counts, int64 of any shape, with the noise of a Gaussian or Laplace event on each cell."""
    event = token.consume()
    exact = checked_counts(revealed(counts))
    match event:
        case GaussianEvent():
            require_cells(exact.size, event.cells)
            return noise.discrete_gaussian(exact, event.sigma)
        case LaplaceEvent():
            require_cells(exact.size, event.cells)
            return noise.discrete_laplace(exact, event.scale)
        case ExactEvent():
            return exact.copy()
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release counts")


def frequent(
    token: Token, noise: NoiseSource, counts: Sensitive[NDArray[np.int64]], n_public: int = 0, least: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Release which of the categories that occur are frequent, and their noisy counts.

    Partition selection by a noisy threshold (Korolova, Kenthapadi, Mishra and Ntoulas, 2009, with Laplace
    noise; here Gaussian, and drawn again where it is as large as the threshold): see `ThresholdEvent` for the guarantee.
    Each record may count towards only one category. The question is asked of max(c - least + 1, 0) for each count c that
    is not public, which changes by at most as much, and least - 1 is added to the answer.

    Args:
        token: For a threshold event.
        noise: Draws the noise.
        counts: Exact counts [public categories, then others], int64; only others of `least` records or more may be given.
        n_public: How many are public: they are listed whether they occur or not, and released whatever their count.
        least: Number of records below which another category is not released; public or released, at least 1.

    Returns:
        Positions of the categories whose noisy count reaches the threshold, and of public ones, and those noisy counts.
        For an exact event the threshold is 2, so a single record's value is not a category.
    """
    event = token.consume()
    exact = checked_counts(revealed(counts))
    is_public = np.arange(exact.size) < n_public
    lowered = np.where(is_public, 0, least - 1)
    exact = exact - lowered
    match event:
        case ThresholdEvent():
            noisy = noise.discrete_gaussian(exact, event.sigma)
            while (beyond := np.flatnonzero(np.abs(noisy - exact) > event.largest_noise)).size:
                noisy[beyond] = noise.discrete_gaussian(exact[beyond], event.sigma)
            kept = np.flatnonzero(is_public | (noisy >= event.threshold))
            return kept, (noisy + lowered)[kept]
        case ExactEvent():
            kept = np.flatnonzero(is_public | (exact >= 2))
            return kept, (exact + lowered)[kept]
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release categories")


def choose(
    token: Token,
    noise: NoiseSource,
    scores: Sensitive[NDArray[np.float64]],
    score_sensitivity: float,
) -> int:
    """Release the position of a large score, by the exponential mechanism (McSherry and Talwar, 2007).

    Args:
        token: For an exponential event.
        noise: Draws the choice.
        scores: Exact scores [candidates], float64, finite, as many as the event states.
        score_sensitivity: Largest change of any score when one record is added or removed; finite, above 0. It must
            include the rounding of the scores.

    Returns:
        The chosen position; the first of the largest for an exact event.
    """
    event = token.consume()
    exact = checked_scores(revealed(scores))
    if not checked_scale("score_sensitivity", score_sensitivity):
        raise ArgumentError("score_sensitivity must be above 0")
    match event:
        case ExponentialEvent():
            if exact.size != event.candidates:
                raise ArgumentError(f"{exact.size} scores were given, but {event.candidates} were paid for")
            # A scale rounded down would cost more than paid.
            scale = float_above(2 * Fraction(score_sensitivity) / Fraction(event.epsilon))
            if math.isinf(scale):
                raise ArgumentError("score_sensitivity / epsilon is beyond float64; scale the scores down")
            return noise.noisy_max(exact, scale)
        case ExactEvent():
            return int(np.argmax(exact))
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release a choice")


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
        token: For a tree event, which pays for the whole tree.
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
    public widths (the proof would not cover a ranking by the noisy counts). Arguments are those of `split_tree`, and its
    result.

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


def revealed(statistic: object) -> object:
    """Return what a Sensitive statistic holds; raises ArgumentError if it is none."""
    if not isinstance(statistic, Sensitive):
        raise ArgumentError(f"a mechanism takes a Sensitive statistic, not {type(statistic).__name__}")
    return statistic.reveal_inside_privacy()


def require_cells(cells: int, paid: int) -> None:
    """Raise ArgumentError unless as many cells were paid for."""
    if cells != paid:
        raise ArgumentError(f"counts have {cells} cells, but {paid} were paid for")
