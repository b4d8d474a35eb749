"""Derives a Bayesian network's parents, and the joint counts of each family, from noisy marginals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Clique, Domain, distinct, maximal
from syntabula.marginals.measurement import HALF_NORMAL, FloatArray, Measurement


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimate of a clique's counts from the measurements.

    Attributes:
        values: Estimated counts, one axis per column; they may be negative.
        variances: Their variances, of the same shape.
    """

    values: FloatArray
    variances: FloatArray


def estimate(domain: Domain, measurements: Sequence[Measurement], clique: Clique) -> Estimate:
    """Return the best unbiased estimate of a clique's counts from all measurements that contain it.

    Measurements of more columns are summed onto the clique, and all are averaged with weights 1 / variance.
    Then measurements of fewer columns, small ones first, correct its margins: each margin moves to the
    average of both, and the difference is spread evenly over its cells.

    Args:
        domain: All columns.
        measurements: At least one of them contains the clique.
        clique: Columns, in the order of the resulting axes.
    """
    weights, weighted = np.zeros(domain.shape(clique)), np.zeros(domain.shape(clique))
    for m in measurements:
        if set(clique) <= set(m.clique):
            variances = onto(m.variances, m.clique, clique)
            weights += 1 / variances
            weighted += onto(m.values, m.clique, clique) / variances
    values, variances = weighted / weights, 1 / weights
    inside = [m for m in measurements if m.clique and set(m.clique) < set(clique)]
    for m in sorted(inside, key=lambda m: len(m.clique)):
        margin, spread = onto(values, clique, m.clique), onto(variances, clique, m.clique)
        better = (margin / spread + m.values / m.variances) / (1 / spread + 1 / m.variances)
        behind = domain.cells(clique) / domain.cells(m.clique)
        values = values + aligned((better - margin) / behind, m.clique, clique)
    return Estimate(values, variances)


def families(domain: Domain, measurements: Sequence[Measurement]) -> Iterator[Clique]:
    """Yield a family per column, parents first and the child last, each within a measured clique.

    A clique with exactly one column not yet placed makes a family with that column as the child. Among such
    cliques the first is the one whose new column depends most on the others, beyond what noise explains. If
    there is none, the first maximal clique with a new column makes a family of that column and its placed
    columns. So a network whose families were measured, ancestors first, is recovered exactly, a tree yields
    that tree, and all pairs yield the tree of Chow and Liu (1968). A column in no clique has no parents.

    The root is the first column of the first clique.

    Args:
        domain: All columns.
        measurements: The measurements, in the order in which they were made.
    """
    cliques = [c for c in distinct(m.clique for m in measurements) if c]
    widest = maximal(cliques)
    placed: set[str] = set()
    scores: dict[Clique, float] = {}
    while any(not placed.issuperset(c) for c in widest):
        single = [c for c in cliques if len(c) > 1 and len(set(c) - placed) == 1]
        for clique in single:
            if clique not in scores:
                scores[clique] = _dependence(domain, measurements, clique, *set(clique) - placed)
        first = next(c for c in (widest if placed else cliques) if not placed.issuperset(c))
        chosen = max(single, key=scores.__getitem__, default=first)
        child = next(c for c in chosen if c not in placed)
        yield (*(c for c in chosen if c in placed), child)
        placed.add(child)
    yield from ((c,) for c in domain.columns if c not in placed)


def onto(table: FloatArray, columns: Clique, wanted: Clique) -> FloatArray:
    """Sum a table onto some of its columns, axes in the wanted order."""
    kept = tuple(c for c in columns if c in wanted)
    summed = table.sum(axis=tuple(i for i, c in enumerate(columns) if c not in wanted))
    return np.asarray(summed).transpose([kept.index(c) for c in wanted])


def aligned(table: FloatArray, columns: Clique, clique: Clique) -> FloatArray:
    """View a table over some columns, in any order, so that it broadcasts over a clique."""
    order = sorted(range(len(columns)), key=lambda i: clique.index(columns[i]))
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.transpose(order).reshape([sizes.get(c, 1) for c in clique])


def _dependence(domain: Domain, measurements: Sequence[Measurement], clique: Clique, child: str) -> float:
    """Return the L1 distance of a clique's counts from independence of one column, less what noise adds."""
    known = estimate(domain, measurements, (*(c for c in clique if c != child), child))
    joint = known.values.reshape(-1, domain.size(child))
    total = max(1.0, float(joint.sum()))
    independent = np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0) / total)
    noise = HALF_NORMAL * float(np.sqrt(known.variances).sum())
    exact = not any(np.any(m.sigma) for m in measurements)
    return float(np.abs(joint - independent).sum()) - (0.0 if exact else noise)
