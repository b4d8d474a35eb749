"""Distances, dependences and scores of choices, with their sensitivities, rounding included; and frequent values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.recoding import MergedCounts
from syntabula.marginals.sorted_points import SortedPoints
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, frequent
from syntabula.privacy.noise import NoiseSource

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import AskedPoints
    from syntabula.privacy.journal import NoisyArray

STEPS_PER_RECORD = 1024
"""Dependences are rounded to this many steps per record, so that discrete noise can be added to them."""

SENSITIVITY_STEPS = 4 * STEPS_PER_RECORD + 2
"""Sensitivity of a rounded dependence to adding or removing one record: four records, plus rounding.

With M the joint counts of n records, a and b its margins, D = M - a b' / n, and a new record in cell (i, j):
D' - D = (n e_ij + a b' / n - a e_j' - e_i b') / (n + 1), whose L1 norm is at most 4 n / (n + 1). Each
rounding adds at most half a step, and half a step is left for the arithmetic in float64, whose error stays
below that up to 2^33 records.
"""

_FAMILY_CELLS_AT_ONCE = 2**22

_FARTHEST = 2.0**31
"""Differences are clipped to this many records, so that the rounding of scores has a data-independent bound."""

_LARGEST_WHOLE = 2.0**52

_CELLS_AT_ONCE = 2**18
"""2 MB of counts stay in the cache; a larger table is processed alone."""

_TWICE_ROUNDED = 2.0**-51
"""Bound on the relative rounding error of a product with a difference, over both of two tables."""


def on_grid(numbers: FloatArray) -> FloatArray:
    """Round numbers of records to multiples of 2^-10, which float64 adds exactly up to 2^43 records."""
    rounded: FloatArray = np.round(np.asarray(numbers, dtype=np.float64) * STEPS_PER_RECORD)
    return rounded / STEPS_PER_RECORD


def differences(counts: NDArray[np.int64], estimate: FloatArray) -> FloatArray:
    """Return each cell's distance from its estimate, at most 2^31: one record changes it by at most one, exactly.

    Below 2^31 all differences are exact on the grid. If an estimate is too large for that, the difference is clipped
    to 2^31 for every count. Exact counts may have any shape, which is that of the estimate.
    """
    far: FloatArray = np.minimum(np.abs(counts - on_grid(estimate)), _FARTHEST)
    return far


def distances(counts: Sequence[NDArray[np.int64]], estimates: Sequence[FloatArray]) -> FloatArray:
    """Return the L1 distances of counts and estimates [tables], at most 2^31; one record changes each by at most one.

    This is exact: sums below 2^43 records are exact in any order, and larger ones are clipped to 2^31 anyway. Many
    small tables, of the shapes of their estimates, are processed at a time.
    """
    found = np.empty(len(counts))
    for start, stop in _runs([table.size for table in counts], _CELLS_AT_ONCE):
        exact = np.concatenate([table.ravel() for table in counts[start:stop]])
        believed = np.concatenate([np.ravel(table) for table in estimates[start:stop]])
        starts = np.cumsum([0, *(table.size for table in counts[start : stop - 1])])
        found[start:stop] = np.add.reduceat(np.abs(exact - on_grid(believed)), starts)
    return np.minimum(found, _FARTHEST)


def row_distances(counts: NDArray[np.int64], estimates: FloatArray) -> FloatArray:
    """Return the L1 distance of each row of counts [tables, cells] and estimates, as `distances` does for tables."""
    far: FloatArray = np.minimum(differences(counts, estimates).sum(axis=1), _FARTHEST)
    return far


def _runs(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of runs of tables with at most so many cells in all, or of a single larger table."""
    start, cells = 0, 0
    for position, size in enumerate(sizes):
        if position > start and cells + size > most:
            yield start, position
            start, cells = position, 0
        cells += size
    if start < len(sizes):
        yield start, len(sizes)


def dependence_steps(counts: NDArray[np.int64]) -> int:
    """Return the L1 distance between joint counts and independence, in steps of 1 / 1024 record.

    That is || M - a b' / n ||_1 (InDif in Zhang et al. 2021, "PrivSyn: Differentially Private Data
    Synthesis"; 2 n times the score R in Zhang et al. 2017, "PrivBayes"); 0 if there is no record.

    Args:
        counts: Exact joint counts; the last axis is that of the column, the others are those it may depend on.
    """
    joint = counts.reshape(-1, counts.shape[-1])
    n = int(joint.sum())
    if not n:
        return 0
    rows, columns = np.nonzero(joint)
    counts = joint[rows, columns]
    independent = joint.sum(axis=1)[rows] * (joint.sum(axis=0) / n)[columns]
    # Independent counts sum to n, so those of the empty cells are n minus those of the others.
    distance = n + float((np.abs(counts - independent) - independent).sum())
    return round(distance * STEPS_PER_RECORD)


def batches(cells: Callable[[Clique], int], families: Sequence[Clique]) -> Iterator[list[Clique]]:
    """Yield the families in parts whose counts need bounded memory, by the cells that each of them has."""
    for start, stop in _runs([cells(family) for family in families], _FAMILY_CELLS_AT_ONCE):
        yield list(families[start:stop])


