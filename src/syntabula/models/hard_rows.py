"""The base class of models that are sets of records fitted to marginals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from syntabula._memory import above_limit
from syntabula._planning import FitCost, PlannedFit
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement, check_measurements
from syntabula.models.base import BoolArray, MarginalModel
from syntabula.models.row_set import Records, RowSet, draw_codes

_FIT_STREAM = 1

_LEAST_ROWS = 1000
_LEAST_POSSIBLE = 0.01
"""Share of a fit's records in possible cells below which they are left, to be discarded when rows are drawn."""
_SWEEPS = 20
_MOST_WEIGHT = 3.0
"""Largest weight of a record when they are drawn anew, in means of those that are kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HardRows(RowSet, MarginalModel, ABC):
    """A set of synthetic records of equal weight; subclasses implement `fit`, which makes them.

    Attributes:
        max_rows: Most records of the model; a larger table is represented by their weight. A smaller table
            has at least 1,000 if this allows, so that it is not too coarse.
        max_memory_mb: Memory limit of a fit and of a marginal; checked before anything is allocated.
        seed: Seed of a fit's random choices. Privacy does not depend on them: a fit only sees noisy counts.
    """

    _bytes_per_cell: ClassVar[int] = 0
    """Memory of a fit for each cell and column of a marginal."""
    _bytes_per_row: ClassVar[int] = 0

    _possible: Mapping[Clique, BoolArray] = field(default_factory=dict, repr=False)

    @abstractmethod
    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements."""

    @abstractmethod
    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        """Return a rough time for a fit with this many records on one core."""

    @property
    def possible(self) -> Mapping[Clique, BoolArray]:
        """Which combinations of codes are possible."""
        return self._possible

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same model, whose fits end with records in cells that are possible alone, if there are some."""
        return replace(self, _possible=dict(cells))

    def over(self, domain: Domain) -> Self:
        """Return an unfitted model (uniform, total 1) with the same options over a domain."""
        return replace(self, _domain=domain, _total=1.0, _rows=None)

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        """Return a bound on the model's size: its records, whatever it is fitted to."""
        return self.max_rows * len(self.domain) * self._dtype.itemsize / 2**20

    def fit_cost(self, fit: PlannedFit, n_records: int) -> FitCost:
        """Return the cost of a planned fit, with a guessed number of records for the time."""
        if not fit.cliques:
            return fit.cost
        seconds = self._fit_seconds(fit.usual or fit.cliques, self._records_for(float(n_records)))
        return FitCost(self._fit_mb(fit.cliques), fit.times * seconds)

    def _fit_mb(self, cliques: Sequence[Clique]) -> float:
        cells = sum(self.domain.cells(c) * len(c) for c in cliques)
        needed = cells * self._bytes_per_cell + self.max_rows * self._bytes_per_row
        return needed / 2**20 + 2 * self.memory_mb([])

    def _random(self) -> np.random.Generator:
        """Return the generator of a fit's random choices.

        Its stream differs from the one that `sample` uses for the same seed: with the same stream, rows
        would be drawn in the order in which the fit arranged them, and a sample would not represent the
        table.
        """
        return np.random.default_rng([self.seed, _FIT_STREAM])

    def _records_for(self, total: float) -> int:
        """Return the number of records for an estimated total: the total itself, within limits."""
        return min(max(round(min(total, self.max_rows)), _LEAST_ROWS), self.max_rows)

    def _within_rules(self, rows: Records, rng: np.random.Generator) -> Records:
        """Return as many of these records as there are, without those in impossible cells.

        They are drawn anew with weights by which the columns with impossible cells keep their distribution (iterative
        proportional fitting): those that are left alone would have another.
        """
        masks = {
            clique: cells
            for clique, cells in self._possible.items()
            if all(c in self.domain for c in clique) and self.domain.shape(clique) == cells.shape
        }
        kept = np.ones(len(rows), dtype=np.bool_)
        for clique, cells in masks.items():
            kept &= cells[tuple(rows[:, self.domain.index(c)] for c in clique)]
        if kept.all() or kept.mean() < _LEAST_POSSIBLE:
            return rows
        ruled = [self.domain.index(c) for c in self.domain.columns if any(c in q for q in masks)]
        weights = kept.astype(np.float64)
        for _ in range(_SWEEPS):
            for column in ruled:
                codes = rows[:, column]
                wanted, found = np.bincount(codes), np.bincount(codes, weights)
                weights *= np.divide(wanted, found, out=np.zeros(found.size), where=found > 0)[codes]
                # Few records of great weight would make other columns rougher than these are better.
                np.minimum(weights, _MOST_WEIGHT * weights.sum() / kept.sum(), out=weights)
        chosen: Records = rows[draw_codes(weights, len(rows), rng)]
        return chosen

    def _check_measurements(self, measurements: Sequence[Measurement]) -> None:
        """Refuse measurements that do not match the domain, or whose fit would exceed the memory limit."""
        check_measurements(self.domain, measurements)
        needed = self._fit_mb([m.clique for m in measurements])
        if needed > self.max_memory_mb:
            raise ResourceError(
                f"fitting {self.max_rows:,} records to {len(measurements)} marginals may take "
                f"{above_limit(needed, self.max_memory_mb)}; use fewer bins, measure less, lower max_rows or raise "
                "max_memory_mb"
            )
