"""Events: facts about what was drawn, in the mechanism's own parameters.

An event says nothing about budgets; what it costs in a currency is worked out in `privacy.rules`.
The relation is always: add or remove one record.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syntabula.errors import BudgetError

Json = dict[str, Any]


@dataclass(frozen=True)
class GaussianEvent:
    """Discrete Gaussian noise added to a vector of integers.

    Attributes:
        sigma: Scale of the noise, above 0, in the unit of the vector.
        l2_sensitivity_squared: Square of the L2 sensitivity of the vector, above 0, exact.
        cells: Length of the vector.

    Raises:
        BudgetError: If a parameter is outside its range.
    """

    sigma: float
    l2_sensitivity_squared: Fraction | int
    cells: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _positive_float("sigma", self.sigma))
        squared = self.l2_sensitivity_squared
        if isinstance(squared, bool) or not isinstance(squared, (int, Fraction)) or squared <= 0:
            raise BudgetError(f"l2_sensitivity_squared is {squared!r}; it must be an int or Fraction above 0")
        object.__setattr__(self, "cells", _count("cells", self.cells))

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        squared = Fraction(self.l2_sensitivity_squared)
        return {
            "kind": "gaussian",
            "sigma": self.sigma,
            "l2_sensitivity_squared": int(squared) if squared.denominator == 1 else str(squared),
            "cells": self.cells,
        }


@dataclass(frozen=True)
class LaplaceEvent:
    """Discrete Laplace noise added to a vector of integers.

    Attributes:
        scale: Scale b of the noise, above 0; its mass falls as exp(-|x| / b).
        l1_sensitivity: L1 sensitivity of the vector, at least 1.
        cells: Length of the vector.

    Raises:
        BudgetError: If a parameter is outside its range.
    """

    scale: float
    l1_sensitivity: int
    cells: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive_float("scale", self.scale))
        object.__setattr__(self, "l1_sensitivity", _count("l1_sensitivity", self.l1_sensitivity))
        object.__setattr__(self, "cells", _count("cells", self.cells))

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        return {
            "kind": "laplace",
            "scale": self.scale,
            "l1_sensitivity": self.l1_sensitivity,
            "cells": self.cells,
        }


@dataclass(frozen=True)
class ExponentialEvent:
    """One choice by the exponential mechanism, with probability proportional to exp(epsilon q / (2 Delta)).

    Attributes:
        epsilon: The mechanism's own parameter, above 0.
        candidates: Number of candidates, at least 1.

    Raises:
        BudgetError: If a parameter is outside its range.
    """

    epsilon: float
    candidates: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _positive_float("epsilon", self.epsilon))
        object.__setattr__(self, "candidates", _count("candidates", self.candidates))

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        return {"kind": "exponential", "epsilon": self.epsilon, "candidates": self.candidates}


@dataclass(frozen=True)
class TreeEvent:
    """All decisions of one PrivTree that splits in halves (Zhang, Xiao and Xie, 2016).

    Attributes:
        scale: Scale lambda of the Laplace noise on each count, above 0, in records. Counts are lowered by
            `decay` a level.

    Raises:
        BudgetError: If the scale is outside its range.
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive_float("scale", self.scale))

    @property
    def decay(self) -> float:
        """What a level takes off a count, in records: scale * ln 2."""
        return self.scale * math.log(2)

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        return {"kind": "tree", "scale": self.scale}


@dataclass(frozen=True)
class ThresholdEvent:
    """Release of the categories whose count, with discrete Gaussian noise, reaches a threshold.

    One record holds one category. If others hold it too, the noise protects it; if none does, it comes out
    with probability at most delta = exp(-(threshold - 1)^2 / (2 sigma^2)), as the noise is sub-Gaussian.

    Attributes:
        sigma: Scale of the noise, above 0.
        threshold: Least noisy count of a released category, above 1.

    Raises:
        BudgetError: If a parameter is outside its range.
    """

    sigma: float
    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _positive_float("sigma", self.sigma))
        object.__setattr__(self, "threshold", _positive_float("threshold", self.threshold))
        if self.threshold <= 1:
            raise BudgetError("threshold must be above 1, the count of a single record")

    @property
    def delta(self) -> float:
        """Probability that a category of a single record comes out, rounded up."""
        exponent = ((self.threshold - 1) / self.sigma) ** 2 / 2
        return math.exp(-exponent) * (1 + 1e-9)

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        return {"kind": "threshold", "sigma": self.sigma, "threshold": self.threshold}


@dataclass(frozen=True)
class ExactEvent:
    """An exact answer, without noise; only allowed where privacy was switched off.

    Attributes:
        what: What was answered, in a few words, without any value of the data.

    Raises:
        BudgetError: If `what` is not a text, or empty.
    """

    what: str

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what:
            raise BudgetError("what must be a text that says what was answered exactly")

    def to_json(self) -> Json:
        """Return the kind and parameters as values that JSON can hold."""
        return {"kind": "exact", "what": self.what}


Event = GaussianEvent | LaplaceEvent | ExponentialEvent | TreeEvent | ThresholdEvent | ExactEvent


_KINDS: dict[str, type[Event]] = {
    "gaussian": GaussianEvent,
    "laplace": LaplaceEvent,
    "exponential": ExponentialEvent,
    "tree": TreeEvent,
    "threshold": ThresholdEvent,
    "exact": ExactEvent,
}


def event_class(kind: object) -> type[Event]:
    """Return the class of events that are recorded under a kind; raises BudgetError if there is none."""
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise BudgetError("a recorded event has a kind that this version does not know")
    return found


def event_from_json(record: Mapping[str, Any]) -> Event:
    """Rebuild an event from what its `to_json` returned.

    Raises:
        BudgetError: If the kind is unknown, or a parameter is unknown, missing or outside its range.
    """
    kind = event_class(record.get("kind"))
    try:
        parameters = {name: value for name, value in record.items() if name != "kind"}
        if kind is GaussianEvent:
            squared = Fraction(parameters["l2_sensitivity_squared"])
            parameters["l2_sensitivity_squared"] = int(squared) if squared.denominator == 1 else squared
        return kind(**parameters)
    except (TypeError, KeyError, ValueError) as error:
        raise BudgetError(f"a recorded {record['kind']} event cannot be read: {error}") from None


def _positive_float(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    # An int beyond 2^53 would change silently, and the event would not be what was drawn.
    if not (math.isfinite(number) and number > 0 and number == value):
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return number


def _count(name: str, value: object) -> int:
    try:
        count = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if count < 1:
        raise BudgetError(f"{name} is {value!r}; it must be an int of at least 1")
    return count
