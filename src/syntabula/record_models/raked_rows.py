"""A model whose drawn rows have the one-way marginals that were paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model
from syntabula.models.restricted import Restricted, Weights, by_trying
from syntabula.models.storage import model_array_bytes, model_from_state, model_state, whole_model
from syntabula.record_models.base import counted_marginals
from syntabula.record_models.generated_rows import places_again, raked, rows_at

_ROWS_PER_CODE = 10
_TRIED, _MANY = 20_000, 0.1


@dataclass(frozen=True, eq=False)
class RakedRows(Model):
    """Draws rows of another model, and draws them again by weights with which columns have their one-way marginals.

    The share of a code among n rows that are drawn one by one has a variance of p (1 - p) / n by chance, and in a network
    the square of what its biases lack is added. Neither tells anything of the records, while the noise of the paid
    marginal is in the model as well, as it started from this marginal. So rows follow the marginal wholly, by iterative
    proportional fitting, which keeps the odds ratios of columns.

    The variance of the weights is about the number of codes over that of rows: rows tell of all else as if they were
    fewer by one for each code. So fewer rows than ten per code are left as they were drawn. Given columns are left to
    the model, and so are conditions that fewer than a tenth of its rows satisfy.

    Attributes:
        inner: The model.
        counts: Noisy one-way marginal of each column, none of them below 0 and all with a sum above it.
    """

    kind: ClassVar[str] = "raked_rows"

    inner: Model
    counts: Mapping[str, FloatArray]

    @property
    def domain(self) -> Domain:
        """The domain of the model."""
        return self.inner.domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.inner.total

    def one_way(self, column: str) -> FloatArray:
        """Return the one-way marginal that a column of drawn rows has [codes]."""
        return self.counts[column]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows that have the one-way marginals; with `given`, draw as the model does."""
        rows = self.inner.sample(n, rng, given)
        if given is not None or n < _ROWS_PER_CODE * sum(self.domain.sizes):
            return rows
        shares = {c: counts / counts.sum() for c, counts in self.counts.items()}
        return rows_at(rows, places_again(raked(np.ones(n), rows, shares), n, rng))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the raked rows that satisfy conditions, or if few do, the model restricted to them."""
        found = self.inner.restricted(weights)
        # Networks that answer conditions themselves err by what noise did to the order in which they draw columns.
        return by_trying(self, weights, tried=_TRIED) if found.probability >= _MANY else found

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, one axis per column in its order, as counted on drawn rows."""
        return counted_marginals(self, cliques)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return the state of the model, and the one-way marginals one after the other."""
        facts, arrays = model_state(self.inner)
        of_inner = {f"inner/{name}": array for name, array in arrays.items()}
        one_way = np.concatenate([self.counts[c] for c in self.domain])
        return {"inner": facts, "sizes": list(self.domain.sizes)}, of_inner | {"one_way": one_way}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            inner, bytes_of_counts = model_array_bytes(facts["inner"]), 8 * sum(map(int, facts["sizes"]))
        if inner is None:
            return None
        return {f"inner/{name}": n for name, n in inner.items()} | {"one_way": bytes_of_counts}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            of_inner = {k.removeprefix("inner/"): v for k, v in arrays.items() if k.startswith("inner/")}
            inner, one_way = model_from_state(facts["inner"], of_inner), np.asarray(arrays["one_way"])
            domain: Domain = inner.domain
            if one_way.shape != (sum(domain.sizes),) or one_way.dtype != np.float64:
                raise ValueError("one-way marginals of another domain")
            if not (np.isfinite(one_way) & (one_way >= 0)).all():
                raise ValueError("marginals that are no counts")
            counts = dict(zip(domain, np.split(one_way, np.cumsum(domain.sizes)[:-1]), strict=True))
            if any(values.sum() <= 0 for values in counts.values()):
                raise ValueError("a column without records")
            return cls(inner, counts)
