"""What models that are soft rows share: how they are fitted, stored and sampled."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, megabytes, normalise, positive, words
from syntabula._memory import above_limit
from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ResourceError
from syntabula.marginals.consistency import consistent_total
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements
from syntabula.models.base import MarginalModel, bound
from syntabula.models.goal_groups import group_goals, group_numbers
from syntabula.models.product_mixture import ProductMixture, even_rows
from syntabula.models.restricted import Restricted, Weights
from syntabula.models.row_fitting import GoalGroup, Loss, SoftRows, fit_rows, pick_device, training_threads
from syntabula.models.storage import read_facts, stored_facts, whole_model
from syntabula.models.targets import joined_targets, make_goals

_USUAL_PART = 0.3
"""Part of the steps that a fit usually takes before noise explains what is left."""
_SECONDS_PER_OPERATION = 6e-12
_SECONDS_PER_STEP = 2e-3

Arrays = Mapping[str, np.ndarray]
"""Parameters of soft rows by their names, as they are stored."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftRowsModel(MarginalModel, ABC):
    """A mixture of products that is fitted by gradient descent; what its parameters are is a subclass's matter.

    Attributes:
        n_rows: Number of soft rows. A pair of columns with more codes each than that cannot be fitted exactly
            (Chen, Gong, Wang, MargNet, theorem 3).
        iterations: At most so many steps of Adam in one fit.
        learning_rate: Of Adam.
        tolerance: A fit stops when 50 steps improve the loss by less than this part.
        stop_at_noise: A fit stops as soon as no marginal is farther from its measurement than noise explains.
        threads: How many fit on a processor. The same table and seed give the same model for the same number.
        device: "auto" (a GPU if there is one), or a device as torch names it.
        seed: Of the first parameters. No privacy rests on it.
        max_memory_mb: Neither a fit nor a marginal may take more; checked before anything is allocated.
    """

    kind: ClassVar[str]

    n_rows: int = 512
    iterations: int = 200
    learning_rate: float = 1e-3
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

    def __post_init__(self) -> None:
        normalise(
            self,
            n_rows=count(2),
            iterations=count(),
            threads=count(),
            seed=count(0),
            learning_rate=positive,
            tolerance=positive,
            stop_at_noise=flag,
            device=words('"auto" or a name of torch, such as "cpu" or "cuda:0"'),
            max_memory_mb=megabytes,
        )

    @abstractmethod
    def _first_arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the parameters of a model that is not fitted."""

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return the shape and type of each of the parameters."""

    @abstractmethod
    def _soft_rows(self, arrays: Arrays, device: Any, rng: np.random.Generator) -> SoftRows:
        """Return rows made of copies of some parameters."""

    @abstractmethod
    def _arrays_of(self, rows: SoftRows) -> dict[str, np.ndarray]:
        """Return those parameters of fitted rows that a fit changes."""

    @abstractmethod
    def _working_numbers(self) -> int:
        """Bound how many float32 numbers a fit takes beyond its targets."""

    @abstractmethod
    def _row_operations(self) -> int:
        """Say how many multiplications it takes to make one row, and as many again for a gradient, twice."""

    @property
    def _loss(self) -> Loss:
        return "squared"

    @property
    def _emphasis(self) -> float:
        """How much more those marginals weigh that are new since the last fit."""
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
        """The columns of which marginals may be fitted and asked for."""
        return self.domain

    @property
    def rows(self) -> ProductMixture:
        """The soft rows; one even row for a model that is not fitted."""
        return even_rows(self.domain) if self._rows is None else self._rows

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain.

        Raises:
            ArgumentError: If there is no such device.
            MissingExtraError: If torch is not installed: here, so that nothing was spent yet.
        """
        pick_device(self.device)
        return replace(self, _domain=domain, _total=1.0, _rows=None, _arrays={}, _fitted={})

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return the size of rows and parameters; it does not grow with the cliques."""
        stored = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in self._shapes().values())
        return (self.n_rows * sum(self.domain.sizes) * 4 + stored) / 2**20

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Say what a planned fit may take; its time is that of a processor."""
        if not fit.cliques:
            return fit.cost
        products = self._row_operations() + sum(self._measurable.cells(c) for c in fit.usual or fit.cliques)
        seconds = 6 * self.n_rows * products * _SECONDS_PER_OPERATION + _SECONDS_PER_STEP
        return FitCost(self._fit_mb(fit.cliques), fit.times * (_USUAL_PART * self.iterations * seconds))

    def _fit_mb(self, cliques: Sequence[Clique]) -> float:
        numbers = self._working_numbers() + group_numbers(self._measurable, set(cliques), self.n_rows)
        return numbers * 4 / 2**20

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, from this one's parameters.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If a fit would take too much memory; nothing was allocated.
        """
        self._check(measurements)
        space = self._measurable
        counted = Counter(space.canonical(m.clique) for m in measurements)
        total = consistent_total(measurements)
        targets = [t for t in joined_targets(space, measurements) if t.clique and t.weight.any()]
        if not targets:
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
        """Move rows towards what is wanted."""
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
        """Draw n rows out of the soft ones; with `given`, draw the other columns conditionally."""
        return self.rows.sample(n, rng, given)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the mixture times one weight per code of some columns, exactly."""
        return self.rows.restricted(weights)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: options and domain as facts, soft rows and parameters as arrays."""
        facts = {**stored_facts(self), "fitted": [[list(c), n] for c, n in self._fitted.items()]}
        arrays = {f"parameters/{name}": array for name, array in self._arrays.items()}
        return facts, arrays | ({} if self._rows is None else {"rows": self._rows.probabilities})

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the most bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
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
        """Raise ValueError if stored parameters are not those of such a model."""
        found = {name: (array.shape, array.dtype.name) for name, array in arrays.items()}
        if found != self._shapes() or not all(np.isfinite(a).all() for a in arrays.values()):
            raise ValueError("parameters have other names, shapes or types, or are not finite")

    def _check(self, measurements: Sequence[Measurement]) -> None:
        """Refuse measurements that do not fit the domain, or the memory that a fit to them may take."""
        space = self._measurable
        check_measurements(space, measurements)
        cliques = {space.canonical(m.clique) for m in measurements}
        needed = self._fit_mb(list(cliques))
        if needed > self.max_memory_mb:
            raise ResourceError(
                f"fitting {self.n_rows:,} soft rows to {len(cliques)} marginals may take "
                f"{above_limit(needed, self.max_memory_mb)}; use fewer bins or rows, or raise max_memory_mb"
            )
