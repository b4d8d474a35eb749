"""A classification or regression tree of one column, as plain arrays: grown by scikit-learn, drawn by numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.marginals.domain import Codes, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.splits import ABOVE, BELOW, LEAF, PREDICTOR, check_splits, leaf_nodes, node_of
from syntabula.record_models.leaf_raking import raked
from syntabula.record_models.many_codes import places_of_codes
from syntabula.record_models.split_scores import (
    classes_of,
    gini,
    means_and_spreads,
    order_of,
    ranks_of,
    scores_of,
    weekday_scores,
)

MOST_CLASSES = 50
"""Codes that a column without an order may have for splits to count each apart; of more, similar ones stay together."""

_PARTS_OF_A_RECORD = 1_000


@dataclass(frozen=True, eq=False)
class Tree:
    """How one column is drawn given columns that come before it.

    Attributes:
        nodes: int32 [nodes, 4]. Of a split: the position of its predictor, the largest rank that goes below, and the
            nodes below and above, which have larger numbers. Of a leaf: -1, 0, and its first donor and the one after
            its last.
        ranks: int32 [codes of all predictors]: where splits see each code, predictor by predictor.
        donors: Codes [donors] of the records in the leaves, each once per leaf.
        counts: uint32 [donors]: how many records of the leaf have the code; only their shares of the leaf matter.
    """

    nodes: NDArray[np.int32]
    ranks: NDArray[np.int32]
    donors: Codes
    counts: NDArray[np.uint32]

    def draw(
        self, predictors: Sequence[Codes], sizes: Sequence[int], n: int, rng: np.random.Generator
    ) -> Codes:
        """Draw one code for each of n rows.

        Each row has the distribution of its leaf. Rows of the same leaf share its donors out: each code is drawn as often
        as its share says, within two.

        Args:
            predictors: Codes [n] of each predictor.
            sizes: Number of codes of each.
            n: Number of rows.
            rng: Chooses among the donors of a leaf.
        """
        return self.draw_in(node_of(self.nodes, self.ranks, predictors, sizes, n), rng)

    def draw_in(self, leaves: NDArray[np.unsignedinteger], rng: np.random.Generator) -> Codes:
        """Draw one code for each row as `draw` does, given the node of its leaf [n]."""
        n, firsts = leaves.size, self.nodes[:, BELOW].take(leaves)
        # Each column has an order of its own, or rows that come first would have the lowest codes in all of them.
        rows = rng.permutation(n)
        # Sorting numbers of 16 bits takes a fifth as long.
        keys = firsts.astype(np.uint16) if firsts.max(initial=0) < 2**16 else firsts
        rows = rows[np.argsort(keys[rows], kind="stable")]
        # From here on leaf by leaf: then places ascend, and those next to each other are found fast.
        firsts = firsts[rows]
        starts = np.flatnonzero(np.diff(firsts, prepend=-1))
        held = np.diff(starts, append=n)
        low = self._heights[firsts[starts]]
        high = self._heights[self._ends[np.searchsorted(self._ends, firsts[starts], side="right")]]
        parts = (np.arange(n) - np.repeat(starts, held) + rng.random(n)) / np.repeat(held, held)
        place = (parts * np.repeat(high - low, held)).astype(np.int64) + np.repeat(low, held)
        # Rounding may make a part 1.
        np.minimum(place, np.repeat(high - 1, held), out=place)
        drawn = np.empty(n, dtype=self.donors.dtype)
        if self.donors.size < n:
            drawn[rows] = np.repeat(self.donors, np.diff(np.searchsorted(place, self._heights)))
        else:
            drawn[rows] = self.donors[np.searchsorted(self._heights, place, side="right") - 1]
        return drawn

    def shares(
        self,
        predictors: Sequence[Codes],
        sizes: Sequence[int],
        lowest: NDArray[np.intp],
        highest: NDArray[np.intp],
    ) -> NDArray[np.float64]:
        """Return the share of each row's leaf whose codes lie between two codes, both included [n]."""
        first, last = self._donors_of(predictors, sizes, len(lowest))
        # Donors of a leaf ascend, so that one search serves all leaves.
        width = int(self.donors.max()) + 2
        leaf = np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=0))
        keys = leaf * width + self.donors
        own = np.searchsorted(self._ends, last)
        low = np.searchsorted(keys, own * width + np.minimum(lowest, width - 1), side="left")
        high = np.searchsorted(keys, own * width + np.minimum(highest, width - 1), side="right")
        part = self._heights[high] - self._heights[low]
        found: NDArray[np.float64] = part / (self._heights[last] - self._heights[first])
        return found

    def check(self, sizes: Sequence[int], n_codes: int) -> None:
        """Raise ValueError unless this is a tree with predictors of these sizes for a column of so many codes."""
        nodes, ranks = self.nodes, self.ranks
        if nodes.ndim != 2 or nodes.shape[1] != 4 or not len(nodes) or ranks.shape != (sum(sizes),):
            raise ValueError("a tree of another shape")
        if self.donors.shape != self.counts.shape or self.donors.ndim != 1 or not self.donors.size:
            raise ValueError("no donors")
        check_splits(nodes, len(sizes))
        leaves = nodes[leaf_nodes(nodes)]
        if (leaves[:, BELOW] < 0).any() or (leaves[:, BELOW] >= leaves[:, ABOVE]).any():
            raise ValueError("a leaf without donors")
        ends = leaves[np.argsort(leaves[:, ABOVE])]
        if (
            ends[0, BELOW]
            or (ends[1:, BELOW] != ends[:-1, ABOVE]).any()
            or ends[-1, ABOVE] != self.donors.size
        ):
            raise ValueError("leaves that share donors")
        inside = np.delete(np.diff(self.donors.astype(np.int64)), ends[:-1, ABOVE] - 1)
        if (inside <= 0).any():
            raise ValueError("donors in another order")
        if (self.donors >= n_codes).any() or not self.counts.all():
            raise ValueError("donors outside the column")

    @cached_property
    def _heights(self) -> NDArray[np.int64]:
        """Number of records before each donor, and of all."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """The donor after the last of each leaf, ascending."""
        return np.sort(self.nodes[self.nodes[:, PREDICTOR] == LEAF, ABOVE]).astype(np.int64)

    def _donors_of(
        self, predictors: Sequence[Codes], sizes: Sequence[int], n: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the first donor of each row's leaf, and the one after its last."""
        leaves = self.nodes[node_of(self.nodes, self.ranks, predictors, sizes, n)]
        return leaves[:, BELOW], leaves[:, ABOVE]


