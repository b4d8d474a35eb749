"""How far apart two columns of numbers, days or times may be by a rule, read off its expression.

`discharge <= admission + interval 30 day` bounds a difference. A column whose difference from another is bounded can be
learned as this difference, so that nearly all drawn rows satisfy the rule. Where calendars and zones are in between,
bounds are a little wide: they only say what is worth learning, and rows are checked by the rule itself.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

from syntabula.table.rules.evaluation import rows_database
from syntabula.table.rules.expressions import children_of, sql_of, tree_of
from syntabula.table.rules.instants import compared_columns, constant_text, function_of, instants_among
from syntabula.table.schema.columns import MICROSECONDS, Column, Date, Datetime, Numeric

_JUST = Fraction(1, 10**20)
"""What a bound that is not included is moved by: less than any grid has between two points."""
_DAY = Fraction(MICROSECONDS["day"])
_MOST_OFFSET = 16 * Fraction(MICROSECONDS["hour"])
"""Wall clocks of no zone ever differed more from those of UTC."""
_UNITS = {
    "microsecond": Fraction(1),
    "millisecond": Fraction(1_000),
    "second": Fraction(1_000_000),
    "minute": Fraction(60_000_000),
    "hour": Fraction(3_600_000_000),
    "day": _DAY,
    "week": 7 * _DAY,
}
_EPOCHS = {"epoch": _UNITS["second"], "epoch_ms": _UNITS["millisecond"], "epoch_us": _UNITS["microsecond"]}
_COMPARED = {
    "COMPARE_EQUAL": (True, True, False),
    "COMPARE_LESSTHANOREQUALTO": (False, True, False),
    "COMPARE_LESSTHAN": (False, True, True),
    "COMPARE_GREATERTHANOREQUALTO": (True, False, False),
    "COMPARE_GREATERTHAN": (True, False, True),
}
"""For each comparison: whether it bounds the left side from below, whether from above, whether it excludes equality."""


@dataclass(frozen=True)
class Window:
    """Bounds of the difference of two columns, last - first.

    Attributes:
        first: The column that is subtracted.
        last: The other one.
        least: Smallest difference; of days and times, in microseconds. None if it has no bound.
        most: Largest difference.
    """

    first: str
    last: str
    least: Fraction | None = None
    most: Fraction | None = None

    def turned(self) -> Self:
        """Return the bounds of first - last."""
        least, most = (None if bound is None else -bound for bound in (self.most, self.least))
        return replace(self, first=self.last, last=self.first, least=least, most=most)

    def narrowed(self, other: Window) -> Self:
        """Return the window of differences that are within another one of the same columns, too."""
        if other.first != self.first:
            other = other.turned()
        least = [bound for bound in (self.least, other.least) if bound is not None]
        most = [bound for bound in (self.most, other.most) if bound is not None]
        return replace(self, least=max(least, default=None), most=min(most, default=None))


@dataclass(frozen=True)
class Sum:
    """The sum of columns times factors, and of a number that is known up to two bounds.

    Attributes:
        kind: `number`, `day`, `time` or `span`; all but numbers are in microseconds.
        factors: By column; none is 0.
        low: Least of the number.
        high: Most of the number.
        open: Whether the number is neither of these two.
    """

    kind: str
    factors: Mapping[str, Fraction]
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    open: bool = False

    def times(self, factor: Fraction, kind: str | None = None) -> Sum:
        """Return a multiple, of another kind if one is stated."""
        low, high = sorted((self.low * factor, self.high * factor))
        factors = {name: f * factor for name, f in self.factors.items()}
        return Sum(kind or self.kind, factors, low, high, self.open)

    def plus(self, other: Sum, kind: str) -> Sum:
        """Return the sum of both, of a stated kind."""
        names = {**self.factors, **other.factors}
        factors = {n: self.factors.get(n, Fraction(0)) + other.factors.get(n, Fraction(0)) for n in names}
        low, high = self.low + other.low, self.high + other.high
        return Sum(kind, {n: f for n, f in factors.items() if f}, low, high, self.open or other.open)

    def wider(self, low: Fraction, high: Fraction, *, open_: bool = False) -> Sum:
        """Return the sum with the bounds of its number moved."""
        return replace(self, low=self.low + low, high=self.high + high, open=self.open or open_)


def are_comparable(columns: Sequence[Column]) -> bool:
    """Return whether columns are all numbers, or all days and times of which all have a zone or none has."""
    families = {isinstance(column, Numeric) for column in columns}
    zones = {column.timezone is None for column in columns if isinstance(column, Datetime)}
    if zones == {False} and any(isinstance(column, Date) for column in columns):
        zones.add(True)
    return len(families) == 1 and len(zones) <= 1


def windows_of(
    text: str, columns: Mapping[str, Column], derived: Mapping[str, str]
) -> tuple[list[Window], bool]:
    """Return the windows that a condition states, and whether it states nothing else.

    Args:
        text: A condition that `read_expression` has read.
        columns: The columns of the schema.
        derived: Expressions of derived columns.
    """
    reader = _Reader(columns, derived)
    read = [window for part in _conjuncts(tree_of(text)) for window in reader.windows(part)]
    found = [window for window in read if window is not None]
    return found, len(found) == len(read)


def window_of_domain(name: str, columns: Mapping[str, Column], derived: Mapping[str, str]) -> Window | None:
    """Return the window that the bounds of a derived column mean, if it is a difference of two others."""
    column, value = columns[name], _Reader(columns, derived).derived(name)
    if value is None or not isinstance(column, Numeric):
        return None
    low, high = (Sum("number", {}, b, b) for b in map(_exact, (column.lower, column.upper)))
    bounds = [_window(value, low, (True, False, False)), _window(value, high, (False, True, False))]
    found = [window for window in bounds if window is not None]
    return found[0].narrowed(found[1]) if found else None


def sum_of_derived(name: str, columns: Mapping[str, Column], derived: Mapping[str, str]) -> Sum | None:
    """Return a derived column of numbers as a sum of others; None if it is none, or not known to be.

    Args:
        name: The column.
        columns: The columns of the schema.
        derived: Expressions of derived columns.
    """
    return _Reader(columns, derived).derived(name)


class _Reader:
    """Reads parts of expressions as sums."""

    def __init__(self, columns: Mapping[str, Column], derived: Mapping[str, str]) -> None:
        self.columns = columns
        self._expressions = derived
        self.zoned = frozenset(
            name for name, c in columns.items() if isinstance(c, Datetime) and c.timezone is not None
        )

    def windows(self, node: dict[str, Any]) -> Iterator[Window | None]:
        """Yield the window of each comparison in a condition; None for what is none."""
        if node["class"] == "BETWEEN":
            sides = [(node["input"], node["lower"], (True, False, False))]
            sides.append((node["input"], node["upper"], (False, True, False)))
        elif node["class"] == "COMPARISON" and node["type"] in _COMPARED:
            sides = [(node["left"], node["right"], _COMPARED[node["type"]])]
        else:
            yield None
            return
        for left, right, asked in sides:
            instants = {id(part) for part in instants_among((left, right), children_of, self.zoned)}
            one, other = self.sum(left, instants), self.sum(right, instants)
            yield None if one is None or other is None else _window(one, other, asked)

    def derived(self, name: str) -> Sum | None:
        """Return a derived column of numbers as a sum; its values are rounded as it declares."""
        column = self.columns[name]
        value = self.sum(tree_of(self._expressions[name]), set())
        if value is None or value.kind != "number" or not isinstance(column, Numeric):
            return None
        slack = Fraction(0) if column.grid() is None else column.unit / 2
        return value.wider(-slack, slack)

    def sum(self, node: dict[str, Any], instants: set[int]) -> Sum | None:
        """Return a node as a sum; None if it is none, or not known to be.

        Args:
            node: A part of an expression.
            instants: The columns of times with a zone in it that are known to be points in time.
        """
        if node["class"] == "COLUMN_REF":
            return self._column(node, known=id(node) in instants)
        if not any(one["class"] == "COLUMN_REF" for one in _all(node)):
            return _constant(node)
        parts = [*children_of(node)]
        instants = instants | {id(part) for part in compared_columns(node, children_of, self.zoned)}
        if node["class"] == "CAST":
            inner = self.sum(parts[0], instants)
            return None if inner is None else _cast(inner, node)
        function = function_of(node)
        if function in ("date_diff", "datediff", "date_sub", "datesub") and len(parts) == 3:
            before, after = (self.sum(part, instants) for part in parts[1:])
            unit = _UNITS.get(constant_text(parts[0]).lower().removesuffix("s"))
            if unit is None or before is None or after is None:
                return None
            return _counted(before, after, unit, whole=all(self._is_whole(v, unit) for v in (before, after)))
        values = [self.sum(part, instants) for part in parts]
        if function is None or any(value is None for value in values):
            return None
        return _computed(function, [value for value in values if value is not None])

    def _is_whole(self, value: Sum, unit: Fraction) -> bool:
        """Return whether a sum of days or times, in microseconds, is always a multiple of a unit."""
        exact = value.low == value.high and value.low % unit == 0
        return exact and all(self._step(n) * factor % unit == 0 for n, factor in value.factors.items())

    def _step(self, name: str) -> Fraction:
        """Return the distance between neighbouring values of a column; of days and times, in microseconds."""
        column = self.columns[name]
        if isinstance(column, Numeric):
            return _JUST if column.grid() is None else column.unit
        return Fraction(MICROSECONDS[column.resolution]) if isinstance(column, Datetime) else _DAY

    def _column(self, node: Mapping[str, Any], *, known: bool) -> Sum | None:
        name = node["column_names"][-1]
        column = self.columns[name]
        if name in self._expressions:
            return self.derived(name)
        if isinstance(column, Numeric):
            return Sum("number", {name: Fraction(1)})
        if not isinstance(column, Date | Datetime):
            return None
        found = Sum("day" if isinstance(column, Date) else "time", {name: Fraction(1)})
        return found.wider(-_MOST_OFFSET, _MOST_OFFSET) if name in self.zoned and not known else found


def _window(one: Sum, other: Sum, asked: tuple[bool, bool, bool]) -> Window | None:
    """Return the window that a comparison of two sums states; None if they do not leave a difference of two columns."""
    from_below, from_above, strict = asked
    whole = _minus(one, other)
    if whole is None or len(whole.factors) != 2:
        return None
    (last, factor), (first, other_factor) = sorted(whole.factors.items(), key=lambda item: -item[1])
    if factor != -other_factor:
        return None
    step = _JUST if strict or whole.open else Fraction(0)
    return Window(
        first,
        last,
        least=-whole.high / factor + step if from_below else None,
        most=-whole.low / factor - step if from_above else None,
    )


def _minus(one: Sum, other: Sum) -> Sum | None:
    kinds = (one.kind, other.kind)
    if kinds == ("number", "number"):
        return one.plus(other.times(Fraction(-1)), "number")
    if kinds == ("span", "span") or not {*kinds} & {"number", "span"}:
        # Of two days this counts days, and not microseconds, only where it is computed with further.
        return one.plus(other.times(Fraction(-1)), "span")
    if one.kind in ("day", "time") and other.kind == "span":
        return one.plus(other.times(Fraction(-1)), "time")
    if kinds == ("day", "number"):
        return one.plus(other.times(-_DAY), "day")
    return None


def _plus(one: Sum, other: Sum) -> Sum | None:
    if one.kind in ("number", "span") and other.kind not in ("number", "span"):
        one, other = other, one
    if one.kind == other.kind and one.kind in ("number", "span"):
        return one.plus(other, one.kind)
    if one.kind in ("day", "time") and other.kind == "span":
        return one.plus(other, "time")
    return one.plus(other.times(_DAY), "day") if (one.kind, other.kind) == ("day", "number") else None


def _computed(function: str, values: list[Sum]) -> Sum | None:
    """Return a function of sums as a sum."""
    first, kinds = values[0], [value.kind for value in values]
    if function == "-" and len(values) == 1:
        return first.times(Fraction(-1)) if first.kind in ("number", "span") else None
    if function in _EPOCHS and first.kind != "number":
        return first.times(1 / _EPOCHS[function], "number")
    if len(values) != 2:
        return None
    if function == "-":
        found = _minus(*values)
        return found if found is None or kinds != ["day", "day"] else found.times(1 / _DAY, "number")
    if function in ("+", "date_add"):
        return _plus(*values)
    if function not in ("*", "/") or kinds != ["number", "number"]:
        return None
    if function == "*" and not first.factors:
        values = values[::-1]
    value, factor = values
    if factor.factors or factor.low != factor.high or not factor.low:
        return None
    return value.times(factor.low if function == "*" else 1 / factor.low)


def _counted(before: Sum, after: Sum, unit: Fraction, *, whole: bool) -> Sum | None:
    """Return how many units lie between two days or times; unless both are whole units, begun or full ones."""
    if not {before.kind, after.kind} <= {"day", "time"}:
        return None
    apart = after.plus(before.times(Fraction(-1)), "span").times(1 / unit, "number")
    return apart if whole else apart.wider(Fraction(-1), Fraction(1), open_=True)


def _cast(inner: Sum, node: Mapping[str, Any]) -> Sum | None:
    kind = next((str(one["type_name"]) for one in children_of(node) if one["class"] == "TYPE"), None)
    kind = str(node.get("cast_type", {}).get("id")) if kind is None else kind
    if inner.kind not in ("day", "time"):
        return None
    if kind.lower() == "date":
        return replace(inner.wider(-_DAY, Fraction(0)), kind="day") if inner.kind == "time" else inner
    return replace(inner, kind="time") if kind.lower() in ("timestamp", "datetime") else None


def _constant(node: dict[str, Any]) -> Sum | None:
    """Return the value of a part without columns; of an interval with months, between the shortest and the longest."""
    import duckdb

    sql = sql_of(node)
    with rows_database() as database:
        try:
            (value,) = database.execute(f"SELECT {sql}").fetchone()
            if isinstance(value, float) and not math.isfinite(value):
                return None
            months = Fraction(0)
            if isinstance(value, dt.timedelta):
                parts = f"SELECT abs(12 * date_part('year', {sql}) + date_part('month', {sql}))"
                months = Fraction(database.execute(parts).fetchone()[0])
        except (duckdb.Error, OverflowError, ValueError):
            return None
    if isinstance(value, dt.timedelta):
        # As Python has it, a month is 30 days.
        exact = Fraction(value // dt.timedelta(microseconds=1))
        return Sum("span", {}, exact - 2 * months * _DAY, exact + 2 * months * _DAY)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        number = _exact(value)
        return Sum("number", {}, number, number)
    return None


def _exact(value: int | float | Decimal) -> Fraction:
    """Return a number as it is written."""
    return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)


def _conjuncts(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the conditions that must all hold, without what they say of missing cells anyway."""
    if node["type"] == "CONJUNCTION_AND":
        for part in children_of(node):
            yield from _conjuncts(part)
        return
    yield from _where_present(node) if node["type"] == "CONJUNCTION_OR" else [node]


def _where_present(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions that hold unless a column is missing, as `a IS NULL OR a <= b` says; else the node itself.

    A comparison of a missing cell counts as satisfied as it is.
    """
    parts = [*children_of(node)]
    absent = [part for part in parts if part["type"] == "OPERATOR_IS_NULL"]
    others = [part for part in parts if part["type"] != "OPERATOR_IS_NULL"]
    names, compared = set().union(*map(_names, absent)), [*_conjuncts(others[0])] if len(others) == 1 else []
    plain = all(child["class"] == "COLUMN_REF" for part in absent for child in children_of(part))
    return compared if compared and plain and all(names <= _names(part) for part in compared) else [node]


def _names(node: dict[str, Any]) -> set[str]:
    return {one["column_names"][-1] for one in _all(node) if one["class"] == "COLUMN_REF"}


def _all(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in children_of(node):
        yield from _all(part)
