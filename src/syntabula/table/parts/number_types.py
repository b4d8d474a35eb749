"""The one type of numbers that several files store as integers, floats or null."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from syntabula._extras import require


def common_number(types: Iterable[Any]) -> Any | None:
    """Return the type of Arrow that holds the numbers of columns of some types.

    Libraries write a column of integers as floats where cells are missing, and as null where all are.

    Args:
        types: Types of Arrow. The null type counts for nothing.

    Returns:
        The widest of integers, or of floats; a double for both. None if one is no number, if there is none, or if no type
        holds both signed numbers and unsigned ones of 64 bits.
    """
    arrow = require("pyarrow", "arrow")
    is_float, is_signed = arrow.types.is_floating, arrow.types.is_signed_integer
    found = [kind for kind in types if not arrow.types.is_null(kind)]
    if not found or not all(is_float(kind) or arrow.types.is_integer(kind) for kind in found):
        return None
    floats, signed = ([test(kind) for kind in found] for test in (is_float, is_signed))
    widest = max(found, key=lambda kind: kind.bit_width)
    if any(floats):
        return widest if all(floats) else arrow.float64()
    if all(signed) or not any(signed):
        return widest
    unsigned = max(kind.bit_width for kind, s in zip(found, signed, strict=True) if not s)
    return arrow.int64() if unsigned < 64 else None
