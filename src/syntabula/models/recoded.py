"""Models over merged codes, which answer and sample in the original ones: any recoding, and codes with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import (
    Evidence,
    FloatArray,
    Measurement,
    apart_level,
    check_measurements,
    evidence,
)
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import (
    BoolArray,
    MarginalModel,
    Model,
    model_array_bytes,
    model_from_state,
    model_state,
    whole_model,
)

if TYPE_CHECKING:
    from syntabula.marginals.threshold import LinearThreshold
    from syntabula.marginals.trend import Trend
    from syntabula.models.restricted import Restricted, Weights


def over_merged(model: MarginalModel, recoding: Recoding) -> MarginalModel:
    """Return an unfitted model over merged codes, which knows which combinations of them are possible."""
    before = recoding.domain
    cells = {
        clique: recoding.merge_possible(clique, possible)
        for clique, possible in model.possible.items()
        if all(c in before for c in clique) and before.shape(clique) == possible.shape
    }
    return model.with_possible(cells).over(recoding.target)


class RecodedModel(MarginalModel):
    """Wraps a fitted model over merged codes.

    Args:
        inner: A model fitted over the recoding's target domain.
        recoding: How original codes were merged.
    """

    kind: ClassVar[str] = "recoded"

    def __init__(self, inner: Model, recoding: Recoding) -> None:
        if inner.domain != recoding.target:
            raise ArgumentError("the model's domain must be the target domain of the recoding")
        # If the inner model has no `marginals`, neither has this one.
        self.inner = cast(MarginalModel, inner)
        self.recoding = recoding

    @property
    def domain(self) -> Domain:
        """The original domain."""
        return self.recoding.domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.inner.total

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model over a domain without merged codes."""
        return type(self)(self.inner.over(domain), Recoding.identity(domain))

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Bound the inner model's size after a fit to marginals of these cliques."""
        return self.inner.memory_mb(cliques)

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> Sequence[float]:
        """Bound the inner model's size with each candidate in turn."""
        return self.inner.memory_with_each_mb(cliques, candidates)

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Return the inner model's cost."""
        return self.inner.fit_cost(fit, n_records)

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Fit the inner model to measurements over the original domain."""
        merged = [self.recoding.merge_measurement(m) for m in measurements]
        return type(self)(self.inner.fit(merged), self.recoding)

    def finished(self) -> Self:
        """Finish the inner model."""
        return type(self)(self.inner.finished(), self.recoding)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts over the original codes; merged cells are divided by the recoding's shares."""
        inner = self.inner.marginals(cliques)
        return [self.recoding.expand_counts(c, m) for c, m in zip(cliques, inner, strict=True)]

    @property
    def drawn_apart(self) -> Mapping[str, NDArray[np.intp]]:
        """Merged codes, and those of the inner model."""
        inner, maps = self.inner.drawn_apart, self.recoding.maps
        found = {column: inner[column][codes] if column in inner else codes for column, codes in maps.items()}
        return {**inner, **found}

    @property
    def draws_slowly(self) -> bool:
        """As the inner model does."""
        return self.inner.draws_slowly

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows and replace merged codes by original ones at random, by the recoding's shares.

        With `given`, its columns are returned exactly as given.
        """
        if given is None:
            return self.recoding.decode(self.inner.sample(n, rng), rng)
        merged = self.recoding.project(given.domain.columns).encode(given)
        rows = self.recoding.decode(self.inner.sample(n, rng, merged), rng)
        columns = [
            given.column(c) if c in given.domain else codes
            for c, codes in zip(rows.domain.columns, rows.codes, strict=True)
        ]
        return EncodedTable(rows.domain, tuple(columns))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the distribution times one weight per original code of some columns."""
        maps, shares = self.recoding.maps, dict(self.recoding.shares)
        merged = dict(weights)
        for column in maps.keys() & weights.keys():
            shares[column] = shares[column] * weights[column]
            merged[column] = np.bincount(maps[column], shares[column]).astype(np.float64)
        inner = self.inner.restricted(merged)
        kept = Recoding(self.recoding.domain, maps, shares)
        return replace(inner, draw=lambda n, rng: kept.decode(inner.draw(n, rng), rng))

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return the state of the inner model and of the recoding, side by side."""
        inner_facts, inner_arrays = model_state(self.inner)
        facts, arrays = self.recoding.state()
        return (
            {"inner": inner_facts, "recoding": facts},
            {f"inner/{k}": v for k, v in inner_arrays.items()}
            | {f"recoding/{k}": v for k, v in arrays.items()},
        )

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the most bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            inner, outer = model_array_bytes(facts["inner"]), Recoding.array_bytes(facts["recoding"])
        if inner is None:
            return None
        return {f"inner/{k}": n for k, n in inner.items()} | {f"recoding/{k}": n for k, n in outer.items()}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        with whole_model():
            recoding = Recoding.from_state(facts["recoding"], part("recoding/"))
            return cls(model_from_state(facts["inner"], part("inner/")), recoding)


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
        changing = [column for column in domain if known is None or column in known.kept]
        counted = {c: noisy for c in changing if (noisy := _noisy_counts(c, measurements)) is not None}
        least_apart = apart_level(_scores_apart(domain, changing, counted))
        for column, noisy in counted.items():
            before = None if known is None else known.kept[column]
            ordered = column in domain.ordered
            apart = min(domain.apart.get(column, 0), domain.size(column))
            found = evidence(*noisy, ordered=ordered, apart=apart, least_apart=least_apart, known=before)
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

    The first fit decides which codes have evidence (`marginals.measurement`). Each later fit adds the codes for which its
    measurements together are evidence. As these codes are the only ones that the model has, it is smaller and faster,
    and nothing it does can give mass to the others.

    Args:
        inner: The model, without a domain, unfitted, or fitted to the codes of the support.
        support: The codes of the inner model; None if it has no domain.
        fitted: Whether they follow from measurements.
        possible: Which combinations of all codes are possible; by default those of the inner model.
        trends: Trends over all codes, to which later fits are held.
    """

    def __init__(
        self,
        inner: MarginalModel,
        support: Support | None = None,
        *,
        fitted: bool = False,
        possible: Mapping[Clique, BoolArray] | None = None,
        trends: Sequence[Trend] = (),
    ) -> None:
        self.inner = inner
        self.support = support
        self._fitted = fitted
        self._trends = trends
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

    @property
    def takes_trends(self) -> bool:
        """As the inner model."""
        return self.inner.takes_trends

    def with_trends(self, trends: Sequence[Trend]) -> Self:
        """Return the same model, whose inner model is held to these trends in later fits."""
        return type(self)(
            self.inner, self.support, fitted=self._fitted, possible=self._possible, trends=tuple(trends)
        )

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
        if self._trends:
            inner = inner.with_trends([t.merged(support.recoding) for t in self._trends])
        return type(self)(
            inner.fit(reduced), support, fitted=True, possible=self._possible, trends=self._trends
        )

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


def one_way_of(model: Model, names: Sequence[str]) -> list[FloatArray] | None:
    """Return expected counts of the codes of some columns, or None if a model knows none."""
    if isinstance(model, RecodedModel):
        inner = one_way_of(model.inner, names)
        return inner and [model.recoding.expand_counts((n,), m) for n, m in zip(names, inner, strict=True)]
    # What a model was made of is at hand, while its marginals may be those of rows that it draws.
    if hasattr(model, "one_way"):
        return [model.one_way(name) for name in names]
    return model.marginals([(name,) for name in names]) if hasattr(model, "marginals") else None
