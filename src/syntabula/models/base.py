"""The seam of all models that are fitted to noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from syntabula._arguments import count
from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement

_ROWS_BEYOND_ANY_MACHINE = 10**10


@dataclass(frozen=True)
class FitCost:
    """What one fit may take.

    Attributes:
        memory_mb: Bound on it, the model included.
        seconds: Rough time on one core.
    """

    memory_mb: float
    seconds: float


class MarginalModel(Protocol):
    """A distribution over a domain that is fitted to noisy marginals, answers marginals and is sampled.

    A model is made with its options alone; `over` binds it to a domain.

    Attributes:
        kind: Name of the class in release files; a class of your own is registered under it by
            `syntabula.register_model`.
    """

    kind: ClassVar[str]

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        ...

    @property
    def total(self) -> float:
        """Estimated number of records."""
        ...

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        ...

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Bound the model's size after a fit to marginals of these cliques, from the domain alone."""
        ...

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, started from this one's state."""
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in the clique's order."""
        ...

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given` (n rows over some columns), draw the other columns conditionally.

        Where the model holds given codes impossible together, it draws as if a part of them were not given and says
        so by a ConditionWarning.
        """
        ...

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: JSON-able facts and named arrays. Nothing but post-processed noise."""
        ...

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        ...


def bound(domain: Domain | None) -> Domain:
    """Return the domain that a model is bound to; raises ArgumentError if it is bound to none."""
    if domain is None:
        raise ArgumentError("this model is not bound to a domain; call over(domain) first")
    return domain


def check_sample(domain: Domain, n: int, given: EncodedTable | None) -> None:
    """Refuse rows that no model over a domain can draw.

    Raises:
        ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
        ResourceError: If so many rows would not fit the memory of any machine.
        SchemaError: If a given column is unknown or has another number of codes.
    """
    count(0)("n", n)
    if n > _ROWS_BEYOND_ANY_MACHINE:
        raise ResourceError(f"{n:,} rows cannot be drawn at once; draw fewer rows at a time")
    if given is None:
        return
    if given.n_rows != n:
        raise ArgumentError("n must be the number of given rows")
    for column, size in zip(given.domain.columns, given.domain.sizes, strict=True):
        if domain.size(column) != size:
            raise SchemaError(f"given column {column!r} has another number of codes than the model's")


@runtime_checkable
class SizesAtOnce(Protocol):
    """A model that finds its sizes with each of many cliques faster together than one by one."""

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> Sequence[float]:
        """Return `memory_mb([*cliques, candidate])` for each candidate."""
        ...


def memory_with_each_mb(
    model: MarginalModel, cliques: Sequence[Clique], candidates: Sequence[Clique]
) -> Sequence[float]:
    """Return `model.memory_mb([*cliques, candidate])` for each candidate."""
    if isinstance(model, SizesAtOnce):
        return model.memory_with_each_mb(cliques, candidates)
    return [model.memory_mb([*cliques, candidate]) for candidate in candidates]


@runtime_checkable
class StatesArrays(Protocol):
    """A model that says of its stored facts which arrays belong to them: a file's others are refused unread."""

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the most bytes of each array that `state` may return with these facts, None if an inner model is mute.

        Raises:
            ReleaseFileError: If the facts are malformed.
        """
        ...


@runtime_checkable
class StatesFitCost(Protocol):
    """A model that says beforehand what a fit takes, where that is not its size times a constant."""

    def fit_cost(self, cliques: Sequence[Clique], n_records: int) -> FitCost:
        """Say what a fit to marginals of these cliques may take, from the domain and a guessed number of records."""
        ...
