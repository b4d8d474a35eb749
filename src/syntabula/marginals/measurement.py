"""Noisy marginals, their total, and the codes that they are evidence of; all of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.far_tails import far_counts

FloatArray = NDArray[np.float64]

HALF_NORMAL = math.sqrt(2 / math.pi)
"""Mean absolute value of standard normal noise, which one cell's noise adds to an L1 distance."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy counts of one clique.

    Attributes:
        clique: The columns that were counted.
        values: Noisy counts, one axis per column of the clique.
        sigma: Standard deviation of the noise: one number for all cells, or an array of the shape of
            `values` if cells were summed after the draw. 0 only if privacy was switched off.

    Raises:
        ArgumentError: If values or sigma are not finite, shapes disagree, or sigma is negative.
    """

    clique: Clique
    values: FloatArray
    sigma: float | FloatArray

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        sigma = np.asarray(self.sigma, dtype=np.float64)
        if values.ndim != len(self.clique):
            raise ArgumentError(
                f"values of clique {self.clique} have {values.ndim} axes, not {len(self.clique)}"
            )
        if not np.isfinite(values).all():
            raise ArgumentError(f"values of clique {self.clique} must be finite")
        if sigma.ndim and sigma.shape != values.shape:
            raise ArgumentError(
                f"sigma of clique {self.clique} must be one number, or an array of the shape of values"
            )
        if not np.isfinite(sigma).all() or (sigma < 0).any():
            raise ArgumentError(f"sigma of clique {self.clique} must be finite and not negative")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "sigma", sigma if sigma.ndim else float(sigma))

    @property
    def variances(self) -> FloatArray:
        """Noise variance of each cell, in the shape of `values`; 1 everywhere if no noise was added."""
        variances = np.broadcast_to(np.square(np.asarray(self.sigma)), self.values.shape)
        return np.where(variances == 0, 1.0, variances)

    def averaged(self, other: Measurement) -> Measurement:
        """Return the mean of two noisy measurements of one clique, weighted by inverse variance."""
        if self.clique != other.clique or self.values.shape != other.values.shape:
            raise ArgumentError(f"measurements of {self.clique} and of {other.clique} cannot be averaged")
        first, second = 1 / self.variances, 1 / other.variances
        values = (first * self.values + second * other.values) / (first + second)
        return Measurement(self.clique, values, 1 / np.sqrt(first + second))


def check_measurements(domain: Domain, measurements: Sequence[Measurement]) -> None:
    """Check that there is a measurement, and that all values have the shape of their clique.

    Raises:
        ArgumentError: If there is no measurement, or a shape differs.
        SchemaError: If a clique names an unknown column.
    """
    if not measurements:
        raise ArgumentError("fit needs at least one measurement")
    for m in measurements:
        shape = domain.shape(m.clique)
        if m.values.shape != shape:
            raise ArgumentError(
                f"the measurement of {m.clique} has shape {m.values.shape}; the domain needs {shape}"
            )


def project_simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest non-negative counts with a given sum, in the Euclidean sense.

    The answer is max(values - t, 0), where t gives the sum; t is found exactly from the sorted values (Held, Wolfe,
    Crowder 1974; Duchi et al. 2008).

    Args:
        values: Counts of any shape, at least one cell.
        total: Sum of the answer, at least 0.

    Returns:
        Counts of the shape of `values`.

    Raises:
        ArgumentError: If there is no cell, or a value or the total is not finite, or the total is negative.
    """
    given = np.asarray(values, dtype=np.float64)
    if isinstance(total, bool | str) or not math.isfinite(total) or total < 0:
        raise ArgumentError(f"total must be finite and at least 0; got {total!r}")
    if not given.size or not np.isfinite(given).all():
        raise ArgumentError("values must be at least one number, all of them finite")
    if total == 0:
        return np.zeros(given.shape)
    # The answer does not change if all values shift together; below zero, no digits of the total are lost.
    # Cells that are further below the largest than the total get 0, so they can be clipped there.
    shifted = np.maximum(given - given.max(), -2 * float(total))
    descending = np.sort(shifted, axis=None)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    support = int(np.count_nonzero(descending > thresholds))
    kept = np.maximum(shifted - thresholds[max(support, 1) - 1], 0)
    projected: FloatArray = kept * (total / kept.sum())
    return projected


def consistent_total(measurements: Sequence[Measurement]) -> float:
    """Return the minimum-variance estimate of the number of records; at least 1.

    Each measurement's sum estimates the number of records, and its variance is the sum over the cells. The
    estimates are averaged with weights 1 / variance (McKenna, Sheldon, Miklau 2019, "Graphical-model based
    estimation and inference for differential privacy"). A measurement without noise outweighs all others.

    Raises:
        ArgumentError: If there is no measurement.
    """
    if not measurements:
        raise ArgumentError("the number of records cannot be estimated without a measurement")
    sums = np.array([m.values.sum() for m in measurements])
    variances = np.array([np.broadcast_to(np.square(m.sigma), m.values.shape).sum() for m in measurements])
    exact = variances == 0
    if exact.any():
        return max(1.0, float(sums[exact].mean()))
    weights = variances.min() / variances
    return max(1.0, float(weights @ sums / weights.sum()))


