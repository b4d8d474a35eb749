"""GUM: moves a table of random records step by step towards noisy marginals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise
from syntabula._spaces import Range, tunable
from syntabula.marginals.consistency import AGREEMENT_BYTES, agreeing_marginals
from syntabula.marginals.domain import Clique, Domain, maximal
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total
from syntabula.models.gum_update import GradualUpdate
from syntabula.models.hard_rows import HardRows
from syntabula.models.row_set import Records
from syntabula.models.tables import arranged, round_rows
from syntabula.models.targets import Target, joined_targets

Codes = NDArray[np.intp]

_UNKNOWN = 1e-6
"""Cells with less than this fraction of their marginal's largest precision count as not measured."""
_SECONDS_PER_ROW, _SECONDS_PER_WEIGHED_MARGINAL = 3e-9, 6e-10  # of one marginal in one pass, on one core
_SECONDS_PER_VISIT = 8e-4  # of a marginal in a pass, for any number of rows
_USUAL_PASSES = 15
_SECONDS_PER_CELL = 2e-6  # to make marginals consistent
_DECAY, _STEPS_BETWEEN_DECAYS = 0.84, 20
_COMPARED, _LEAST_PART = 4, 0.05  # passes; part of the error


@dataclass(frozen=True, kw_only=True, eq=False)
class GUM(HardRows):
    """Random records, copied and overwritten until they match the measured marginals.

    Zhang et al. (2021), "PrivSyn: Differentially Private Data Synthesis" (Gradually Update Method). The noisy
    marginals are made consistent and records are drawn. Then each pass visits all marginals, the worst first, and
    moves rows from cells with too many to cells with too few. The step size starts at 1 and is multiplied by 0.84
    every 20 passes. In every other pass half of the moved rows become copies of whole rows; all others are
    overwritten only in the marginal's columns. Records come from noisy marginals and chance alone, never from
    real records.

    Departures from the paper, whose updates do not converge if hundreds of marginals overlap (each one undoes the
    others, and copies displace all but a few records): a move is made only if it improves all marginals in total; a
    row moves to a cell that differs in only one column, if there is one; cells give up rows in proportion to their
    surplus, where the paper bounds the fraction of its rows that a cell gives; the passes in between copy no rows,
    where the public code's copy all; records are drawn from the tree of the strongest marginals, not column by
    column; passes end when the last four are hardly better than the four before. Columns in a single marginal are
    removed from the updates repeatedly, not once, so that a tree of marginals is matched exactly; see also
    `agreeing_marginals`. A fit always starts from new records, as records that are copied in every fit lose their
    variety.

    Attributes:
        passes: Most passes over all marginals.
        consistency_rounds: Most rounds that make the marginals consistent.
    """

    kind: ClassVar[str] = "gum"

    _bytes_per_cell: ClassVar[int] = AGREEMENT_BYTES
    _bytes_per_row: ClassVar[int] = 48  # the cell of each row, their order, and work space

    passes: int = tunable(50, Range(low=20, high=100))
    consistency_rounds: int = 501

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, passes=count(), consistency_rounds=count())

    def fit(self, measurements: Sequence[Measurement]) -> Self:
        """Return a model fitted to all given measurements, from random records.

        Args:
            measurements: At least one. A column that is in none of them is uniform.

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
        records = self._within_rules(np.ascontiguousarray(rows.T), rng)
        return replace(self, _total=total, _rows=records)

    def _fit_seconds(self, cliques: Sequence[Clique], n_rows: int) -> float:
        cells = sum(self.domain.cells(c) for c in cliques)
        # The more cells per row, the more rows move, and most marginals weigh each move.
        weighed = len(cliques) * math.sqrt(cells / max(1, len(cliques)) / n_rows)
        row_seconds = _SECONDS_PER_ROW + weighed * _SECONDS_PER_WEIGHED_MARGINAL
        passes = min(self.passes, _USUAL_PASSES)
        return passes * len(cliques) * (_SECONDS_PER_VISIT + n_rows * row_seconds) + cells * _SECONDS_PER_CELL

    def _draw(self, rows: Records, joins: Sequence[Join], rng: np.random.Generator) -> None:
        """Fill in columns [columns, rows], in order."""
        for join in joins:
            there = {c: rows[self.domain.index(c)].astype(np.intp) for c in join.given}
            for column, codes in join.draw(there, rows.shape[1], rng).items():
                rows[self.domain.index(column)] = codes

    def _update(
        self,
        rows: Records,
        core: Mapping[Clique, FloatArray],
        noise: Noise,
        total: float,
        rng: np.random.Generator,
    ) -> None:
        """Pass over the marginals until the rows [columns, rows] no longer improve, or noise explains the rest."""
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
    """Return whether the last few passes hardly lowered the mean error compared with the few before."""
    if len(errors) < 2 * _COMPARED:
        return False
    last, before = np.mean(errors[-_COMPARED:]), np.mean(errors[-2 * _COMPARED : -_COMPARED])
    return bool(last >= (1 - _LEAST_PART) * before)


class Noise:
    """Noisy counts of some marginals, concatenated, and the expected distance of the true counts.

    For a marginal that was not measured itself, counts are summed from the narrowest one that contains it.

    Args:
        domain: The columns.
        cliques: The marginals; each is within a measured one.
        measurements: The noisy measurements.
    """

    def __init__(
        self, domain: Domain, cliques: Collection[Clique], measurements: Sequence[Measurement]
    ) -> None:
        targets = sorted(
            (t for t in joined_targets(domain, measurements) if t.weight.any()), key=lambda t: len(t.clique)
        )
        holding: dict[str, list[Target]] = {}
        for target in targets:
            for column in target.clique:
                holding.setdefault(column, []).append(target)
        found = [_summed(next(t for t in holding[c[0]] if set(c) <= set(t.clique)), c) for c in cliques]
        self._counts = np.concatenate([counts.ravel() for counts, _, _ in found])
        self._precision = np.concatenate([precision.ravel() for _, precision, _ in found])
        self._expected = np.array([expected for _, _, expected in found])
        self._starts = np.cumsum([0, *(counts.size for counts, _, _ in found)])[:-1]

    def explains(self, counts: FloatArray) -> bool:
        """Return whether counts [cells of all marginals] are as near to the noisy ones as the true counts are.

        For each marginal, the squared errors over their variances must sum to at most its number of cells. For
        the true counts about half of the marginals would pass, so all of them pass only when the noise itself is
        being fitted (the discrepancy principle, Morozov 1966). Without noise only the exact counts pass.
        """
        errors = np.add.reduceat((counts - self._counts) ** 2 * self._precision, self._starts)
        return bool((errors <= self._expected).all())


def _summed(target: Target, clique: Clique) -> tuple[FloatArray, FloatArray, int]:
    """Return counts and precision of a target's marginal, and the expected sum of its squared errors."""
    outside = tuple(i for i, c in enumerate(target.clique) if c not in clique)
    left = tuple(c for c in target.clique if c in clique)
    counts, precision = target.mean.sum(axis=outside), 1 / (1 / target.weight).sum(axis=outside)
    known = int(np.count_nonzero(precision > _UNKNOWN * precision.max())) if target.noise else 0
    return arranged(counts, left, clique), arranged(precision, left, clique), known


