"""Private-PGM: a graphical model fitted to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, megabytes, normalise, positive
from syntabula._memory import available_bytes, table_mb
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements, consistent_total
from syntabula.models.base import (
    BoolArray,
    MarginalModel,
    bound,
    check_sample,
    read_facts,
    stored_facts,
    whole_model,
)
from syntabula.models.factor_graph import ImpossibleError
from syntabula.models.followed import cells_outside_rule
from syntabula.models.junction_tree.calibration import (
    across_mb,
    clique_tables,
    marginal_probabilities,
    weigh,
)
from syntabula.models.junction_tree.sample import sample_given, sample_rows
from syntabula.models.junction_tree.tree import (
    JunctionTree,
    check_memory,
    elimination_order,
    junction_tree,
    junction_tree_memory_mb,
    memory_with_each_mb,
    tree_of,
)
from syntabula.models.mirror_descent import estimate
from syntabula.models.tables import Order, arranged
from syntabula.models.targets import Target, independent_start, joined_targets

if TYPE_CHECKING:
    from syntabula.marginals.trend import Trend
    from syntabula.models.restricted import Restricted, Weights

_CHEAP_MB = 100.0
"""A tree of this size is computed within a second."""
_EMPTY = 30.0
"""How far the potential of a cell outside a rule is lowered before the last fit; measurements may bring it back."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PGM(MarginalModel):
    """The maximum-entropy distribution nearest to noisy marginals, as factors on a junction tree.

    McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for differential privacy"
    (Private-PGM). Measurements are weighted by the inverse variance of their noise, as maximum likelihood
    requires; early versions of the public code used the inverse standard deviation. The number of records is
    the inverse-variance weighted mean of the measurements' sums, at least 1; if noise dominates it may be 1.
    The papers take a fixed number of steps towards the optimum (AIM and tab_bench 1,000 per round, MST 10,000
    at the end); here steps have momentum, and the options determine when they stop.

    Attributes:
        iterations: Most steps of mirror descent in one fit.
        tolerance: A fit stops when ten steps improve the loss by less than this fraction. It hardly matters if a
            fit stops at the noise; with little noise a smaller tolerance is more accurate and may take many times
            as long.
        stop_at_noise: Stop a fit as soon as noise explains the distance of every marginal from its
            measurement. Continuing would fit the noise and make the model worse. The last fit is then also held to
            how ordered columns rise together (`models.held_trends.Trends`), and to rules by which one column follows from
            another (`models.followed`), departures from the paper. False continues to the optimum of all cells alone.
        max_memory_mb: Largest model or marginal; checked before anything is allocated.
    """

    kind: ClassVar[str] = "pgm"

    iterations: int = 2000
    tolerance: float = 1e-3
    stop_at_noise: bool = True
    max_memory_mb: float = 1000.0
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _potentials: Mapping[Clique, FloatArray] = field(default_factory=dict, repr=False)
    _precision: np.dtype[Any] = field(default=np.dtype(np.float64), repr=False)
    _held: JunctionTree | None = field(default=None, repr=False)
    _targets: Sequence[Target] = field(default=(), repr=False)
    _possible: Mapping[Clique, BoolArray] = field(default_factory=dict, repr=False)
    _trends: Sequence[Any] = field(default=(), repr=False)
    """Each a `Trend`, whose module is loaded where trends are learned."""

    def __post_init__(self) -> None:
        normalise(self, iterations=count(), tolerance=positive, max_memory_mb=megabytes, stop_at_noise=flag)

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Maximal cliques of the junction tree."""
        return tuple(self.domain.canonical(c) for c in self._tree.cliques)

    @cached_property
    def _layout(self) -> Domain:
        """The columns in the order of all internal tables: large ones last, so that inner loops are long."""
        sizes = zip(self.domain.columns, self.domain.sizes, strict=True)
        by_size = dict(sorted(sizes, key=lambda column: column[1]))
        return Domain.from_sizes(by_size, self.domain.ordered, self.domain.apart)

    @cached_property
    def _tree(self) -> JunctionTree:
        """The junction tree of the last fit; computed again for a loaded model."""
        return self._held or junction_tree(self._layout, self._potentials)

    @cached_property
    def _tables(self) -> list[FloatArray]:
        """Probabilities of the tree's cliques, computed on first use, as estimation does not need them."""
        return clique_tables(self._tree, self._potentials, self._precision)

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        return replace(
            self,
            _domain=domain,
            _total=1.0,
            _potentials={},
            _precision=np.dtype(np.float64),
            _held=None,
            _targets=(),
            _trends=(),
        )

    @property
    def takes_trends(self) -> bool:
        """Whether fits stop at the noise; others are held to cells alone."""
        return self.stop_at_noise

    def with_trends(self, trends: Sequence[Trend]) -> Self:
        """Return the same model, which holds its later fits to these trends as well."""
        return replace(self, _trends=tuple(trends))

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible."""
        return self._possible

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, which gives cells that are not possible probability 0 (structural zeros)."""
        return replace(self, _possible=dict(cells))

    @cached_property
    def _zeros(self) -> dict[Clique, BoolArray]:
        """Which cells are possible, for the tables that fit the domain, in the order of internal tables."""
        fitting = {
            clique: cells
            for clique, cells in self._possible.items()
            # A table without a possible cell leaves no distribution: such rows are discarded when they are drawn.
            if all(c in self.domain for c in clique)
            and self.domain.shape(clique) == cells.shape
            and cells.any()
        }
        turned = {c: self._layout.canonical(c) for c in fitting}
        return {
            turned[c]: arranged(cells.astype(np.float64), c, turned[c]) > 0 for c, cells in fitting.items()
        }

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return the size of the junction tree that contains some cliques, at 8 bytes a cell."""
        return junction_tree_memory_mb(self.domain, [*cliques, *self._zeros])

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> list[float]:
        """Return `memory_mb([*cliques, candidate])` for each candidate, all at once."""
        return memory_with_each_mb(self.domain, [*cliques, *self._zeros], candidates)

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, starting from this one's potentials.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If the junction tree would be too large; nothing was allocated.
        """
        check_measurements(self.domain, measurements)
        trends = [t.clique for t in self._trends]
        order = elimination_order(self._layout, [*(m.clique for m in measurements), *trends, *self._zeros])
        tree = tree_of(self._layout, order)
        check_memory(tree, self.max_memory_mb)
        total = consistent_total(measurements)
        targets = joined_targets(self._layout, measurements, self._zeros, self._trends)
        fitted = replace(self, _total=total, _held=tree, _targets=targets)
        start = self._start(targets, total)
        self.__dict__.pop("_tables", None)  # computed again on demand; estimation needs the memory
        try:
            return fitted._estimated(order, start)
        except ImpossibleError:
            if not self._zeros:
                raise
        # Together, tables may leave no cell where the measurements do not find one empty.
        return self.with_possible({}).fit(measurements)

    def finished(self) -> Self:
        """Return the model with dependent columns fitted closer than the noise alone explains.

        Rounds of an adaptive method need not be so exact, and would take twice as long. Where one column follows from
        another as far as noise tells, the fit begins with no records in cells that break this rule.
        """
        targets = self._targets if self.stop_at_noise else ()
        if not targets or not (self._trends or any(t.dependent(len(targets)) for t in targets)):
            return replace(self, _targets=(), _trends=())
        self.__dict__.pop("_tables", None)
        order = elimination_order(self._layout, [t.clique for t in targets])
        start = dict(self._potentials)
        for target in targets:
            if target.dependent(len(targets)) and (outside := cells_outside_rule(target)) is not None:
                start[target.clique] = start[target.clique] - _EMPTY * outside
        return replace(self._estimated(order, start, last=True), _targets=(), _trends=())

    def _estimated(self, order: Order, start: Mapping[Clique, FloatArray], *, last: bool = False) -> Self:
        """Return the model with potentials fitted to its targets."""
        potentials, precision = estimate(
            self._layout,
            order,
            self._targets,
            start,
            self._total,
            iterations=self.iterations,
            tolerance=self.tolerance,
            stop_at_noise=self.stop_at_noise,
            last=last,
            trends=self._trends,
        )
        return replace(self, _potentials=potentials, _precision=precision)

    def _start(self, targets: Sequence[Target], total: float) -> dict[Clique, FloatArray]:
        """Return initial log-potentials: the known ones, and for a new clique a correction towards its measurement.

        With log(y / mu) as its potential a model with marginal mu gets the marginal y (one step of iterative
        proportional fitting), which is the solution where new cliques form a tree. Cells whose difference
        noise explains are left unchanged.
        """
        start = dict(self._potentials)
        new = [t for t in targets if t.clique not in start]
        if start:
            trends = {self._layout.canonical(t.clique): t for t in self._trends}
            for target, believed in zip(new, self.marginals([t.clique for t in new]), strict=True):
                counts, trend = believed * (total / self._total), trends.get(target.clique)
                if trend is None or target.weight.any():
                    start[target.clique] = target.correction(counts)
                else:
                    start[target.clique] = trend.tilt(target.clique, counts)
            return start
        return independent_start(self.domain.columns, new, total)

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, in or out of the tree: one axis per column, in its order."""
        wanted = [tuple(c) for c in cliques]
        for clique in wanted:
            self.domain.canonical(clique)  # names columns that do not exist
        tree = self._tree_for(wanted)
        apart = [c for c in dict.fromkeys(wanted) if self._is_smaller_apart(tree, c)]
        together = [c for c in wanted if c not in apart]
        found = dict(zip(together, self._probabilities(tree, together), strict=True))
        for clique in apart:
            (found[clique],) = self._probabilities(
                junction_tree(self._layout, [*self._potentials, clique]), [clique]
            )
        return [np.multiply(self._total, found[clique], dtype=np.float64) for clique in wanted]

    def expected_products(self, scores: Mapping[str, FloatArray]) -> FloatArray:
        """Return how large the sum over all records of two columns' scores is expected to be [columns, columns].

        Args:
            scores: The score of each code [codes], by column.
        """
        from syntabula.models.junction_tree.score_products import expected_products

        found: FloatArray = self._total * expected_products(self._tree, self._tables, scores)
        return found

    def memory_with_pairs_mb(self, cliques: Sequence[Clique], pairs: Sequence[Clique]) -> list[float]:
        """Return about the most that `memory_mb` is with each pair of columns, in a hundredth of the time."""
        from syntabula.models.junction_tree.pair_growth import most_growth

        tree = junction_tree(self.domain, [*cliques, *self._zeros])
        return [table_mb(n) for n in (tree.cells + np.array(most_growth(tree, pairs))).tolist()]

    def _probabilities(self, tree: JunctionTree, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return the probabilities of cliques, by the messages of a tree that holds all factors."""
        own = tree is self._tree
        tables = self._tables if own else clique_tables(tree, self._potentials, self._precision)
        return marginal_probabilities(tree, tables, cliques, self.max_memory_mb)

    def _is_smaller_apart(self, tree: JunctionTree, clique: Clique) -> bool:
        """Return whether a clique needs too large tables across a tree, but not in a tree that is made for it."""
        if (
            len(clique) <= 2
            or tree.holder(clique) is not None
            or across_mb(tree, clique) <= self.max_memory_mb
        ):
            return False
        return junction_tree_memory_mb(self._layout, [*self._potentials, clique]) <= self.max_memory_mb

    def _tree_for(self, wanted: Sequence[Clique]) -> JunctionTree:
        """Return a tree that contains all wide marginals, if that is faster than computing each across the tree."""
        across = [c for c in wanted if len(c) > 2 and self._tree.holder(c) is None]
        if not across:
            return self._tree
        most = min(self.max_memory_mb, max(_CHEAP_MB, len(across) * self._tree.cells * 8 / 2**20))
        held = [*self._potentials, *across]
        if junction_tree_memory_mb(self._layout, held) > most:
            return self._tree
        return junction_tree(self._layout, held)

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows by rounding; with `given`, draw the other columns from their exact conditional distribution.

        Raises:
            ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
            ResourceError: If so many rows would not fit the memory of any machine.
        """
        check_sample(self.domain, n, given)
        if given is None:
            return self._in_order(sample_rows(self._tree, self._tables, int(n), rng))
        return self._in_order(sample_given(self._tree, self._tables, given, rng))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the distribution times one weight per code of some columns, exactly."""
        from syntabula.models.restricted import Restricted

        probability, tables = weigh(self._tree, self._tables, weights)
        return Restricted(probability, lambda n, rng: self._in_order(sample_rows(self._tree, tables, n, rng)))

    def _in_order(self, rows: EncodedTable) -> EncodedTable:
        return EncodedTable(self.domain, tuple(rows.column(c) for c in self.domain.columns))

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return options, domain and tree as facts and log-potentials as arrays, for a file."""
        cliques = [self.domain.canonical(c) for c in self._potentials]
        facts = {
            **stored_facts(self),
            "cliques": [list(c) for c in cliques],
            "precision": self._precision.name,
        }
        tables = [
            np.ascontiguousarray(arranged(p, c, wanted))
            for (c, p), wanted in zip(self._potentials.items(), cliques, strict=True)
        ]
        return facts, {f"potential/{i}": t for i, t in enumerate(tables)}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the most bytes of each array for these stored facts; raises ReleaseFileError if they are
        malformed."""
        with whole_model():
            domain, _, _ = read_facts(cls, facts)
            return {f"potential/{i}": 8 * domain.cells(c) for i, c in enumerate(facts["cliques"])}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            domain, total, options = read_facts(cls, facts)
            model = cls(**options).over(domain)
            cliques = [tuple(c) for c in facts["cliques"]]
            tables = [np.asarray(arrays[f"potential/{i}"], dtype=np.float64) for i in range(len(cliques))]
            fits = len(tables) == len(arrays) and all(
                t.shape == domain.shape(c) for t, c in zip(tables, cliques, strict=True)
            )
            canonical = [model._layout.canonical(c) for c in cliques]
            potentials = {
                wanted: np.ascontiguousarray(arranged(t, c, wanted))
                for t, c, wanted in zip(tables, cliques, canonical, strict=True)
            }
            finite = all(np.isfinite(p).all() for p in potentials.values())
            if not fits or len(potentials) < len(tables) or not finite:
                raise ValueError
            precision = np.dtype(
                {"float32": np.float32, "float64": np.float64}[facts.get("precision", "float64")]
            )
            model = replace(model, _total=total, _potentials=potentials, _precision=precision)
            # The limit in the file may exceed this machine's memory.
            available = available_bytes()
            machine_mb = math.inf if available is None else available / 2**20
            check_memory(model._tree, min(model.max_memory_mb, machine_mb))
            return model
