"""Private choices among very many thresholds, each counted with one other column."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import above_limit
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.threshold import CrossedThresholds, places
from syntabula.privacy.doors.scores import Weighing, row_distances
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import choose
from syntabula.privacy.resume import fingerprint
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.spends import NoisyArray

_THRESHOLDS_AT_ONCE, _ROWS_AT_ONCE = 32, 4096
"""1 MB of sums stays in the cache."""


class ThresholdCurator:
    """Selects among very many thresholds, each crossed with a column, and measures a few, on a curator's ledger.

    The answer of a threshold is the number of records that pass it, for each code of its other column: one record
    changes one cell by one, so the L1 distance to an estimate has sensitivity 1.

    Args:
        curator: Holds the table.
        thresholds: Thresholds from public facts, over columns of the curator's domain.

    Raises:
        ArgumentError: If a threshold has the name of a column.
        ResourceError: If the answers of all thresholds need more memory than the engine allows.
        SchemaError: If a threshold is over an unknown column.
    """

    def __init__(self, curator: Curator, thresholds: CrossedThresholds) -> None:
        self._curator = curator
        self._thresholds = thresholds
        self._sizes = [curator.domain.size(c) for c in thresholds.others] or [1]
        needed = 4 * 8 * len(thresholds) * max(self._sizes) / 2**20
        if needed > curator._engine.limit_mb:
            raise ResourceError(
                f"the answers of {len(thresholds):,} thresholds may need "
                f"{above_limit(needed, curator._engine.limit_mb)}; draw fewer (n_thresholds), or raise memory_mb"
            )
        if set(curator.domain.columns).intersection(thresholds.names):
            raise ArgumentError("a threshold has the name of a column; rename the column")
        arrays = (thresholds.weights, thresholds.offsets, thresholds.crossed)
        self._name = fingerprint([thresholds.columns, thresholds.others, *arrays])
        self._answers: Sensitive[NDArray[np.int64]] | None = None

    def choose(
        self,
        believed: FloatArray,
        *,
        among: NDArray[np.bool_],
        picks: int,
        share: Fraction | float,
        step: str,
    ) -> list[int]:
        """Select the thresholds whose answers differ most from a model's, one after the other.

        Args:
            believed: Expected answers [thresholds, codes], 0 beyond the codes of the other column.
            among: Mask of the thresholds of the first choice [thresholds].
            picks: Number of choices, at most that of the thresholds.
            share: Fraction of the whole budget for all choices.
            step: Name of the spends in the ledger.

        Returns:
            Positions of the chosen ones, in order.

        Raises:
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        if believed.shape != (len(self._thresholds), max(self._sizes)) or among.shape != believed.shape[:1]:
            raise ArgumentError(
                "choose needs an estimate of every threshold's answer, and a mask of all thresholds"
            )
        curator, left = self._curator, among.copy()
        weighing, chosen = Weighing.of(len(self._thresholds), None, None), list[int]()
        far: Sensitive[FloatArray] | None = None

        def draw(token: Token) -> NoisyArray:
            nonlocal far
            if far is None:
                far = Sensitive(row_distances(self._all().reveal_inside_privacy(), believed))
            some = weighing.among(left)
            scores = Sensitive(some.scores(far.reveal_inside_privacy()[left]))
            return np.asarray([choose(token, curator._source, scores, some.sensitivity)])

        for _ in range(picks):
            there = np.flatnonzero(left)
            event = curator._choice(there.size, Fraction(share) / picks)
            query = [self._name, np.packbits(left)]
            drawn = curator._answer(event, step, query, draw)
            chosen.append(int(there[drawn[0]]))
            left[chosen[-1]] = False
        return chosen

    def measure(self, chosen: Sequence[int], *, share: Fraction | float, step: str) -> list[Measurement]:
        """Release noisy counts of thresholds with their other columns, as `Curator.measure` does."""
        wider = self._curator.with_thresholds(self._thresholds.named(chosen))
        return wider.measure([self._thresholds.clique(i) for i in chosen], share=share, step=step)

    def _all(self) -> Sensitive[NDArray[np.int64]]:
        """Return the answers of all thresholds [thresholds, codes], counted once."""
        if self._answers is None:
            self._answers = Sensitive(self._curator._engine.summed(self._counted))
        return self._answers

    def _counted(self, table: EncodedTable) -> NDArray[np.int64]:
        """Return the answers of all thresholds for some records [thresholds, codes]."""
        asked, recoding = self._thresholds, self._curator._recoding
        rows = table if recoding is None else recoding.encode(table)
        found = np.zeros((len(asked), max(self._sizes)), dtype=np.int64)
        where = places(rows, asked.columns)
        for position, size in enumerate(self._sizes):
            some = np.flatnonzero(asked.crossed == position)
            codes = rows.column(asked.others[position]) if asked.others else None
            found[some, :size] = _passing(asked.weights[some], asked.offsets[some], where, codes, size)
        return found

    def __repr__(self) -> str:
        return f"ThresholdCurator({len(self._thresholds)} thresholds)"


def _passing(
    weights: FloatArray, offsets: FloatArray, where: FloatArray, codes: NDArray[np.integer] | None, size: int
) -> NDArray[np.int64]:
    """Return how many rows of each code pass each threshold [thresholds, codes]; sums are exact in any order.

    Args:
        weights: [thresholds, columns].
        offsets: [thresholds].
        where: Places of the rows [columns, rows].
        codes: Of the rows [rows]; None where all have the same.
        size: Number of codes.
    """
    n_rows = where.shape[1]
    counts = np.zeros((len(offsets), size), dtype=np.int64)
    if codes is None:
        ends = np.array([n_rows])
    else:
        order = np.argsort(codes, kind="stable")
        where, ends = where[:, order], np.cumsum(np.bincount(codes, minlength=size))
    for code, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for row in range(start, end, _ROWS_AT_ONCE):
            part = np.ascontiguousarray(where[:, row : min(row + _ROWS_AT_ONCE, end)])
            for first in range(0, len(offsets), _THRESHOLDS_AT_ONCE):
                some = slice(first, first + _THRESHOLDS_AT_ONCE)
                passed = weights[some] @ part > offsets[some, None]
                counts[some, code] += np.count_nonzero(passed, axis=1)
    return counts
