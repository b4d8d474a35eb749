"""How measured marginals are set apart for GUM, and what noise explains of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.clique import maximal
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.factor import arranged
from syntabula.models.pgm.mirror_descent import Target, join
from syntabula.models.pgm.sample import round_rows

_UNKNOWN = 1e-6
"""Cells with less than this part of their marginal's largest precision were not measured."""


class Noise:
    """Noisy counts of some marginals side by side, and how far the true ones are expected to be from them.

    Of a marginal that was not measured itself, the counts are summed from the narrowest that holds it.

    Args:
        domain: Names the columns.
        cliques: The marginals; each lies in a measured one.
        measurements: What was measured.
    """

    def __init__(
        self, domain: Domain, cliques: Collection[Clique], measurements: Sequence[Measurement]
    ) -> None:
        targets = sorted(
            (t for t in join(domain, measurements) if t.weight.any()), key=lambda t: len(t.clique)
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

        The squared errors of each marginal, over their variances, sum to no more than the number of its cells. Of
        the true counts half of the marginals would pass: so all of them do only where the noise itself is
        being fitted (the discrepancy principle of Morozov 1966). Without noise nothing but the counts passes.
        """
        errors = np.add.reduceat((counts - self._counts) ** 2 * self._precision, self._starts)
        return bool((errors <= self._expected).all())


def _summed(target: Target, clique: Clique) -> tuple[FloatArray, FloatArray, int]:
    """Return counts and precision of a marginal of a target, and what its squared errors are expected to sum to."""
    outside = tuple(i for i, c in enumerate(target.clique) if c not in clique)
    left = tuple(c for c in target.clique if c in clique)
    counts, precision = target.mean.sum(axis=outside), 1 / (1 / target.weight).sum(axis=outside)
    known = int(np.count_nonzero(precision > _UNKNOWN * precision.max())) if target.noise else 0
    return arranged(counts, left, clique), arranged(precision, left, clique), known


Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Join:
    """Columns to be drawn given others.

    Attributes:
        columns: What is drawn, jointly.
        given: Columns that are there by then; may be none.
        table: Counts, axes of `given` first, then of `columns`.
    """

    columns: Clique
    given: Clique
    table: FloatArray

    def draw(self, drawn: Mapping[str, Codes], n: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw the columns of n rows: the counts of each group of given codes, rounded, in random order."""
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
    """Take columns that occur in one marginal alone out of it, again and again.

    Zhang et al. (2021), PrivSyn, "Separate and Join": such a column is drawn given the rest of its marginal
    once the other columns are there. Where the marginals form a tree nothing is left to update.

    Args:
        tables: Counts of marginals, not negative.

    Returns:
        The marginals that are left, each over two columns or more, and what is to be drawn, last first.
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


def _shuffled_by(group: Codes, rng: np.random.Generator) -> Codes:
    """Return all rows sorted by their group, in random order within it."""
    shuffled = rng.permutation(group.size)
    return shuffled[np.argsort(group[shuffled], kind="stable")]


def _rounded(table: FloatArray, group: Codes, rng: np.random.Generator) -> Codes:
    """Return cells for the rows sorted by group; a group that has no counts takes those of all groups."""
    rows = np.bincount(group, minlength=table.shape[0])
    present = np.flatnonzero(rows)
    weights = table[present]
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, table.sum(axis=0) + 1e-300)
    weights /= weights.sum(axis=1, keepdims=True)
    counts = round_rows(weights * rows[present, None], rows[present], rng)
    return np.repeat(np.tile(np.arange(table.shape[1]), present.size), counts.ravel())
