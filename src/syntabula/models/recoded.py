"""A model over merged codes that answers and samples in the original codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import MarginalModel, Model
from syntabula.models.storage import model_array_bytes, model_from_state, model_state, whole_model

if TYPE_CHECKING:
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
