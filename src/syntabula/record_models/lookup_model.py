"""The base of models that keep one-way marginals and see columns by their lookups; and how a file holds a network."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import bound, read_facts, stored_facts
from syntabula.record_models.base import RecordModel
from syntabula.record_models.checkpoints import Checkpoints
from syntabula.record_models.representation import ColumnLookup, Places, column_lookups, warn_of_unseen

_WEIGHTS = "weights/"


@dataclass(frozen=True, kw_only=True, eq=False)
class LookupModel(RecordModel, ABC):
    """A model that keeps the one-way marginal of each column, of which the column's lookup is made."""

    kind: ClassVar[str]

    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _one_way: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    _checkpoints: Checkpoints | None = field(default=None, repr=False)

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

    def with_checkpoints(self, checkpoints: Checkpoints | None) -> Self:
        """Return the same model, which knows where its training is kept."""
        return replace(self, _checkpoints=checkpoints)

    def one_way(self, column: str) -> FloatArray:
        """Return the one-way marginal of a column of which the model was made [codes]."""
        return self._one_way[column]

    @cached_property
    def _lookups(self) -> list[ColumnLookup]:
        return column_lookups(self.domain, self._one_way, waves=self._n_waves)

    def _lookup(self, column: str) -> ColumnLookup:
        return self._lookups[self.domain.index(column)]

    def _given_places(self, given: EncodedTable | None) -> dict[str, Places]:
        """Return the places of given codes; warns of those that no record had."""
        if given is None:
            return {}
        known = {c: self._lookup(c).places[given.column(c)] for c in given.domain}
        warn_of_unseen([c for c, places in known.items() if (places == self._lookup(c).size).any()])
        return known

    def _decoded(self, rows: Places, given: EncodedTable | None = None) -> EncodedTable:
        """Return the codes of drawn places [rows, columns]; given codes come back, also those without a place."""
        columns = []
        for j, (name, lookup) in enumerate(zip(self.domain, self._lookups, strict=True)):
            if given is not None and name in given.domain:
                columns.append(given.column(name))
            else:
                columns.append(lookup.codes[np.minimum(rows[:, j], lookup.size - 1)].astype(np.uint64))
        return EncodedTable(self.domain, tuple(columns))

    def _column_facts(self) -> dict[str, Any]:
        """Return what a file says of domain and options."""
        return {**stored_facts(self), "ordered": [c for c in self.domain if c in self.domain.ordered]}

    def _one_way_array(self) -> np.ndarray:
        """Return the one-way marginals one after the other, for a file."""
        return np.concatenate([self._one_way[c] for c in self.domain])

    @classmethod
    def _of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return a model without its arrays."""
        # Files of earlier versions do not say whether rows follow the marginals: what draws such rows is told apart.
        domain, total, options = read_facts(cls, {"follow_marginals": False, **facts})
        domain = Domain(domain.columns, domain.sizes, frozenset(facts["ordered"]))
        return replace(cls(**options), _domain=domain, _total=total)

    def _used(self, facts: Mapping[str, Any]) -> list[int]:
        """Return how many codes of each column have records, as a file says."""
        used = [int(size) for size in facts["used"]]
        if any(not 0 < u <= size for u, size in zip(used, self.domain.sizes, strict=True)):
            raise ValueError("another number of codes with records")
        return used

    def _with_one_way(self, array: np.ndarray, used: Sequence[int] | None = None) -> Self:
        """Return the model with one-way marginals that a file holds.

        Args:
            array: As from `_one_way_array`.
            used: How many codes of each column have records, as the file says; None if it does not.
        """
        one_way = np.asarray(array)
        if one_way.shape != (sum(self.domain.sizes),) or one_way.dtype != np.float64:
            raise ValueError("one-way marginals of another domain")
        if not np.isfinite(one_way).all():
            raise ValueError("marginals that are no numbers")
        counts = np.split(one_way, np.cumsum(self.domain.sizes)[:-1])
        found = replace(self, _one_way=dict(zip(self.domain, counts, strict=True)))
        if used is not None and [lookup.size for lookup in found._lookups] != used:
            raise ValueError("another number of codes with records")
        return found


def weight_arrays(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights of a network by their names in a file."""
    return {_WEIGHTS + name: array for name, array in weights.items()}


def weight_bytes(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the bytes that weights of these shapes take in a file."""
    return {_WEIGHTS + name: 4 * math.prod(shape) for name, shape in shapes.items()}


def read_weights(
    arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """Return the weights that a file holds; raises ValueError if they are not of these shapes, or no numbers."""
    found = {n.removeprefix(_WEIGHTS): np.asarray(a) for n, a in arrays.items() if n.startswith(_WEIGHTS)}
    if {name: array.shape for name, array in found.items()} != dict(shapes):
        raise ValueError("weights of another network")
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in found.values()):
        raise ValueError("weights that are no numbers")
    return found