def first_batch(counted: MergedCounts, cliques: list[Clique], ahead: Sequence[Clique]) -> list[Clique]:
    """Return the cliques and as many of the next ones as may be counted at once, decided by the domain alone."""
    batch = next(batches(counted.cells, [*dict.fromkeys([*cliques, *ahead])]))
    if len(batch) <= len(cliques):
        return cliques
    try:
        counted.check_memory(batch)
    except ResourceError:  # each alone may fit
        return cliques
    return batch


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights and penalties of candidates; the score of a candidate is weight * (distance - penalty).

    Attributes:
        weights: Above 0 [candidates].
        penalties: Numbers of records, independent of the data [candidates].
    """

    weights: FloatArray
    penalties: FloatArray

    @classmethod
    def of(cls, n: int, weights: Sequence[float] | None, penalties: Sequence[float] | None) -> Weighing:
        """Return the weighing of n candidates; by default weights are 1 and penalties 0.

        Raises:
            ArgumentError: If there are not n of each, a weight is not finite and above 0, or a penalty not finite.
        """
        weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        penalty = np.zeros(n) if penalties is None else np.asarray(penalties, dtype=np.float64)
        if weight.shape != (n,) or not np.isfinite(weight).all() or (weight <= 0).any():
            raise ArgumentError("weights must be one positive finite number per candidate")
        if penalty.shape != (n,) or not np.isfinite(penalty).all():
            raise ArgumentError("penalties must be one finite number per candidate")
        return cls(weight, penalty)

    def among(self, candidates: NDArray[np.bool_]) -> Weighing:
        """Return the weighing of some candidates, given as a mask [candidates]."""
        return Weighing(self.weights[candidates], self.penalties[candidates])

    def scores(self, distances: FloatArray) -> FloatArray:
        """Return the scores [candidates] of distances as `distances` returns them."""
        scores: FloatArray = self.weights * (distances - on_grid(self.penalties))
        return scores

    @property
    def sensitivity(self) -> float:
        """The largest change of a score by one record, rounding included.

        A distance changes by at most one. It is at most 2^31 records, so the rounding of its difference to the penalty,
        and of the product, stays below 2^-51 of 2^31 + |penalty|, over two tables.
        """
        rounding = _TWICE_ROUNDED * (_FARTHEST + np.abs(self.penalties))
        # The bound itself is rounded too.
        return float((self.weights * (1 + rounding)).max()) * (1 + 2.0**-40)


def quantile_scores(
    ranks: NDArray[np.int64], n_values: int, fraction: Fraction, log_widths: FloatArray, scale: float
) -> tuple[FloatArray, float]:
    """Return the score of each cell for a quantile [cells], and its sensitivity.

    With the fraction i / b it is -|b rank - i n|, of sensitivity max(i, b - i), a whole number.

    Args:
        ranks: Number of values below each cell [cells].
        n_values: Number of values.
        fraction: Fraction of the values that lie below the quantile.
        log_widths: Logarithm of the width of each cell [cells].
        scale: Divisor of a score of sensitivity one in the choice.
    """
    i, b = fraction.numerator, fraction.denominator
    widest = max(i, b - i)
    scores: FloatArray = _whole(log_widths * scale * widest) - np.abs(b * ranks - i * n_values)
    return scores, float(widest)


def shortfall_scores(
    counts: NDArray[np.int64], enough: float, merits: FloatArray, log_weights: FloatArray, scale: float
) -> FloatArray:
    """Return scores: minus the number that counts lack, with merits and weights; one record changes one by one.

    Args:
        counts: Exact counts [candidates].
        enough: A public or released number.
        merits: How much each may lack; public or released [candidates].
        log_weights: Log weights between candidates with equal scores [candidates].
        scale: Divisor of a score in the choice.
    """
    scores: FloatArray = _whole(merits + log_weights * scale) - np.maximum(math.ceil(enough) - counts, 0)
    return scores


def _whole(numbers: FloatArray) -> FloatArray:
    """Round to whole numbers, and clip them so that float64 still adds 2^51 records to them exactly."""
    rounded: FloatArray = np.clip(np.rint(numbers), -_LARGEST_WHOLE, _LARGEST_WHOLE)
    return rounded


def frequent_values(
    token: Token,
    noise: NoiseSource,
    points: SortedPoints | AskedPoints,
    *,
    public: NDArray[Any],
    least: int,
    most: int,
) -> NoisyArray:
    """Return the bytes of the values of a column that are released, in ascending order, and of their noisy counts.

    For the arguments see `ColumnCurator.frequent`; `public` ascends, and has the type of the other values.
    """
    shared = points.shared(least)
    others = shared.where(~np.isin(shared.values, public))
    exact = np.concatenate([points.counts_of(public), others.counts])
    kept, counts = frequent(token, noise, Sensitive(exact), public.size, least)
    is_other = kept >= public.size
    # Values, not their positions among those that occur, which would reveal how many occur.
    values = np.concatenate([public, others.values])[kept]
    places = np.flatnonzero(is_other)
    largest = places[np.argsort(-counts[places], kind="stable")[:most]]
    released = np.append(np.flatnonzero(~is_other), largest)
    released = released[np.argsort(values[released], kind="stable")]
    parts = values[released], counts[released]
    return np.frombuffer(b"".join(part.tobytes() for part in parts), dtype=np.uint8)


def unpacked(answer: NoisyArray, kind: np.dtype[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of an answer, as int or float, and their noisy counts."""
    values, counts = np.split(answer, [answer.size * kind.itemsize // (kind.itemsize + 8)])
    return values.view(kind).tolist(), counts.view(np.int64)
