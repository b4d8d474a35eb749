"""Whether noise explains how far records are from what was measured: post-processing of released values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.pgm.factor import arranged
from syntabula.models.pgm.mirror_descent import Target, join

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
        found = [_summed(next(t for t in targets if set(c) <= set(t.clique)), c) for c in cliques]
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
