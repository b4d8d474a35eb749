"""Conditions on one column: values, ranges and missing cells, read by the column's declaration."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula._arguments import near, shown
from syntabula.errors import ArgumentError
from syntabula.table.schema.columns import (
    LABEL_TYPES,
    SPELLINGS,
    Boolean,
    Categorical,
    Column,
    ColumnBase,
    Date,
    Datetime,
    Identifier,
    Label,
    Numeric,
    Ordered,
    Time,
    type_of,
)
from syntabula.table.schema.text_formats import day_part, read_number

_HOW = "give a value, a list of values, a range as a tuple (first, last), None for missing or ... for present"
_COMPARISON = re.compile(r"(>=|<=|>|<)\s*(\S.*)")
_MOST_LISTED = 10
_EXAMPLE = dt.date(2024, 12, 31)


@dataclass(frozen=True)
class Allowed:
    """The codes or points that satisfy a condition on one column.

    Attributes:
        missing: Whether missing cells satisfy it.
        codes: Codes of categories, or of false and true, that satisfy it; for an ordered column, positions of the texts
            beside its values, from 0.
        spans: For an ordered column, half-open intervals of points that satisfy it, in no order.
    """

    missing: bool
    codes: frozenset[int]
    spans: tuple[tuple[int | float, int | float], ...]


def allowed(
    name: str, column: Column, condition: object, *, frequent: Collection[float] = frozenset()
) -> Allowed:
    """Read a user's condition on a column.

    Args:
        name: Its name.
        column: Its declaration.
        condition: A value; a tuple (first, last), a range of numbers, dates or times, both ends included and None for
            an open end; a comparison as text, such as ">5" or ">=5 and <10"; None for missing; ... for anything but
            missing; or any other collection of these, one of which must hold. In a column of times, a day means the
            whole day. Days and times may be text, in the column's format or ISO 8601; numbers in comparisons may be in
            the column's format. A text that a column of numbers declares, such as "<0.5", means the cells that hold it,
            and no comparison.
        frequent: Of numbers of any precision those that have a code of their own. No other has a probability above 0.

    Raises:
        ArgumentError: If the column can never satisfy it; the message shows what was given, and nothing of an
            observed domain.
    """
    missing, codes, spans = False, set(), []
    listed = column.labels if isinstance(column, Categorical) else ()
    labels = {label: code for code, label in enumerate(listed)}
    for one in _alternatives(name, condition):
        if _is_missing(one):
            missing = True
            if not column.nullable:
                raise ArgumentError(f"where asks for missing cells of column {name!r}, which has none")
        elif isinstance(column, Ordered) and isinstance(one, str) and one in column.beside:
            codes.add(column.beside.index(one))
        elif isinstance(column, Ordered):
            if one is ...:
                codes |= set(range(len(column.beside)))
            spans.append(_span(name, column, (None, None) if one is ... else one, frequent))
        elif one is ...:
            codes |= set(range(column.n_values))
        elif isinstance(column, Identifier):
            raise ArgumentError(
                f"where cannot ask for values of column {name!r}: it is an identifier, whose values are made anew; ask "
                "for missing cells with None, or for present ones with ..."
            )
        elif isinstance(one, tuple):
            raise ArgumentError(
                f"where gives the tuple {shown(one)} for column {name!r}; a tuple is a range, which a {column.kind} "
                "column does not have: give several values as a list"
            )
        else:
            codes.add(_code(name, column, one, labels))
    if isinstance(column, Categorical) and (own_other := column.code_of_own_other) is not None:
        # Rows hold both as the same text.
        both = {own_other, len(column.categories)}
        codes |= both if codes & both else set()
    return Allowed(missing, frozenset(codes), tuple(spans))


def _alternatives(name: str, condition: object) -> list[Any]:
    if isinstance(condition, Mapping):
        raise ArgumentError(f"where gives a {type(condition).__name__} for column {name!r}; {_HOW}")
    if isinstance(condition, str | bytes | tuple) or not isinstance(condition, Iterable):
        return [condition]
    if not (given := list(condition)):
        raise ArgumentError(f"where allows no value at all for column {name!r}; {_HOW}")
    return given


def _is_missing(value: object) -> bool:
    # NaN and NaT do not equal themselves; comparing pandas.NA gives neither true nor false.
    if isinstance(value, tuple | np.ndarray):
        return False
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _plain(value: object) -> Any:
    """Return numpy and pandas numbers and times as Python's own."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime(warn=False)
    return value