def grow(
    target: Codes,
    n_codes: int,
    predictors: Sequence[Codes],
    sizes: Sequence[int],
    *,
    ordered: bool,
    ordered_predictors: Sequence[bool],
    least_leaf: int,
    least_split: int,
    complexity: float,
    least_code: int = 1,
    weekdays: FloatArray | None = None,
    seed: int,
) -> Tree:
    """Return the tree of a column, grown on records, of which there must be at least one.

    A column with an order gets a regression tree on its ranks among the records and on how far these are from the middle,
    so that a split may tell means apart or spreads; another gets a classification tree by Gini's index, or a regression
    tree on the places of its codes (`places_of_codes`) if these are more than `MOST_CLASSES`. A predictor without an
    order is split by the order in which its codes predict the target.

    Codes without an order that fewer than `least_code` records of a node have share their part of it as they do in the
    node above, those that none has there included. So a row has no code because one record alone had it among others
    like it (as in the back-off of Katz 1987, "Estimation of probabilities from sparse data"). All leaves are then raked,
    so that each code is as frequent in them together as among the records.

    Codes with an order that fewer than `least_code` of all records have, such as a value far outside, are joined with
    their neighbours until as many have one of them. Which of these a record has then says nothing of where in the tree
    it is, so that a row has such a value at random among its neighbours.

    Args:
        target: Codes [n] of the column.
        n_codes: Number of its codes.
        predictors: Codes [n] of each predictor; none gives a single leaf.
        sizes: Number of codes of each.
        ordered: Whether the codes of the target follow an order.
        ordered_predictors: Whether those of each predictor do.
        least_leaf: Fewest records in a leaf.
        least_split: Fewest records of a node that is split.
        complexity: Part of the impurity of all records that a split must take away.
        least_code: Fewest records of a node that have a code without an order, or of all records that have one with an
            order; 1 keeps all as they are, and so do columns without an order of more than `MOST_CLASSES` codes.
        weekdays: Share of each weekday in each code of a column of days or times [codes, 7], which splits tell apart
            too; None for other columns.
        seed: Decides between equally good splits.
    """
    classes = ranks_of(target, n_codes) if ordered else classes_of(target, n_codes)
    by_place = bool(predictors) and not ordered and n_codes > MOST_CLASSES
    if by_place:
        scores = places_of_codes(target, predictors, sizes, ordered_predictors)
    else:
        scores = (classes - classes.mean())[:, None] if ordered else scores_of(classes.astype(np.intp))
    of_weekdays = np.zeros((len(target), 0)) if weekdays is None else weekday_scores(target, weekdays)
    scores = np.hstack([scores, of_weekdays])
    ranks = [
        np.arange(size, dtype=np.int32) if is_ordered else order_of(codes, size, scores)
        for codes, size, is_ordered in zip(predictors, sizes, ordered_predictors, strict=True)
    ]
    if not ranks or np.ptp(classes) == 0:
        nodes, leaves = np.array([[LEAF, 0, 0, 0]], dtype=np.int32), np.zeros(len(target), dtype=np.intp)
    else:
        trees = require("sklearn.tree", "evaluate")
        kind = trees.DecisionTreeRegressor if ordered or by_place else trees.DecisionTreeClassifier
        told = scores if by_place else means_and_spreads(classes) if ordered else classes
        if weekdays is not None:
            told = np.hstack([told, of_weekdays])
        impurity = float(told.var(axis=0).mean()) if ordered or by_place else gini(classes)
        table = np.stack([r[c] for r, c in zip(ranks, predictors, strict=True)], axis=1).astype(np.float32)
        grown = kind(
            min_samples_leaf=least_leaf,
            min_samples_split=max(least_split, 2),
            min_impurity_decrease=complexity * impurity,
            random_state=seed,
        ).fit(table, told)
        leaves, nodes = grown.apply(table), _nodes(grown.tree_)
    # Donors leaf by leaf, each code of a leaf once.
    keys, counts = np.unique(leaves * np.int64(n_codes) + target, return_counts=True)
    if least_code > 1 and ordered:
        keys, counts = _among_neighbours(keys, counts, n_codes, least_code)
    elif least_code > 1 and n_codes <= MOST_CLASSES:
        keys, counts = _backed_off(nodes, keys, counts, n_codes, least_code)
    found, codes = np.divmod(keys, n_codes)
    numbers = np.flatnonzero(nodes[:, PREDICTOR] == LEAF)
    nodes[numbers, BELOW] = np.searchsorted(found, numbers, side="left")
    nodes[numbers, ABOVE] = np.searchsorted(found, numbers, side="right")
    joined = np.concatenate([*ranks, np.zeros(0, dtype=np.int32)])
    return Tree(nodes, joined, codes.astype(code_dtype(n_codes)), counts.astype(np.uint32))


