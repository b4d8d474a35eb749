"""Find the form of keys in a column of texts whose categories noise hides."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from syntabula.prepare.found_labels import is_unicode
from syntabula.prepare.searched import SearchedColumn
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.key_shapes import shape_of
from syntabula.table.schema.key_patterns import UUID, KeyPattern

SHAPES_SHARE = Fraction(1, 16)
"""Fraction of a text column's domain budget, and of its delta, that is kept for the form of keys."""


def pattern_of_most(
    raw: SearchedColumn,
    *,
    n_present: float,
    n_keys: float,
    least: int,
    share: Fraction,
    delta: Fraction,
    step: str,
    ledger: Ledger,
    noise: NoiseSource,
) -> str | None:
    """Return the pattern of keys that more than half of the texts have, if any.

    The question that finds categories, asked of shapes, for half of the share: those with letters as they are, such
    as INV-0012. If most texts have no shape that enough others have, it is asked of shapes with any letters. `shape_of`
    looks at one text alone, so a record has at most one shape, and adding or removing it changes one count by one. The
    guarantee is that of `ThresholdEvent`.

    Args:
        raw: The column.
        n_present: Released number of texts.
        n_keys: How many different keys a pattern must make.
        least: Number of records below which a shape is not found; see `LabelCurator.frequent`.
        share: Fraction of the whole budget, which must have a delta.
        delta: Upper bound on the probability of releasing a shape that only one record has.
        step: Name of the spends in the ledger.
        ledger: Pays for them.
        noise: Draws the noise.

    Returns:
        The pattern; None if no shape is that of most texts, or too few new keys can be made of it.
    """
    for keeps_letters in (True, False):
        shapes = raw.shapes(partial(shape_of, keeps_letters=keeps_letters), least)
        column = LabelCurator({x: n for x, n in shapes.items() if is_unicode(x)}, ledger, noise)
        found = column.frequent(share=share / 2, delta=delta / 2, step=step, least=least)
        # Where letters are alike in most texts, keys with any letters would look like none of them.
        if 2 * sum(found.values()) > n_present:
            shape = max(found, key=lambda one: found[one])
            assert shape is not None
            is_enough = KeyPattern.of(shape).n_keys >= n_keys
            pattern = "uuid" if shape == UUID else shape
            return pattern if is_enough and 2 * found[shape] > n_present else None
    return None
