"""Values that are keys, as they hardly repeat, and the domain of new ones: texts of a pattern, numbers of some digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CodeFold
from syntabula.table.schema.columns import Identifier, Provenance
from syntabula.table.schema.key_patterns import KeyPattern, pattern_of

FEW_VALUES = 20
"""Integers with at most this many distinct values become categories; fewer rows than this show no identifier."""

MANY_VALUES = 1000
"""Text with more distinct values than this, in more than half of its cells, becomes an identifier."""

SPARE_KEYS = 10
"""A pattern with fewer keys than so many times the rows is nearly filled: `distinct` then says that keys come again."""

_MOST_DIGITS = 18
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)


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


def number_of_digits(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many digits each whole number [n] has; 0 of zero, of negative numbers, and of more than 18 digits."""
    reached = np.where(values < _POWERS[-1], values, 0).astype(np.int64)
    digits: NDArray[np.int64] = np.searchsorted(_POWERS, reached, side="right").astype(np.int64)
    return digits


DIGITS = CodeFold(number_of_digits, _MOST_DIGITS + 1)


def pattern_of_digits(n_digits: int, most: float) -> str | None:
    """Return the pattern of all numbers of so many digits; None of a single one, or where the type cannot store all.

    Args:
        n_digits: At least 0.
        most: Largest number that the type of the column can store.
    """
    return rf"[1-9]\d{{{n_digits - 1}}}" if n_digits > 1 and 10**n_digits - 1 <= most else None


def number_key_of(values: NDArray[Any], *, nullable: bool, provenance: Provenance) -> Identifier:
    """Return the domain of whole numbers that are keys, as they show it.

    Args:
        values: Those that are present [n], at least one, of the type that is stored.
        nullable: Whether cells may be missing.
        provenance: Source of the domain.
    """
    digits = np.unique(number_of_digits(values))
    most = np.iinfo(values.dtype).max
    pattern = pattern_of_digits(int(digits[0]), most) if digits.size == 1 else None
    n_distinct = np.unique(values).size
    distinct = how_many_differ(
        pattern, n_rows=values.size, n_distinct=n_distinct if n_distinct < values.size else None
    )
    return Identifier(
        integer=True, pattern=pattern, distinct=distinct, nullable=nullable, provenance=provenance
    )


def key_of_units(values: NDArray[Any], *, nullable: bool, provenance: Provenance) -> Identifier:
    """Return the domain of keys of units as they show it. As all of these differ, a pattern must have many to spare.

    Args:
        values: Those that are present [n]: whole numbers or texts, at least one.
        nullable: Whether cells may be missing.
        provenance: Source of the domain.
    """
    rows_of = Counter(values.tolist())
    integer = values.dtype != object
    key = (
        number_key_of(values, nullable=nullable, provenance=provenance)
        if integer
        else identifier_of(rows_of, nullable=nullable, provenance=provenance)
    )
    if key.pattern is not None and KeyPattern.of(key.pattern).n_keys < SPARE_KEYS * len(rows_of):
        return Identifier(integer=integer, nullable=nullable, provenance=provenance)
    return key
