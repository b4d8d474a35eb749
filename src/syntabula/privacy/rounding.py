"""Rounding to the safe side: allowances never up, spends and guarantees never down."""

from __future__ import annotations

import math
import numbers
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from syntabula._arguments import shown
from syntabula.errors import BudgetError

Number = float | Fraction | Decimal


def shown_above(value: float, digits: int = 6) -> str:
    """Print an upper bound: rounded up to this many significant digits, never down."""
    return _shown(value, digits, ROUND_CEILING)


def shown_below(value: float, digits: int = 6) -> str:
    """Print a lower bound, such as the scale of noise: rounded down, never up."""
    return _shown(value, digits, ROUND_FLOOR)


def float_above(value: Fraction) -> float:
    """Round an exact number up to the next float."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above a positive fraction."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, 0.0)


def number_below(name: str, value: object, allowed: str) -> float:
    """Read a number as a float, rounded down; raises BudgetError for NaN, texts, bools and None."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise BudgetError(f"{name} is {shown(value)}; it must be {allowed}")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise BudgetError(f"{name} is {shown(value)}, which is not a float; it must be {allowed}") from None
    if math.isnan(number):
        raise BudgetError(f"{name} is NaN; it must be {allowed}")
    exact = _exact(value)
    if exact is None:
        return number
    if math.isinf(number):
        raise BudgetError(f"{name} is {shown(value)}, too large for a float; it must be {allowed}")
    return number if Fraction(number) <= exact else math.nextafter(number, -math.inf)


def root_above(square: Fraction) -> float:
    """Return the smallest float whose square is at least `square`; raises BudgetError if it is beyond float64."""
    root = finite(_near_root(square))
    while Fraction(root) ** 2 < square:
        root = finite(math.nextafter(root, math.inf))
    while (lower := math.nextafter(root, 0.0)) > 0 and Fraction(lower) ** 2 >= square:
        root = lower
    return root


def root_below(square: Fraction) -> float:
    """Return the largest float whose square is at most `square`; raises BudgetError if that is 0."""
    root = root_above(square)
    return root if Fraction(root) ** 2 == square else nonzero(math.nextafter(root, 0.0))


def finite(value: float) -> float:
    """Return a scale of noise unchanged; raises BudgetError if it is infinite."""
    if not math.isfinite(value):
        raise BudgetError("the cost is too small: the noise it buys would be infinite")
    return value


def nonzero(value: float) -> float:
    """Return a parameter unchanged; raises BudgetError if it is 0."""
    if value <= 0:
        raise BudgetError("the cost is too small: the parameter it buys is 0 as a float")
    return value


def _shown(value: float, digits: int, rounding: str) -> str:
    # From the shortest text of the float, so that 1e-5 stays 1e-05.
    rounded = Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def _exact(value: Any) -> Fraction | None:
    """Return a real number exactly, whatever its type; None if it is infinite."""
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    try:
        return Fraction(*value.as_integer_ratio())
    except OverflowError:
        return None


def _near_root(square: Fraction) -> float:
    """Return the square root as a float, off by a few units in the last place; the exponent is split off first."""
    half_exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square / Fraction(4) ** half_exponent
    try:
        return math.ldexp(math.sqrt(scaled), half_exponent)
    except OverflowError:
        return math.inf
