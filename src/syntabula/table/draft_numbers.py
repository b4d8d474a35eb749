"""Notes on drafted numbers that are fewer than their bounds allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.new_keys import FEW_VALUES

MOST_CODES = 200
"""Numbers with at most this many distinct values may be codes, if each occurs often and gaps lie between them."""

_OFTEN = 10
"""How often each value of codes must occur on average, and how many other values must fit between two of them."""


def note_of_codes(n_distinct: int, n_values: int, width: float) -> str | None:
    """Return a note if there are few distinct numbers, which occur often and lie far apart on their grid."""
    if (
        n_distinct < 2
        or n_distinct > MOST_CODES
        or n_values < _OFTEN * n_distinct
        or width < _OFTEN * n_distinct
    ):
        return None
    return (
        "holds few distinct numbers in a wide range; as it is treated as numeric, any number of the range can appear; to "
        "avoid this, declare it categorical, with all possible values"
    )


def note_of_missing_code(distinct: NDArray[Any]) -> str | None:
    """Return a note if one number of nines alone, such as 999 or -99, lies far beyond the others.

    Args:
        distinct: Distinct values [n], finite, in ascending order.
    """
    if distinct.size <= FEW_VALUES:
        return None
    # Further from the others than these lie from each other.
    spans = ((distinct[-1], distinct[-2], distinct[0]), (distinct[0], distinct[1], distinct[-1]))
    for code, nearest, farthest in ((float(a), float(b), float(c)) for a, b, c in spans):
        is_nines = (
            code.is_integer() and {*str(abs(int(code)))} == {"9"} and abs(code) > (9 if code > 0 else 0)
        )
        if is_nines and abs(code - nearest) > abs(nearest - farthest):
            return (
                "holds a number of nines far beyond the others, as some files write missing cells; if it is such a code, "
                "declare it as `missing_as`, with `nullable: true` and bounds without it"
            )
    return None


def note_of_step(distinct: NDArray[Any], decimals: int | None = 0) -> str | None:
    """Return a note if numbers are multiples of one that is larger than their decimals need.

    Args:
        distinct: Distinct values [n], finite.
        decimals: How many decimals they have; None for any number of them.
    """
    if decimals is None or distinct.size <= FEW_VALUES:
        return None
    # More than twenty numbers that differ all are even by chance once in a million times.
    whole = distinct.dtype.kind in "iu"
    points = distinct if whole else np.rint(distinct * 10.0**decimals).astype(np.int64)
    if np.gcd.reduce(points) < 2:
        return None
    return (
        "holds multiples of one number alone, such as tens or quarters; if that is known, declare the number as `step` "
        "(and no decimals), so that no others come out"
    )
