"""Values that are keys, as they hardly repeat, and the domain of new ones: texts of a pattern, numbers of some digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CodeFold
from syntabula.table.key_shapes import MOST_SHAPES, joined_patterns, shape_of
from syntabula.table.schema.columns import Identifier, Provenance
from syntabula.table.schema.key_mixtures import keys_of
from syntabula.table.schema.key_patterns import UUID, pattern_of

FEW_VALUES = 20
"""Integers with at most this many distinct values become categories; fewer rows than this show no identifier."""

MANY_VALUES = 1000
"""Text with more distinct values than this, in more than half of its cells, becomes an identifier."""

SPARE_KEYS = 10
"""A pattern with fewer keys than so many times the rows is nearly filled: `distinct` then says that keys come again."""

_LEAST_NUMBERED = 50
"""So few different numbers without gaps may be so by chance."""

_GAPS = 1.25
"""Numbers of records leave out at most a fifth of those between the first and the last one."""

_MOST_DIGITS = 18
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)


def hardly_repeat(n_distinct: int, n_cells: int) -> bool:
    """Return whether so many cells with so many distinct texts hold keys: all differ, or most of very many do."""
    if n_distinct == n_cells:
        return n_cells > FEW_VALUES
    return n_distinct > MANY_VALUES and n_distinct > n_cells / 2


def are_numbers_of_rows(n_values: float, lower: float, upper: float) -> bool:
    """Return whether so many different whole numbers within bounds number records, as 1, 2, 4 do: few are left out."""
    width = upper - lower + 1
    return width == n_values or (n_values >= _LEAST_NUMBERED and width <= _GAPS * n_values)


def how_many_differ(
    pattern: str | None, *, n_rows: float, n_distinct: int | None, shares: Sequence[float] | None = None
) -> int | None:
    """Return how many keys of a new column differ, for `Identifier.distinct`.

    Args:
        pattern: Form of the keys; None for running numbers, of which there are always more.
        n_rows: Number of rows.
        n_distinct: Number of different keys among them; None if all differ.
        shares: Parts of the rows that have each of several patterns.

    Returns:
        At most as many as the pattern has, which are those of all rows if it is nearly filled: a release of more rows
        then has some again. None if all differ.
    """
    if pattern is None:
        return n_distinct
    n_keys = keys_of(pattern, shares).n_keys
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
    pattern, shares = _patterns_of(texts)
    n_rows = sum(texts.values())
    n_distinct = len(texts) if len(texts) < n_rows else None
    distinct = how_many_differ(pattern, n_rows=n_rows, n_distinct=n_distinct, shares=shares)
    return Identifier(
        pattern=pattern, shares=shares, distinct=distinct, nullable=nullable, provenance=provenance
    )


def _patterns_of(texts: Mapping[str, int]) -> tuple[str | None, tuple[float, ...] | None]:
    """Return the pattern of all keys, or the few that they have, joined, and the part of the rows that has each."""
    if shape_of(next(iter(texts)), keeps_letters=False, divides=True) == UUID:
        return pattern_of(texts), None
    for keeps_letters in (True, False):
        groups: dict[str | None, dict[str, int]] = {}
        for text, number in texts.items():
            shape = shape_of(text, keeps_letters=keeps_letters, divides=True)
            groups.setdefault(shape, {})[text] = number
            if len(groups) > MOST_SHAPES:
                break
        patterns = {shape: pattern_of(found) for shape, found in groups.items()}
        if 1 < len(groups) <= MOST_SHAPES and None not in (*groups, *patterns.values()):
            counts = {str(patterns[shape]): float(sum(found.values())) for shape, found in groups.items()}
            joined = joined_patterns(counts)
            if joined is not None and joined[1] is not None and keys_of(*joined).n_keys >= len(texts):
                return joined
    return pattern_of(texts), None


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
    if key.pattern is not None and key.keys().n_keys < SPARE_KEYS * len(rows_of):
        return Identifier(integer=integer, nullable=nullable, provenance=provenance)
    return key
