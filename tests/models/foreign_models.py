"""Models that are not of this package, as a user would write them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel


class Shares(MarginalModel):
    """Every column on its own, by the last one-way measurement of it."""

    def __init__(self, domain: Domain | None = None, shares: dict[str, np.ndarray] | None = None) -> None:
        self._domain = domain
        self._shares = shares or {}

    @property
    def domain(self) -> Domain:
        assert self._domain is not None
        return self._domain

    @property
    def total(self) -> float:
        return max([1.0, *(float(share.sum()) for share in self._shares.values())])

    def over(self, domain: Domain) -> Self:
        return type(self)(domain, {c: np.full(domain.size(c), 1 / domain.size(c)) for c in domain})

    def memory_mb(self, cliques: Any) -> float:
        return 1.0

    def fit(self, measurements: list[Measurement]) -> Self:
        found = {m.clique[0]: np.maximum(m.values, 0.01) for m in measurements if len(m.clique) == 1}
        return type(self)(self.domain, self._shares | found)

    def marginals(self, cliques: Any) -> list[np.ndarray]:
        found = []
        for clique in cliques:
            table = np.ones(())
            for column in clique:
                share = self._shares[column]
                table = np.multiply.outer(table, share / share.sum())
            found.append(table * self.total)
        return found

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        columns = {}
        for column, share in self._shares.items():
            columns[column] = rng.choice(share.size, n, p=share / share.sum())
        return EncodedTable.from_mapping(self.domain, columns)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        # Names that the package uses itself must not clash.
        return {"model": "mine", "state": 3, "sizes": {c: self.domain.size(c) for c in self.domain}}, {
            f"share/{column}": share for column, share in self._shares.items()
        }

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        assert facts["model"] == "mine"
        domain = Domain.from_sizes(facts["sizes"])
        return cls(domain, {column: arrays[f"share/{column}"] for column in domain})
