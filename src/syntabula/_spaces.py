"""What a search may try for an option: declared beside the option, so that any part may have its own.

An option states them where it is declared: `passes: int = tunable(50, Range(low=20, high=100))`.
A method may try others of its parts: `model: GUM = tunable_part(GUM, passes=Range(low=5, high=9))`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from syntabula._arguments import shown
from syntabula.errors import ArgumentError

Value = bool | int | float | str | None

_Default = TypeVar("_Default")
_DECLARED = "syntabula.space"


@dataclass(frozen=True, kw_only=True)
class Range:
    """Numbers from one bound to another, both included.

    Attributes:
        low: Least value.
        high: Largest value.
        log: Whether to search evenly in the logarithm, for values of several magnitudes.

    Raises:
        ArgumentError: If bounds are not finite numbers in order, or `log` is set and they are not above 0.
    """

    low: int | float
    high: int | float
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise ArgumentError(f"{name} of a range must be a finite number; got {shown(value)}")
            object.__setattr__(
                self, name, int(value) if isinstance(value, numbers.Integral) else float(value)
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log of a range must be true or false; got {shown(self.log)}")
        if not self.low <= self.high:
            raise ArgumentError("low of a range is above high; swap them")
        if self.log and self.low <= 0:
            raise ArgumentError("a range in the logarithm must be above 0; raise low, or set log to false")

    @property
    def integer(self) -> bool:
        """Whether only whole numbers are tried, as both bounds are."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values between which all others lie."""
        return self.low, self.high

    @property
    def plain(self) -> Mapping[str, Value]:
        """The range as a YAML file has it."""
        return {"low": self.low, "high": self.high} | ({"log": True} if self.log else {})

    def suggested(self, trial: Any, name: str) -> Value:
        """Return the value that a trial of Optuna is to try."""
        suggest = trial.suggest_int if self.integer else trial.suggest_float
        value: Value = suggest(name, self.low, self.high, log=self.log)
        return value


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Attributes:
        values: The values, without order.

    Raises:
        ArgumentError: If there is none, one is listed twice, or one is no text, number, truth value or None.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise ArgumentError("a choice needs at least one value")
        if not all(value is None or isinstance(value, bool | int | float | str) for value in self.values):
            raise ArgumentError("values of a choice must be text, numbers, true, false or null")
        if len({(type(value), value) for value in self.values}) < len(self.values):
            raise ArgumentError("a value of a choice is listed twice; keep one")

    @property
    def ends(self) -> tuple[Value, ...]:
        """All values."""
        return self.values

    @property
    def plain(self) -> list[Value]:
        """The choice as a YAML file has it."""
        return list(self.values)

    def suggested(self, trial: Any, name: str) -> Value:
        """Return the value that a trial of Optuna is to try."""
        value: Value = trial.suggest_categorical(name, self.values)
        return value


Space = Mapping[str, Range | Choice]
"""What to try for each option, by its name."""


def tunable(default: _Default, tried: Range | Choice) -> _Default:
    """Declare an option of a part, and what a search tries for it unless it is given a space.

    Args:
        default: The value of the option where none is given.
        tried: The values to search.

    Returns:
        The field of a dataclass, though its type is that of the default, as with `dataclasses.field`.

    Examples:
        >>> from dataclasses import dataclass
        >>> from syntabula.plugins import Range, tunable
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Blurred:
        ...     blur: float = tunable(0.01, Range(low=0.001, high=0.5, log=True))
        >>> Blurred().blur
        0.01
    """
    declared: _Default = field(default=default, metadata={_DECLARED: tried})
    return declared


def tunable_part(make: Callable[[], _Default], **tried: Range | Choice | None) -> _Default:
    """Declare a part of a method, and what a search of the method tries otherwise than the part declares.

    Args:
        make: Makes the part where none is given.
        tried: What to search for options of the part, by name; None for one that is not searched.

    Returns:
        The field of a dataclass, though its type is that of the part, as with `dataclasses.field`.
    """
    declared: _Default = field(default_factory=make, metadata={_DECLARED: tried})
    return declared


def declared_of(of: Any) -> Mapping[str, Any]:
    """Return what the fields of a dataclass declare, by name: a range or choice, or for a part a mapping of these."""
    return {f.name: f.metadata[_DECLARED] for f in fields(of) if _DECLARED in f.metadata}
