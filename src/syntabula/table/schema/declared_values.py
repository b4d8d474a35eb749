"""Bounds and labels of columns as values of Python itself; no message holds one, as drafts take them from the data."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction

import numpy as np

from syntabula.bins.uniform import integer_dtype
from syntabula.errors import SchemaError

Label = str | int | float | bool

LABEL_TYPES: dict[type[Label], str] = {
    str: "text",
    bool: "true and false",
    int: "whole numbers",
    float: "numbers with a point",
}
"""What labels of each type are, in words."""


def plain_bound(name: str, value: object, integer: bool) -> int | float:
    """Return a bound as int or float; raises SchemaError if it is none, or not whole where it must be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise SchemaError(f"{name} must be a number, not {type_of(value)}")
    if isinstance(value, numbers.Integral):
        whole = int(value)
        integer_dtype(whole, whole)
        return whole
    real = _finite(name, value)
    if not integer:
        return real
    exact = Fraction(value if isinstance(value, numbers.Rational | Decimal) else real)
    if exact % 1 != 0:
        raise SchemaError(f"{name} must be a whole number, as the column is integer")
    return plain_bound(name, int(exact), integer)


def plain_label(name: str, value: object) -> Label:
    """Return a label as text, int, float or bool; raises SchemaError if it is none, or none exactly."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SchemaError(f"{name} is not valid Unicode; replace its lone surrogates") from None
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if not isinstance(value, numbers.Real | Decimal):
        raise SchemaError(f"{name} must be text, a number, true or false, not {type_of(value)}")
    real = _finite(name, value)
    if real != value:
        raise SchemaError(f"{name} is no number that a float holds exactly; give it as a float or as text")
    return real


def type_of(value: object) -> str:
    """Return what a value is in a reader's words, without the value."""
    words = {bool: "a truth value", int: "a whole number", float: "a number with a point", str: "text"}
    words |= {type(None): "null", dict: "a mapping", list: "a list"}
    return next((word for kind, word in words.items() if isinstance(value, kind)), type(value).__name__)


def _finite(name: str, value: numbers.Real | Decimal) -> float:
    try:
        real = float(value) + 0.0  # -0.0 becomes 0.0
    except (ValueError, OverflowError):
        real = math.nan
    if not math.isfinite(real):
        raise SchemaError(f"{name} must be a finite number")
    return real
