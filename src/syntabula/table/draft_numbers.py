"""Notes on drafted numbers: that they are fewer than their bounds allow, or may be others than they seem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.files.signed_kinds import are_amounts
from syntabula.table.new_keys import FEW_VALUES, number_of_digits
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.text_formats import NumberFormat

MOST_CODES = 200
"""Numbers with at most this many distinct values may be codes, if each occurs often and gaps lie between them."""

_LEAST_ACCOUNTS, _DIGITS_OF_ACCOUNTS = 50, 5
"""So many whole numbers that differ, and have as many digits each, may be keys."""

_SURELY = math.log(10**6)

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
    if decimals is None:
        return None
    whole = distinct.dtype.kind in "iu"
    points = distinct if whole else np.rint(distinct * 10.0**decimals).astype(np.int64)
    # So many numbers that differ are all multiples by chance less often than once in a million times.
    step = int(np.gcd.reduce(points)) if points.size else 0
    if step < 2 or distinct.size * math.log(step) < _SURELY:
        return None
    return (
        "holds multiples of one number alone, such as tens or quarters; if that is known, declare the number as `step` "
        "(and no decimals), so that no others come out"
    )


def note_of_accounts(values: NDArray[Any], n_distinct: int) -> str | None:
    """Return a note if whole numbers [n] look like keys that were given out: all differ, and have as many digits."""
    digits = number_of_digits(values)
    if (
        n_distinct < values.size
        or n_distinct < _LEAST_ACCOUNTS
        or not (digits == max(int(digits[0]), _DIGITS_OF_ACCOUNTS)).all()
    ):
        return None
    return (
        "differs in every row, and all numbers have as many digits; if it is a key, such as the number of an account, "
        "declare it as {kind: identifier, integer: true}, so that no real one comes out"
    )


def note_of_open(physical: PhysicalType, values: NDArray[Any]) -> str | None:
    """Return a note if nothing but the file shows that whole numbers [n] are thousands, as 1.234 is."""
    if physical.format is None:
        return None
    form, sizes = NumberFormat.of(physical.format), abs(values)
    if form.group != "." or form.mark or not ((sizes >= 1000) & (sizes < 10**6)).all():
        return None
    return (
        "holds numbers that all have three digits behind one point, and are read as thousands, 1.234 for 1234; if they "
        "have decimals, declare it numeric with `decimals: 3` and without the format"
    )


def note_of_amounts(physical: PhysicalType, decimals: int | None) -> str | None:
    """Return a note if numbers are amounts of money with three decimals, which may be thousands."""
    if decimals != 3 or not are_amounts(physical):
        return None
    return (
        "holds amounts of money that all have three decimals; if they are thousands, 1.234 € for 1234 €, declare it "
        "numeric, with `integer: true` and the `format` 1.234 €, with the sign where the table has it"
    )