ALONE = 2.0
"""Standard deviations of noise that a code's count must reach, or the joint count of several codes."""

TOGETHER = 2.5
"""The same for the codes at an end of an ordered column, of which the first ones that stand out most are taken."""

ABSENT, ABSENT_ANYWHERE = 0.001, 0.02
"""Chance that noise alone is taken for records of one code apart, such as missing cells of a complete column, and of any
in a table: nobody believes a few empty customer numbers, so more is asked of them than of one more category."""

SURE = 4.5
"""The same for a code, or a run of codes, beyond which an ordered column may not end: noise reaches it in one code of
300,000, so that a wide domain of empty bins hardly ever gets a record far out."""

EMPTY = 0.2
"""Part of the codes kept on less than two standard deviations that may be empty."""

_LEAST = 0.5
_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Tail:
    """Codes at one end of an ordered column that have records only as a whole.

    Attributes:
        codes: From the inside out.
        weights: The count of each, which falls from one code to the next.
        joins: The last code before them that has records, which they join as those before tell of them; None if they
            are known as a whole.
    """

    codes: NDArray[np.intp]
    weights: FloatArray
    joins: int | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """The codes of one column that have records.

    Attributes:
        kept: Codes whose counts stand out from the noise, alone or together with their neighbours [codes].
        tails: The ends of an ordered column that stand out as a whole; their codes are not among the kept ones.
    """

    kept: NDArray[np.bool_]
    tails: tuple[Tail, ...] = ()


def apart_level(scores: FloatArray) -> float:
    """Return how many standard deviations of noise a code apart must reach, by those of all such codes of a table.

    For one that stands out alone it is 3.1 among up to twenty, and grows with their number, to 3.5 among a hundred. Where
    several stand out, noise has less of a part in it: each may be noise with as many times the chance as they are, from
    two standard deviations on (Benjamini and Hochberg 1995). So a table with missing cells in many columns keeps those
    of a few percent, and a complete one hardly ever gets any.

    Args:
        scores: Noisy counts in standard deviations of their noise; infinite for codes that are kept already [codes].
    """
    each = min(ABSENT, ABSENT_ANYWHERE / max(scores.size, 1))
    normal, falling = NormalDist(), np.sort(scores)[::-1]
    for n_kept in range(scores.size, 1, -1):
        level = max(normal.inv_cdf(1 - min(n_kept * each, 0.5)), ALONE)
        if falling[n_kept - 1] >= level:
            return level
    return normal.inv_cdf(1 - each)


def evidence(
    values: FloatArray,
    sigmas: FloatArray,
    *,
    ordered: bool,
    apart: int = 0,
    least_apart: float | None = None,
    known: NDArray[np.bool_] | None = None,
    edges: Sequence[float] | None = None,
) -> Evidence:
    """Find the codes that have records, given noisy counts of all codes.

    A count of two standard deviations is evidence. Codes with smaller counts have records if their joint count reaches
    two standard deviations of its own noise. If it does not, the larger of these counts are evidence down to where a
    fifth of the codes kept by them would be empty: half of the empty codes have negative counts, which so tell how many
    there are (Storey 2002). Codes apart, such as missing values, are judged alone, by `apart_level`.

    The codes of an ordered column are joined from the largest count outwards, until a run is sure to have records;
    within a run the same rules apply. Of the codes that remain at either end, those are a tail that a smooth decline
    of the counts before them leaves any records (`far_tails`). Where that is not told, as of codes that are no bins,
    those from the inside out that stand out most together are a tail, if they stand out at all. Its count is kept, and
    spread in a geometric series that continues the count of the code before it. So a few records, or noise, do not move
    a bin's width away from the others, and a tail is not cut off where its bins hold less than their noise.

    Without noise every code is kept, as the counts are known. If noise hides all codes, as in a tiny table, nothing is
    known of any, and all but those apart are kept.

    Args:
        values: Noisy counts [codes].
        sigmas: Standard deviation of the noise of each [codes].
        ordered: Whether the codes have an order.
        apart: Number of codes at the end that have no place in the order.
        least_apart: Standard deviations that they must reach, by those of the whole table; by default of this column.
        known: Codes that are kept in any case [codes].
        edges: Ends of the codes that are bins [codes - apart + 1]; None if they are no bins.

    Returns:
        The evidence, with at least one code.
    """
    if not sigmas.all():
        return Evidence(np.ones(values.size, dtype=np.bool_))
    sure = np.zeros(values.size, dtype=np.bool_) if known is None else known
    body = values.size - apart
    kept = sure.copy()
    if apart:
        level = apart_level(values[body:] / sigmas[body:]) if least_apart is None else least_apart
        kept[body:] |= values[body:] >= level * sigmas[body:]
    tails: list[Tail] = []
    if ordered and body > 1:
        inside, ends = _runs(values[:body], sigmas[:body], sure[:body])
        kept[:body] = inside
        places = None if edges is None else np.array(edges, dtype=np.float64)
        for codes in ends:
            far = None if places is None else _far_tail(codes, inside, values[:body], sigmas[:body], places)
            tail = _tail(codes, values, sigmas) if far is None else far
            tails += [tail] if tail is not None and tail.codes.size else []
    else:
        kept[:body] = _among(values[:body], sigmas[:body], sure[:body])
    if not kept.any():
        kept[: body or values.size] = True
    return Evidence(kept, tuple(tails))


