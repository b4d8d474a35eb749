"""A Bayesian network: each column depends on a few earlier columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, megabytes, normalise
from syntabula._memory import above_limit, table_mb
from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import (
    FloatArray,
    Measurement,
    check_measurements,
    consistent_total,
    project_simplex,
)
from syntabula.models.base import (
    BoolArray,
    MarginalModel,
    bound,
    check_sample,
    read_facts,
    stored_facts,
    whole_model,
)
from syntabula.models.junction_tree.calibration import clique_tables, marginal_probabilities, weigh
from syntabula.models.junction_tree.sample import sample_given, sample_rows
from syntabula.models.junction_tree.tree import JunctionTree, check_memory, junction_tree
from syntabula.models.network_structure import estimate, families, onto
from syntabula.models.restricted import Restricted, Weights, by_trying
from syntabula.models.ruled_network import MOST_MB, conditional, within_rules

_BYTES_PER_CELL = 40  # a table, its logarithm and work space
_SECONDS_PER_CELL = 5e-8


@dataclass(frozen=True, kw_only=True, eq=False)
class BayesianNetwork(MarginalModel):
    """A product of one conditional distribution per column, computed from the marginals without optimisation.

    Zhang, Cormode, Procopiuc, Srivastava, Xiao (2017), "PrivBayes: Private Data Release via Bayesian
    Networks", ACM TODS 42(4), section 3. The network's structure follows from which marginals were measured
    (see `network_structure.families`): measurements that are no family only improve the families they
    overlap. A fit takes milliseconds. The number of records is the measurements' best estimate, at least 1.

    Departures from the paper: the joint counts of a family are made non-negative by projection onto the nearest
    counts with the same sum, not by clipping; where the parents' values have no mass, the child follows its
    own distribution; and where combinations of codes are impossible, the network is the nearest without them
    (`ruled_network`).

    Marginals are exact if a junction tree over the requested columns and their ancestors fits into
    `max_memory_mb`. Otherwise they are counted on `estimate_rows` rows of a deterministic low-discrepancy
    sequence, with an error relative to the total of a few times 1 / the square root of that number.

    Attributes:
        max_memory_mb: Largest junction tree or marginal.
        estimate_rows: Number of rows on which marginals are counted if they are not exact.
    """

    kind: ClassVar[str] = "bayesian_network"
    why_not_adaptive: ClassVar[str] = (
        "a network has one set of parents for each column, so it cannot learn any marginal that is found wrong next, and "
        "the same one would be chosen again. Use spanning_tree, privbayes, all_pairs or given, which choose "
        "beforehand, or another model"
    )

    max_memory_mb: float = 1000.0
    estimate_rows: int = 200_000
    _domain: Domain | None = field(default=None, repr=False)
    _total: float = field(default=1.0, repr=False)
    _conditionals: Mapping[Clique, FloatArray] = field(default_factory=dict, repr=False)
    _possible: Mapping[Clique, BoolArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        normalise(self, max_memory_mb=megabytes, estimate_rows=count())

    @property
    def domain(self) -> Domain:
        """The domain that the model is bound to."""
        return bound(self._domain)

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self._total

    @property
    def families(self) -> tuple[Clique, ...]:
        """For each column its parents, then the column itself, in an order with parents before their children."""
        return tuple(self._conditionals)

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible."""
        return self._possible

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, which draws no cells that are not possible, if a junction tree with them is small."""
        return replace(self, _possible=dict(cells))

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        uniform: dict[Clique, FloatArray] = {
            (c,): np.full(n, 1 / n) for c, n in zip(domain.columns, domain.sizes, strict=True)
        }
        return replace(self, _domain=domain, _total=1.0, _conditionals=uniform)

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Bound the size of the conditional distributions, at 8 bytes a cell: one within a clique per column."""
        cells = {
            c: max([n, *(self.domain.cells(q) for q in cliques if c in q)])
            for c, n in zip(self.domain.columns, self.domain.sizes, strict=True)
        }
        return table_mb(sum(cells.values())) + (MOST_MB if self._possible else 0.0)

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Return the cost of a fit: a pass over the marginals, and work space of their size."""
        if not fit.cliques:
            return fit.cost
        cells, usual = (sum(map(self.domain.cells, c)) for c in (fit.cliques, fit.usual or fit.cliques))
        memory_mb = self.memory_mb(fit.cliques) + cells * _BYTES_PER_CELL / 2**20
        return FitCost(memory_mb, fit.times * (usual * _SECONDS_PER_CELL))

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a network whose families are among the measured cliques.

        Raises:
            ArgumentError: If there is no measurement, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
        """
        check_measurements(self.domain, measurements)
        total = consistent_total(measurements)
        held = {c for m in measurements for c in m.clique}
        conditionals = {}
        for family in families(self.domain, measurements):
            if family[-1] in held:
                joint = estimate(self.domain, measurements, family).values
                conditionals[family] = conditional(project_simplex(joint, total))
            else:
                conditionals[family] = np.full(self.domain.shape(family), 1 / self.domain.cells(family))
        fitting = {
            clique: cells
            for clique, cells in self._possible.items()
            if all(c in self.domain for c in clique) and self.domain.shape(clique) == cells.shape
        }
        return replace(self, _total=total, _conditionals=within_rules(self.domain, conditionals, fitting))

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique: one axis per column, in the clique's order."""
        wanted = [tuple(c) for c in cliques]
        for clique in wanted:
            self.domain.canonical(clique)  # raises for columns that do not exist
            _check_cells(self.domain, clique, self.max_memory_mb)
        if self._fits:
            tables = marginal_probabilities(self._tree, self._tables, wanted, self.max_memory_mb)
        else:
            tables = [self._marginal(clique) for clique in wanted]
        return [self._total * table for table in tables]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows, parents before children, by rounding; with `given`, the other columns conditionally.

        Raises:
            ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
            ResourceError: If so many rows would not fit any machine, or columns are given and the junction tree
                of the network does not fit into `max_memory_mb`.
        """
        check_sample(self.domain, n, given)
        if given is None:
            # Without edges, rows are drawn clique by clique in the order given: ancestors first.
            ordered = tuple(self.domain.canonical(f) for f in self.families)
            tables = [onto(t, f, c) for (f, t), c in zip(self._conditionals.items(), ordered, strict=True)]
            return sample_rows(JunctionTree(self.domain, ordered, ()), tables, int(n), rng)
        check_memory(self._tree, self.max_memory_mb)
        return sample_given(self._tree, self._tables, given, rng)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the distribution times weights of codes: exactly, or by rejection sampling if no junction tree
        fits."""
        if not self._fits:
            return by_trying(self, weights)
        probability, tables = weigh(self._tree, self._tables, weights)
        return Restricted(probability, lambda n, rng: sample_rows(self._tree, tables, n, rng))

    @cached_property
    def _tree(self) -> JunctionTree:
        return junction_tree(self.domain, self.families)

    @property
    def _fits(self) -> bool:
        return table_mb(self._tree.cells) <= self.max_memory_mb

    @cached_property
    def _tables(self) -> list[FloatArray]:
        return _tree_tables(self._tree, self._conditionals)

    def _marginal(self, clique: Clique) -> FloatArray:
        """Return the probabilities of a clique from its ancestors alone: all other columns sum out to 1."""
        needed = set(clique)
        kept: dict[Clique, FloatArray] = {}
        for family in reversed(self.families):
            if family[-1] in needed:
                kept[family] = self._conditionals[family]
                needed.update(family)
        tree = junction_tree(self.domain.project(self.domain.canonical(needed)), kept)
        if table_mb(tree.cells) > self.max_memory_mb:
            shape = self.domain.shape(clique)
            cells = np.ravel_multi_index([self._rows[c] for c in clique], shape) if clique else 0
            counts = np.bincount(np.atleast_1d(cells), minlength=math.prod(shape)).reshape(shape)
            return np.asarray(counts / counts.sum())
        return marginal_probabilities(tree, _tree_tables(tree, kept), [clique], self.max_memory_mb)[0]

    @cached_property
    def _rows(self) -> dict[str, NDArray[np.intp]]:
        """Rows of the network, by inverse transform of the sequence frac((i + 1/2) sqrt(prime))."""
        rows: dict[str, NDArray[np.intp]] = {}
        order = np.arange(self.estimate_rows) + 0.5
        for (family, table), prime in zip(self._conditionals.items(), _primes(len(self.domain)), strict=True):
            uniform = np.modf(order * math.sqrt(prime))[0]
            cumulative = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)
            parents = family[:-1]
            group = (
                np.ravel_multi_index([rows[p] for p in parents], self.domain.shape(parents))
                if parents
                else np.zeros(self.estimate_rows, dtype=np.intp)
            )
            # One sorted array for all groups: the g-th distribution function takes values in g .. g + 1.
            ends = cumulative[:, :-1] / cumulative[:, -1:] + np.arange(cumulative.shape[0])[:, None]
            position = np.searchsorted(ends.ravel(), group + uniform, side="right")
            rows[family[-1]] = np.clip(position - group * ends.shape[1], 0, ends.shape[1])
        return rows

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return options, domain and families as facts and conditionals as arrays, for a file."""
        facts = {**stored_facts(self), "families": [list(f) for f in self.families]}
        return facts, {f"conditional/{i}": t for i, t in enumerate(self._conditionals.values())}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the most bytes of each array for these stored facts; raises ReleaseFileError if they are
        malformed."""
        with whole_model():
            domain, _, _ = read_facts(cls, facts)
            return {f"conditional/{i}": 8 * domain.cells(f) for i, f in enumerate(facts["families"])}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            domain, total, options = read_facts(cls, facts)
            members = [tuple(f) for f in facts["families"]]
            conditionals = {
                f: np.asarray(arrays[f"conditional/{i}"], dtype=np.float64) for i, f in enumerate(members)
            }
            if len(conditionals) != len(arrays) or not _is_network(domain, conditionals):
                raise ValueError
            return replace(cls(**options), _domain=domain, _total=total, _conditionals=conditionals)


