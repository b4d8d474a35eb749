"""Find whole numbers that are no quantities: keys, and clock times such as 905 for 09:05."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.sorted_points import coded
from syntabula.prepare.bounds import MISSING_TAIL
from syntabula.prepare.found_keys import Curated, repeats
from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.prepare.searched import SearchedColumn
from syntabula.privacy.pricing import NoisyVector
from syntabula.table.clock_numbers import (
    CLOCK_NUMBERS,
    EACH_CLOCK_TIME,
    NO_CLOCK_TIME,
    TELLING_NUMBERS,
    are_clock_times,
)
from syntabula.table.new_keys import DIGITS, are_numbers_of_rows, how_many_differ, pattern_of_digits
from syntabula.table.schema.clock_columns import AS_NUMBER
from syntabula.table.schema.columns import Identifier, Numeric, Time

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import Points

KEY_SHARE = Fraction(1, 8)
"""Fraction of the domain budget that finds whether whole numbers are keys or clock times, in columns with such a name."""

DIGITS_SHARE = Fraction(3, 8)
"""Fraction of the domain budget that finds how many digits keys have."""

OTHER_DIGITS = 0.03
"""Part of the keys that may have another number of digits; of running numbers from 1 on a twelfth has the second most
frequent number of them at least."""

_CLEAR = 20
"""Where noise could hide more than one key of so many, it would hide what running numbers show."""

OTHER_NUMBERS = 0.01
"""Part of the values of clock times that may be other numbers, such as 1275; they are moved to the nearest time."""

UNNAMED_SHARE = Fraction(1, 16)
"""Fraction of the domain budget of other whole numbers that is kept to find whether they are clock times."""

LEAST_TELLING = 0.05
"""Part of the values that tell of clock times before 13 at least, and of later ones, if the name does not."""

_FARTHEST = 2**14
"""Above bounds of clock times that noise has widened."""

MOST_REPEATED = 20
"""Numbers with the name of a key that occur more often than this on average are learned."""


def whole_number_key(
    raw: SearchedColumn, points: Points, curator: Curated, *, share: Fraction, step: str
) -> Identifier | None:
    """Return an identifier if values hardly repeat, so that they name records; see `repeats`.

    Args:
        raw: The column.
        points: Its present values.
        curator: Makes the curator of some values.
        share: Fraction of the whole budget for the domain of the column, which is not used up.
        step: Name of the spends in the ledger.
    """
    found = repeats(raw, curator, share=share * KEY_SHARE, step=step)
    if found.first <= found.likely or found.first * MOST_REPEATED < found.repeated:
        return None
    digits = curator(coded(points, "digits", DIGITS), 0).histogram(
        range(DIGITS.size + 1), share=share * DIGITS_SHARE, step=step
    )
    pattern = _pattern_of_most(digits, raw.physical.limits[1])
    distinct = how_many_differ(pattern, n_rows=float(digits.values.sum()), n_distinct=found.n_distinct())
    return Identifier(
        integer=True, pattern=pattern, distinct=distinct, nullable=found.has_missing, provenance="private"
    )


def exact_row_numbers(
    raw: SearchedColumn, points: Points, curator: Curated, number: Numeric, *, share: Fraction, step: str
) -> Identifier | None:
    """Return an identifier if numbers of any name differ in all rows, and leave out few within the bounds found.

    Without privacy only: values that are known exactly would else come out again, and not all differ.
    """
    found = repeats(raw, curator, share=share, step=step)
    if found.n_distinct() is not None or not are_numbers_of_rows(found.first, number.lower, number.upper):
        return None
    return whole_number_key(raw, points, curator, share=share, step=step)


def _pattern_of_most(digits: NoisyVector, most_stored: float) -> str | None:
    """Return the pattern of numbers of as many digits as nearly all have, given how many have each number of them."""
    total, height = float(digits.values.sum()), digits.above_noise(LEAST_FAILURE)
    second, most = np.argsort(digits.values)[-2:].tolist()
    if _CLEAR * height > total or digits.values[second] > max(height, OTHER_DIGITS * total):
        return None
    return pattern_of_digits(most, most_stored)


def clock_number(
    points: Points, n_missing: int, curator: Curated, *, share: Fraction, step: str
) -> Time | None:
    """Return clock times if hardly any number is none, and some are from ten on; see `clock_codes`."""
    column = curator(coded(points, "clock", CLOCK_NUMBERS), n_missing)
    answer = column.histogram(range(CLOCK_NUMBERS.size + 1), share=share, step=step, count_missing=True)
    others, _, late, missing = answer.values.tolist()
    height = answer.above_noise(LEAST_FAILURE)
    if late <= height or others > max(height, OTHER_NUMBERS * float(answer.values[:-1].sum())):
        return None
    has_missing = missing > answer.above_noise(MISSING_TAIL)
    return Time(format=AS_NUMBER, nullable=has_missing, provenance="private")


def may_be_clock_number(column: Numeric) -> bool:
    """Return whether released bounds leave it open that whole numbers are clock times."""
    return 0 <= column.lower < 1000 and 1300 <= column.upper < _FARTHEST


def unnamed_clock_number(
    points: Points, curator: Curated, *, nullable: bool, share: Fraction, step: str
) -> Time | None:
    """Return clock times if hardly any number is none, and many hardly are anything else; see `telling_codes`.

    Noise must not hide a tenth of the values: of numbers of all kinds up to 2,359, two fifths are no clock times.
    """
    column = curator(coded(points, "telling clock", TELLING_NUMBERS), 0)
    answer = column.histogram(range(TELLING_NUMBERS.size + 1), share=share, step=step)
    others, _, *telling = answer.values.tolist()
    height, total = answer.above_noise(LEAST_FAILURE), float(answer.values.sum())
    if others > max(height, OTHER_NUMBERS * total) or 10 * height > total:
        return None
    if min(telling) <= max(height, LEAST_TELLING * total):
        return None
    return Time(format=AS_NUMBER, nullable=nullable, provenance="private")


def exact_clock_number(
    name: str, points: Points, n_missing: int, curator: Curated, *, share: Fraction, step: str
) -> Time | None:
    """Return clock times if all numbers look like some, whatever the name; as a draft does, without privacy only."""
    if isinstance(points, AskedPoints):
        # More values than there are clock times.
        return None
    column = curator(coded(points, "each clock time", EACH_CLOCK_TIME), n_missing)
    edges = range(EACH_CLOCK_TIME.size + 1)
    counts = column.histogram(edges, share=share, step=step).values
    if counts[NO_CLOCK_TIME] or not are_clock_times(name, np.flatnonzero(counts)):
        return None
    return Time(format=AS_NUMBER, nullable=n_missing > 0, provenance="private")