def _backed_off(
    nodes: NDArray[np.int32],
    keys: NDArray[np.int64],
    counts: NDArray[np.intp],
    n_codes: int,
    least_code: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys (leaf times codes plus code) and weights of donors, of which rare ones are shared out anew.

    Weights are parts of a record: whole numbers, of which each record has as many as fit.
    """
    held = np.zeros((len(nodes), n_codes))
    held.flat[keys] = counts
    levels = _levels(nodes)
    for above in reversed(levels):
        held[above] = held[nodes[above, BELOW]] + held[nodes[above, ABOVE]]
    shared = held.copy()
    for above in levels:
        for side in (BELOW, ABOVE):
            below = nodes[above, side]
            rare = held[below] < least_code
            # All codes of these records are in the node above too.
            base = np.where(rare, shared[above], 0.0)
            part = np.where(rare, held[below], 0.0).sum(1) / np.maximum(base.sum(1), np.finfo(float).tiny)
            shared[below] = np.where(rare, base * part[:, None], held[below])
    shared[nodes[:, PREDICTOR] != LEAF] = 0.0
    # A rare code is rare in many leaves and a frequent one in few, so that the frequent ones would gain.
    mixed = (shared > 0).sum(1) > 1
    if mixed.any():
        shares, records = shared[mixed], held[mixed].sum(1)
        shared[mixed] = raked(shares / records[:, None], records, held[mixed].sum(0)) * records[:, None]
    shared *= min(_PARTS_OF_A_RECORD, int((2**32 - 1) // counts.sum()))
    kept = np.flatnonzero(np.rint(shared, out=shared))
    return kept, shared.flat[kept].astype(np.int64)


def _among_neighbours(
    keys: NDArray[np.int64], counts: NDArray[np.intp], n_codes: int, least_code: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys (leaf times codes plus code) and weights of donors, of which rare ones are shared out anew.

    Weights are parts of a record, as of `_backed_off`.
    """
    leaves, codes = np.divmod(keys, n_codes)
    held = np.bincount(codes, counts, minlength=n_codes)
    if not ((held > 0) & (held < least_code)).any():
        return keys, counts.astype(np.int64)
    group = _neighbours(held, least_code)
    parts = min(_PARTS_OF_A_RECORD, int((2**32 - 1) // counts.sum()))
    places, inverse = np.unique(leaves * np.int64(n_codes) + group[codes], return_inverse=True)
    records = np.bincount(inverse, counts)
    # Each leaf has all codes that records have of a group of which it has one.
    first = np.searchsorted(group, np.arange(group[-1] + 2))
    sizes = np.diff(first)[places % n_codes]
    where = np.repeat(np.arange(places.size), sizes)
    every = (
        first[places % n_codes][where] + np.arange(where.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    )
    weights = np.rint(records[where] * parts * held[every] / np.bincount(group, held)[group[every]])
    kept = weights > 0
    return (places // n_codes)[where[kept]] * n_codes + every[kept], weights[kept].astype(np.int64)


def _neighbours(held: NDArray[Any], least: int) -> NDArray[np.intp]:
    """Return the group of each code [codes]: neighbours are joined until a group has so many records."""
    group = np.zeros(held.size, dtype=np.intp)
    found, records = 0, 0.0
    left = float(held.sum())
    for code, count in enumerate(held.tolist()):
        group[code] = found
        records += count
        left -= count
        # What is left at the end joins the group before it.
        if records >= least <= left:
            found, records = found + 1, 0.0
    return group


def _levels(nodes: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Return the splits of each depth, from the root on."""
    levels: list[NDArray[np.intp]] = []
    level = np.zeros(1, dtype=np.intp)
    while (splits := level[nodes[level, PREDICTOR] != LEAF]).size:
        levels.append(splits)
        level = nodes[splits, BELOW:].ravel().astype(np.intp)
    return levels


def _nodes(grown: object) -> NDArray[np.int32]:
    """Return the nodes of scikit-learn's tree; leaves without donors so far."""
    tree: Mapping[str, NDArray[np.float64]] = {
        name: np.asarray(getattr(grown, name))
        for name in ("feature", "threshold", "children_left", "children_right")
    }
    is_leaf = tree["children_left"] < 0
    columns = [tree["feature"], np.floor(tree["threshold"]), tree["children_left"], tree["children_right"]]
    nodes = np.stack(columns, axis=1)
    nodes[is_leaf] = (LEAF, 0, 0, 0)
    return nodes.astype(np.int32)
