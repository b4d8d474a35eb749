"""Private-PGM: a graphical model fitted to noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.conditional import sample_given
from syntabula.models.pgm.factor import aligned
from syntabula.models.pgm.junction_tree import JunctionTree, check_memory, junction_tree
from syntabula.models.pgm.messages import calibrate, query
from syntabula.models.pgm.mirror_descent import estimate
from syntabula.models.pgm.sample import sample_rows

_LEAST_PROBABILITY = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class PGM:
    """The maximum-entropy distribution nearest to noisy marginals, as factors on a junction tree.

    McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for differential privacy"
    (Private-PGM). Measurements weigh by the inverse variance of their noise, as maximum likelihood asks;
    the public code weighs by the inverse standard deviation. The number of records is the inverse-variance
    weighted mean of the measurements' sums, at least 1: under noise that drowns everything it may be 1.

    Attributes:
        iterations: At most so many steps of mirror descent in one fit.
        tolerance: A fit stops when ten steps improve the loss by less than this part.
        max_memory_mb: Neither the model nor a marginal may be larger; checked before anything is allocated.
    """

    iterations: int = 2000
    tolerance: float = 1e-5
    max_memory_mb: float = 1000.0
    _total: float = field(default=1.0, repr=False)
    _tree: JunctionTree | None = field(default=None, repr=False)
    _potentials: tuple[FloatArray, ...] = field(default=(), repr=False)
    _probabilities: tuple[FloatArray, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 1:
            raise ArgumentError("iterations must be an integer of at least 1")
        for name in ("tolerance", "max_memory_mb"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                raise ArgumentError(f"{name} must be a positive number")

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return self._bound.domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Maximal cliques of the junction tree."""
        return self._bound.cliques

    @property
    def _bound(self) -> JunctionTree:
        if self._tree is None:
            raise ArgumentError("this model is not bound to a domain; call over(domain) first")
        return self._tree

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        return self._with_tree(junction_tree(domain, []), 1.0, None)

    def _with_tree(self, tree: JunctionTree, total: float, potentials: Sequence[FloatArray] | None) -> Self:
        check_memory(tree, self.max_memory_mb)
        if potentials is None:
            potentials = [np.zeros(tree.domain.shape(c)) for c in tree.cliques]
        return replace(
            self,
            _tree=tree,
            _total=total,
            _potentials=tuple(potentials),
            _probabilities=tuple(calibrate(tree, potentials)),
        )

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, started from this one's potentials.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If the junction tree would be too large; nothing was allocated.
        """
        if not measurements:
            raise ArgumentError("fit needs at least one measurement")
        for m in measurements:
            if m.values.shape != self.domain.shape(m.clique):
                raise ArgumentError(
                    f"the measurement of {m.clique} has shape {m.values.shape}, its clique {self.domain.shape(m.clique)}"
                )
        tree = junction_tree(self.domain, [m.clique for m in measurements])
        check_memory(tree, self.max_memory_mb)
        total = estimated_total(measurements)
        start = self._expanded(tree, measurements)
        potentials, probabilities = estimate(
            tree, start, measurements, total, iterations=self.iterations, tolerance=self.tolerance
        )
        return replace(
            self,
            _tree=tree,
            _total=total,
            _potentials=tuple(potentials),
            _probabilities=tuple(probabilities),
        )

    def _expanded(self, tree: JunctionTree, measurements: Sequence[Measurement]) -> list[FloatArray]:
        """Return potentials to start from: this model's own, or independent columns if it is uniform."""
        start = [np.zeros(tree.domain.shape(c)) for c in tree.cliques]
        own = list(zip(self._bound.cliques, self._potentials, strict=True))
        if not any(p.any() for p in self._potentials):
            own = _independent(measurements)
        for clique, potential in own:
            holder = tree.holder(clique)
            if holder is not None:  # an old clique may be split; its potential is then learned anew
                start[holder] += aligned(potential, clique, tree.cliques[holder])
        return start

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, in or out of the tree: one axis per column, in its order."""
        for clique in cliques:
            self.domain.canonical(clique)  # names columns that do not exist
        return [
            self._total * query(self._bound, self._probabilities, tuple(c), self.max_memory_mb)
            for c in cliques
        ]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows by rounding; with `given`, draw the other columns exactly conditionally.

        Raises:
            ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
            ResourceError: If so many rows would not fit the memory of any machine.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ArgumentError("n must be an integer of at least 0")
        if n > 10**10:
            raise ResourceError(f"{n:,} rows cannot be drawn at once; draw fewer rows at a time")
        if given is None:
            return sample_rows(self._bound, self._probabilities, int(n), rng)
        if given.n_rows != n:
            raise ArgumentError("n must be the number of given rows")
        for column, size in zip(given.domain.columns, given.domain.sizes, strict=True):
            if self.domain.size(column) != size:
                raise SchemaError(f"given column {column!r} has another number of codes than the model's")
        return sample_given(self._bound, self._probabilities, given, rng)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: options, domain and tree as facts, log-potentials as arrays."""
        facts = {
            "columns": list(self.domain.columns),
            "sizes": list(self.domain.sizes),
            "cliques": [list(c) for c in self.cliques],
            "total": self._total,
            "iterations": self.iterations,
            "tolerance": self.tolerance,
            "max_memory_mb": self.max_memory_mb,
        }
        return facts, {f"potential/{i}": p for i, p in enumerate(self._potentials)}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        try:
            domain = Domain(tuple(facts["columns"]), tuple(facts["sizes"]))
            tree = junction_tree(domain, [tuple(c) for c in facts["cliques"]])
            potentials = [np.asarray(arrays[f"potential/{i}"], dtype=np.float64) for i in range(len(arrays))]
            fits = [p.shape for p in potentials] == [domain.shape(c) for c in tree.cliques]
            if not fits or not all(np.isfinite(p).all() for p in potentials):
                raise ValueError
            model = cls(
                iterations=facts["iterations"],
                tolerance=facts["tolerance"],
                max_memory_mb=facts["max_memory_mb"],
            )
            return model._with_tree(tree, float(facts["total"]), potentials)
        except (KeyError, TypeError, ValueError):
            raise ReleaseFileError("the model in this file is incomplete or inconsistent") from None


def estimated_total(measurements: Sequence[Measurement]) -> float:
    """Return the inverse-variance weighted mean of the measurements' sums, at least 1."""
    sums = np.array([m.values.sum() for m in measurements])
    variances = np.array([m.variances.sum() for m in measurements])
    return max(1.0, float((sums / variances).sum() / (1 / variances).sum()))


def _independent(measurements: Sequence[Measurement]) -> list[tuple[Clique, FloatArray]]:
    """Return log-potentials of the noisy one-way marginals, cut off at zero: close to the optimum."""
    found: list[tuple[Clique, FloatArray]] = []
    for m in measurements:
        if len(m.clique) == 1 and m.clique not in [c for c, _ in found]:
            positive = np.maximum(m.values, 0.0)
            sum_ = positive.sum()
            if sum_ > 0:
                found.append((m.clique, np.log(np.maximum(positive / sum_, _LEAST_PROBABILITY))))
    return found
