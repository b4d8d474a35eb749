"""Find the form of keys in a column of texts whose categories noise hides, and how many of any keys differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from syntabula.marginals.point_folds import PLACES
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.bounds import MISSING_TAIL
from syntabula.prepare.found_labels import is_unicode
from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.prepare.searched import SearchedColumn
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.key_shapes import MOST_SHAPES, joined_patterns, shape_of
from syntabula.table.schema.key_patterns import UUID

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import Points

SHAPES_SHARE = Fraction(1, 16)
"""Fraction of a text column's domain budget, and of its delta, that is kept for the form of keys."""

REPEATS_SHARE = Fraction(1, 16)
"""Fraction of a text column's domain budget that is kept for the number of different keys."""

_QUESTIONS = ((True, True), (False, True), (False, False))
"""Which shapes are asked for: whether letters are kept, and whether mixed runs of letters and digits are divided."""

_UNLIKELY = 6
"""Standard deviations above its mean that the number of values which share a place hardly reaches."""

Curated = Callable[["Points", int], ColumnCurator]
"""Makes the curator of some values, given the number of missing ones."""


def pattern_of_most(
    raw: SearchedColumn,
    *,
    n_present: float,
    least: int,
    share: Fraction,
    delta: Fraction,
    step: str,
    ledger: Ledger,
    noise: NoiseSource,
) -> tuple[str, tuple[float, ...] | None] | None:
    """Return the few patterns of keys that more than half of the texts have, if there are such.

    The question that finds categories, asked of shapes, for a third of the share: those with letters as they are, such
    as INV-0012. If most texts have none of a few shapes that enough others have, it is asked of shapes with any letters,
    and then of those with any letters and digits where both are mixed. `shape_of` looks at one text alone, so a record
    has at most one shape, and adding or removing it changes one count by one. The guarantee is that of
    `ThresholdEvent`.

    Args:
        raw: The column.
        n_present: Released number of texts.
        least: Number of records below which a shape is not found; see `LabelCurator.frequent`.
        share: Fraction of the whole budget, which must have a delta.
        delta: Upper bound on the probability of releasing a shape that only one record has.
        step: Name of the spends in the ledger.
        ledger: Pays for them.
        noise: Draws the noise.

    Returns:
        The patterns as one, and the part of the rows that has each of several; None if no few shapes are those of most
        texts.
    """
    for keeps_letters, divides in _QUESTIONS:
        shapes = raw.shapes(partial(shape_of, keeps_letters=keeps_letters, divides=divides), least)
        column = LabelCurator({x: n for x, n in shapes.items() if is_unicode(x)}, ledger, noise)
        parts = len(_QUESTIONS)
        found = column.frequent(share=share / parts, delta=delta / parts, step=step, least=least)
        few = sorted(((x, n) for x, n in found.items() if x is not None), key=lambda one: -one[1])[
            :MOST_SHAPES
        ]
        if few and 2 * sum(count for _, count in few) > n_present:
            return joined_patterns({"uuid" if x == UUID else str(x): float(n) for x, n in few})
    return None


@dataclass(frozen=True)
class Repeats:
    """Released numbers of keys.

    Attributes:
        first: Noisy number of different keys.
        repeated: Noisy number of other cells, whose key an earlier one has.
        likely: Level that noise and chance alone hardly exceed on either.
        has_missing: Whether cells are missing.
    """

    first: float
    repeated: float
    likely: float
    has_missing: bool

    def n_distinct(self, n_present: float | None = None) -> int | None:
        """Return how many keys differ; None if all do, as far as noise shows.

        Args:
            n_present: Released number of keys, if it is known better than this, so that both numbers tell.
        """
        if self.repeated <= self.likely:
            return None
        differ = self.first if n_present is None else (self.first + n_present - self.repeated) / 2
        return max(round(differ), 1)


def repeats(raw: SearchedColumn, curator: Curated, *, share: Fraction, step: str) -> Repeats:
    """Count different keys, repetitions and missing cells.

    Each record counts once: as the first of its value, as a repetition, or as missing. Which record is the first does not
    matter: adding one changes one of the three numbers by one. Where values are told apart by their places among 2^26
    by hash, some share one and look like repetitions; the noisy numbers are corrected for as many as do on average.
    """
    n_present, n_missing = raw.numbers()
    n_first, by_place = raw.places_taken()
    every = CountedPoints(np.arange(2), np.array([n_first, n_present - n_first]))
    column = curator(every.where(every.counts > 0), n_missing)
    answer = column.histogram(range(3), share=share, step=step, count_missing=True)
    taken, repeated, missing = answer.values.tolist()
    likely, has_missing = answer.above_noise(LEAST_FAILURE), missing > answer.above_noise(MISSING_TAIL)
    if not by_place:
        return Repeats(taken, repeated, likely, has_missing)
    first = -PLACES * math.log1p(-min(max(taken, 0.0), PLACES - 1) / PLACES)
    sharing = first - max(taken, 0.0)
    return Repeats(first, repeated - sharing, likely + _UNLIKELY * first / math.sqrt(2 * PLACES), has_missing)
