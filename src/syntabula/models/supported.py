"""A model over the codes with evidence, which every marginal model is fitted through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement, check_measurements
from syntabula.marginals.support import Support
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import RecodedModel

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
    """

    def __init__(self, inner: MarginalModel, support: Support | None = None, *, fitted: bool = False) -> None:
        self.inner = inner
        self.support = support
        self._fitted = fitted
        if support is not None:
            super().__init__(inner, support.recoding)

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model over a domain."""
        return type(self)(self.inner.over(domain), Support.whole(domain))

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
            inner = inner.over(support.recoding.target)
        return type(self)(inner.fit([support.reduced(m) for m in measurements]), support, fitted=True)


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
