"""What each code says in words: for models that read text."""

from __future__ import annotations

import datetime as dt
import json
import math
from fractions import Fraction

import numpy as np

from syntabula.bins.uniform import Bins
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
    Ordered,
    Time,
)

_MISSING = "null"
_EPOCH = dt.datetime(1970, 1, 1)


def code_texts(codec: Codec) -> dict[str, list[str]]:
    """Return the text of each code of each learned column, by column; no two codes of a column have the same.

    A label is written as in JSON, in quotes if it is text, and a missing value as null. Of a bin of numbers the roundest
    number stands for all; the numbers of a column have as many digits before and after the point, so that a digit means
    the same in all of them. Of a bin of days or times the first is written, in ISO 8601.
    """
    return {name: _texts(codec.schema[name], codec.bins.get(name)) for name in codec.domain}


def _texts(column: Column, bins: Bins | None) -> list[str]:
    if isinstance(column, Categorical):
        found = [json.dumps(label, ensure_ascii=False) for label in column.labels]
    elif isinstance(column, Boolean):
        found = ["false", "true"]
    elif isinstance(column, Identifier):
        found = ['"present"']
    else:
        assert bins is not None
        assert isinstance(column, Ordered)
        found = _ordered_texts(column, bins)
        found += [json.dumps(text, ensure_ascii=False) for text in column.beside]
    return [*found, _MISSING] if column.nullable else found


def _ordered_texts(column: Ordered, bins: Bins) -> list[str]:
    starts = [int(edge) for edge in bins.edges[:-1]] if bins.integer else []
    if isinstance(column, Date):
        days, _ = column.values(np.array(starts, dtype=np.int64))
        return [str(np.datetime64(int(day), "D")) for day in days]
    if isinstance(column, Time):
        moments = [_EPOCH + dt.timedelta(microseconds=s * MICROSECONDS[column.resolution]) for s in starts]
        return [moment.time().isoformat() for moment in moments]
    if isinstance(column, Datetime):
        unit = MICROSECONDS[column.resolution]
        return [str(np.datetime64(start * unit, "us")) for start in starts]
    assert isinstance(column, Numeric)
    return _aligned([_roundest(low * column.unit, high * column.unit) for low, high in _ends(bins)])


def _ends(bins: Bins) -> list[tuple[Fraction, Fraction]]:
    """Return the first and the last number of each bin; of one float alone the number that its shortest text means."""
    if bins.integer:
        return [(Fraction(a), Fraction(b - 1)) for a, b in zip(bins.edges[:-1], bins.edges[1:], strict=True)]
    lasts = [*np.nextafter(np.array(bins.edges[1:-1]), -np.inf).tolist(), bins.edges[-1]]
    found = []
    for first, last in zip(bins.edges[:-1], lasts, strict=True):
        alone = Fraction(repr(first))
        found.append((alone, alone) if first == last else (Fraction(first), Fraction(last)))
    return found


def _roundest(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return the number from low to high of the fewest digits, as an integer and a power of ten."""
    if low <= 0 <= high:
        return 0, 0
    if high < 0:
        whole, power = _roundest(-high, -low)
        return -whole, power
    power = math.floor(math.log10(high.numerator) - math.log10(high.denominator)) + 1
    while True:
        unit = Fraction(10) ** power
        whole = math.ceil(low / unit)
        if whole * unit <= high:
            return whole, power
        power -= 1


def _aligned(numbers: list[tuple[int, int]]) -> list[str]:
    """Write numbers with the same places before and after the point, and a sign where any is negative."""
    decimals = max(0, *(-power for _, power in numbers))
    scaled = [whole * 10 ** (power + decimals) for whole, power in numbers]
    width = decimals + 1
    width = max([width, *(len(str(abs(number))) for number in scaled)])
    plus = "+" if min(scaled) < 0 else ""
    found = []
    for number in scaled:
        digits = f"{abs(number):0{width}d}"
        sign = "-" if number < 0 else plus
        point = f".{digits[width - decimals :]}" if decimals else ""
        found.append(f"{sign}{digits[: width - decimals]}{point}")
    return found
