"""Checks of the arguments that all simulated tables share."""

from __future__ import annotations

import operator

from syntabula.errors import ArgumentError

MAX_ROWS = 100_000_000


def check_n_rows(n_rows: object) -> int:
    """Return a number of rows as an int; raises ArgumentError unless it is from 1 to 100 million."""
    return _whole("n_rows", n_rows, 1, MAX_ROWS)


def check_seed(seed: object) -> int:
    """Return a seed as an int; raises ArgumentError unless it is a whole number from 0 to 2**64 - 1."""
    return _whole("seed", seed, 0, 2**64 - 1)


def _whole(name: str, value: object, low: int, high: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise ArgumentError(f"{name} must be a whole number from {low} to {high}")
    return number
