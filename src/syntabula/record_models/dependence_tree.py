"""The tree of strongest dependences between columns (Chow and Liu 1968), counted on records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.representation import ColumnLookup

_GROUPS = 16
_COUNTED_RECORDS = 20_000
_CELLS_AT_ONCE = 64_000_000


def dependence_tree(places: NDArray[np.intp], lookups: Sequence[ColumnLookup]) -> tuple[int, ...]:
    """Return the parent of each column in the tree whose pairs have the most mutual information; -1 for its root.

    Each column counts in at most 16 groups of codes, and at most 20,000 records do, evenly taken from all.

    Args:
        places: Positions of codes [records, columns], as the lookups number them.
        lookups: Of each column.
    """
    chosen = np.linspace(0, max(len(places) - 1, 0), min(len(places), _COUNTED_RECORDS)).astype(np.intp)
    groups = np.stack([_groups(lookup)[places[chosen, j]] for j, lookup in enumerate(lookups)], axis=1)
    return _spanning_tree(_information(groups))


def _groups(lookup: ColumnLookup) -> NDArray[np.intp]:
    """Return a group for each code: of an ordered column parts of the records, of others the frequent codes."""
    if lookup.size <= _GROUPS:
        return np.arange(lookup.size)
    shares = np.exp(lookup.log_shares.astype(np.float64))
    if lookup.waves is not None:
        middles = np.cumsum(shares) - shares / 2
        return np.minimum((middles * _GROUPS).astype(np.intp), _GROUPS - 1)
    ranks = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
    return np.minimum(ranks, _GROUPS - 1)


def _information(groups: NDArray[np.intp]) -> FloatArray:
    """Return the mutual information in nats of each pair of columns [columns, columns]."""
    n_records, n_columns = groups.shape
    width = n_columns * _GROUPS
    counts = np.zeros((width, width), dtype=np.float32)
    step = max(_CELLS_AT_ONCE // width, 1)
    for start in range(0, n_records, step):
        part = groups[start : start + step] + np.arange(n_columns) * _GROUPS
        units = np.zeros((len(part), width), dtype=np.float32)
        np.put_along_axis(units, part, 1.0, axis=1)
        counts += units.T @ units
    information = np.zeros((n_columns, n_columns))
    single = np.diag(counts).astype(np.float64) / max(n_records, 1)
    for column in range(n_columns):
        rows = slice(column * _GROUPS, (column + 1) * _GROUPS)
        joint = counts[rows].astype(np.float64) / max(n_records, 1)
        held = joint > 0
        ratio = np.divide(joint, np.outer(single[rows], single), out=np.ones_like(joint), where=held)
        terms = (joint * np.log(ratio)).sum(0)
        information[column] = terms.reshape(n_columns, _GROUPS).sum(1)
    return information


def _spanning_tree(weights: FloatArray) -> tuple[int, ...]:
    """Return the parents in the maximum spanning tree (Prim); its root is the column that tells most of others."""
    n_columns = len(weights)
    outside = weights - np.diag(np.diag(weights))
    root = int(outside.sum(1).argmax())
    parents = np.full(n_columns, root)
    nearest = outside[root].copy()
    joined = np.zeros(n_columns, dtype=np.bool_)
    joined[root] = True
    for _ in range(n_columns - 1):
        column = int(np.where(joined, -np.inf, nearest).argmax())
        joined[column] = True
        closer = ~joined & (weights[column] > nearest)
        nearest[closer], parents[closer] = weights[column][closer], column
    parents[root] = -1
    return tuple(parents.tolist())
