"""Texts that are keys, as they hardly repeat, and the pattern of new ones."""

from __future__ import annotations

from collections.abc import Collection

from syntabula.table.schema.key_patterns import KeyPattern, pattern_of

FEW_VALUES = 20
"""Integers with at most this many distinct values become categories; fewer rows than this show no identifier."""

MANY_VALUES = 1000
"""Text with more distinct values than this, in more than half of its cells, becomes an identifier."""

SPARE_KEYS = 10
"""How many keys a pattern has at least for each that is seen."""


def hardly_repeat(n_distinct: int, n_cells: int) -> bool:
    """Return whether so many cells with so many distinct texts hold keys: all differ, or most of very many do."""
    if n_distinct == n_cells:
        return n_cells > FEW_VALUES
    return n_distinct > MANY_VALUES and n_distinct > n_cells / 2


def pattern_of_new_keys(keys: Collection[str]) -> str | None:
    """Return the pattern of distinct keys, if enough new ones can be made of it."""
    pattern = pattern_of(keys)
    return None if pattern is None or KeyPattern.of(pattern).n_keys < SPARE_KEYS * len(keys) else pattern
