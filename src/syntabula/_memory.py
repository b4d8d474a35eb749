"""Memory in megabytes: of tables of numbers, and as messages say it."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def table_mb(cells: int, bytes_per_cell: int = 8) -> float:
    """Return the size of a table of so many cells; infinite where no float holds it."""
    try:
        return cells * bytes_per_cell / 2**20
    except OverflowError:
        return math.inf


def above_limit(needed_mb: float, limit_mb: float) -> str:
    """Say that more is needed than is allowed, in digits that show it: what is needed rounded up, the limit down."""
    return f"{_shown(needed_mb, ROUND_CEILING)} MB, above the limit of {_shown(limit_mb, ROUND_FLOOR)} MB"


def cells_shown(cells: int) -> str:
    """Return a number of cells for a message; of one beyond all tables only the power of ten."""
    return f"{cells:,}" if cells < 10**15 else f"about 1e{math.log10(cells):.0f}"


def _shown(size_mb: float, rounding: str) -> str:
    if math.isinf(size_mb):
        return "more than 1e+308"
    digits = max(3, math.floor(math.log10(size_mb)) + 1) if size_mb > 0 else 3
    return f"{Context(prec=digits, rounding=rounding).create_decimal(repr(float(size_mb))).normalize():,f}"
