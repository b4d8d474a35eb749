"""GUM: a table of random records that is moved, step by step, towards noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from syntabula._arguments import count, normalise
from syntabula.marginals.agreement import AGREEMENT_BYTES, agreeing_marginals
from syntabula.marginals.consistency import consistent_total
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.gum.separation import Join, Noise, separate
from syntabula.models.gum.update import GradualUpdate
from syntabula.models.hard_rows import HardRows, Rows


def strongest_tree(tables: Mapping[Clique, FloatArray]) -> list[Join]:
    """Return how to draw all columns, each given the columns before it that tell most of it.

    Of all marginals the one is taken next whose columns that are there already have the most mutual information
    with its others (for pairs: the maximum spanning tree of Chow and Liu 1968). It is post-processing.

    Args:
        tables: Counts of marginals, not negative, each with a sum above 0.

    Returns:
        What is to be drawn, first to last.
    """
    there: set[str] = set()
    joins: list[Join] = []
    known: dict[tuple[Clique, Clique], float] = {}
    while open_ := [clique for clique in tables if not there.issuperset(clique)]:
        given = {clique: tuple(c for c in clique if c in there) for clique in open_}
        for clique in open_:
            if (clique, given[clique]) not in known:
                known[clique, given[clique]] = _information(tables[clique], clique, given[clique])
        best = max(open_, key=lambda clique: known[clique, given[clique]])
        new = tuple(c for c in best if c not in there)
        order = [best.index(c) for c in (*given[best], *new)]
        joins.append(Join(new, given[best], tables[best].transpose(order)))
        there.update(new)
    return joins


def _information(table: FloatArray, clique: Clique, given: Clique) -> float:
    """Return the mutual information of the given columns of a marginal and its others, in nats."""
    if not given:
        return 0.0
    part = table / table.sum()
    axes = {c: axis for axis, c in enumerate(clique)}
    ahead = part.sum(axis=tuple(axes[c] for c in clique if c not in given), keepdims=True)
    rest = part.sum(axis=tuple(axes[c] for c in given), keepdims=True)
    alone = np.broadcast_to(ahead * rest, part.shape)
    there = part > 0
    return float((part[there] * np.log(part[there] / alone[there])).sum())


_SECONDS_PER_ROW, _SECONDS_PER_WEIGHED_MARGINAL = 3e-9, 6e-10  # of one marginal in one pass, on one core
_SECONDS_PER_VISIT = 8e-4  # of a marginal in a pass, however few rows
_USUAL_PASSES = 15
_SECONDS_PER_CELL = 2e-6  # to make marginals agree
_DECAY, _STEPS_BETWEEN_DECAYS = 0.84, 20
_COMPARED, _LEAST_PART = 4, 0.05  # passes; part of the error


@dataclass(frozen=True, kw_only=True, eq=False)
class GUM(HardRows):
    """Random records, copied and overwritten until they have the measured marginals.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis" (Gradually Update Method). The noisy
    marginals are made to agree; records are drawn; then each pass visits all marginals, the worst first, and
    moves rows from cells with too many to cells with too few. The step size starts at 1 and shrinks to 0.84 of it
    every 20 passes. In every other pass half of the rows that are moved become copies of whole rows; all others
    are overwritten in the marginal's columns alone. Records are made from noisy marginals and chance; no real
    record ever enters.

    Departures from the paper, as its updates do not settle where hundreds of marginals overlap (each one undoes the
    others, and copies drive out all but a few records): a move is made only if all marginals together gain by
    it; a row goes to a cell that differs in one column only, where there is one; cells give up rows in proportion
    to their surplus, where the paper bounds the part of its rows that a cell gives; the passes between copy none,
    where the public code's copy all; records are not drawn column by column, but from the tree of the strongest
    marginals; passes end when the last four are nearly as far off as the four before. Columns in one marginal
    alone are left out of the updates repeatedly, not once, so that a tree of marginals is met exactly; see also
    `agreeing_marginals`. A fit always starts afresh, as records that are copied again in every fit lose their
    variety.

    Attributes:
        passes: How often all marginals are visited at most.
        consistency_rounds: At most so many rounds make the marginals agree.
    """

    kind: ClassVar[str] = "gum"

    _bytes_per_cell: ClassVar[int] = AGREEMENT_BYTES
    _bytes_per_row: ClassVar[int] = 48  # the cell of each row, their order, and work space

    passes: int = 50
    consistency_rounds: int = 501

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, passes=count(), consistency_rounds=count())

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, from random records.

        Args:
            measurements: At least one. A column that none of them has comes out evenly.

        Raises:
            ArgumentError: If there is none, or values do not have the shape of their clique.
            SchemaError: If a clique names an unknown column.
            ResourceError: If the fit may take more than `max_memory_mb`.
        """
        self._check_measurements(measurements)
        rng = self._random()
        total = consistent_total(measurements)
        core, joins = separate(agreeing_marginals(measurements, rounds=self.consistency_rounds))
        rows = np.zeros((len(self.domain), self._records_for(total)), dtype=self._dtype)
        self._draw(rows, strongest_tree(core), rng)
        if core:
            self._update(rows, core, Noise(self.domain, core, measurements), total, rng)
        measured = {c for m in measurements for c in m.clique}
        rest = [
            Join((c,), (), np.ones(self.domain.size(c))) for c in self.domain.columns if c not in measured
        ]
        self._draw(rows, [*joins[::-1], *rest], rng)
        return replace(self, _total=total, _rows=np.ascontiguousarray(rows.T))

    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        cells = sum(self.domain.cells(c) for c in cliques)
        # The more cells for the rows, the more of the rows are moved, and each move is weighed by most marginals.
        weighed = len(cliques) * math.sqrt(cells / max(1, len(cliques)) / n_rows)
        row_seconds = _SECONDS_PER_ROW + weighed * _SECONDS_PER_WEIGHED_MARGINAL
        passes = min(self.passes, _USUAL_PASSES)
        return passes * len(cliques) * (_SECONDS_PER_VISIT + n_rows * row_seconds) + cells * _SECONDS_PER_CELL

    def _draw(self, rows: Rows, joins: Sequence[Join], rng: np.random.Generator) -> None:
        """Fill in columns [columns, rows], in order."""
        for join in joins:
            there = {c: rows[self.domain.index(c)].astype(np.intp) for c in join.given}
            for column, codes in join.draw(there, rows.shape[1], rng).items():
                rows[self.domain.index(column)] = codes

    def _update(
        self,
        rows: Rows,
        core: Mapping[Clique, FloatArray],
        noise: Noise,
        total: float,
        rng: np.random.Generator,
    ) -> None:
        """Pass over the marginals until the rows [columns, rows] get no nearer to them, or no nearer to the truth."""
        state = GradualUpdate(self.domain, core, rows, rng)
        errors = [state.errors()]
        for number in range(self.passes):
            step = _DECAY ** (number // _STEPS_BETWEEN_DECAYS)
            duplicated = 0.5 if number % 2 == 0 else 0.0
            for position in np.argsort(-errors[-1]):
                copies_pay = state.update(state.targets[position], step=step, duplicated=duplicated)
                duplicated = duplicated if copies_pay else 0.0
            errors.append(state.errors())
            explained = noise.explains(state.counts * (total / rows.shape[1]))
            if explained or _settled([error.mean() for error in errors]):
                break


def _settled(errors: Sequence[float]) -> bool:
    """Say whether the last few passes lowered the mean error by next to nothing against the few before."""
    if len(errors) < 2 * _COMPARED:
        return False
    last, before = np.mean(errors[-_COMPARED:]), np.mean(errors[-2 * _COMPARED : -_COMPARED])
    return bool(last >= (1 - _LEAST_PART) * before)
