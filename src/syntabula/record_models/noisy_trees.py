"""A tree of one column that grows by noisy counts, level by level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes, Domain, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.splits import ABOVE, BELOW, LEAF, Nodes, Splits, leaf_nodes, leaf_numbers, node_of
from syntabula.record_models.one_way import level_groups
from syntabula.record_models.population import believed
from syntabula.record_models.trees import Tree, raked

MOST_CELLS = 2**16
"""A level divides the records into about so many cells at most."""

_MOST_GROUPS = 32
_LEAST_CELLS = 4
_UNLIKE = 2.0
"""Neighbouring groups stay apart if they differ by so many standard deviations more than noise and chance make them."""

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
        self._shares = {0: counts / self._total}
        self._records = {0: self._total}

    def grow(self, predictor: str, level: Level, ask: Ask) -> None:
        """Divide the leaves by a predictor that was not used before."""
        at = self._before.index(predictor)
        leaves = leaf_nodes(self._nodes).tolist()
        size, target = self._sizes[at], self._domain.size(self._column)
        # A leaf of few records stays as it is, and so do the smallest of very many.
        largest = sorted(leaves, key=lambda x: -self._records[x])[: MOST_CELLS // _LEAST_CELLS]
        open_leaves = [x for x in largest if level.cells(self._records[x]) >= _LEAST_CELLS] or largest[:1]
        allowed = level.cells(sum(self._records[x] for x in open_leaves)) / len(open_leaves)
        n_groups, n_values = _divided(allowed, size, target)
        groups, values = self._grouped(predictor, n_groups), self._grouped(self._column, n_values)
        n_groups, n_values = int(groups.max()) + 1, int(values.max()) + 1
        # Groups are next to each other in the ranks that splits see.
        ranks, cuts = _ranked(groups, np.arange(n_groups))
        nodes, parts = _divide(self._nodes, at, {x: list(cuts) for x in open_leaves})
        asked = Splits(self._before, self._sizes, nodes, self._joined(at, ranks))
        found = ask(asked, values).reshape(-1, n_values)
        rows = {int(node): counts for node, counts in zip(leaf_nodes(nodes), found, strict=True)}
        tables = {leaf: np.stack([rows[node] for node in parts.get(leaf, [leaf])]) for leaf in leaves}
        places = np.arange(n_groups)
        if predictor not in self._domain.ordered:
            asked_of = np.stack([tables[x] for x in open_leaves])
            places = _by_what_they_say(asked_of, ordered=self._column in self._domain.ordered)
        self._ranks[at], cuts = _ranked(groups, np.argsort(places))
        kept: dict[int, list[int]] = {}
        told: dict[int, list[tuple[FloatArray, int]]] = {}
        for leaf in leaves:
            table = tables[leaf][places] if leaf in parts else tables[leaf]
            joined = _joined_groups(table, level.sigma)
            kept[leaf] = [cuts[part[-1]] for part in joined[:-1]]
            told[leaf] = [(table[part].sum(0), len(part)) for part in joined]
        self._nodes, parts = _divide(self._nodes, at, kept)
        shares, records = {}, {}
        for leaf in leaves:
            for node, (counts, n_joined) in zip(parts.get(leaf, [leaf]), told[leaf], strict=True):
                own = max(float(counts.sum()), 0.0)
                records[node] = own
                shares[node] = _moved(self._shares[leaf], values, counts, level.sigma * math.sqrt(n_joined))
        self._shares, self._records = shares, records

    def finished(self, rows: Sequence[Codes], n: int) -> Tree:
        """Return the tree, in whose leaves synthetic rows have the column's one-way marginal.

        Args:
            rows: Codes [n] of each column that is drawn before.
            n: Number of rows.
        """
        ranks = np.concatenate([*self._ranks, np.zeros(0, dtype=np.int32)]).astype(np.int32)
        nodes = self._nodes.copy()
        leaves = leaf_nodes(nodes)
        at = leaf_numbers(nodes).take(node_of(nodes, ranks, rows, self._sizes, n))
        weights = np.bincount(at, minlength=leaves.size) / max(n, 1)
        shares = np.stack([self._shares[x] for x in leaves.tolist()])
        shares = raked(shares, weights, self._one_way[self._column] / self._total)
        counts = np.rint(shares * _RESOLUTION).astype(np.uint32)
        counts[np.arange(len(counts)), shares.argmax(1)] += counts.sum(1) == 0
        held = counts > 0
        ends = np.cumsum(held.sum(1))
        nodes[leaves, BELOW], nodes[leaves, ABOVE] = np.concatenate([[0], ends[:-1]]), ends
        codes = np.nonzero(held)[1].astype(code_dtype(self._domain.size(self._column)))
        return Tree(nodes, ranks, codes, counts[held])

    def _grouped(self, column: str, most: int) -> NDArray[np.intp]:
        return level_groups(self._one_way[column], most, ordered=column in self._domain.ordered)

    def _joined(self, at: int, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.concatenate([ranks if i == at else own for i, own in enumerate(self._ranks)])


def _divided(allowed: float, size: int, target: int) -> tuple[int, int]:
    """Return into how many groups codes of a predictor and of the column are put, for so many cells in a leaf."""
    values = min(target, max(2, int(min(math.sqrt(allowed), _MOST_GROUPS))))
    groups = min(size, max(2, int(min(allowed / values, _MOST_GROUPS))))
    values = min(target, max(2, int(min(allowed / groups, 2 * _MOST_GROUPS))))
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


def _divide(nodes: Nodes, predictor: int, cuts: dict[int, list[int]]) -> tuple[Nodes, dict[int, list[int]]]:
    """Return nodes in which leaves are split by some ranks, and their new leaves in the order of these.

    Args:
        nodes: Of the tree.
        predictor: Its position.
        cuts: For some leaves, the ranks after which they are split, ascending; the last rank of all may be among them.
    """
    found = nodes.tolist()
    parts: dict[int, list[int]] = {}

    def split(node: int, inner: list[int]) -> list[int]:
        if not inner:
            return [node]
        middle = len(inner) // 2
        below, above = len(found), len(found) + 1
        found.extend([[LEAF, 0, 0, 0], [LEAF, 0, 0, 0]])
        found[node] = [predictor, inner[middle], below, above]
        return [*split(below, inner[:middle]), *split(above, inner[middle + 1 :])]

    for leaf, ranks in cuts.items():
        parts[leaf] = split(leaf, ranks)
    return np.array(found, dtype=np.int32), parts


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


def _joined_groups(counts: FloatArray, sigma: float) -> list[list[int]]:
    """Join neighbouring groups until all that are left differ by more than noise and chance.

    Args:
        counts: Noisy [groups, values].
        sigma: Standard deviation of the noise on each count.

    Returns:
        The groups that are joined, in order.
    """
    parts = [_Part([i], row, sigma) for i, row in enumerate(counts)]
    scores = [one.unlike(other) for one, other in itertools.pairwise(parts)]
    while scores:
        i = scores.index(min(scores))
        if scores[i] > _UNLIKE:
            break
        one, other = parts[i : i + 2]
        parts[i : i + 2] = [_Part(one.groups + other.groups, one.counts + other.counts, sigma)]
        del scores[i]
        for j in (i - 1, i):
            if 0 <= j < len(parts) - 1:
                scores[j] = parts[j].unlike(parts[j + 1])
    return [part.groups for part in parts]


class _Part:
    """Groups that are joined, and what does not depend on their neighbours.

    Args:
        groups: Their numbers.
        counts: Their noisy counts together [values].
        sigma: Standard deviation of the noise on the count of a group.
    """

    def __init__(self, groups: list[int], counts: FloatArray, sigma: float) -> None:
        self.groups, self.counts = groups, counts
        self._records = float(counts.sum())
        noise = sigma**2 * len(groups) * counts.size
        self._is_told = self._records > 2 * math.sqrt(noise)
        if self._is_told:
            self._shares, self._noise = counts / self._records, noise / self._records**2

    def unlike(self, other: _Part) -> float:
        """Return by how many standard deviations this part differs from another more than noise and chance make it."""
        if not (self._is_told and other._is_told):
            return -math.inf
        both = self.counts + other.counts
        chance = max(1 - float(both @ both) / (self._records + other._records) ** 2, 0.0)
        expected = self._noise + other._noise + chance * (1 / self._records + 1 / other._records)
        away = self._shares - other._shares
        found = float(away @ away)
        if expected <= 0:
            return math.inf if found > 0 else -math.inf
        return (found / expected - 1) / math.sqrt(2 / both.size)


def _moved(shares: FloatArray, values: NDArray[np.intp], counts: FloatArray, sigma: float) -> FloatArray:
    """Return a leaf's distribution [codes]: its parent's, moved to noisy counts of groups of codes."""
    expected = np.bincount(values, shares, minlength=counts.size)
    records = float(counts.sum())
    if records <= 0:
        return shares
    held = np.maximum(expected, 1e-12)
    found = believed(held / held.sum(), counts / records, sigma / records)
    moved: FloatArray = shares * (np.maximum(found, 0.0) / held)[values]
    total = float(moved.sum())
    return moved / total if total > 0 else shares
