"""The student of PATE-GAN: learns from noisy votes on generated rows which rows look real."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.agreement import Agreement, Vectors, full_agreement, squared_agreement
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.pricing import NoisyVector
from syntabula.record_models.representation import ColumnLookup

_MOST_LABELS = 32
_ROWS_AT_ONCE = 4096
_MOST_SPREAD = 0.04
"""Largest variance of what part of the teachers call a row real; noise can look like more."""

_UNEXPLAINED = 0.1
"""Part of the teachers' variance that is taken not to follow the agreement of rows."""


def agreement_of(lookups: Mapping[str, ColumnLookup]) -> Agreement:
    """Return how teachers and student compare rows: by cosines of ranks, and by labels.

    The numbers of a column have mean 0, and variance 1 in all, under its marginal. Of many labels, the 31 most frequent
    have a number each, and the others one together.
    """
    return Agreement([_numbers(lookup) for lookup in lookups.values()])


def _numbers(lookup: ColumnLookup) -> FloatArray:
    shares = np.exp(lookup.log_shares.astype(np.float64))
    shares /= shares.sum()
    if lookup.waves is not None:
        waves = lookup.waves.astype(np.float64)
        numbers = waves / np.sqrt(np.arange(1, waves.shape[1] + 1))
    else:
        ranks = np.argsort(np.argsort(-shares, kind="stable"))
        numbers = np.eye(min(lookup.size, _MOST_LABELS))[np.minimum(ranks, _MOST_LABELS - 1)]
    numbers = numbers - shares @ numbers
    spread = float(shares @ np.square(numbers).sum(1))
    numbers /= np.sqrt(spread) if spread > 1e-12 else np.inf
    # A label without records is nothing but usual; the place of an ordered code is that of the nearest with records.
    return np.vstack([numbers, np.zeros_like(numbers[:1])])[lookup.places]


class Student:
    """Says which part of the teachers would call a row real, where they call half of all rows real.

    Kernel ridge regression on the noisy votes; the kernel is how far rows agree. The paper's student is a network that
    is told yes or no for each row. Here it is told the noisy number of votes, which says more, and the noise on it is
    known, so that what is to be trusted in them need not be tuned: the variance of the votes less that of the noise
    is how far teachers differ.

    Args:
        agreement: How rows are compared.
        rows: Those that were voted on.
        votes: Noisy number of teachers that call each real.
        teachers: How many there are.
    """

    def __init__(self, agreement: Agreement, rows: EncodedTable, votes: NoisyVector, teachers: int) -> None:
        self._agreement, self._seen = agreement, agreement.vectors(rows)
        parts = votes.values / teachers
        away = parts - parts.mean()
        noise = (votes.sigma / teachers) ** 2
        # Where there is much noise, how far teachers differ is known from the votes to this part of the noise at best.
        least = min(noise / np.sqrt(len(parts)), _MOST_SPREAD)
        spread = min(max(float(np.mean(away**2)) - noise, least, 1e-9), _MOST_SPREAD)
        kernel = self._kernel(self._seen)
        apart = max(float(np.mean(np.diag(kernel)) - kernel.mean()), 1e-9)
        kernel[np.diag_indices_from(kernel)] += apart * (noise / spread + _UNEXPLAINED)
        self._weights: FloatArray = np.linalg.solve(kernel, away)

    def likely(self, rows: EncodedTable) -> FloatArray:
        """Return what the student thinks of rows: 1/2 for usual ones, more for real ones [rows]."""
        found = np.empty(rows.n_rows)
        for start in range(0, rows.n_rows, _ROWS_AT_ONCE):
            stop = start + _ROWS_AT_ONCE
            piece = EncodedTable(rows.domain, tuple(codes[start:stop] for codes in rows.codes))
            found[start:stop] = self._kernel(self._agreement.vectors(piece)) @ self._weights
        return 0.5 + found

    def _kernel(self, vectors: Vectors) -> NDArray[np.float64]:
        return squared_agreement(vectors, self._seen).astype(np.float64) / full_agreement()
