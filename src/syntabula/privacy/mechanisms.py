"""Mechanisms: the only functions that turn an exact statistic into a released value.

Each takes a one-time token of the ledger, so nothing is drawn without payment and nothing is drawn twice. The token is
used up before anything else is checked: if the call then fails, it stays paid.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, BudgetError
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TrainingEvent,
)
from syntabula.privacy.ledger import Token
from syntabula.privacy.noise import NoiseSource, TrainingNoise
from syntabula.privacy.sensitive import Sensitive


def noisy_counts(token: Token, noise: NoiseSource, counts: Sensitive[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Release counts with the noise that the token paid for.

    Args:
        token: From the ledger, for a Gaussian, Laplace or exact event.
        noise: Draws the noise.
        counts: Exact counts, int64, any shape of as many cells as the event states.

    Returns:
        Noisy counts of the same shape; a copy of the exact ones for an exact event.

    Raises:
        ArgumentError: If the event is of another kind, or counts have another number of cells than it states.
    """
    event = token.consume()
    exact = _revealed_counts(counts)
    match event:
        case GaussianEvent():
            _require_cells(exact.size, event.cells)
            return noise.discrete_gaussian(exact, event.sigma)
        case LaplaceEvent():
            _require_cells(exact.size, event.cells)
            return noise.discrete_laplace(exact, event.scale)
        case ExactEvent():
            return exact.copy()
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release counts")


def frequent(
    token: Token, noise: NoiseSource, counts: Sensitive[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Release which of the categories that occur are frequent, and their noisy counts.

    Partition selection by a noisy threshold (Korolova, Kenthapadi, Mishra and Ntoulas, 2009, with Laplace
    noise; here Gaussian): see `ThresholdEvent` for the guarantee. Only counts above 0 may be given, and each record
    may count towards only one category.

    Args:
        token: From the ledger, for a threshold or exact event.
        noise: Draws the noise.
        counts: Exact counts [categories that occur], int64, each at least 1.

    Returns:
        Positions of the categories whose noisy count reaches the threshold, and those noisy counts. For an exact
        event the threshold is 2, so a single record's value is not a category.

    Raises:
        ArgumentError: If the event is of another kind.
    """
    event = token.consume()
    exact = _revealed_counts(counts)
    match event:
        case ThresholdEvent():
            noisy = noise.discrete_gaussian(exact, event.sigma)
            kept = np.flatnonzero(noisy >= event.threshold)
            return kept, noisy[kept]
        case ExactEvent():
            kept = np.flatnonzero(exact >= 2)
            return kept, exact[kept]
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release categories")


def choose(
    token: Token,
    noise: NoiseSource,
    scores: Sensitive[NDArray[np.float64]],
    score_sensitivity: float,
) -> int:
    """Release the position of a large score, by the exponential mechanism (McSherry and Talwar, 2007).

    Args:
        token: From the ledger, for an exponential or exact event.
        noise: Draws the choice.
        scores: Exact scores [candidates], float64, finite, as many as the event states.
        score_sensitivity: Largest change of any score when one record is added or removed; above 0. It must include
            the rounding of the scores.

    Returns:
        The chosen position; the first of the largest for an exact event.

    Raises:
        ArgumentError: If the event is of another kind, scores have another shape than it states, or the
            sensitivity is not a finite number above 0.
    """
    event = token.consume()
    exact = _revealed_scores(scores)
    _require_sensitivity(score_sensitivity)
    match event:
        case ExponentialEvent():
            if exact.size != event.candidates:
                raise ArgumentError(f"{exact.size} scores were given, but {event.candidates} were paid for")
            return noise.noisy_max(exact, _choice_scale(score_sensitivity, event.epsilon))
        case ExactEvent():
            return int(np.argmax(exact))
    raise ArgumentError(f"the token pays for {type(event).__name__}, which does not release a choice")


class NoisySums:
    """Releases the noisy sum of a training's every step, as many as were paid for.

    Args:
        token: From the ledger, for a training event.
        noise: Draws the noise.
        done: Steps that were released before, by a run that this one resumes.

    Raises:
        ArgumentError: If the event is of another kind.
    """

    def __init__(self, token: Token, noise: TrainingNoise, *, done: int = 0) -> None:
        event = token.consume()
        if not isinstance(event, TrainingEvent):
            raise ArgumentError(
                f"the token pays for {type(event).__name__}, which does not release gradients"
            )
        self._event = event
        self._noise = noise
        # Marginals are released without it.
        from syntabula.privacy.training.grid import Grid, noise_scale

        self._grid, self._scale = Grid(event.clip, event.cells), noise_scale(event)
        self._done = done
        self._lock = threading.Lock()

    @property
    def done(self) -> int:
        """Number of steps that were released."""
        return self._done

    def release(self, total: Sensitive[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a sum of clipped gradients of records sampled at the event's rate, with noise.

        Args:
            total: The exact sum [cells], float64.

        Raises:
            ArgumentError: If the sum has another shape than was paid for.
            BudgetError: If all steps that were paid for are done; nothing was drawn.
        """
        exact = _revealed(total)
        if not isinstance(exact, np.ndarray) or exact.dtype != np.float64 or exact.ndim != 1:
            raise ArgumentError("a sum of gradients must be a Sensitive numpy array of float64 with one axis")
        _require_cells(exact.size, self._event.cells)
        with self._lock:
            if self._done >= self._event.steps:
                raise BudgetError(
                    f"all {self._event.steps} steps that were paid for are done; nothing was drawn. Ask for more steps "
                    "when training begins"
                )
            self._done += 1
        noisy = self._noise.gaussian_vector(self._grid.rounded(exact), self._scale)
        released: NDArray[np.float64] = noisy.astype(np.float64) * self._grid.unit
        return released


def _choice_scale(score_sensitivity: float, epsilon: float) -> float:
    """Return 2 sensitivity / epsilon, rounded up: a scale rounded down would cost more than paid."""
    exact = 2 * Fraction(score_sensitivity) / Fraction(epsilon)
    try:
        scale = float(exact)
    except OverflowError:
        scale = math.inf
    if math.isinf(scale):
        raise ArgumentError("score_sensitivity / epsilon is beyond float64; scale the scores down")
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


def _revealed_counts(counts: object) -> NDArray[np.int64]:
    exact = _revealed(counts)
    if not isinstance(exact, np.ndarray) or exact.dtype != np.int64:
        raise ArgumentError("counts must be a Sensitive numpy array of int64")
    return exact


def _revealed_scores(scores: object) -> NDArray[np.float64]:
    exact = _revealed(scores)
    if not isinstance(exact, np.ndarray) or exact.dtype != np.float64 or exact.ndim != 1 or not exact.size:
        raise ArgumentError("scores must be a Sensitive numpy array of float64 with one axis, not empty")
    if not np.isfinite(exact).all():
        raise ArgumentError("scores must be finite; clip them first")
    return exact


def _revealed(statistic: object) -> object:
    if not isinstance(statistic, Sensitive):
        raise ArgumentError(f"a mechanism takes a Sensitive statistic, not {type(statistic).__name__}")
    return statistic.reveal_inside_privacy()


def _require_cells(cells: int, paid: int) -> None:
    if cells != paid:
        raise ArgumentError(f"counts have {cells} cells, but {paid} were paid for")


def _require_sensitivity(score_sensitivity: object) -> None:
    number = score_sensitivity
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ArgumentError(f"score_sensitivity must be a number, not {type(number).__name__}")
    if not math.isfinite(number) or number <= 0:
        raise ArgumentError("score_sensitivity must be finite and above 0")
