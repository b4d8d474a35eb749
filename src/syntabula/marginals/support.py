"""The codes that a model needs: those with evidence in noisy marginals. The others get no mass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Domain
from syntabula.marginals.evidence import Evidence, evidence
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Support:
    """A domain without the codes that lack evidence.

    Attributes:
        recoding: Joins each code without evidence to one with evidence, of which it gets no share, and each tail of an
            ordered column to one code.
        kept: Codes with evidence of their own, of each column that has others [codes].
    """

    recoding: Recoding
    kept: Mapping[str, Mask]

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
        grown = known is None
        for column, size in zip(domain.columns, domain.sizes, strict=True):
            if known is not None and column not in known.kept:
                continue
            noisy = _noisy_counts(column, measurements)
            if noisy is None:
                continue
            before = None if known is None else known.kept[column]
            ordered = column in domain.ordered
            apart = min(domain.apart.get(column, 0), size)
            found = evidence(*noisy, ordered=ordered, apart=apart, known=before)
            grown |= before is not None and bool((found.kept & ~before).any())
            if not found.kept.all():
                kept[column] = found.kept
                maps[column], shares[column] = _joined(found, noisy[0], ordered=ordered)
        if known is not None and not grown:
            return known
        return cls(Recoding(domain, maps, shares), kept)

    def reduced(self, measurement: Measurement) -> Measurement:
        """Return a measurement over the support.

        The cells of codes without evidence are left out. What they add up to is divided evenly among the other cells,
        so that the measurement says the same about the number of records.
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
        outside = float(measurement.values[~inside].sum()) / int(inside.sum())
        values = np.where(inside, measurement.values + outside, 0.0)
        sigma = np.where(inside, measurement.sigma, 0.0)
        return self.recoding.merge_measurement(Measurement(measurement.clique, values, sigma))


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
        group[tail.codes], shares[tail.codes] = tail.codes[0], tail.weights
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
