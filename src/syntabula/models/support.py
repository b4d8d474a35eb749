"""The codes of a domain that have records, by noisy marginals, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Evidence, FloatArray, Measurement, Tail, apart_level, evidence
from syntabula.marginals.recoding import Recoding

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Support:
    """A domain without the codes that lack evidence.

    Attributes:
        recoding: Joins each code without evidence to one with evidence, of which it gets no share, and each tail of an
            ordered column to one code.
        kept: Codes with evidence of their own, of each column that has others [codes].
        told: Tails of a column whose records are known by the codes before them.
    """

    recoding: Recoding
    kept: Mapping[str, Mask]
    told: Mapping[str, Sequence[Tail]] = field(default_factory=dict)

    @classmethod
    def whole(cls, domain: Domain) -> Support:
        """Return a support of all codes."""
        return cls(Recoding.identity(domain), {})

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], known: Support | None = None) -> Support:
        """Return the support that follows from all measurements of each column, alone and with others.

        Args:
            domain: The domain of the measurements.
            measurements: Noisy marginals; columns in none of them keep their codes.
            known: An earlier support, which only grows; returned as it is if nothing is added to it.
        """
        kept: dict[str, Mask] = {}
        maps: dict[str, NDArray[np.intp]] = {}
        shares: dict[str, FloatArray] = {}
        told: dict[str, list[Tail]] = {}
        grown = known is None
        changing = [column for column in domain if known is None or column in known.kept]
        counted = {c: noisy for c in changing if (noisy := _noisy_counts(c, measurements)) is not None}
        least_apart = apart_level(_scores_apart(domain, changing, counted))
        for column, noisy in counted.items():
            before = None if known is None else known.kept[column]
            ordered = column in domain.ordered
            apart = min(domain.apart.get(column, 0), domain.size(column))
            found = evidence(
                *noisy,
                ordered=ordered,
                apart=apart,
                least_apart=least_apart,
                known=before,
                edges=domain.edges.get(column),
            )
            told[column] = [tail for tail in found.tails if tail.joins is not None]
            grown |= before is not None and bool((found.kept & ~before).any())
            if not found.kept.all():
                kept[column] = found.kept
                maps[column], shares[column] = _joined(found, noisy[0], ordered=ordered)
        if known is not None and not grown:
            return known
        return cls(Recoding(domain, maps, shares), kept, told)

    def reduced(self, measurement: Measurement) -> Measurement:
        """Return a measurement over the support.

        The cells of codes without evidence are left out. What they add up to is divided evenly among the other cells,
        so that the measurement says the same about the number of records. Counts of a single column's tails are replaced
        by those that the codes before them tell.
        """
        columns = [c for c in measurement.clique if c in self.kept]
        if not columns:
            return measurement
        inside = np.ones(measurement.values.shape, dtype=np.bool_)
        for axis, column in enumerate(measurement.clique):
            if column in self.kept:
                shape = [1] * inside.ndim
                shape[axis] = -1
                inside &= (self.recoding.shares[column] > 0).reshape(shape)
        counted, noise = measurement.values, np.where(inside, measurement.sigma, 0.0)
        if len(measurement.clique) == 1:
            counted = counted.copy()
            for tail in self.told.get(columns[0], ()):
                counted[tail.codes], noise[tail.codes] = tail.weights, 0.0
        outside = float(measurement.values.sum() - counted[inside].sum()) / int(inside.sum())
        values, sigma = np.where(inside, counted + outside, 0.0), noise
        return self.recoding.merge_measurement(Measurement(measurement.clique, values, sigma))


def _scores_apart(
    domain: Domain, changing: Sequence[str], counted: Mapping[str, tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """Return the counts of all codes apart in standard deviations of their noise; infinite for those kept already."""
    scores = [np.zeros(0)]
    for column, apart in domain.apart.items():
        if column not in changing:
            scores.append(np.full(apart, np.inf))
        elif column in counted and (sigmas := counted[column][1]).all():
            scores.append((counted[column][0] / sigmas)[max(domain.size(column) - apart, 0) :])
    return np.concatenate(scores)


def _noisy_counts(column: str, measurements: Sequence[Measurement]) -> tuple[FloatArray, FloatArray] | None:
    """Return the best noisy counts of a column's codes and their standard deviations; None if it was not measured."""
    weighted: FloatArray | None = None
    weight: FloatArray | None = None
    for m in measurements:
        if column not in m.clique:
            continue
        others = tuple(axis for axis, c in enumerate(m.clique) if c != column)
        noise = np.broadcast_to(np.square(m.sigma), m.values.shape).sum(axis=others)
        counts = m.values.sum(axis=others)
        if not noise.all():
            return counts, np.zeros(counts.size)
        part = 1.0 / noise
        weighted = counts * part if weighted is None else weighted + counts * part
        weight = part if weight is None else weight + part
    if weighted is None or weight is None:
        return None
    return weighted / weight, 1.0 / np.sqrt(weight)


def _joined(found: Evidence, values: FloatArray, *, ordered: bool) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the new code [codes] and the share [codes] of each code of a column."""
    group = np.where(found.kept, np.arange(values.size), -1)
    shares = found.kept.astype(np.float64)
    for tail in found.tails:
        shares[tail.codes] = tail.weights
        if tail.joins is None:
            group[tail.codes] = tail.codes[0]
        else:
            group[tail.codes], shares[tail.joins] = tail.joins, max(float(values[tail.joins]), 1.0)
    placed = np.flatnonzero(group >= 0)
    empty = np.flatnonzero(group < 0)
    if ordered:
        after = np.minimum(np.searchsorted(placed, empty), placed.size - 1)
        before = np.maximum(after - 1, 0)
        nearer = np.abs(placed[before] - empty) <= np.abs(placed[after] - empty)
        group[empty] = group[placed[np.where(nearer, before, after)]]
    else:
        group[empty] = placed[np.argmax(values[placed])]
    return np.unique(group, return_inverse=True)[1].astype(np.intp), shares
