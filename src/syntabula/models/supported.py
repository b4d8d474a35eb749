"""A model over the codes with evidence, which every marginal model is fitted through, and the codes that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.evidence import Evidence, evidence
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import BoolArray, MarginalModel
from syntabula.models.recoded import RecodedModel, over_merged

if TYPE_CHECKING:
    from syntabula.marginals.threshold import LinearThreshold


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


class Supported(RecodedModel):
    """Fits a model to the codes that have evidence; codes without it have probability 0.

    The first fit decides which codes have evidence (`marginals.evidence`). Each later fit adds the codes for which its
    measurements together are evidence. As these codes are the only ones that the model has, it is smaller and faster,
    and nothing it does can give mass to the others.

    Args:
        inner: The model, without a domain, unfitted, or fitted to the codes of the support.
        support: The codes of the inner model; None if it has no domain.
        fitted: Whether they follow from measurements.
        possible: Which combinations of all codes are possible; by default those of the inner model.
    """

    def __init__(
        self,
        inner: MarginalModel,
        support: Support | None = None,
        *,
        fitted: bool = False,
        possible: Mapping[Clique, BoolArray] | None = None,
    ) -> None:
        self.inner = inner
        self.support = support
        self._fitted = fitted
        self._possible = inner.possible if possible is None else possible
        if support is not None:
            super().__init__(inner, support.recoding)

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible."""
        return self._possible

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, before it is bound to a domain, with other combinations that are possible."""
        return type(self)(self.inner.with_possible(cells), possible=cells)

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model over a domain."""
        inner = self.inner.with_possible(self._possible).over(domain)
        return type(self)(inner, Support.whole(domain), possible=self._possible)

    def with_thresholds(self, thresholds: Mapping[str, LinearThreshold]) -> MarginalModel:  # type: ignore[override]
        """Return the inner model with thresholds; their weights refer to the places of all codes."""
        return self.inner.with_thresholds(thresholds)

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to measurements over all codes; it goes on from this one's state if it has the same
        codes."""
        check_measurements(self.domain, measurements)
        support = Support.of(self.domain, measurements, self.support if self._fitted else None)
        inner = self.inner
        if support.recoding.target != inner.domain or (self._fitted and support is not self.support):
            inner = over_merged(inner.with_possible(self._possible), support.recoding)
        reduced = [support.reduced(m) for m in measurements]
        return type(self)(inner.fit(reduced), support, fitted=True, possible=self._possible)

    def finished(self) -> Self:
        """Finish the inner model."""
        return type(self)(self.inner.finished(), self.support, fitted=self._fitted, possible=self._possible)


def settled(model: MarginalModel) -> MarginalModel:
    """Return a fitted model in the form that is stored: as few wrappers as needed, and none of a support."""
    if not isinstance(model, RecodedModel):
        return model
    inner = settled(model.inner)
    if isinstance(model, Supported) and not model.recoding.maps:
        return inner
    if isinstance(inner, RecodedModel):
        return RecodedModel(inner.inner, model.recoding.then(inner.recoding))
    return RecodedModel(inner, model.recoding)
