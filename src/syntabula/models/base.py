"""The interfaces that models implement: `Model`, which a release needs, and `MarginalModel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement

if TYPE_CHECKING:
    from syntabula.marginals.threshold import CrossedThresholds, LinearThreshold
    from syntabula.models.restricted import Restricted, Weights

BoolArray = NDArray[np.bool_]

_ROWS_BEYOND_ANY_MACHINE = 10**10
_BEYOND_ANY_MB = 1e12


class Model(Protocol):
    """A distribution over the rows of a domain, which a release samples, stores and loads.

    Plug-ins inherit from this class, or from `MarginalModel`, and get the methods that have a body here.

    Attributes:
        kind: Key that names the model's class in a release file.
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

    @property
    def drawn_apart(self) -> Mapping[str, NDArray[np.intp]]:
        """Group of each code of some columns, where codes of a group are drawn apart from all other columns.

        By default there are none. Codes of one group may change places among drawn rows.
        """
        return {}

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given` (n rows over some columns), draw the other columns conditionally.

        If the model gives a combination of codes probability 0, it ignores some of them and issues a
        ConditionWarning.
        """
        ...

    def restricted(self, weights: Weights) -> Restricted:
        """Return the model restricted to records that satisfy conditions.

        By default this is rejection sampling: rows of the whole model are drawn, and those that satisfy the
        conditions kept.
        """
        from syntabula.models.restricted import by_trying

        return by_trying(self, weights)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return JSON-able facts and named arrays for a file, all of them post-processed noisy answers."""
        ...

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the most bytes of each array that `state` may return with these facts; other arrays are refused
        unread.

        The default None sets no limit for each array: only the total size of a file's arrays is then bounded.

        Raises:
            ReleaseFileError: If the facts are malformed.
        """
        del facts
        return None

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        ...


class MarginalModel(Model, Protocol):
    """A model that is fitted to noisy marginals, and answers marginals.

    A model is made with its options alone; `over` binds it to a domain. It is a frozen dataclass: its public fields are
    its options, validated on construction, and fields whose names begin with an underscore are its state. `over` and
    `fit` return a new object, by `dataclasses.replace`.

    Attributes:
        why_not_adaptive: Why an adaptive selector cannot be combined with this model; empty if it can.
    """

    why_not_adaptive: ClassVar[str] = ""

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        ...

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible, as given by `with_possible`; none are known by default."""
        return {}

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, which gives combinations of codes that are not possible no records if it can.

        Args:
            cells: Which cells of tables over some columns are possible, one axis per column. Tables that do not fit the
                domain that the model is later bound to are ignored.

        Returns:
            By default the model itself, which ignores them: rows are checked when they are drawn.
        """
        del cells
        return self

    def with_thresholds(self, thresholds: Mapping[str, LinearThreshold]) -> Self:
        """Return the same model, able to fit marginals that involve linear thresholds of ordered columns.

        Raises:
            ArgumentError: If this kind of model cannot fit thresholds.
        """
        del thresholds
        raise _no_thresholds(self.kind)

    def crossed_counts(self, thresholds: CrossedThresholds) -> FloatArray:
        """Return how many records are expected to pass each threshold, by the codes of its other column.

        Args:
            thresholds: Thresholds over columns of the domain; the model need not have been fitted with them.

        Returns:
            [thresholds, codes of the widest other column], 0 beyond the codes of a narrower one.

        Raises:
            ArgumentError: If this kind of model cannot answer thresholds.
        """
        del thresholds
        raise _no_thresholds(self.kind)

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Bound the model's size after a fit to marginals of these cliques, from the domain alone."""
        ...

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> Sequence[float]:
        """Return `memory_mb([*cliques, candidate])` for each candidate; models may compute them faster together."""
        return [self.memory_mb([*cliques, candidate]) for candidate in candidates]

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Return the cost of a planned fit, from the domain and a guessed number of records.

        The default is the cost of a graphical model of size `memory_mb`.
        """
        if not fit.cliques or fit.kept_small:
            return fit.for_records(n_records).cost
        try:
            memory_mb = min(self.memory_mb(fit.cliques), _BEYOND_ANY_MB)
        except OverflowError:
            memory_mb = _BEYOND_ANY_MB
        return replace(fit, cells=int(memory_mb * 2**20 / 8)).cost

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, starting from this one's state."""
        ...

    def finished(self) -> Self:
        """Return the model that a release keeps, once the last measurement was fitted.

        By default the model itself. A model that stops its fits early, because others follow, does the rest here.
        """
        return self

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in the clique's order."""
        ...


def _no_thresholds(kind: str) -> ArgumentError:
    return ArgumentError(
        f"a model of kind {kind!r} cannot hold thresholds; use the model relaxed_projection, or n_thresholds=0"
    )


def bound(domain: Domain | None) -> Domain:
    """Return the domain that a model is bound to; raises ArgumentError if it is not bound to one."""
    if domain is None:
        raise ArgumentError("this model is not bound to a domain; call over(domain) first")
    return domain


def check_sample(domain: Domain, n: int, given: EncodedTable | None) -> None:
    """Check the arguments of `sample`.

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
        raise ArgumentError("n must equal the number of given rows")
    for column, size in zip(given.domain.columns, given.domain.sizes, strict=True):
        if domain.size(column) != size:
            raise SchemaError(f"given column {column!r} does not have the model's number of codes")
