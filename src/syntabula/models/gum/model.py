"""GUM: a table of random records that is moved, step by step, towards noisy marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from syntabula._arguments import check_count
from syntabula.marginals.agreement import AGREEMENT_BYTES, agreeing_marginals
from syntabula.marginals.consistency import consistent_total
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.gum.separation import Join, separate
from syntabula.models.gum.update import Target, update
from syntabula.models.hard_rows import HardRows, Rows, draw_codes

_SECONDS_PER_UPDATED_ROW = 1.5e-8  # of one marginal in one pass, on one core
_SECONDS_PER_CELL = 2e-6  # to make marginals agree
_DECAY, _STEPS_BETWEEN_DECAYS = 0.84, 20


@dataclass(frozen=True, kw_only=True, eq=False)
class GUM(HardRows):
    """Random records, copied and overwritten until they have the measured marginals.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis" (Gradually Update Method). The noisy
    marginals are made to agree; every column is drawn on its own; then each pass visits all marginals, the
    worst first, and moves rows from cells with too many to cells with too few. The step size starts at 1 and
    shrinks to 0.84 of it every 20 passes. In every other pass half of the rows that a cell gains are copies of
    whole rows and half are overwritten in the marginal's columns alone; in the passes between all are copies.
    Records are made from noisy marginals and chance; no real record ever enters.

    Departures from the public code: columns in one marginal alone are left out of the updates repeatedly, not
    once, so that a tree of marginals is met exactly; see also `agreeing_marginals`. A fit always starts
    afresh, as records that are copied again in every fit lose their variety.

    Attributes:
        passes: How often all marginals are visited.
        consistency_rounds: At most so many rounds make the marginals agree.
    """

    _bytes_per_cell: ClassVar[int] = AGREEMENT_BYTES
    _bytes_per_row: ClassVar[int] = 48  # the cell of each row, their order, and work space

    passes: int = 50
    consistency_rounds: int = 501

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("passes", self.passes, 1)
        check_count("consistency_rounds", self.consistency_rounds, 1)

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
        n = self._records_for(total)
        core, joins = separate(agreeing_marginals(measurements, rounds=self.consistency_rounds))
        rows = np.zeros((n, len(self.domain)), dtype=self._dtype)
        for clique, table in core.items():
            for axis, column in enumerate(clique):
                alone = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
                rows[:, self.domain.index(column)] = draw_codes(alone, n, rng)
        rows = self._updated(rows, core, rng)
        measured = {c for m in measurements for c in m.clique}
        rest = [
            Join((c,), (), np.ones(self.domain.size(c))) for c in self.domain.columns if c not in measured
        ]
        self._draw(rows, [*joins[::-1], *rest], rng)
        return replace(self, _total=total, _rows=rows)

    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        cells = sum(self.domain.cells(c) for c in cliques)
        return self.passes * len(cliques) * n_rows * _SECONDS_PER_UPDATED_ROW + cells * _SECONDS_PER_CELL

    def _draw(self, rows: Rows, joins: Sequence[Join], rng: np.random.Generator) -> None:
        """Fill in columns, in order."""
        for join in joins:
            there = {c: rows[:, self.domain.index(c)].astype(np.intp) for c in join.given}
            for column, codes in join.draw(there, len(rows), rng).items():
                rows[:, self.domain.index(column)] = codes

    def _updated(self, rows: Rows, core: Mapping[Clique, FloatArray], rng: np.random.Generator) -> Rows:
        """Return the rows after all passes over the marginals."""
        targets = [
            Target(
                tuple(self.domain.index(c) for c in clique),
                table.shape,
                table.ravel() * (len(rows) / table.sum()),
            )
            for clique, table in core.items()
        ]
        for number in range(self.passes if targets else 0):
            rows = rows[rng.permutation(len(rows))]
            step = _DECAY ** (number // _STEPS_BETWEEN_DECAYS)
            for target in sorted(targets, key=lambda t: t.error(rows), reverse=True):
                update(rows, target, step=step, duplicated=0.5 if number % 2 == 0 else 1.0, rng=rng)
        return rows