def _among(values: FloatArray, sigmas: FloatArray, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of some codes are kept: those that stand out, or all if the others do together."""
    kept = known | (values >= ALONE * sigmas)
    rest = ~kept
    if not rest.any():
        return kept
    if values[rest].sum() >= ALONE * _norm(sigmas[rest]):
        return np.ones_like(kept)
    scores = values / sigmas
    return kept | (scores >= _least(scores[rest]))


def _least(scores: FloatArray) -> float:
    """Return the score from which on few enough codes are empty, as far as negative scores tell; or infinity.

    Args:
        scores: Noisy counts in standard deviations of their noise [codes].
    """
    rising = np.sort(scores)
    n_empty = min(rising.size, 2 * int((rising < 0).sum()) + 1)
    for position in range(int(np.searchsorted(rising, _LEAST)), rising.size):
        above = math.erfc(float(rising[position]) / math.sqrt(2)) / 2
        if n_empty * above <= EMPTY * (rising.size - position):
            return float(rising[position])
    return math.inf


def _runs(
    values: FloatArray, sigmas: FloatArray, known: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[NDArray[np.intp]]]:
    """Return which codes of an ordered column are kept, and the codes that remain at each end, from the inside out."""
    mode = int(np.argmax(values / sigmas))
    if values[mode] < SURE * sigmas[mode] and not known.any():
        # No code is sure, as in a small table: there is no inside.
        return _among(values, sigmas, known), []
    kept = known.copy()
    kept[mode] = True
    ends = []
    for outwards in (range(mode + 1, values.size), range(mode - 1, -1, -1)):
        waiting: list[int] = []
        # Sums of the waiting codes, so that a column of a million codes takes a second.
        total, variance = 0.0, 0.0
        for code in outwards:
            waiting.append(code)
            value, sigma = float(values[code]), float(sigmas[code])
            total, variance = total + value, variance + sigma * sigma
            if known[code] or total >= SURE * math.sqrt(variance) or value >= SURE * sigma:
                kept[waiting] = _among(values[waiting], sigmas[waiting], kept[waiting])
                waiting, total, variance = [], 0.0, 0.0
        if waiting:
            ends.append(np.array(waiting, dtype=np.intp))
    return kept, ends


def _far_tail(
    codes: NDArray[np.intp],
    kept: NDArray[np.bool_],
    values: FloatArray,
    sigmas: FloatArray,
    edges: FloatArray,
) -> Tail | None:
    """Return the tail of codes from the inside out, by the decline before them; None if nothing tells of one."""
    others, sigma = np.flatnonzero(kept), float(np.median(sigmas))
    if codes[-1] == 0:
        joins = int(others[others > codes[0]][0])
        weights = far_counts(values[::-1], sigma, -edges[::-1], values.size - 1 - int(codes[0]))
    else:
        joins = int(others[others < codes[0]][-1])
        weights = far_counts(values, sigma, edges, int(codes[0]))
    if weights is None:
        return None
    held = np.flatnonzero(weights)
    return Tail(codes[held], weights[held], joins)


def _tail(codes: NDArray[np.intp], values: FloatArray, sigmas: FloatArray) -> Tail | None:
    """Return the tail among codes from the inside out: those that stand out most together; None if none do."""
    together = np.cumsum(values[codes])
    noise = np.sqrt(np.cumsum(np.square(sigmas[codes])))
    best = int(np.argmax(together / noise))
    if together[best] < TOGETHER * noise[best]:
        return None
    before = codes[0] + 1 if codes[-1] == 0 else codes[0] - 1
    weights = _decline(float(together[best]), max(values[before], sigmas[before]), best + 1)
    return Tail(codes[: best + 1], weights)


def _decline(mass: float, before: float, size: int) -> FloatArray:
    """Return counts [size] that add up to a mass and fall by a constant factor, also from the count before them.

    If that factor would exceed one, they are all equal.
    """
    steps = np.arange(1, size + 1)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if before * float((middle**steps).sum()) < mass else (low, middle)
    weights = np.power(high, steps, dtype=np.float64)
    counts: FloatArray = weights * (mass / weights.sum())
    return counts


def _norm(sigmas: FloatArray) -> float:
    return math.sqrt(float(np.square(sigmas).sum()))