@dataclass(frozen=True, eq=False)
class Join:
    """Columns to draw given others.

    Attributes:
        columns: The columns to draw, jointly.
        given: Columns drawn before; may be empty.
        table: Counts, axes of `given` first, then of `columns`.
    """

    columns: Clique
    given: Clique
    table: FloatArray

    def draw(self, drawn: Mapping[str, Codes], n: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw the columns of n rows: in each group of given codes the rounded counts, in random order."""
        shape = self.table.shape
        ahead, shape = shape[: len(self.given)], shape[len(self.given) :]
        flat = self.table.reshape(int(np.prod(ahead)), -1)
        group = (
            np.ravel_multi_index([drawn[c] for c in self.given], ahead)
            if ahead
            else np.zeros(n, dtype=np.intp)
        )
        cell = np.empty(n, dtype=np.intp)
        cell[_shuffled_by(group, rng)] = _rounded(flat, group, rng)
        return dict(zip(self.columns, np.unravel_index(cell, shape), strict=True))


def separate(tables: Mapping[Clique, FloatArray]) -> tuple[dict[Clique, FloatArray], list[Join]]:
    """Repeatedly remove columns that occur in a single marginal.

    Zhang et al. (2021), PrivSyn, "Separate and Join": such a column is drawn given the rest of its marginal
    once the other columns exist. If the marginals form a tree, nothing is left to update.

    Args:
        tables: Non-negative counts of marginals.

    Returns:
        The remaining marginals, each over two columns or more, and the draws to make, last first.
    """
    left = {c: tables[c] for c in maximal(tables)}
    joins: list[Join] = []
    while True:
        times = Counter(c for clique in left for c in clique)
        clique = next((q for q in left if any(times[c] == 1 for c in q)), None)
        if clique is None:
            return left, joins
        own = tuple(c for c in clique if times[c] == 1)
        rest = tuple(c for c in clique if times[c] > 1)
        table = left.pop(clique)
        joins.append(Join(own, rest, table.transpose([clique.index(c) for c in (*rest, *own)])))
        if rest and not any(set(rest) <= set(q) for q in left):
            kept = table.sum(axis=tuple(i for i, c in enumerate(clique) if c in own))
            left[rest] = kept


def strongest_tree(tables: Mapping[Clique, FloatArray]) -> list[Join]:
    """Return how to draw all columns, each given the earlier columns that are most informative about it.

    The next marginal is always the one whose existing columns have the most mutual information with its others
    (for pairs: the maximum spanning tree of Chow and Liu 1968). It is post-processing.

    Args:
        tables: Counts of marginals, not negative, each with a sum above 0.

    Returns:
        The draws to make, first to last.
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


def _shuffled_by(group: Codes, rng: np.random.Generator) -> Codes:
    """Return all rows sorted by group, in random order within each group."""
    shuffled = rng.permutation(group.size)
    return shuffled[np.argsort(group[shuffled], kind="stable")]


def _rounded(table: FloatArray, group: Codes, rng: np.random.Generator) -> Codes:
    """Return cells for the rows sorted by group; a group without counts uses those of all groups."""
    rows = np.bincount(group, minlength=table.shape[0])
    present = np.flatnonzero(rows)
    weights = table[present]
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, table.sum(axis=0) + 1e-300)
    weights /= weights.sum(axis=1, keepdims=True)
    counts = round_rows(weights * rows[present, None], rows[present], rng)
    return np.repeat(np.tile(np.arange(table.shape[1]), present.size), counts.ravel())
