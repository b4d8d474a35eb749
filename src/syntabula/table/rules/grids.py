"""The grids on which sums and differences of numbers lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from syntabula.table.schema.numeric import MAX_DECIMALS, MAX_GRID


def grid_of(units: Sequence[Fraction] | None, *, whole: bool) -> dict[str, Any]:
    """Return the entries of a numeric column whose values are sums of multiples of some units."""
    if units is None:
        return {}
    unit = reduce(common, units)
    if whole:
        return {"integer": True} | ({"step": int(unit)} if unit > 1 else {})
    places = next((d for d in range(MAX_DECIMALS + 1) if unit == Fraction(1, 10**d)), None)
    return {"step": float(unit)} if places is None else {"decimals": places}


def common(one: Fraction, other: Fraction) -> Fraction:
    """Return the largest number of which both are multiples."""
    return Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )


def is_exact(ends: Sequence[Fraction | float], unit: Fraction) -> bool:
    """Return whether floats tell apart all multiples of a unit between two ends."""
    return max(abs(Fraction(end)) for end in ends) / unit * unit.numerator <= MAX_GRID
