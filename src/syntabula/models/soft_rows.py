"""The base class of models that are soft rows: fitting, storage and sampling."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, megabytes, normalise, positive, words
from syntabula._extras import require_installed
from syntabula._memory import above_limit
from syntabula._planning import FitCost, PlannedFit
from syntabula._spaces import Range, tunable
from syntabula._threads import MOST_TRAINING_THREADS, training_threads
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements, consistent_total
from syntabula.models.base import BoolArray, MarginalModel, bound, read_facts, stored_facts, whole_model
from syntabula.models.goal_groups import group_goals, group_numbers
from syntabula.models.product_mixture import ProductMixture, even_rows
from syntabula.models.restricted import Restricted, Weights
from syntabula.models.row_fitting import GoalGroup, Loss, SoftRows, fit_rows, pick_device
from syntabula.models.targets import joined_targets, make_goals

_USUAL_PART = 0.3
"""Fraction of the steps that a fit usually takes before noise explains the remaining error."""
_SECONDS_PER_OPERATION = 6e-12
_SECONDS_PER_STEP = 2e-3

_MOST_RULED_CELLS = 20_000
"""Cells of a table of possible combinations above which a fit ignores it, and rows are checked when they are drawn."""
_ALWAYS_THERE = ("auto", "cpu")
"""Names of devices that every machine with torch has."""

Arrays = Mapping[str, np.ndarray]
"""Parameters of soft rows by name, as stored."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftRowsModel(MarginalModel, ABC):
    """A mixture of products that is fitted by gradient descent; subclasses define its parameters.

    Attributes:
        n_rows: Number of soft rows. A pair of columns that both have more codes than that cannot be fitted
            exactly (Chen, Gong, Wang, MargNet, theorem 3).
        iterations: Most steps of Adam in one fit.
        learning_rate: Adam's learning rate.
        tolerance: A fit stops when 50 steps improve the loss by less than this fraction.
        stop_at_noise: Stop a fit as soon as noise explains the distance of every marginal from its measurement.
        threads: Processor threads of a fit. The same table, seed and number of threads give the same model.
        device: "auto" (a GPU if there is one), or the torch name of a device.
        seed: Seed of the initial parameters. Privacy does not depend on it.
        max_memory_mb: Memory limit of a fit and of a marginal; checked before anything is allocated.
    """

    kind: ClassVar[str]

    n_rows: int = 512
    iterations: int = tunable(200, Range(low=50, high=1000, log=True))
    learning_rate: float = tunable(1e-3, Range(low=1e-4, high=1e-2, log=True))
    tolerance: float = 1e-3
    stop_at_noise: bool = True
    threads: int = 1
    device: str = "auto"
    seed: int = 0
    max_memory_mb: float = 4000.0
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _rows: ProductMixture | None = field(default=None, repr=False)
    _arrays: Arrays = field(default_factory=dict, repr=False)
    _fitted: Mapping[Clique, int] = field(default_factory=dict, repr=False)
    _possible: Mapping[Clique, BoolArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        normalise(
            self,
            n_rows=count(2),
            iterations=count(),
            threads=count(1, MOST_TRAINING_THREADS),
            seed=count(0),
            learning_rate=positive,
            tolerance=positive,
            stop_at_noise=flag,
            device=words('"auto" or a name of torch, such as "cpu" or "cuda:0"'),
            max_memory_mb=megabytes,
        )

    @abstractmethod
    def _first_arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the parameters of an unfitted model."""

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return the shape and type of each of the parameters."""

    @abstractmethod
    def _soft_rows(self, arrays: Arrays, device: Any, rng: np.random.Generator) -> SoftRows:
        """Return rows made from copies of some parameters."""

    @abstractmethod
    def _arrays_of(self, rows: SoftRows) -> dict[str, np.ndarray]:
        """Return the parameters of fitted rows that a fit changes."""

    @abstractmethod
    def _working_numbers(self) -> int:
        """Return an upper bound on the float32 numbers that a fit needs beyond its targets."""

    @abstractmethod
    def _row_operations(self) -> int:
        """Return the number of multiplications that make one row; its gradient takes twice as many again."""

    @property
    def _loss(self) -> Loss:
        return "squared"

    @property
    def _emphasis(self) -> float:
        """Factor for the weight of marginals that are new since the last fit."""
        return 1.0

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    @property
    def _measurable(self) -> Domain:
        """The columns whose marginals may be fitted and queried."""
        return self.domain

    @property
    def rows(self) -> ProductMixture:
        """The soft rows; one uniform row for an unfitted model."""
        return even_rows(self.domain) if self._rows is None else self._rows

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible."""
        return self._possible

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, whose fits move rows out of cells that are not possible, as far as rows can."""
        return replace(self, _possible=dict(cells))

    @property
    def _ruled(self) -> dict[Clique, BoolArray]:
        """Which cells are possible, for the tables that fit the domain and are small."""
        return {
            clique: cells
            for clique, cells in self._possible.items()
            if cells.size <= _MOST_RULED_CELLS
            and all(c in self.domain for c in clique)
            and self.domain.shape(clique) == cells.shape
        }

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain.

        Raises:
            ArgumentError: If there is no such device.
            MissingExtraError: If torch is not installed; raised here, before anything is spent.
        """
        if self.device in _ALWAYS_THERE:
            # Plans bind models that may never be fitted, and torch takes seconds to import.
            require_installed("torch", "neural")
        else:
            pick_device(self.device)
        return replace(self, _domain=domain, _total=1.0, _rows=None, _arrays={}, _fitted={})

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return the size of rows and parameters; it does not grow with the cliques."""
        stored = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in self._shapes().values())
        return (self.n_rows * sum(self.domain.sizes) * 4 + stored) / 2**20

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Return the cost of a planned fit, with the time on a processor."""
        if not fit.cliques:
            return fit.cost
        products = self._row_operations() + sum(self._measurable.cells(c) for c in fit.usual or fit.cliques)
        seconds = 6 * self.n_rows * products * _SECONDS_PER_OPERATION + _SECONDS_PER_STEP
        return FitCost(self._fit_mb(fit.cliques), fit.times * (_USUAL_PART * self.iterations * seconds))

    def _fit_mb(self, cliques: Sequence[Clique]) -> float:
        numbers = self._working_numbers() + group_numbers(self._measurable, set(cliques), self.n_rows)
        return numbers * 4 / 2**20

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, starting from this one's parameters.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If a fit would need too much memory; nothing was allocated.
        """
        self._check(measurements)
        space = self._measurable
        counted = Counter(space.canonical(m.clique) for m in measurements)
        total = consistent_total(measurements)
        ruled = self._ruled
        joined = joined_targets(space, measurements, ruled)
        targets = [t for t in joined if t.clique and (t.weight.any() or t.possible is not None)]
        if not any(t.weight.any() for t in targets):
            return replace(self, _total=total)
        device = pick_device(self.device)
        rng = np.random.default_rng([self.seed, sum(counted.values())])
        arrays = self._arrays or self._first_arrays(rng)
        rows = self._soft_rows(arrays, device, rng)
        newest = {c for c, n in counted.items() if self._rows and n > self._fitted.get(c, 0)}
        goals = make_goals(targets, total, newest=newest, emphasis=self._emphasis)
        groups = group_goals(space, goals, device)
        with training_threads(self.threads):
            self._move(rows, groups)
            table = rows.table()[:, : sum(self.domain.sizes)].cpu().numpy()
        return replace(
            self,
            _total=total,
            _rows=ProductMixture(self.domain, table),
            _arrays={**arrays, **self._arrays_of(rows)},
            _fitted={c: n for c, n in counted.items() if all(x in self.domain for x in c)},
        )

    def _move(self, rows: SoftRows, groups: Sequence[GoalGroup]) -> None:
        """Move rows towards their goals."""
        fit_rows(
            rows,
            groups,
            loss=self._loss,
            iterations=self.iterations,
            learning_rate=self.learning_rate,
            tolerance=self.tolerance,
            stop_at_noise=self.stop_at_noise,
        )

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in its order."""
        return [self._total * t for t in self.rows.marginals(cliques, limit_mb=self.max_memory_mb)]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows from the soft rows; with `given`, draw the other columns conditionally."""
        return self.rows.sample(n, rng, given)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the mixture times one weight per code of some columns, exactly."""
        return self.rows.restricted(weights)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return options and domain as facts and soft rows and parameters as arrays, for a file."""
        facts = {**stored_facts(self), "fitted": [[list(c), n] for c, n in self._fitted.items()]}
        arrays = {f"parameters/{name}": array for name, array in self._arrays.items()}
        return facts, arrays | ({} if self._rows is None else {"rows": self._rows.probabilities})

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the most bytes of each array for these stored facts; raises ReleaseFileError if they are
        malformed."""
        with whole_model():
            domain, _, options = read_facts(cls, facts)
            model = replace(cls(**options), _domain=domain)
            sizes = {
                f"parameters/{n}": math.prod(s) * np.dtype(k).itemsize
                for n, (s, k) in model._shapes().items()
            }
            return {"rows": 4 * model.n_rows * sum(domain.sizes), **sizes}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            domain, total, options = read_facts(cls, facts)
            fitted = {domain.canonical(c): int(n) for c, n in facts["fitted"]}
            model = replace(cls(**options), _domain=domain, _total=total, _fitted=fitted)
            if not arrays:
                return model
            rows = ProductMixture(domain, arrays["rows"])
            stored = {n.removeprefix("parameters/"): a for n, a in arrays.items() if n != "rows"}
            model._check_arrays(stored)
            if len(rows.probabilities) != model.n_rows:
                raise ValueError
            return replace(model, _rows=rows, _arrays=stored)

    def _check_arrays(self, arrays: Arrays) -> None:
        """Raise ValueError if stored parameters do not belong to such a model."""
        found = {name: (array.shape, array.dtype.name) for name, array in arrays.items()}
        if found != self._shapes() or not all(np.isfinite(a).all() for a in arrays.values()):
            raise ValueError("parameters have other names, shapes or types, or are not finite")

    def _check(self, measurements: Sequence[Measurement]) -> None:
        """Refuse measurements that do not match the domain, or whose fit would exceed the memory limit."""
        space = self._measurable
        check_measurements(space, measurements)
        cliques = {space.canonical(m.clique) for m in measurements} | {*self._ruled}
        needed = self._fit_mb(list(cliques))
        if needed > self.max_memory_mb:
            raise ResourceError(
                f"fitting {self.n_rows:,} soft rows to {len(cliques)} marginals may take "
                f"{above_limit(needed, self.max_memory_mb)}; use fewer bins or rows, or raise max_memory_mb"
            )
