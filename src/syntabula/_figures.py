"""Numbers as a person reads them: three digits, and a mean and its spread to the same decimals."""

from __future__ import annotations

import math

_ROUNDING = 1e-9
"""Scores and their spreads below this are 0 but for rounding."""
_DIGITS = 3
_LEAST_EXPONENT = -4
"""Smaller numbers are written with a power of ten, as by Python."""


def short(value: float) -> str:
    """Return a number in three digits; "0" for one that is 0 but for rounding.

    Examples:
        >>> short(0.0123456), short(1.23e-33), short(54321.0)
        ('0.0123', '0', '54321')
    """
    if abs(value) < _ROUNDING:
        return "0"
    return f"{value:.0f}" if 100 <= abs(value) < 1e9 else f"{value:.{_DIGITS}g}"


def with_spread(mean: float, spread: float, sign: str = "±") -> str:
    """Return a mean and its spread to the same decimals: those that give the larger of them three digits.

    Args:
        mean: The mean.
        spread: Its standard deviation or error, at least 0; NaN for none, such as of a single value.
        sign: What stands between them.

    Examples:
        >>> with_spread(0.337, 2.37e-05)
        '0.337 ± <0.001'
        >>> with_spread(0.0002, 0.11)
        '0.000 ± 0.110'
    """
    if math.isnan(spread):
        return short(mean)
    larger = max(abs(mean), spread)
    if not math.isfinite(larger) or larger < _ROUNDING:
        return f"{short(mean)} {sign} {short(spread)}"
    exponent = int(f"{larger:.{_DIGITS - 1}e}".partition("e")[2])  # 9.996 reads as 10.0
    power = "" if exponent >= _LEAST_EXPONENT else f"e{exponent:03d}"
    unit = 10.0**exponent if power else 1.0
    decimals = max(0, _DIGITS - 1 - (0 if power else exponent))
    # Adding 0 turns a rounded -0.0 into 0.0.
    shown = f"{round(mean / unit, decimals) + 0.0:.{decimals}f}{power}"
    if spread < _ROUNDING:
        return f"{shown} {sign} 0"
    rounded = round(spread / unit, decimals)
    least = "" if rounded else "<"
    return f"{shown} {sign} {least}{rounded or 10.0**-decimals:.{decimals}f}{power}"
