"""Make noisy marginals that share columns agree, non-negative and with one total. All of it is post-processing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total

AGREEMENT_BYTES = 100
"""Memory that `agreeing_marginals` needs for each cell and column of a marginal, results included."""


Index = NDArray[np.intp]


def agreeing_marginals(
    measurements: Sequence[Measurement], *, rounds: int = 501, tolerance: float = 1e-3
) -> dict[Clique, FloatArray]:
    """Return counts that are not negative, have one total, and agree wherever marginals share columns.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis", section 4.3 on consistency. For
    each set S of columns that several marginals share, small sets first, the marginals' sums onto S are
    averaged with weights 1 / variance, and each marginal spreads the difference from the average over its
    cells. This alternates with projection to the nearest non-negative counts (Norm-Sub), until the counts that
    agree are negative by no more than the tolerance. Agreement is exact to within that tolerance.

    Departure from the public code: it removes small counts after 400 rounds, which favours large ones.

    Args:
        measurements: At least one; repeats of a clique are averaged first.
        rounds: Largest number of alternations.
        tolerance: Fraction of the records that may be negative, over all marginals, when the alternation stops.

    Returns:
        Counts of each measured set of columns, axes as in its first measurement.

    Raises:
        ArgumentError: If there is no measurement, or rounds is not at least 1.
    """
    rounds = count()("rounds", rounds)
    total = consistent_total(measurements)
    measured = _averaged(measurements)
    cliques = list(measured)
    sizes = [measured[c][0].size for c in cliques]
    values = np.concatenate([v.ravel() for v, _ in measured.values()])
    variances = np.concatenate([v.ravel() for _, v in measured.values()])
    table = np.repeat(np.arange(len(cliques)), sizes)
    starts = np.cumsum([0, *sizes])
    shapes = {c: v.shape for c, (v, _) in measured.items()}
    levels = [
        _level(shared, cliques, shapes, starts, variances) for shared in _by_size(_shared_columns(cliques))
    ]
    for _ in range(rounds):
        values = _with_total(values, variances, table, total)
        for level in levels:
            values = level.agreed(values)
        negative = -values[values < 0].sum()
        values = _nearest_counts(values, table, len(cliques), total)
        if negative <= tolerance * total:
            break
    parts = np.split(values, starts[1:-1])
    return {c: p.reshape(shapes[c]) for c, p in zip(cliques, parts, strict=True)}


def _averaged(measurements: Sequence[Measurement]) -> dict[Clique, tuple[FloatArray, FloatArray]]:
    """Return values and variances of each set of columns; repeats are averaged by inverse variance."""
    first: dict[frozenset[str], Clique] = {}
    joined: dict[Clique, tuple[FloatArray, FloatArray]] = {}
    for m in measurements:
        clique = first.setdefault(frozenset(m.clique), m.clique)
        axes = [m.clique.index(c) for c in clique]
        values, variances = m.values.transpose(axes), m.variances.transpose(axes)
        if clique in joined:
            before, spread = joined[clique]
            both = 1 / (1 / variances + 1 / spread)
            joined[clique] = (both * (values / variances + before / spread), both)
        else:
            joined[clique] = (values, variances)
    return joined


def _shared_columns(cliques: Sequence[Clique]) -> list[frozenset[str]]:
    """Return all non-empty sets of columns that two cliques share, and the intersections of these sets."""
    members = [frozenset(c) for c in cliques]
    of_column: dict[str, list[frozenset[str]]] = {}
    for member in members:
        for column in member:
            of_column.setdefault(column, []).append(member)
    shared = {one & other for same in of_column.values() for i, one in enumerate(same) for other in same[:i]}
    while grown := {one & other for one in shared for other in shared if one & other} - shared:
        shared |= grown
    return sorted(shared, key=lambda s: (len(s), sorted(s)))


def _by_size(shared: Sequence[frozenset[str]]) -> list[list[frozenset[str]]]:
    return [[s for s in shared if len(s) == k] for k in sorted({len(s) for s in shared})]


@dataclass(frozen=True, eq=False)
class _Level:
    """All shared sets of one size, which do not affect each other once smaller sets agree.

    A slot is one cell of one shared set as one marginal sums to it; a group is all slots of that cell.

    Attributes:
        cell: Cells of the marginals [entries].
        slot: The slot to which each of these cells is summed [entries].
        part: Fraction of its slot's variance that each cell has [entries].
        group: The group of each slot [slots].
        weight: Weight of each slot in its group's average [slots]; weights of a group sum to one.
    """

    cell: Index
    slot: Index
    part: FloatArray
    group: Index
    weight: FloatArray

    def agreed(self, values: FloatArray) -> FloatArray:
        """Move every marginal to the weighted average on the columns that it shares with others."""
        sums = np.bincount(self.slot, values[self.cell], self.group.size)
        average = np.bincount(self.group, self.weight * sums)
        change = (average[self.group] - sums)[self.slot] * self.part
        moved: FloatArray = values + np.bincount(self.cell, change, values.size)
        return moved


def _level(
    shared: Sequence[frozenset[str]],
    cliques: Sequence[Clique],
    shapes: Mapping[Clique, tuple[int, ...]],
    starts: Index,
    variances: FloatArray,
) -> _Level:
    cells, slots, groups = [], [], []
    n_slots = n_groups = 0
    for columns in shared:
        size = 0
        for clique, start in zip(cliques, starts, strict=False):
            if columns.issubset(clique):
                code, size = _codes_on(columns, clique, shapes[clique])
                cells.append(start + np.arange(code.size))
                slots.append(n_slots + code)
                groups.append(n_groups + np.arange(size))
                n_slots += size
        n_groups += size
    cell, slot, group = np.concatenate(cells), np.concatenate(slots), np.concatenate(groups)
    spread = np.bincount(slot, variances[cell])
    precision = np.bincount(group, 1 / spread)
    return _Level(cell, slot, variances[cell] / spread[slot], group, 1 / spread / precision[group])


def _codes_on(columns: frozenset[str], clique: Clique, shape: tuple[int, ...]) -> tuple[Index, int]:
    """Return, for each cell of a clique, its cell in some of the columns, and the number of those cells."""
    code = np.zeros((1,) * len(shape), dtype=np.intp)
    size = 1
    for column in sorted(columns):
        axis = clique.index(column)
        along = [1] * len(shape)
        along[axis] = shape[axis]
        code = code * shape[axis] + np.arange(shape[axis]).reshape(along)
        size *= shape[axis]
    return np.broadcast_to(code, shape).ravel(), size


def _with_total(values: FloatArray, variances: FloatArray, table: Index, total: float) -> FloatArray:
    """Give every marginal the same sum."""
    missing = total - np.bincount(table, values)
    spread = np.bincount(table, variances)
    moved: FloatArray = values + (missing / spread)[table] * variances
    return moved


def _nearest_counts(values: FloatArray, table: Index, n_tables: int, total: float) -> FloatArray:
    """Return the nearest non-negative counts with a total, for all marginals at once.

    The answer is max(values - t, 0), with one t for each marginal: t is the mean surplus of the cells that stay
    above it, a set that only shrinks from step to step (Michelot 1986). As in `project_simplex`, values are relative to
    the largest of their marginal, so that no digits of the total are lost.
    """
    largest = np.full(n_tables, -np.inf)
    np.maximum.at(largest, table, values)
    values = np.maximum(values - largest[table], -2 * total)
    active = np.ones(values.size, dtype=np.bool_)
    while True:
        count = np.bincount(table[active], minlength=n_tables)
        threshold = (np.bincount(table, values * active, n_tables) - total) / count
        still = active & (values > threshold[table])
        if still.sum() == active.sum():
            return np.where(active, values - threshold[table], 0.0)
        active = still
