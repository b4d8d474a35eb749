"""The door for mean embeddings: the noisy sum of a feature vector of each record."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.fourier import FourierFeatures
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, noisy_counts
from syntabula.privacy.pricing import NoisyVector, vector_event

STEPS = 2**20
"""Steps of the grid in the length of a record's vector; noise is drawn in whole steps."""

_SHORTER = 1 - 2.0**-30
_CELLS_AT_ONCE = 2**16
_MOST_CELLS = 2**62


class FeatureCurator:
    """Answers sums of bounded features of the records.

    Args:
        curator: Holds the table, and the ledger that pays.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sum(self, features: FourierFeatures, *, share: Fraction | float, step: str) -> NoisyVector:
        """Release the noisy sum of all records' features, each divided by the square root of their number F.

        Sensitivity. A record's vector is cos and sin of F angles, each times K / sqrt(F) with K = 2^20 steps, and
        cut to whole steps towards 0. The angles are those of its own codes. The square of the length of two cut
        numbers is at most K^2 / F (1 - 2^-30)^2 (cos^2 + sin^2), and float64 computes cos^2 + sin^2 to within 2^-50 of
        1; so it is below K^2 / F, and the record's vector shorter than K. Sums of whole numbers are exact in any
        order. One record more or less thus moves the sum by less than K steps in L2, and by less than sqrt(2 F) K in
        L1, as there are 2 F numbers. Cutting moves the sum of n records by less than n steps in each number.

        Args:
            features: Made of public facts and released values alone.
            share: Fraction of the whole budget for the sum.
            step: Name of this spend in the ledger.

        Returns:
            Numbers [shifts, columns, waves, 2], flattened, in records: n times the mean of cos and sin.

        Raises:
            ArgumentError: If the features are over another domain.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        curator = self._curator
        if features.domain != curator.domain:
            raise ArgumentError("the features are over another domain than the table")
        if any(features.domain.cells(clique) > _MOST_CELLS for clique, _ in features.blocks()):
            raise ArgumentError("a set of columns has more than 2^62 cells; use fewer columns in a set")
        event = vector_event(
            curator.ledger,
            share,
            l1_sensitivity=math.isqrt(2 * features.count * STEPS**2) + 1,
            l2_sensitivity_squared=STEPS**2,
            cells=2 * features.count,
            what="feature sums",
        )

        def draw(token: Token) -> NoisyArray:
            exact = curator._engine.summed(lambda piece: self._total(features, piece))
            return noisy_counts(token, curator._source, Sensitive(exact))

        noisy = curator._answer(event, step, [features.shifts, *features.angles], draw)
        unit = math.sqrt(features.count) / STEPS
        return NoisyVector(noisy * unit, event, unit)

    def _total(self, features: FourierFeatures, piece: EncodedTable) -> NDArray[np.int64]:
        """Return the exact sum over some records, in steps: that of each cell of a set's marginal times its count."""
        recoding = self._curator._recoding
        table = recoding.encode(piece) if recoding else piece
        totals = []
        for clique, angles in features.blocks():
            shape = features.domain.shape(clique)
            keys = np.zeros(table.n_rows, dtype=np.int64)
            for column, size in zip(clique, shape, strict=True):
                keys = keys * size + table.column(column)
            cells, counts = np.unique(keys, return_counts=True)
            total = np.zeros((features.waves, 2), dtype=np.int64)
            for start in range(0, cells.size, _CELLS_AT_ONCE):
                part = slice(start, start + _CELLS_AT_ONCE)
                codes = np.unravel_index(cells[part], shape)
                steps = _steps(angles, codes, features.count)
                total += np.tensordot(counts[part].astype(np.int64), steps, 1)
            totals.append(total)
        return np.concatenate(totals, axis=None)

    def __repr__(self) -> str:
        return "FeatureCurator()"


def _steps(angles: list[FloatArray], codes: tuple[NDArray[np.intp], ...], count: int) -> NDArray[np.int64]:
    """Return whole steps of cos and sin [cells, waves, 2] of the summed angles of each cell's codes."""
    angle = np.sum([table[code] for table, code in zip(angles, codes, strict=True)], axis=0)
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    # astype cuts towards 0.
    steps: NDArray[np.int64] = (waves * (STEPS / math.sqrt(count) * _SHORTER)).astype(np.int64)
    return steps