def _tree_tables(tree: JunctionTree, conditionals: Mapping[Clique, FloatArray]) -> list[FloatArray]:
    """Return the probabilities of the cliques of a tree that holds all the families given."""
    potentials: dict[Clique, FloatArray] = {}
    with np.errstate(divide="ignore"):
        for family, table in conditionals.items():
            clique = tree.domain.canonical(family)
            potentials[clique] = potentials.get(clique, 0.0) + np.log(onto(table, family, clique))
    return clique_tables(tree, potentials)


def _check_cells(domain: Domain, clique: Clique, max_memory_mb: float) -> None:
    memory_mb = table_mb(domain.cells(clique))
    if memory_mb > max_memory_mb:
        raise ResourceError(
            f"a marginal over {clique} would take {above_limit(memory_mb, max_memory_mb)}; request fewer columns at "
            "once, or raise max_memory_mb"
        )


def _is_network(domain: Domain, conditionals: Mapping[Clique, FloatArray]) -> bool:
    """Return whether each column is the child of one family, after its parents, with a distribution for each value of
    them."""
    placed: set[str] = set()
    for family, table in conditionals.items():
        if not family or family[-1] in placed or not placed.issuperset(family[:-1]):
            return False
        domain.canonical(family)  # raises for repeated columns
        if table.shape != domain.shape(family) or not np.isfinite(table).all() or (table < 0).any():
            return False
        if not np.allclose(table.sum(axis=-1), 1.0):
            return False
        placed.add(family[-1])
    return placed == set(domain.columns)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found
