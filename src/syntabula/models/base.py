"""The interfaces that models implement: `Model`, which a release needs, and `MarginalModel`; and how files store them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula._entries import UNLISTED, Entry, Kind
from syntabula._planning import FitCost, PlannedFit
from syntabula._register import entries, group, load, package_of
from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement

if TYPE_CHECKING:
    from syntabula.marginals.threshold import CrossedThresholds, LinearThreshold
    from syntabula.marginals.trend import Trend
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
    @abstractmethod
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        ...

    @property
    @abstractmethod
    def total(self) -> float:
        """Estimated number of records."""
        ...

    @property
    def drawn_apart(self) -> Mapping[str, NDArray[np.intp]]:
        """Group of each code of some columns, where codes of a group are drawn apart from all other columns.

        By default there are none. Codes of one group may change places among drawn rows.
        """
        return {}

    @property
    def draws_slowly(self) -> bool:
        """Whether each row takes so long that none is drawn beyond those that are asked for; by default not."""
        return False

    @abstractmethod
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

    @abstractmethod
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
    @abstractmethod
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

    @abstractmethod
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

    @property
    def takes_trends(self) -> bool:
        """Whether `with_trends` has any effect; by default not."""
        return False

    def with_trends(self, trends: Sequence[Trend]) -> Self:
        """Return the same model, which holds its later fits to these trends if it can; by default it ignores them."""
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

    @abstractmethod
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

    @abstractmethod
    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, starting from this one's state."""
        ...

    def finished(self) -> Self:
        """Return the model that a release keeps, once the last measurement was fitted.

        By default the model itself. A model that stops its fits early, because others follow, does the rest here.
        """
        return self

    @abstractmethod
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


# A run makes them around the requested model.
_AROUND = tuple(entry for entry in UNLISTED if entry.kind == "model")

_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")

_SHOWN = 200
"""Most characters of a file's plug-in name that a message repeats."""

_MOST_RECORDS = 1e18


def check_storable(model: object) -> None:
    """Refuse a model that no release file could store, before anything is spent on it.

    Raises:
        ArgumentError: If its class is not the one registered for its `kind`; says how to register it.
    """
    kind, name = getattr(type(model), "kind", None), type(model).__name__
    known = _kinds(str(kind))
    if isinstance(kind, str) and kind in known and _class_of(known[kind]) is type(model):
        return
    sort: Kind = "record_model" if hasattr(model, "trained") else "model"
    raise ArgumentError(
        f"a model of class {name} cannot be stored in a release file, as the class is not registered: give it an "
        f'attribute `kind` of its own and decorate it with @syntabula.register("{sort}"), or name it in the entry-point '
        f"group {group(sort)!r} of its package"
    )


def model_state(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return JSON-able facts, with the model's kind, and named arrays.

    Raises:
        ArgumentError: If the class of the model is not registered.
    """
    check_storable(model)
    facts, arrays = model.state()
    entry = _kinds(model.kind)[model.kind]
    plug_in = None if entry in _AROUND else package_of(entry.kind, entry.key)
    if plug_in is None:
        return {"model": model.kind, **facts}, dict(arrays)
    # Kept apart, so that the facts of plug-ins may have any names.
    return {"model": model.kind, "plug_in": plug_in, "state": dict(facts)}, dict(arrays)


def model_from_state(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Rebuild a model; raises ReleaseFileError if its kind is not installed or the parts do not fit together.

    A file names its model by a kind, never by an import path: loading runs only the code of registered parts.
    """
    kind, plug_in = facts.get("model"), facts.get("plug_in")
    return model_class(kind, plug_in).from_state(facts if plug_in is None else facts["state"], arrays)


def model_array_bytes(facts: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the most bytes of each array of a stored model; None if its kind sets no limits.

    Raises:
        ReleaseFileError: If there is no such kind, or the facts are malformed.
    """
    kind, plug_in = facts.get("model"), facts.get("plug_in")
    found: dict[str, int] | None = model_class(kind, plug_in).array_bytes(
        facts if plug_in is None else facts["state"]
    )
    return found


def model_class(kind: object, plug_in: object = None) -> type[Any]:
    """Return the class for a kind in a release file.

    Args:
        kind: The kind in the file.
        plug_in: The origin in the file. It is only shown, never imported.

    Raises:
        ReleaseFileError: If no class of that kind is installed; names the plug-in.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ReleaseFileError("this file does not name the kind of its model")
    known = _kinds(kind)
    if kind in known:
        return _class_of(known[kind])
    source = f" (saved with {plug_in[:_SHOWN]!r})" if isinstance(plug_in, str) and plug_in else ""
    raise ReleaseFileError(
        f"this file holds a model of kind {kind!r}{source}, which is not installed here; install that plug-in, or "
        "import the module that registers the model, or upgrade syntabula if the kind is one of its own"
    )


def _kinds(asked: str) -> dict[str, Entry]:
    """Return what may stand in a file, by kind, for one that is asked for."""
    ours = (*entries("record_model", asked=asked), *entries("model", asked=asked))
    return {entry.key: entry for entry in [*_AROUND, *ours]}


def _class_of(entry: Entry) -> type[Any]:
    if entry in _AROUND:
        around: type[Any] = entry.load()
        return around
    try:
        found: type[Any] = load(entry.kind, entry.key)
    except ArgumentError as error:
        raise ReleaseFileError(str(error)) from None
    return found


def stored_facts(model: Model) -> dict[str, Any]:
    """Return the domain, the estimated number of records and the options of a model."""
    return {
        "columns": list(model.domain.columns),
        "sizes": list(model.domain.sizes),
        "total": model.total,
        **{name: getattr(model, name) for name in _options(type(model))},
    }


def read_facts(kind: type, facts: Mapping[str, Any]) -> tuple[Domain, float, dict[str, Any]]:
    """Return the same from facts that were read from a file.

    Raises:
        KeyError, TypeError, ValueError: If some are missing or wrong.
    """
    domain, total = Domain(tuple(facts["columns"]), tuple(facts["sizes"])), float(facts["total"])
    if not 0 < total < _MOST_RECORDS:
        raise ValueError("no number of records")
    return domain, total, {name: facts[name] for name in _options(kind)}


@contextmanager
def whole_model() -> Iterator[None]:
    """Raise ReleaseFileError, without any contents, if parts of a stored model do not fit together."""
    try:
        yield
    except ReleaseFileError:
        raise  # of a model within the model, which says more
    except (KeyError, TypeError, ValueError):
        raise ReleaseFileError("the model in this file is incomplete or inconsistent") from None


def _options(kind: type) -> list[str]:
    """Return the names of a model's public fields, which are its options."""
    return [field.name for field in fields(kind) if not field.name.startswith("_")]
