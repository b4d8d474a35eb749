"""A tree of one column that grows by noisy counts, level by level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes, Domain, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.splits import (
    ABOVE,
    BELOW,
    CUT,
    LEAF,
    PREDICTOR,
    Nodes,
    Splits,
    leaf_nodes,
    leaf_numbers,
    node_of,
)
from syntabula.record_models.joined_groups import joined_groups
from syntabula.record_models.leaf_raking import raked
from syntabula.record_models.levels import level_groups
from syntabula.record_models.population import believed
from syntabula.record_models.trees import Tree

MOST_CELLS = 2**16
"""A level divides the records into about so many cells at most."""

MOST_GROUPS = 32
"""Most groups of a predictor's codes that a level tells apart."""
MOST_VALUES = 2 * MOST_GROUPS
"""Most groups of the column's own codes."""

_LEAST_CELLS = 4
_RESOLUTION = 2.0**22

Ask = Callable[[Splits, NDArray[np.intp]], FloatArray]
"""Returns the noisy numbers of records by leaf and group of the column's codes, flattened."""


@dataclass(frozen=True, eq=False)
class Level:
    """What one level of a tree asks.

    Attributes:
        sigma: Standard deviation of the noise on each count.
        crowd: Number of records that a cell has on average, in standard deviations of the noise on it.
    """

    sigma: float
    crowd: float

    def cells(self, records: float) -> float:
        """Return how many cells so many records may be divided into."""
        return min(records / (self.crowd * max(self.sigma, 1.0)), MOST_CELLS)


