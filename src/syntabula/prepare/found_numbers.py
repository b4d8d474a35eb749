"""Find whole numbers that are no quantities: keys, and clock times such as 905 for 09:05."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.bounds import MISSING_TAIL
from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.prepare.refinement import coded
from syntabula.prepare.searched import SearchedColumn
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.table.clock_numbers import CLOCK_NUMBERS, EACH_CLOCK_TIME, NO_CLOCK_TIME, are_clock_times
from syntabula.table.schema.clock_columns import AS_NUMBER
from syntabula.table.schema.columns import Identifier, Time

if TYPE_CHECKING:
    from syntabula.prepare.refinement import Points

KEY_SHARE = Fraction(1, 8)
"""Fraction of the domain budget that finds whether whole numbers are keys or clock times, in columns with such a name."""

OTHER_NUMBERS = 0.01
"""Part of the values of clock times that may be other numbers, such as 2400; they are moved to the nearest time."""

MOST_REPEATED = 20
"""Numbers with the name of a key that occur more often than this on average are learned."""

Curated = Callable[["Points", int], ColumnCurator]
"""Makes the curator of some values, given the number of missing ones."""


def whole_number_key(
    raw: SearchedColumn, curator: Curated, *, share: Fraction, step: str
) -> Identifier | None:
    """Return an identifier if values hardly repeat, so that they name records.

    Each record counts once: as the first whose value takes a place by hash, as a repetition, or as missing. Which
    record is the first does not matter: adding one changes one of the three numbers by one. There are 2^26 places, so
    that hardly any two values share one unless there are more than a few million.
    """
    n_present, n_missing = raw.numbers()
    n_first = raw.places_taken()
    every = CountedPoints(np.arange(2), np.array([n_first, n_present - n_first]))
    column = curator(every.where(every.counts > 0), n_missing)
    answer = column.histogram(range(3), share=share, step=step, count_missing=True)
    first, repeated, missing = answer.values.tolist()
    if first <= answer.above_noise(LEAST_FAILURE) or first * MOST_REPEATED < repeated:
        return None
    has_missing = missing > answer.above_noise(MISSING_TAIL)
    return Identifier(integer=True, nullable=has_missing, provenance="private")


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
