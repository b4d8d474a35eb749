"""Evolve a table towards marginals: single cells change where that lowers the squared error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.models.hard_rows import Rows

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Goal:
    """One marginal that the rows should have.

    Attributes:
        columns: Positions of its columns in the rows.
        counts: Wanted number of rows of each cell, one axis per column; noise may have made some negative.
        weight: Of its squared error in the whole.
    """

    columns: tuple[int, ...]
    counts: FloatArray
    weight: float


@dataclass(frozen=True, eq=False)
class _Locus:
    """Where the cells of all marginals that have a column lie in the joint vector of errors.

    Attributes:
        offset: First cell of each marginal [marginals].
        step: Cells from one code of the column to the next [marginals].
        partner: Positions of the other columns [others, marginals]; 0 where a marginal has fewer.
        stride: Cells from one code of these to the next [others, marginals]; 0 likewise.
        weight: Weight of each marginal [marginals].
    """

    offset: Index
    step: Index
    partner: Index
    stride: Index
    weight: FloatArray

    def first_cells(self, rows: Rows) -> Index:
        """Return, for each row and marginal, the cell it would have with code 0 in the column."""
        cells = np.broadcast_to(self.offset, (len(rows), self.offset.size)).copy()
        for partner, stride in zip(self.partner, self.stride, strict=True):
            cells += rows[:, partner] * stride
        return cells


@dataclass(eq=False)
class Evolution:
    """A table with its errors, kept up to date as cells change.

    Attributes:
        rows: Codes [rows, columns]; changed in place.
        sizes: Number of codes of each column.
        goals: The marginals.
        fitness: Weighted sum of squared errors; it never rises.
    """

    rows: Rows
    sizes: Sequence[int]
    goals: Sequence[Goal]
    fitness: float = field(init=False)

    def __post_init__(self) -> None:
        starts = np.cumsum([0, *(g.counts.size for g in self.goals)])
        self._errors = np.concatenate([self._error_of(g).ravel() for g in self.goals])
        self._loci = [self._locus(column, starts) for column in range(len(self.sizes))]
        self.fitness = self.recomputed_fitness()
        # Columns that have a choice and a goal, a column of many codes more often.
        held = np.array([locus.offset.size > 0 for locus in self._loci])
        self._chances = np.log2(self.sizes) * held
        self._most_kept = np.ones(len(self.sizes), dtype=np.intp)

    def recomputed_fitness(self) -> float:
        """Return the weighted sum of squared errors of the rows as they are, from scratch."""
        return float(sum(g.weight * np.square(self._error_of(g)).sum() for g in self.goals))

    @property
    def is_settled(self) -> bool:
        """Whether no column has both a goal and a choice."""
        return not self._chances.any()

    def generation(self, mutations: int, crossovers: int, rng: np.random.Generator) -> None:
        """Try new codes in one column, and keep the best of them together if that lowers the fitness.

        Args:
            mutations: Number of rows whose code is drawn evenly.
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
        # Candidates lower the error alone; together they may overshoot. Twice as many as last time are tried.
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
        # With d rows more in a cell of error e: (e + d)^2 - e^2 = d (e + (e + d)), summed here row by row.
        change = float(((before + self._errors[gained] - self._errors[lost]) @ weight).sum())
        if change < 0:
            self.fitness += change
            return True
        np.add.at(self._errors, lost, 1.0)
        np.add.at(self._errors, gained, -1.0)
        return False

    def _error_of(self, goal: Goal) -> FloatArray:
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