def _code(name: str, column: Column, value: object, labels: Mapping[Any, int]) -> int:
    value = _plain(value)
    if isinstance(column, Boolean):
        true, false = column.spelling.split("/")
        found = next((code for code, same in ((1, (True, true)), (0, (False, false))) if value in same), None)
    else:
        assert isinstance(column, Categorical)
        # 1 is not True, although Python holds them equal; and 7 is the category "7", as when tables are read.
        same_type = isinstance(value, bool) == (column.label_type is bool)
        is_count = isinstance(value, int) and column.label_type is str
        found = labels.get(str(value) if is_count else value) if _is_hashable(value) and same_type else None
    if found is None and isinstance(column, Categorical) and not _is_of_type(value, column.label_type):
        raise ArgumentError(
            f"where asks for {shown(value)}, which is {type_of(value)}; the categories of column {name!r} are "
            f"{LABEL_TYPES[column.label_type]}, so ask for one of these"
        )
    if found is None:
        raise ArgumentError(
            f"where asks for {shown(value)}, which column {name!r} never is; {_hint(name, column, value)}"
        )
    return found


def _is_of_type(value: object, kind: type) -> bool:
    """Return whether a value could be a category of a type; numbers fit either number type, and integers fit text."""
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    return isinstance(value, (str, int) if kind is str else int | float | Decimal | Fraction)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _hint(name: str, column: ColumnBase, value: object) -> str:
    """Say which values a column can have, unless its domain was taken from the data."""
    where = f"see release.schema[{name!r}]"
    if column.provenance == "observed":
        return where
    if isinstance(column, Boolean):
        words = "" if column.spelling == SPELLINGS[0] else f", written {column.spelling.replace('/', ' or ')}"
        return f"it is True or False{words}"
    if isinstance(column, Categorical):
        own_other = column.code_of_own_other
        hint = _near_label(value, column.labels if own_other is None else column.categories)
        if not hint and len(column.categories) <= _MOST_LISTED:
            hint = f"it is {' or '.join(map(repr, column.categories))}"
        unlisted = column.other_label if own_other is None else column.categories[own_other]
        other = f"unlisted values are {unlisted!r}; " if column.open else ""
        return other + (hint or where)
    assert isinstance(column, Ordered)
    return f"it goes from {column.lower} to {column.upper}{column.grain}"


def _example(column: Ordered) -> str:
    """Return how the days of a column are written."""
    if not isinstance(column, Date | Datetime) or column.resolution in ("week", "month", "quarter"):
        return ""
    format = day_part(column.format)
    own = "" if format is None else f"{_EXAMPLE.strftime(format.replace('%-', '%'))} or "
    return f", such as {own}{_EXAMPLE.isoformat()}"


def _near_label(value: object, labels: Sequence[Label]) -> str:
    """Return which labels a value may stand for, in another case or spelling; empty if none is near."""
    if hint := near(value, labels, 3):
        return hint.removeprefix("; ")
    folded = {str(label).casefold(): label for label in labels}
    close = get_close_matches(str(value).casefold(), [*folded], n=3)
    return f"did you mean {', '.join(repr(folded[name]) for name in close)}?" if close else ""


def _compared(column: Ordered, given: object) -> list[tuple[str, Any]] | None:
    """Return the comparisons that a text such as ">5" or ">=5 and <10" writes, with their values; None if it is none."""
    if not isinstance(given, str):
        return None
    found = [_COMPARISON.fullmatch(part.strip()) for part in given.split(" and ")]
    if None in found:
        return None
    parts = [(match[1], match[2]) for match in found if match is not None]
    if isinstance(column, Numeric) or (isinstance(column, Time) and column.is_number):
        format = column.format if isinstance(column, Numeric) else None
        numbers = [(sign, read_number(text, format)) for sign, text in parts]
        return [(sign, text if n is None else n) for (sign, n), (_, text) in zip(numbers, parts, strict=True)]
    return [(sign, text) for sign, text in parts]


