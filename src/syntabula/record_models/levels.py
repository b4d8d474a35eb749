"""Groups of codes for columns that have more codes than can be told apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.recoding import Recoding


def merged_levels(domain: Domain, counts: Mapping[str, FloatArray], levels: int) -> Recoding:
    """Merge the codes of columns that have more than so many, by released one-way marginals."""
    maps: dict[str, NDArray[np.intp]] = {}
    shares: dict[str, FloatArray] = {}
    for column, size in zip(domain.columns, domain.sizes, strict=True):
        if size > levels:
            maps[column] = level_groups(counts[column], levels, ordered=column in domain.ordered)
            shares[column] = _held(counts[column])
    return Recoding(domain, maps, shares)


def level_groups(counts: FloatArray, levels: int, *, ordered: bool) -> NDArray[np.intp]:
    """Put the codes of a column in at most so many groups, and return the number of each one's group [codes].

    Codes of an ordered column are put together in runs of about as many records, of others all but the most frequent.
    """
    if counts.size <= levels:
        return np.arange(counts.size)
    held = _held(counts)
    if ordered:
        middles = (np.cumsum(held) - held / 2) / held.sum()
        groups = np.minimum((middles * levels).astype(np.intp), levels - 1)
    else:
        groups = np.full(counts.size, levels - 1)
        groups[np.argsort(-held, kind="stable")[: levels - 1]] = np.arange(levels - 1)
    return np.unique(groups, return_inverse=True)[1].astype(np.intp)


def _held(counts: FloatArray) -> FloatArray:
    held = np.maximum(counts, 0.0)
    return held if held.sum() > 0 else np.ones(counts.size)
