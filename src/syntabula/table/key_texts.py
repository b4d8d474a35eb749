"""Texts that are keys, as they hardly repeat, and the pattern of new ones."""

from __future__ import annotations

from collections.abc import Mapping

from syntabula.table.schema.columns import Identifier, Provenance
from syntabula.table.schema.key_patterns import KeyPattern, pattern_of

FEW_VALUES = 20
"""Integers with at most this many distinct values become categories; fewer rows than this show no identifier."""

MANY_VALUES = 1000
"""Text with more distinct values than this, in more than half of its cells, becomes an identifier."""

SPARE_KEYS = 10
"""A pattern with fewer keys than so many times the rows is nearly filled: `distinct` then says that keys come again."""


def hardly_repeat(n_distinct: int, n_cells: int) -> bool:
    """Return whether so many cells with so many distinct texts hold keys: all differ, or most of very many do."""
    if n_distinct == n_cells:
        return n_cells > FEW_VALUES
    return n_distinct > MANY_VALUES and n_distinct > n_cells / 2


def how_many_differ(pattern: str | None, *, n_rows: float, n_distinct: int | None) -> int | None:
    """Return how many keys of a new column differ, for `Identifier.distinct`.

    Args:
        pattern: Form of the keys; None for running numbers, of which there are always more.
        n_rows: Number of rows.
        n_distinct: Number of different keys among them; None if all differ.

    Returns:
        At most as many as the pattern has, which are those of all rows if it is nearly filled: a release of more rows
        then has some again. None if all differ.
    """
    if pattern is None:
        return n_distinct
    n_keys = KeyPattern.of(pattern).n_keys
    if n_distinct is not None:
        return min(n_distinct, n_keys)
    return n_keys if n_keys < SPARE_KEYS * n_rows else None


def identifier_of(texts: Mapping[str, int], *, nullable: bool, provenance: Provenance) -> Identifier:
    """Return the domain of keys as they show it: the pattern of all, and how many differ if some repeat.

    Args:
        texts: Number of rows of each key.
        nullable: Whether cells may be missing.
        provenance: Source of the domain.
    """
    pattern = pattern_of(texts)
    n_rows = sum(texts.values())
    distinct = how_many_differ(pattern, n_rows=n_rows, n_distinct=len(texts) if len(texts) < n_rows else None)
    return Identifier(pattern=pattern, distinct=distinct, nullable=nullable, provenance=provenance)
