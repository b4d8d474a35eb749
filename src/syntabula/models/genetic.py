"""A genetic algorithm: random changes to a table are kept if they bring it nearer to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, flag, normalise, real
from syntabula._spaces import Range, tunable
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import (
    HALF_NORMAL,
    FloatArray,
    Measurement,
    consistent_total,
    project_simplex,
)
from syntabula.models.hard_rows import HardRows
from syntabula.models.row_set import Records, draw_codes

_TRIES_PER_ROW = 100
_SECONDS_PER_ROW_AND_MARGINAL = 1.5e-6  # at the usual tolerance, on one core
_MUCH_NOISE = 0.2
"""Fraction of a marginal's records that noise may move before a fit stops at the noise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Genetic(HardRows):
    """Random records whose cells mutate and cross over; changes that lower the error of the marginals are kept.

    Liu, Tang, Vietri, Wu (2023), "Generating Private Synthetic Data with Genetic Algorithms" (Private-GSD).
    A generation tries new codes in one column, where columns with many codes are tried more often: for some
    rows a random code (mutation), for others the code of another row (crossover). The error is the sum
    of squared differences to the measured counts, weighted by inverse variance; for a candidate only its
    change is computed.

    Continuing beyond the error that noise explains also fits noise, but corrects what records that start
    from independent columns have not reached by then. This helps if noise moves less than a fifth of the
    records of a measured marginal, and hurts above; by default the measurements decide.

    Departures from the paper: a generation tries each candidate alone but keeps the best of them together, as
    many as jointly lower the error, where the paper keeps the single best one: the same moves take far fewer
    generations. So there are fewer generations, each with ten times the candidates of tab_bench's table 5,
    all in one column. There is one table, not an elite of several: crossover takes codes from it, as in the
    public code. The initial records follow each column's noisy counts, which is nearer than uniform codes;
    later fits start from the previous records. tab_bench's code evolves 10,000 records until they gain less
    than 1e-4, whatever the noise, which is `max_rows=10_000, stop_at_noise=False, tolerance=1e-4`.

    Attributes:
        mutations: Candidates per generation with a random code.
        crossovers: Candidates per generation with another row's code.
        generations: Most generations in one fit.
        tolerance: A fit also stops when 100 candidates per row lower the error by less than this fraction.
        stop_at_noise: Whether a fit stops at the error that noise explains; False continues to the tolerance,
            None stops only if noise moves on average at least a fifth of the records of a measured marginal.
    """

    kind: ClassVar[str] = "genetic"

    _bytes_per_cell: ClassVar[int] = 40  # the goal, its error, and work space
    _bytes_per_row: ClassVar[int] = 64

    max_rows: int = 50_000
    mutations: int = tunable(500, Range(low=100, high=1000, log=True))
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
        """Return a model evolved towards all given measurements, starting from this one's records or random ones.

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
        goals = [self._wanted(m, scale, least) for m in measurements]
        noise = sum(
            g.weight * scale**2 * float(np.square(m.sigma).mean()) * m.values.size
            for g, m in zip(goals, measurements, strict=True)
        )
        enough = noise if self._stops(measurements, total) else 0.0
        self._evolve(Evolution(rows, self.domain.sizes, goals), enough, rng)
        return replace(self, _total=total, _rows=self._within_rules(rows, rng))

    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        return n_rows * len(cliques) * _SECONDS_PER_ROW_AND_MARGINAL

    def _start(
        self, n: int, measurements: Sequence[Measurement], total: float, rng: np.random.Generator
    ) -> Records:
        """Return n records to start from: this model's, repeated if more are needed, or random ones."""
        if self._rows is not None:
            held = len(self._rows)
            return self._rows[rng.permutation(held)[np.arange(n) % held]]
        rows = self._uniform(n, rng)
        for i, column in enumerate(self.domain.columns):
            if any(column in m.clique for m in measurements):
                alone = project_simplex(_estimated_column(column, measurements), total)
                rows[:, i] = draw_codes(alone, n, rng)
        return rows

    def _wanted(self, measurement: Measurement, scale: float, least: float) -> WantedCounts:
        return WantedCounts(
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
        """Run generations until the error is small enough or hardly falls."""
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
    """Return the minimum-variance estimate of a column's counts from all marginals that contain it."""
    estimates, precisions = [], []
    for m in measurements:
        if column in m.clique:
            others = tuple(i for i, c in enumerate(m.clique) if c != column)
            estimates.append(m.values.sum(axis=others))
            precisions.append(1 / m.variances.sum(axis=others))
    weights = np.array(precisions)
    found: FloatArray = (weights * np.array(estimates)).sum(axis=0) / weights.sum(axis=0)
    return found


Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class WantedCounts:
    """One marginal that the rows should match.

    Attributes:
        columns: Positions of its columns in the rows.
        counts: Target number of rows in each cell, one axis per column; noise may make some negative.
        weight: Weight of its squared error in the total.
    """

    columns: tuple[int, ...]
    counts: FloatArray
    weight: float


@dataclass(frozen=True, eq=False)
class _Locus:
    """Positions, in the joint vector of errors, of the cells of all marginals that contain a column.

    Attributes:
        offset: First cell of each marginal [marginals].
        step: Distance from one code of the column to the next [marginals].
        partner: Positions of the other columns [others, marginals]; 0 where a marginal has fewer.
        stride: Distance from one code of these to the next [others, marginals]; 0 likewise.
        weight: Weight of each marginal [marginals].
    """

    offset: Index
    step: Index
    partner: Index
    stride: Index
    weight: FloatArray

    def first_cells(self, rows: Records) -> Index:
        """Return, for each row and marginal, the cell it would have with code 0 in the column."""
        cells = np.broadcast_to(self.offset, (len(rows), self.offset.size)).copy()
        for partner, stride in zip(self.partner, self.stride, strict=True):
            cells += rows[:, partner] * stride
        return cells


@dataclass(eq=False)
class Evolution:
    """A table with its errors, which are updated as cells change.

    Attributes:
        rows: Codes [rows, columns]; changed in place.
        sizes: Number of codes of each column.
        goals: The marginals.
        fitness: Weighted sum of squared errors; it never increases.
    """

    rows: Records
    sizes: Sequence[int]
    goals: Sequence[WantedCounts]
    fitness: float = field(init=False)

    def __post_init__(self) -> None:
        starts = np.cumsum([0, *(g.counts.size for g in self.goals)])
        self._errors = np.concatenate([self._error_of(g).ravel() for g in self.goals])
        self._loci = [self._locus(column, starts) for column in range(len(self.sizes))]
        self.fitness = self.recomputed_fitness()
        # Columns with more than one code and a goal, weighted towards those with many codes.
        held = np.array([locus.offset.size > 0 for locus in self._loci])
        self._chances = np.log2(self.sizes) * held
        self._most_kept = np.ones(len(self.sizes), dtype=np.intp)

    def recomputed_fitness(self) -> float:
        """Return the weighted sum of squared errors of the current rows, computed from scratch."""
        return float(sum(g.weight * np.square(self._error_of(g)).sum() for g in self.goals))

    @property
    def is_settled(self) -> bool:
        """Whether no column has both a goal and more than one code."""
        return not self._chances.any()

    def generation(self, mutations: int, crossovers: int, rng: np.random.Generator) -> None:
        """Try new codes in one column, and keep the best of them together if that lowers the fitness.

        Args:
            mutations: Number of rows whose code is drawn uniformly.
            crossovers: Number of rows whose code is that of another row.
            rng: Source of randomness.
        """
        column = int(rng.choice(self._chances.size, p=self._chances / self._chances.sum()))
        locus, tried = self._loci[column], min(mutations + crossovers, len(self.rows))
        start = int(rng.integers(len(self.rows)))
        chosen = (start + np.arange(tried)) % len(self.rows)
        drawn = np.concatenate(
            [
                rng.integers(0, self.sizes[column], mutations, dtype=self.rows.dtype),
                self.rows[rng.integers(0, len(self.rows), crossovers), column],
            ]
        )
        rng.shuffle(drawn)
        other = np.flatnonzero(drawn[:tried] != self.rows[chosen, column])
        chosen, new = chosen[other], drawn[other].astype(np.intp)
        parents = self.rows[chosen]
        old = parents[:, column].astype(np.intp)
        first = locus.first_cells(parents)
        lost = first + old[:, None] * locus.step
        gained = first + new[:, None] * locus.step
        # (e - 1)^2 - e^2 in the cell that a row leaves, (e + 1)^2 - e^2 in the one that it enters.
        change = 2 * ((self._errors.take(gained) - self._errors.take(lost) + 1) @ locus.weight)
        best = np.argsort(change, kind="stable")[: int((change < 0).sum())]
        # Each candidate lowers the error alone, but together they may overshoot. Start with twice as many as
        # last time.
        kept = min(int(self._most_kept[column]), best.size)
        while kept and not self._applied(lost[best[:kept]], gained[best[:kept]], locus.weight):
            kept //= 2
        self.rows[chosen[best[:kept]], column] = new[best[:kept]]
        self._most_kept[column] = max(2 * kept, 1)

    def _applied(self, lost: Index, gained: Index, weight: FloatArray) -> bool:
        """Move rows between cells and say whether the fitness fell; if not, move them back."""
        before = self._errors[gained] - self._errors[lost]
        np.add.at(self._errors, lost, -1.0)
        np.add.at(self._errors, gained, 1.0)
        # With d more rows in a cell of error e: (e + d)^2 - e^2 = d (e + (e + d)), summed here row by row.
        change = float(((before + self._errors[gained] - self._errors[lost]) @ weight).sum())
        if change < 0:
            self.fitness += change
            return True
        np.add.at(self._errors, lost, 1.0)
        np.add.at(self._errors, gained, -1.0)
        return False

    def _error_of(self, goal: WantedCounts) -> FloatArray:
        shape = goal.counts.shape
        cell = np.ravel_multi_index([self.rows[:, c].astype(np.intp) for c in goal.columns], shape)
        have: FloatArray = np.bincount(cell, minlength=goal.counts.size).reshape(shape) - goal.counts
        return have

    def _locus(self, column: int, starts: Index) -> _Locus:
        holding = [(g, s) for g, s in zip(self.goals, starts, strict=False) if column in g.columns]
        others = max((len(g.columns) - 1 for g, _ in holding), default=0)
        partner = np.zeros((others, len(holding)), dtype=np.intp)
        stride = np.zeros((others, len(holding)), dtype=np.intp)
        step = np.zeros(len(holding), dtype=np.intp)
        for i, (goal, _) in enumerate(holding):
            strides = np.array(goal.counts.strides) // goal.counts.itemsize
            rest = [(c, s) for c, s in zip(goal.columns, strides, strict=True) if c != column]
            step[i] = strides[goal.columns.index(column)]
            for j, (c, s) in enumerate(rest):
                partner[j, i], stride[j, i] = c, s
        weight = np.array([g.weight for g, _ in holding], dtype=np.float64)
        return _Locus(np.array([s for _, s in holding], dtype=np.intp), step, partner, stride, weight)
