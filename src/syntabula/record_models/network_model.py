"""The base of models that are one network over the codes that have records: what they are bound to, and storage."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import bound
from syntabula.models.storage import read_facts, stored_facts, whole_model
from syntabula.record_models.base import RecordModel
from syntabula.record_models.representation import ColumnLookup, column_lookups


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkModel(RecordModel, ABC):
    """A model of which a file holds the weights of a network, and the one-way marginals that its lookups are made of."""

    kind: ClassVar[str]

    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _one_way: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @abstractmethod
    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights by their names.

        Args:
            sizes: Number of codes of each column that have records.
            ordered: Whether the codes of each follow an order.
        """

    @property
    def _n_waves(self) -> int:
        """Number of cosines that describe an ordered column in its lookup."""
        return 0

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Number of records that it was trained on."""
        return self._total

    @cached_property
    def _lookups(self) -> list[ColumnLookup]:
        return column_lookups(self.domain, self._one_way, waves=self._n_waves)

    def _lookup(self, column: str) -> ColumnLookup:
        return self._lookups[self.domain.index(column)]

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts, one-way marginals and weights as arrays."""
        used = [lookup.size for lookup in self._lookups]
        ordered = [c for c in self.domain if c in self.domain.ordered]
        facts = {**stored_facts(self), "ordered": ordered, "used": used}
        arrays = {f"weights/{name}": array for name, array in self._weights.items()}
        one_way = np.concatenate([self._one_way[c] for c in self.domain])
        return facts, arrays | {"one_way": one_way}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, shapes = cls._read(facts)
            sizes = {f"weights/{name}": 4 * math.prod(shape) for name, shape in shapes.items()}
            return {"one_way": 8 * sum(model.domain.sizes), **sizes}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, shapes = cls._read(facts)
            one_way = np.asarray(arrays["one_way"])
            if one_way.shape != (sum(model.domain.sizes),) or one_way.dtype != np.float64:
                raise ValueError("one-way marginals of another domain")
            weights = {n.removeprefix("weights/"): a for n, a in arrays.items() if n != "one_way"}
            if {n: a.shape for n, a in weights.items()} != shapes:
                raise ValueError("weights of another network")
            if not all(a.dtype == np.float32 and np.isfinite(a).all() for a in [*weights.values()]):
                raise ValueError("weights that are no numbers")
            if not np.isfinite(one_way).all():
                raise ValueError("marginals that are no numbers")
            counts = np.split(one_way, np.cumsum(model.domain.sizes)[:-1])
            found = replace(
                model, _one_way=dict(zip(model.domain.columns, counts, strict=True)), _weights=weights
            )
            if [lookup.size for lookup in found._lookups] != list(facts["used"]):
                raise ValueError("another number of codes with records")
            return found

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, dict[str, tuple[int, ...]]]:
        """Return a model without its arrays, and the shapes of its weights."""
        domain, total, options = read_facts(cls, facts)
        domain = Domain(domain.columns, domain.sizes, frozenset(facts["ordered"]))
        used = [int(size) for size in facts["used"]]
        if len(used) != len(domain) or any(not 0 < u <= s for u, s in zip(used, domain.sizes, strict=True)):
            raise ValueError("another number of columns")
        model = replace(cls(**options), _domain=domain, _total=total)
        return model, model._shapes(used, [c in domain.ordered for c in domain])
