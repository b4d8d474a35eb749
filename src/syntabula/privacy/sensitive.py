"""A wrapper that prevents exact statistics from being printed, stored or computed with by accident."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

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


def _refuse(attempt: str) -> NoReturn:
    raise TypeError(_LESSON.format(attempt=attempt))
