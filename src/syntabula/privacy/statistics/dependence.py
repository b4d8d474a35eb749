"""How far a column is from independence of others, in records, and how much one record can change that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain

STEPS_PER_RECORD = 1024
"""Dependences are rounded to so many steps a record, so that discrete noise can be added to them."""

SENSITIVITY_STEPS = 4 * STEPS_PER_RECORD + 2
"""The most that adding or removing one record changes a rounded dependence: four records, and rounding.

With M the joint counts of n records, a and b its margins, D = M - a b' / n, and a new record in cell (i, j):
D' - D = (n e_ij + a b' / n - a e_j' - e_i b') / (n + 1), whose L1 norm is at most 4 n / (n + 1). Each
rounding adds at most half a step, and half a step is left for the arithmetic in float64, whose error stays
below that up to 2^33 records.
"""

_CELLS_AT_ONCE = 2**22


def dependence_steps(counts: NDArray[np.int64]) -> int:
    """Return the L1 distance between joint counts and independence, in steps of 1 / 1024 record.

    That is || M - a b' / n ||_1 (InDif in Zhang et al. 2021, "PrivSyn: Differentially Private Data
    Synthesis"; 2 n times the score R in Zhang et al. 2017, "PrivBayes"); 0 if there is no record.

    Args:
        counts: Exact joint counts, the last axis being that of the column, the others those it may depend on.
    """
    joint = counts.reshape(-1, counts.shape[-1])
    n = int(joint.sum())
    if not n:
        return 0
    rows, columns = np.nonzero(joint)
    counts = joint[rows, columns]
    independent = joint.sum(axis=1)[rows] * (joint.sum(axis=0) / n)[columns]
    # Independent counts sum to n, so those of the empty cells are n less those of the others.
    distance = n + float((np.abs(counts - independent) - independent).sum())
    return round(distance * STEPS_PER_RECORD)


def batches(domain: Domain, families: Sequence[Clique]) -> Iterator[list[Clique]]:
    """Yield the families in parts whose counts take a bounded memory, by the domain alone."""
    batch: list[Clique] = []
    cells = 0
    for family in families:
        if batch and cells + domain.cells(family) > _CELLS_AT_ONCE:
            yield batch
            batch, cells = [], 0
        batch.append(family)
        cells += domain.cells(family)
    if batch:
        yield batch
