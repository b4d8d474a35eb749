"""A genetic algorithm: a table whose cells change at random, where that brings it nearer to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from syntabula._arguments import count, flag, normalise, real
from syntabula.marginals.consistency import consistent_total, project_simplex
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import HALF_NORMAL, FloatArray, Measurement
from syntabula.models.genetic.evolution import Evolution, Goal
from syntabula.models.hard_rows import HardRows, Rows, draw_codes

_TRIES_PER_ROW = 100
_SECONDS_PER_ROW_AND_MARGINAL = 1.5e-6  # at the usual tolerance, on one core
_MUCH_NOISE = 0.2
"""Part of the records of a marginal that noise may move before a fit stops at it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Genetic(HardRows):
    """Random records whose cells mutate and cross over; what lowers the error of the marginals stays.

    Liu, Tang, Vietri, Wu (2023), "Generating Private Synthetic Data with Genetic Algorithms" (Private-GSD).
    A generation tries new codes in one column, of which columns with many codes get more: for some rows a
    random code (mutation), for others the code of another row (crossover). The error is the sum of squared
    differences to the measured counts, by inverse variance; of a candidate only what it changes is computed.

    Going on beyond the error that noise explains fits noise too, yet mends what records that start from
    independent columns have not reached by then. It gains where noise moves less than a fifth of the records
    of a measured marginal, and loses above; which of the two a fit does follows from what was measured.

    Departures from the paper: a generation tries each candidate alone but keeps the best of them together,
    as many as lower the error together, where the paper keeps the single best one: the same moves in far fewer
    generations. So they are fewer, each with ten times the candidates of tab_bench's table 5, all of one column.
    There is one table, not an elite of several: crossover takes codes from it, as in the public code. The first
    records have each column's noisy counts, which is nearer than even codes; later fits start from the
    records of the one before. tab_bench's code evolves 10,000 records until they gain less than 1e-4,
    whatever the noise, which is `max_rows=10_000, stop_at_noise=False, tolerance=1e-4`.

    Attributes:
        mutations: Candidates of each generation with a random code.
        crossovers: Candidates of each generation with another row's code.
        generations: At most so many in one fit.
        tolerance: A fit also stops when 100 candidates for every row lower the error by less than this part.
        stop_at_noise: Whether a fit stops at the error that noise explains; False goes on to the tolerance, None
            stops only where noise moves a fifth of the records of a measured marginal or more on average.
    """

    kind: ClassVar[str] = "genetic"

    _bytes_per_cell: ClassVar[int] = 40  # the goal, its error, and work space
    _bytes_per_row: ClassVar[int] = 64

    max_rows: int = 50_000
    mutations: int = 500
    crossovers: int = 500
    generations: int = 100_000
    tolerance: float = 0.01
    stop_at_noise: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(
            self,
            mutations=count(),
            crossovers=count(0),
            generations=count(),
            tolerance=real("a number above 0 and below 1", lambda part: 0 < part < 1),
            stop_at_noise=flag.or_none,
        )

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model evolved towards all given measurements, from this one's records or random ones.

        Args:
            measurements: At least one; a clique may be measured more than once.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If the fit may take more than `max_memory_mb`.
        """
        self._check_measurements(measurements)
        rng = self._random()
        total = consistent_total(measurements)
        n = self._records_for(total)
        rows = self._start(n, measurements, total, rng)
        scale = n / total
        least = min(float(m.variances.mean()) for m in measurements)
        goals = [self._goal(m, scale, least) for m in measurements]
        noise = sum(
            g.weight * scale**2 * float(np.square(m.sigma).mean()) * m.values.size
            for g, m in zip(goals, measurements, strict=True)
        )
        enough = noise if self._stops(measurements, total) else 0.0
        self._evolve(Evolution(rows, self.domain.sizes, goals), enough, rng)
        return replace(self, _total=total, _rows=rows)

    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        return n_rows * len(cliques) * _SECONDS_PER_ROW_AND_MARGINAL

    def _start(
        self, n: int, measurements: Sequence[Measurement], total: float, rng: np.random.Generator
    ) -> Rows:
        """Return n records to start from: this model's, again and again if more are needed, or random ones."""
        if self._rows is not None:
            held = len(self._rows)
            return self._rows[rng.permutation(held)[np.arange(n) % held]]
        rows = self._uniform(n, rng)
        for i, column in enumerate(self.domain.columns):
            if any(column in m.clique for m in measurements):
                alone = project_simplex(_estimated_column(column, measurements), total)
                rows[:, i] = draw_codes(alone, n, rng)
        return rows

    def _goal(self, measurement: Measurement, scale: float, least: float) -> Goal:
        return Goal(
            columns=tuple(self.domain.index(c) for c in measurement.clique),
            counts=np.ascontiguousarray(measurement.values * scale),
            weight=least / float(measurement.variances.mean()),
        )

    def _stops(self, measurements: Sequence[Measurement], total: float) -> bool:
        """Return whether a fit stops at the error that noise explains."""
        if self.stop_at_noise is not None:
            return self.stop_at_noise
        moved = [HALF_NORMAL * float(np.mean(m.sigma)) * m.values.size / (2 * total) for m in measurements]
        return sum(moved) >= _MUCH_NOISE * len(moved)

    def _evolve(self, evolution: Evolution, enough: float, rng: np.random.Generator) -> None:
        """Let generations pass until the error is small enough, or hardly falls any more."""
        if evolution.is_settled:
            return
        patience = math.ceil(
            _TRIES_PER_ROW * len(evolution.rows) / min(self.mutations + self.crossovers, len(evolution.rows))
        )
        before = evolution.fitness
        for number in range(1, self.generations + 1):
            if evolution.fitness <= enough:
                return
            evolution.generation(self.mutations, self.crossovers, rng)
            if number % patience == 0:
                if before - evolution.fitness <= self.tolerance * before:
                    return
                before = evolution.fitness


def _estimated_column(column: str, measurements: Sequence[Measurement]) -> FloatArray:
    """Return the counts of a column with the least variance, from all marginals that have it."""
    estimates, precisions = [], []
    for m in measurements:
        if column in m.clique:
            others = tuple(i for i, c in enumerate(m.clique) if c != column)
            estimates.append(m.values.sum(axis=others))
            precisions.append(1 / m.variances.sum(axis=others))
    weights = np.array(precisions)
    found: FloatArray = (weights * np.array(estimates)).sum(axis=0) / weights.sum(axis=0)
    return found
