"""Square roots of exact numbers as floats, rounded to one side for certain."""

from __future__ import annotations

import math
from fractions import Fraction

from syntabula.errors import BudgetError


def _near_root(square: Fraction) -> float:
    """Square root as a float, off by a few units in the last place; the exponent is taken out first."""
    half_exponent = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square / Fraction(4) ** half_exponent
    try:
        return math.ldexp(math.sqrt(scaled), half_exponent)
    except OverflowError:
        return math.inf


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
    """Return the scale of noise that it is; raises BudgetError if it is infinite."""
    if not math.isfinite(value):
        raise BudgetError("the cost is too small: the noise it buys would be infinite")
    return value


def nonzero(value: float) -> float:
    """Return the parameter that it is; raises BudgetError if it is 0."""
    if value <= 0:
        raise BudgetError("the cost is too small: the parameter it buys is 0 as a float")
    return value
