"""Mechanisms: the only functions that turn an exact statistic into a released value.

Each takes a one-time token of the ledger, so nothing is drawn without payment and nothing is drawn twice. The token is
used up before anything else is checked: if the call then fails, it stays paid. Exact statistics come to them in a
`Sensitive`, which prevents that they are printed, stored or computed with by accident.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)
from syntabula.privacy.ledger import Token
from syntabula.privacy.noise import NoiseSource

StatisticT = TypeVar("StatisticT")

_LESSON = (
    "a Sensitive statistic cannot be {attempt}: it is exact, and only a noisy answer may leave privacy/; "
    "ask the Curator to measure or choose instead"
)


class Sensitive(Generic[StatisticT]):
    """An exact statistic of sensitive data, closed to everything but mechanisms.

    Printing shows the type and shape only. Pickling, copying, comparing, iterating, computing and converting
    to numpy raise TypeError. This guards against accidents, not against code that deliberately breaks it.

    The shape counts as public, so an array whose length depends on the records must not be wrapped.

    Args:
        statistic: The exact value, for instance counts of a marginal.

    Examples:
        >>> Sensitive(np.array([3, 5]))
        Sensitive(ndarray, shape (2,))
    """

    __slots__ = ("__statistic",)

    def __init__(self, statistic: StatisticT) -> None:
        self.__statistic = statistic

    def reveal_inside_privacy(self) -> StatisticT:
        """Return the exact statistic; a test checks that no file outside privacy/ uses this method."""
        return self.__statistic

    def __repr__(self) -> str:
        kind = type(self.__statistic).__name__
        if isinstance(self.__statistic, np.ndarray):
            return f"Sensitive({kind}, shape {self.__statistic.shape})"
        return f"Sensitive({kind})"

    def __format__(self, specification: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        _refuse("pickled or copied")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _refuse("pickled or copied")

    def __getstate__(self) -> NoReturn:
        _refuse("pickled or copied")

    def __iter__(self) -> NoReturn:
        _refuse("iterated over")

    def __len__(self) -> NoReturn:
        _refuse("measured by len()")

    def __getitem__(self, key: object) -> NoReturn:
        _refuse("indexed")

    def __contains__(self, value: object) -> NoReturn:
        _refuse("searched")

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        _refuse("converted to a numpy array")

    def __array_ufunc__(self, *arguments: Any, **options: Any) -> NoReturn:
        _refuse("used in arithmetic")

    def __array_function__(self, *arguments: Any, **options: Any) -> NoReturn:
        _refuse("passed to a numpy function")

    def __bool__(self) -> NoReturn:
        _refuse("used as a condition")

    def __int__(self) -> NoReturn:
        _refuse("converted to a number")

    __float__ = __index__ = __complex__ = __int__

    def __eq__(self, other: object) -> NoReturn:
        _refuse("compared")

    __ne__ = __eq__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def __add__(self, other: object) -> NoReturn:
        _refuse("used in arithmetic")

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = __add__
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __add__
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__
    __divmod__ = __rdivmod__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __add__

    def __neg__(self) -> NoReturn:
        _refuse("used in arithmetic")

    __pos__ = __abs__ = __invert__ = __round__ = __neg__


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
            require_cells(exact.size, event.cells)
            return noise.discrete_gaussian(exact, event.sigma)
        case LaplaceEvent():
            require_cells(exact.size, event.cells)
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
    exact = revealed(counts)
    if not isinstance(exact, np.ndarray) or exact.dtype != np.int64:
        raise ArgumentError("counts must be a Sensitive numpy array of int64")
    return exact


def _revealed_scores(scores: object) -> NDArray[np.float64]:
    exact = revealed(scores)
    if not isinstance(exact, np.ndarray) or exact.dtype != np.float64 or exact.ndim != 1 or not exact.size:
        raise ArgumentError("scores must be a Sensitive numpy array of float64 with one axis, not empty")
    if not np.isfinite(exact).all():
        raise ArgumentError("scores must be finite; clip them first")
    return exact


def revealed(statistic: object) -> object:
    """Return what a Sensitive statistic holds; raises ArgumentError if it is none."""
    if not isinstance(statistic, Sensitive):
        raise ArgumentError(f"a mechanism takes a Sensitive statistic, not {type(statistic).__name__}")
    return statistic.reveal_inside_privacy()


def require_cells(cells: int, paid: int) -> None:
    """Raise ArgumentError unless as many cells were paid for."""
    if cells != paid:
        raise ArgumentError(f"counts have {cells} cells, but {paid} were paid for")


def _require_sensitivity(score_sensitivity: object) -> None:
    number = score_sensitivity
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ArgumentError(f"score_sensitivity must be a number, not {type(number).__name__}")
    if not math.isfinite(number) or number <= 0:
        raise ArgumentError("score_sensitivity must be finite and above 0")


def _refuse(attempt: str) -> NoReturn:
    raise TypeError(_LESSON.format(attempt=attempt))
