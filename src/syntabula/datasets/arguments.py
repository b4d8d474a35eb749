"""Checks of the arguments that all simulated tables share."""

from __future__ import annotations

from syntabula._arguments import count

MAX_ROWS = 100_000_000


def check_n_rows(n_rows: object) -> int:
    """Return a number of rows as an int; raises ArgumentError unless it is from 1 to 100 million."""
    checked: int = count(1, MAX_ROWS)("n_rows", n_rows)
    return checked


def check_seed(seed: object) -> int:
    """Return a seed as an int; raises ArgumentError unless it is a whole number from 0 to 2**64 - 1."""
    checked: int = count(0, 2**64 - 1)("seed", seed)
    return checked
