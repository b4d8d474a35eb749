"""A model over the codes with evidence, which every marginal model is fitted through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement, check_measurements
from syntabula.marginals.support import Support
from syntabula.models.base import BoolArray, MarginalModel
from syntabula.models.recoded import RecodedModel, over_merged

if TYPE_CHECKING:
    from syntabula.marginals.threshold import LinearThreshold


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
