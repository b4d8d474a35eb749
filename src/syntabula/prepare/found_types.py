"""The type of a column of texts, found under differential privacy from what its cells could be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.prepare.bounds import LEAST_FAILURE, MISSING_TAIL
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.files.untyped_file import CELL_KINDS
from syntabula.table.raw import PhysicalType

TYPE_SHARE = Fraction(1, 8)
"""Part of a column's preprocessing budget that finds its type, where none is stored."""

TEXT = PhysicalType("text", "VARCHAR")
_FLAG = PhysicalType("boolean", "BOOLEAN")
_WHOLE = PhysicalType("integer", "BIGINT")
NUMBER = PhysicalType("float", "DOUBLE")
_DAY = PhysicalType("date", "DATE")
_LOCAL = PhysicalType("datetime", "TIMESTAMP")
_ZONED = PhysicalType("datetime", "TIMESTAMP WITH TIME ZONE", timezone="UTC")
_FAMILIES = (
    ("true or false",),
    ("whole", "long whole", "real"),
    ("day", "local time"),
    ("zoned time",),
)
_AT = {kind: place for place, kind in enumerate(CELL_KINDS)}


def type_step(name: str) -> str:
    """Return what the ledger calls the search for a column's type."""
    return f"find the type of {name!r}"


def find_type(
    name: str, kinds: NDArray[np.int64], *, share: Fraction, ledger: Ledger, noise: NoiseSource
) -> PhysicalType | None:
    """Find the narrowest type that reads all cells of a column but so few that noise hides them.

    Each record counts for the one kind that its cell is, if it has one: a histogram of sensitivity one. The type
    belongs to the family of kinds (flags, numbers, days and times, zoned times) with the largest noisy count,
    if that stands out of the noise and no kind outside the family does; else the column is text. Within a
    family the wider type is taken if cells that need it stand out: numbers that are not whole, times of a
    day. Fractions cannot hold whole numbers of 16 digits; a column that clearly has both is text.

    Args:
        name: Name of the column.
        kinds: Positions in `CELL_KINDS` [n].
        share: Part of the whole budget.
        ledger: Pays.
        noise: Draws the noise.

    Returns:
        A stored type, or None if noise hides everything. Cells that it does not read are missing, each on its own.
    """
    column = ColumnCurator(kinds, ledger, noise)
    answer = column.histogram(range(len(CELL_KINDS) + 1), share=share, step=type_step(name))
    counts, height = answer.values, answer.above_noise(LEAST_FAILURE)

    def stands_out(kind: str) -> bool:
        return bool(counts[_AT[kind]] > height)

    family = max(_FAMILIES, key=lambda kinds: sum(counts[_AT[kind]] for kind in kinds))
    within = sum(counts[_AT[kind]] for kind in family)
    seen = within > answer.above_noise(MISSING_TAIL) * np.sqrt(len(family))
    others = [kind for kind in CELL_KINDS if kind not in family]
    if not seen and not any(map(stands_out, others)):
        return None
    if not seen or any(map(stands_out, others)):
        return TEXT
    match family[0]:
        case "true or false":
            return _FLAG
        case "whole":
            if not stands_out("real"):
                return _WHOLE
            return TEXT if stands_out("long whole") else NUMBER
        case "day":
            return _LOCAL if stands_out("local time") else _DAY
    return _ZONED
