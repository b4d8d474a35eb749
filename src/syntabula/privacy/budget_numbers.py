"""Numbers of a budget: read rounded down, so that no more is allowed than was said, and printed as bounds."""

from __future__ import annotations

import math
import numbers
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from syntabula._arguments import shown
from syntabula.errors import BudgetError

Number = float | Fraction | Decimal

DELTA_ALLOWED = "a number between 0 and 1, both excluded, best below one over the number of records"


def shown_above(value: float, digits: int = 6) -> str:
    """Print an upper bound: rounded up to so many significant digits, never down."""
    return _shown(value, digits, ROUND_CEILING)


def shown_below(value: float, digits: int = 6) -> str:
    """Print a lower bound, such as the scale of noise: rounded down, never up."""
    return _shown(value, digits, ROUND_FLOOR)


def _shown(value: float, digits: int, rounding: str) -> str:
    # From the shortest text of the float, so that 1e-5 stays 1e-05.
    rounded = Context(prec=digits, rounding=rounding).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


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
        raise BudgetError(f"{name} is {shown(value)}, which is no float; it must be {allowed}") from None
    if math.isnan(number):
        raise BudgetError(f"{name} is NaN; it must be {allowed}")
    exact = _exact(value)
    if exact is None:
        return number
    if math.isinf(number):
        raise BudgetError(f"{name} is {shown(value)}, too large for a float; it must be {allowed}")
    return number if Fraction(number) <= exact else math.nextafter(number, -math.inf)


def _exact(value: Any) -> Fraction | None:
    """Return a real number exactly, whatever its type; None if it is infinite."""
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    try:
        return Fraction(*value.as_integer_ratio())
    except OverflowError:
        return None


def require_positive(name: str, number: float, allowed: str) -> None:
    """Refuse a number that is not finite and above 0; raises BudgetError."""
    if not (math.isfinite(number) and number > 0):
        raise BudgetError(f"{name} is {number!r}; it must be {allowed}")


def read_delta(value: Number | None) -> float:
    """Read a delta, rounded down; raises BudgetError if it is missing or outside 0 to 1."""
    if value is None:
        raise BudgetError(
            f"delta is missing; it must be {DELTA_ALLOWED}; without one, use Budget.pure(epsilon)"
        )
    number = number_below("delta", value, DELTA_ALLOWED)
    if number == 0:
        raise BudgetError(f"delta is 0; it must be {DELTA_ALLOWED}; for delta 0, use Budget.pure(epsilon)")
    if not 0 < number < 1:
        raise BudgetError(f"delta is {number!r}; it must be {DELTA_ALLOWED}")
    return number
