"""Models over merged codes, which answer and sample in the original ones: any recoding, and codes with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements
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
from syntabula.models.support import Support

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
        kept = Recoding(self.recoding.domain, maps, shares, self.recoding.evenly)
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
