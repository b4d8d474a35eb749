"""Checks of options that many methods have, so that one mistake gets one sentence."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from syntabula.errors import ArgumentError


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise ArgumentError unless a value is an integer of at least that."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ArgumentError(f"{name} must be an integer of at least {least}")


def check_part(name: str, value: object) -> None:
    """Raise ArgumentError unless a value is a part of the budget."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 < value < 1:
        raise ArgumentError(f"{name} must be a part of the budget, above 0 and below 1")


def check_positive(name: str, value: object) -> None:
    """Raise ArgumentError unless a value is a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ArgumentError(f"{name} must be a positive number")


def check_one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise ArgumentError unless a value is one of a few; True and False are no numbers here."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise ArgumentError(f"{name} must be one of {', '.join(map(repr, allowed))}")
