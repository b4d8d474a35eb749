"""The base of models that are one network over the codes that have records, and its storage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from syntabula.models.storage import whole_model
from syntabula.record_models.lookup_model import LookupModel, read_weights, weight_arrays, weight_bytes


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkModel(LookupModel, ABC):
    """A model of which a file holds the weights of a network, and the one-way marginals that its lookups are made of."""

    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @abstractmethod
    def _shapes(self, sizes: Sequence[int], ordered: Sequence[bool]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights by their names.

        Args:
            sizes: Number of codes of each column that have records.
            ordered: Whether the codes of each follow an order.
        """

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts, one-way marginals and weights as arrays."""
        facts = {**self._column_facts(), "used": [lookup.size for lookup in self._lookups]}
        return facts, weight_arrays(self._weights) | {"one_way": self._one_way_array()}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model = cls._of_facts(facts)
            return {"one_way": 8 * sum(model.domain.sizes), **weight_bytes(model._stored_shapes(facts))}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model = cls._of_facts(facts)
            weights = read_weights(arrays, model._stored_shapes(facts))
            return replace(model._with_one_way(arrays["one_way"], model._used(facts)), _weights=weights)

    def _stored_shapes(self, facts: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        return self._shapes(self._used(facts), [c in self.domain.ordered for c in self.domain])
