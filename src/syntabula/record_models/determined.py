"""Which columns the others determine: a tree tells them of records that it did not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from syntabula.marginals.domain import EncodedTable
from syntabula.record_models.trees import MOST_CLASSES, Tree

_TOLD = 0.95
"""Least part of the mistakes of always saying the most frequent code that the tree does not make."""
_LEAST_RECORDS = 200

MOST_RECORDS = 10_000
"""Records that are asked, half of which a tree is grown on."""

Grow = Callable[[EncodedTable, str, Sequence[str]], Tree]


def determined(records: EncodedTable, grow: Grow, rng: np.random.Generator) -> list[str]:
    """Return the columns without an order that a tree given all other columns tells nearly without mistakes.

    A tree is grown on one half of at most 10,000 records and draws the column of the other half. With fewer
    than 200 records no column counts, nor one of a single code or of more codes than trees tell apart.

    Args:
        records: The table.
        grow: Grows the tree of a column on records, given some columns.
        rng: Chooses the halves.
    """
    domain, n = records.domain, min(records.n_rows, MOST_RECORDS)
    if n < _LEAST_RECORDS or len(domain) < 2:
        return []
    rows = rng.permutation(records.n_rows)[:n]
    grown_on, unseen = (
        EncodedTable(domain, tuple(codes[half] for codes in records.codes))
        for half in np.split(rows, [n // 2])
    )
    found = []
    for column in domain:
        if column in domain.ordered or domain.size(column) > MOST_CLASSES:
            continue
        codes = unseen.column(column).astype(np.intp)
        mistakes = 1 - np.bincount(codes).max() / codes.size
        if not mistakes:
            continue
        others = [c for c in domain if c != column]
        tree = grow(grown_on, column, others)
        shares = tree.shares(
            [unseen.column(c) for c in others], [domain.size(c) for c in others], codes, codes
        )
        if 1 - shares.mean() <= (1 - _TOLD) * mistakes:
            found.append(column)
    return found