def _ends(column: Ordered, given: object) -> tuple[Fraction | None, Fraction | None, bool, bool]:
    """Return the first and the last point of what a condition means, and whether each is left out.

    Raises:
        TypeError, ValueError, OverflowError: As `Ordered.written`.
    """
    compared = _compared(column, given)
    if compared is None:
        ends = given if isinstance(given, tuple) else (given, given)
        first, last = (None if _is_missing(end) else column.written(_plain(end)) for end in ends)
        return (first and first[0]), (last and last[1]), False, False
    low: Fraction | None = None
    high: Fraction | None = None
    above = below = False
    for sign, value in compared:
        least, most = column.written(value)
        if sign in (">", ">="):
            limit, strict = (most, True) if sign == ">" else (least, False)
            if low is None or (limit, strict) > (low, above):
                low, above = limit, strict
        else:
            limit, strict = (least, True) if sign == "<" else (most, False)
            if high is None or (limit, not strict) < (high, not below):
                high, below = limit, strict
    return low, high, above, below


def _span(
    name: str, column: Ordered, given: object, frequent: Collection[float]
) -> tuple[int | float, int | float]:
    """Return the half-open interval of points that a value, a range or a comparison means."""
    if isinstance(given, tuple) and len(given) != 2:
        raise ArgumentError(
            f"where gives {shown(given)} for column {name!r}; a range is a tuple (first, last)"
        )
    try:
        low, high, above, below = _ends(column, given)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(
            f"where gives {shown(given)} for column {name!r}, which cannot be read as {column.in_words}"
            f"{_example(column)}; {_HOW}"
        ) from None
    if low is not None and high is not None and low > high:
        raise ArgumentError(
            f"where gives {shown(given)} for column {name!r}; the range is empty: swap its ends"
        )
    if (grid := column.grid()) is None:
        return _real_span(name, column, given, low, high, above=above, below=below, frequent=frequent)
    least = grid[0] if low is None else max(grid[0], math.floor(low) + 1 if above else math.ceil(low))
    most = grid[1] if high is None else min(grid[1], math.ceil(high) - 1 if below else math.floor(high))
    if least > most:
        raise ArgumentError(
            f"where asks for {shown(given)}, which column {name!r} never is; {_hint(name, column, given)}"
        )
    return least, most + 1


def _real_span(
    name: str,
    column: Ordered,
    given: object,
    low: Fraction | None,
    high: Fraction | None,
    *,
    above: bool,
    below: bool,
    frequent: Collection[float],
) -> tuple[float, float]:
    lower, upper = float(column.lower), float(column.upper)
    # Compared as given, because a number may be too large for a float.
    beyond = low is not None and (low >= upper if above else low > upper)
    if beyond or (high is not None and (high <= lower if below else high < lower)):
        raise ArgumentError(
            f"where asks for {shown(given)}, which column {name!r} never is; {_hint(name, column, given)}"
        )
    least = lower if low is None or low <= lower else float(low)
    most = upper if high is None or high >= upper else float(high)
    if above and low is not None and low >= lower:
        least = math.nextafter(least, math.inf)
    if below and high is not None and high <= upper and least < most:
        return least, most
    if least == most and most in frequent and not (above or below):
        # The bin of the upper bound is the last one, which is closed.
        return (math.nextafter(most, -math.inf) if most == upper else most), math.nextafter(most, math.inf)
    if least >= most and lower < upper:
        raise ArgumentError(
            f"where asks for {shown(given)}, but column {name!r} holds numbers of any precision, so a single number "
            "has probability 0; give a range such as (0.5, 1.5), or the values themselves by given="
        )
    if most == upper:
        return least, math.inf
    # The last number belongs to the range, except next to the upper bound, which shares its bin.
    stop = math.nextafter(most, math.inf)
    return least, stop if stop < upper else most