class NoisyTree:
    """Grows the tree of one column.

    At each level the leaves are divided by groups of one predictor's codes, all in the same way, and one noisy
    table of leaves, groups, and groups of the column's codes says what becomes of them: neighbouring groups that
    noise may have made unlike are joined again, and the others are new leaves. A leaf has the distribution of its
    parent, moved to its own counts by what noise leaves of them. All of this but the counts follows from released
    values.

    Args:
        domain: All columns.
        column: The one that is drawn.
        before: Columns that are drawn before it.
        one_way: Expected counts of the codes of each column; none below 0, all with the same sum.
    """

    def __init__(
        self, domain: Domain, column: str, before: Sequence[str], one_way: dict[str, FloatArray]
    ) -> None:
        self._domain, self._column, self._before, self._one_way = domain, column, tuple(before), one_way
        self._sizes = tuple(domain.size(c) for c in before)
        self._ranks = [np.arange(size, dtype=np.int32) for size in self._sizes]
        self._nodes: Nodes = np.array([[LEAF, 0, 0, 0]], dtype=np.int32)
        counts = one_way[column]
        self._total = float(counts.sum())
        # Of the leaves, in the order of their nodes.
        self._shares = counts[None] / self._total
        self._records = np.array([self._total])

    def grow(self, predictor: str, level: Level, ask: Ask) -> None:
        """Divide the leaves by a predictor that was not used before."""
        at = self._before.index(predictor)
        # What follows names leaves by their places among these.
        leaves, records = leaf_nodes(self._nodes), self._records.tolist()
        size, target = self._sizes[at], self._domain.size(self._column)
        # A leaf of few records stays as it is, and so do the smallest of very many.
        largest = sorted(range(leaves.size), key=lambda x: -records[x])[: MOST_CELLS // _LEAST_CELLS]
        open_leaves = [x for x in largest if level.cells(records[x]) >= _LEAST_CELLS] or largest[:1]
        allowed = level.cells(sum(records[x] for x in open_leaves)) / len(open_leaves)
        n_groups, n_values = _divided(allowed, size, target)
        groups, values = self._grouped(predictor, n_groups), self._grouped(self._column, n_values)
        n_groups, n_values = int(groups.max()) + 1, int(values.max()) + 1
        # Groups are next to each other in the ranks that splits see.
        ranks, cuts = _ranked(groups, np.arange(n_groups))
        nodes, parts = _divide(self._nodes, at, leaves[open_leaves], [cuts[:-1]] * len(open_leaves))
        found = ask(Splits(self._before, self._sizes, nodes, self._joined(at, ranks)), values)
        found = found.reshape(-1, n_values)[leaf_numbers(nodes)]
        tables = found[parts].reshape(-1, n_groups, n_values)
        if predictor in self._domain.ordered:
            places = np.arange(n_groups)
        else:
            places = _by_what_they_say(tables, ordered=self._column in self._domain.ordered)
        self._ranks[at], cuts = _ranked(groups, np.argsort(places))
        tables = tables[:, places]
        sizes, told = [[1]] * leaves.size, list(found[leaves, None])
        for x, joined, table in zip(open_leaves, joined_groups(tables, level.sigma), tables, strict=True):
            sizes[x], told[x] = joined, table
        inner = [[cuts[end - 1] for end in itertools.accumulate(own[:-1])] for own in sizes]
        nodes, parts = _divide(self._nodes, at, leaves, inner)
        n_joined = np.concatenate(sizes)
        counts = np.add.reduceat(np.concatenate(told), np.cumsum(n_joined) - n_joined)
        parents = np.repeat(np.arange(leaves.size), [len(own) for own in sizes])
        shares = _moved(self._shares, parents, values, counts, level.sigma * np.sqrt(n_joined))
        order = np.argsort(parts)
        self._nodes, self._shares, self._records = nodes, shares[order], np.maximum(counts.sum(1), 0.0)[order]

    def finished(self, rows: Sequence[Codes], n: int) -> tuple[Tree, NDArray[np.unsignedinteger]]:
        """Return the tree, in whose leaves synthetic rows have the column's one-way marginal, and their leaves [n].

        Args:
            rows: Codes [n] of each column that is drawn before.
            n: Number of rows.
        """
        ranks = np.concatenate([*self._ranks, np.zeros(0, dtype=np.int32)]).astype(np.int32)
        nodes = self._nodes.copy()
        leaves = leaf_nodes(nodes)
        at = node_of(nodes, ranks, rows, self._sizes, n)
        weights = np.bincount(at, minlength=len(nodes))[leaves] / max(n, 1)
        shares = raked(self._shares, weights, self._one_way[self._column] / self._total)
        counts = np.rint(shares * _RESOLUTION).astype(np.uint32)
        counts[np.arange(len(counts)), shares.argmax(1)] += counts.sum(1) == 0
        held = counts > 0
        ends = np.cumsum(held.sum(1))
        nodes[leaves, BELOW], nodes[leaves, ABOVE] = np.concatenate([[0], ends[:-1]]), ends
        codes = np.nonzero(held)[1].astype(code_dtype(self._domain.size(self._column)))
        return Tree(nodes, ranks, codes, counts[held]), at

    def _grouped(self, column: str, most: int) -> NDArray[np.intp]:
        return level_groups(self._one_way[column], most, ordered=column in self._domain.ordered)

    def _joined(self, at: int, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.concatenate([ranks if i == at else own for i, own in enumerate(self._ranks)])


def _divided(allowed: float, size: int, target: int) -> tuple[int, int]:
    """Return into how many groups codes of a predictor and of the column are put, for so many cells in a leaf."""
    values = min(target, max(2, int(min(math.sqrt(allowed), MOST_GROUPS))))
    groups = min(size, max(2, int(min(allowed / values, MOST_GROUPS))))
    values = min(target, max(2, int(min(allowed / groups, MOST_VALUES))))
    return groups, values


def _ranked(groups: NDArray[np.intp], order: NDArray[np.intp]) -> tuple[NDArray[np.int32], list[int]]:
    """Return ranks of codes in which groups have places, and the last rank of each place.

    Args:
        groups: Of each code.
        order: Place of each group.
    """
    places = order[groups]
    ranks = np.empty(groups.size, dtype=np.int32)
    ranks[np.argsort(places, kind="stable")] = np.arange(groups.size, dtype=np.int32)
    return ranks, (np.cumsum(np.bincount(places)) - 1).tolist()


def _divide(
    nodes: Nodes, predictor: int, leaves: NDArray[np.intp], cuts: Sequence[Sequence[int]]
) -> tuple[Nodes, NDArray[np.intp]]:
    """Return nodes in which leaves are split by some ranks, and their new leaves, those of a leaf in order of the ranks.

    Args:
        nodes: Of the tree.
        predictor: Its position.
        leaves: Those to split.
        cuts: For each of them, the ranks after which it is split, ascending; none leave it as it is.
    """
    sizes = np.array([len(own) for own in cuts])
    found = np.concatenate(
        [nodes, np.tile(np.array([[LEAF, 0, 0, 0]], dtype=np.int32), (2 * sizes.sum(), 1))]
    )
    firsts, starts = len(nodes) + 2 * (np.cumsum(sizes) - sizes), np.cumsum(sizes + 1) - sizes - 1
    parts = np.empty(sizes.sum() + sizes.size, dtype=np.intp)
    # Leaves with as many cuts are split in the same way.
    for n in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == n)
        numbers = np.hstack([leaves[which, None], firsts[which, None] + np.arange(2 * n)])
        (split, cut, below, above), ends = _halved(n)
        own = numbers[:, split]
        found[own, PREDICTOR] = predictor
        found[own, CUT] = np.array([cuts[x] for x in which.tolist()], dtype=np.int32)[:, cut]
        found[own, BELOW], found[own, ABOVE] = numbers[:, below], numbers[:, above]
        parts[starts[which, None] + np.arange(n + 1)] = numbers[:, ends]
    return found, parts


@lru_cache(maxsize=MOST_GROUPS)
def _halved(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how n cuts split a leaf, half of them on each side: the splits [4, n], and the leaves in order [n + 1].

    Of a split: its node, its cut, and the nodes below and above; the leaf that is split is node 0.
    """
    splits: list[list[int]] = []
    ends: list[int] = []

    def split(node: int, first: int, last: int) -> None:
        if first == last:
            ends.append(node)
            return
        middle, below = first + (last - first) // 2, 2 * len(splits) + 1
        splits.append([node, middle, below, below + 1])
        split(below, first, middle)
        split(below + 1, middle + 1, last)

    split(0, 0, n)
    return np.array(splits, dtype=np.intp).reshape(n, 4).T, np.array(ends)


def _by_what_they_say(counts: FloatArray, *, ordered: bool) -> NDArray[np.intp]:
    """Return groups [groups] in the order of what they say of the column in all leaves.

    That is the first principal component of how far each group's distributions are from those of all; of an ordered
    column only their mean ranks count.

    Args:
        counts: Noisy [leaves, groups, values].
        ordered: Whether values follow an order.
    """
    held = np.maximum(counts, 0.0)
    sums = np.maximum(held.sum(2, keepdims=True), 1e-9)
    whole = held.sum(1, keepdims=True)
    overall = whole / np.maximum(whole.sum(2, keepdims=True), 1e-9)
    away = held / sums - overall
    if ordered:
        away = away @ (np.cumsum(overall, axis=2) - overall / 2).transpose(0, 2, 1)
    away *= np.sqrt(sums)
    # Groups side by side, whatever the leaf.
    told = away.transpose(1, 0, 2).reshape(counts.shape[1], -1)
    lengths = np.sqrt(sums.sum(axis=(0, 2)))
    left, sizes, _ = np.linalg.svd(told, full_matrices=False)
    return np.argsort(left[:, 0] * sizes[0] / lengths, kind="stable")


def _moved(
    shares: FloatArray,
    parents: NDArray[np.intp],
    values: NDArray[np.intp],
    counts: FloatArray,
    sigmas: FloatArray,
) -> FloatArray:
    """Return distributions of new leaves [leaves, codes]: those of their parents, moved to noisy counts.

    Args:
        shares: Distributions of the parents [parents, codes].
        parents: Which one each new leaf has.
        values: Group of each code.
        counts: Noisy numbers of records of each new leaf and group.
        sigmas: Standard deviation of the noise on the counts of each new leaf.
    """
    n_values = counts.shape[1]
    places = np.arange(len(shares))[:, None] * n_values + values
    expected = np.bincount(places.ravel(), shares.ravel(), minlength=len(shares) * n_values)
    held = np.maximum(expected.reshape(-1, n_values)[parents], 1e-12)
    records = counts.sum(1, keepdims=True)
    is_told = records > 0
    divided = np.where(is_told, records, 1.0)
    found = believed(held / held.sum(1, keepdims=True), counts / divided, sigmas[:, None] / divided)
    moved: FloatArray = (np.maximum(found, 0.0) / held).take(values, axis=1)
    own = shares[parents]
    moved *= own
    totals = moved.sum(1, keepdims=True)
    is_told &= totals > 0
    moved /= np.where(is_told, totals, 1.0)
    return np.where(is_told, moved, own)
