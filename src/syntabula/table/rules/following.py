"""Columns that follow from a single other one in every row: copies, parts of a day, bands of a number, and groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.database import quoted as text_literal
from syntabula.table.raw import RawTable
from syntabula.table.rules.evaluation import rows_database, values_of
from syntabula.table.rules.expressions import MOST_CHARACTERS, Expression, alias
from syntabula.table.schema.columns import Boolean, Categorical, Column, Date, Datetime, Numeric, Time
from syntabula.table.schema.schema import Schema

Cells = Mapping[str, tuple[NDArray[Any], NDArray[np.bool_]]]
"""For each column its values as numbers, flags or texts [n], and which are missing [n]; see `plain_cells`."""

_DAY_PARTS = (
    "year({0})", "quarter({0})", "month({0})", "day({0})", "week({0})", "dayofyear({0})",
    "isodow({0})", "dayofweek({0})", "isodow({0}) - 1", "isodow({0}) >= 6", "(isodow({0}) >= 6)::INTEGER",
    "year({0}) * 100 + month({0})", "dayname({0})", "left(dayname({0}), 3)", "monthname({0})", "left(monthname({0}), 3)",
)  # fmt: skip
"""Parts of a day in SQL; weeks begin on Monday (`isodow`, 1 to 7) or on Sunday (`dayofweek`, 0 to 6)."""
_CLOCK_PARTS = ("hour({0})", "minute({0})")
_NUMBER_PARTS = ("{0} // 100", "{0} % 100")
"""Parts of a clock time that is a whole number, 905 for 09:05."""
TRIED_ROWS = 500
"""Rows on which parts are tried before all rows are checked."""
_MOST_VALUES = 100
ROWS_PER_VALUE = 10
CHARACTERS_PER_VALUE = 20
MOST_COMPARED = 50_000_000
"""Most comparisons of the rows with more than 100 values, so that checking them takes seconds."""
_MOST_BANDS = 20
_LEAST_OF_A_BAND = 5
_LEAST_OF_LINE = 3
_VALUES_PER_BAND = 2


def varies(values: NDArray[Any], missing: NDArray[np.bool_]) -> bool:
    """Return whether a column has two different values."""
    present = values[~missing]
    return present.size > 0 and bool((present != present[0]).any())


def n_unusual(values: NDArray[Any], missing: NDArray[np.bool_]) -> int:
    """Return how many cells that are not missing hold another value than the most frequent one."""
    _, counts = np.unique(values[~missing], return_counts=True)
    return int(counts.sum() - counts.max()) if counts.size else 0


def constant(value: object) -> str:
    """Return a value as SQL."""
    return text_literal(value) if isinstance(value, str) else str(value)


def copies(cells: Cells, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield columns that are equal to an earlier one."""
    seen: dict[bytes, str] = {}
    for name, (values, missing) in cells.items():
        # Two columns that are nearly constant are equal by chance.
        if values.dtype == object or n_unusual(values, missing) < ROWS_PER_VALUE:
            continue
        key = repr((values.dtype, schema[name].kind)).encode() + values.tobytes() + missing.tobytes()
        first = seen.setdefault(key, name)
        if first != name:
            yield name, identifier(first)


def day_parts(cells: Cells, schema: Schema, *, table: RawTable) -> Iterator[tuple[str, str]]:
    """Yield columns that are a part of a day or time in all rows, such as its weekday."""
    sources = [n for n in cells if isinstance(schema[n], Date | Datetime | Time) and varies(*cells[n])]
    # A column of one value, such as a fee of 1, would be the quarter of a table of one spring.
    targets = [
        n
        for n in cells
        if isinstance(schema[n], Numeric | Categorical | Boolean | Date) and varies(*cells[n])
    ]
    taken: set[str] = set()
    for source in sources:
        missing = cells[source][1]
        rows = np.flatnonzero(~missing)[:TRIED_ROWS]
        parts = _parts(schema[source])
        place = alias([*schema.columns].index(source))
        expressions = [Expression(p.format(identifier(source)), (source,), p.format(place)) for p in parts]
        few = {source: table.columns[source].take(rows)}
        with rows_database() as database:
            found = values_of(database, schema.columns, few, rows.size, expressions)
        for name in targets:
            if name == source or name in taken or not np.array_equal(cells[name][1], missing):
                continue
            values = cells[name][0][rows]
            for expression, part in zip(expressions, found, strict=True):
                if _equals(values, part.values, is_day=part.physical.kind == "date", of=schema[name]):
                    taken.add(name)
                    yield name, expression.text
                    break


def _parts(column: Column) -> tuple[str, ...]:
    if isinstance(column, Time):
        return _NUMBER_PARTS if column.is_number else _CLOCK_PARTS
    return _DAY_PARTS if isinstance(column, Date) else ("{0}::DATE", *_CLOCK_PARTS, *_DAY_PARTS)


def _equals(values: NDArray[Any], part: NDArray[Any], *, is_day: bool, of: object) -> bool:
    if isinstance(of, Date) != is_day or (values.dtype == object) != (part.dtype == object):
        return False
    return (values.dtype == np.bool_) == (part.dtype == np.bool_) and bool((values == part).all())


def bands(cells: Cells, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield columns of few labels each of which holds a range of a number, as CASE expressions."""
    numbers = [n for n in cells if isinstance(schema[n], Numeric)]
    taken: set[str] = set()
    for name, (labels, missing) in cells.items():
        if not isinstance(schema[name], Categorical | Boolean):
            continue
        distinct, codes = np.unique(labels[~missing], return_inverse=True)
        if not 1 < distinct.size <= _MOST_BANDS or np.bincount(codes).min() < _LEAST_OF_A_BAND:
            continue
        for source in numbers:
            values, gaps = cells[source]
            if source in taken or not np.array_equal(gaps, missing):
                continue
            cuts = _cuts(values[~gaps], codes, distinct.size)
            if cuts is not None:
                taken.add(name)
                yield name, _as_case(source, cuts, distinct.tolist(), has_gaps=bool(gaps.any()))
                break


def _cuts(values: NDArray[Any], codes: NDArray[np.intp], n_labels: int) -> list[tuple[float, int]] | None:
    """Return for each label but the last the number below which it ends, and its code; None if ranges overlap."""
    least, most = np.full(n_labels, np.inf), np.full(n_labels, -np.inf)
    np.minimum.at(least, codes, values)
    np.maximum.at(most, codes, values)
    order = np.argsort(least, kind="stable")
    if (most[order[:-1]] >= least[order[1:]]).any():
        return None
    if np.unique(values).size < _VALUES_PER_BAND * n_labels:
        return None
    ends = zip(most[order[:-1]].tolist(), least[order[1:]].tolist(), strict=True)
    cuts = [_roundest(low, high) for low, high in ends]
    return [*zip(cuts, order[:-1].tolist(), strict=True), (math.inf, int(order[-1]))]


def _roundest(low: float, high: float) -> float:
    """Return the roundest number above `low` and up to `high`."""
    for places in range(-15, 16):
        scale = 10.0**places
        rounded = math.floor(high * scale) / scale
        if low < rounded <= high:
            return rounded
    return high


def _as_case(source: str, cuts: list[tuple[float, int]], labels: list[Any], *, has_gaps: bool) -> str:
    column = identifier(source)
    whens = [f"WHEN {column} IS NULL THEN NULL"] if has_gaps else []
    whens += [f"WHEN {column} < {_number(cut)} THEN {constant(labels[code])}" for cut, code in cuts[:-1]]
    return f"CASE {' '.join(whens)} ELSE {constant(labels[cuts[-1][1]])} END"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def followers(cells: Cells, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield columns of few values that follow from another column of few values, as CASE expressions.

    That a cell is missing is a value of either column.
    """
    n_rows = next((values.size for values, _ in cells.values()), 1)
    most = max(_MOST_VALUES, min(MOST_COMPARED // n_rows, MOST_CHARACTERS // CHARACTERS_PER_VALUE))
    few = coded(cells, schema, most)
    rare = {name: rarest(codes) for name, (codes, _) in few.items()}
    taken: set[str] = set()
    for source, (own, labels) in few.items():
        for name, (codes, others) in few.items():
            if name == source or name in taken or source in taken or len(others) > len(labels):
                continue
            # A column that is nearly constant follows from many others by chance.
            if rare[name] < len(labels):
                continue
            code_of = np.zeros(len(labels), dtype=np.intp)
            # Most pairs differ in the first rows already.
            if not all(
                _follows(own[rows], codes[rows], code_of) for rows in (slice(TRIED_ROWS), slice(None))
            ):
                continue
            values = [others[code] for code in code_of.tolist()]
            of_gaps = _is_of_gaps(labels, values)
            if not (is_often_seen(own) or of_gaps):
                continue
            gaps = (own == _gap_of(labels)) & (codes == _gap_of(others))
            if n_confirmed(own == _gap_of(labels) if of_gaps else own, codes, gaps) < ROWS_PER_VALUE:
                continue
            expression = _as_values(source, labels, values)
            if len(expression) <= MOST_CHARACTERS:
                taken.add(name)
                yield name, expression


def coded(cells: Cells, schema: Schema, most: int) -> dict[str, tuple[NDArray[np.intp], list[Any]]]:
    """Return for each column of few values which of them each row has [n], and the values; None for a missing cell.

    Args:
        cells: The columns; days and times are left out.
        schema: Their declarations.
        most: Largest number of values.
    """
    found: dict[str, tuple[NDArray[np.intp], list[Any]]] = {}
    for name, (values, missing) in cells.items():
        if isinstance(schema[name], Date | Datetime):
            continue
        distinct, present = np.unique(values[~missing], return_inverse=True)
        labels = [*distinct.tolist(), *([None] if missing.any() else [])]
        if 1 < distinct.size <= most and len(labels) * ROWS_PER_VALUE <= values.size:
            codes = np.full(values.size, distinct.size)
            codes[~missing] = present
            found[name] = codes, labels
    return found


def rarest(codes: NDArray[np.intp]) -> int:
    """Return how many rows do not have the most frequent value."""
    return codes.size - int(np.bincount(codes).max())


def is_often_seen(codes: NDArray[np.intp]) -> bool:
    """Return whether values but the most frequent one have enough rows, from which something follows not by chance alone.

    Among settled loans, of which there are few, anything follows from the day of the settlement.
    """
    counts = np.bincount(codes)
    return bool(ROWS_PER_VALUE * (np.count_nonzero(counts) - 1) <= codes.size - int(counts.max()))


def n_confirmed(own: NDArray[Any], codes: NDArray[np.intp], gaps: NDArray[np.bool_]) -> int:
    """Return how many rows show anew that a value but the most frequent one of a column follows from another column.

    The first row with each value of the other column may have any value of this one. Where both cells are missing, they
    are missing together, which is a rule of its own.

    Args:
        own: What it follows from [n].
        codes: The column's values [n].
        gaps: Rows where both are missing [n].
    """
    held = codes[~gaps]
    if not held.size:
        return 0
    told = ~gaps & (codes != np.bincount(held).argmax())
    return int(np.count_nonzero(told)) - int(np.unique(own[told]).size)


def _gap_of(labels: list[Any]) -> int:
    """Return the code of a missing cell; -1 if there is none."""
    return len(labels) - 1 if labels[-1] is None else -1


def _is_of_gaps(labels: list[Any], values: list[Any]) -> bool:
    """Return whether a value follows from nothing but whether a cell is missing."""
    return labels[-1] is None and not any(value != values[0] for value in values[:-1])


def _follows(own: NDArray[np.intp], codes: NDArray[np.intp], code_of: NDArray[np.intp]) -> bool:
    """Return whether rows with one code of a column have one of another, which is written to each code's place."""
    code_of[own] = codes
    return bool((code_of[own] == codes).all())


def _as_values(source: str, labels: list[Any], values: list[Any]) -> str:
    """Return the value for each label of a column as SQL; None stands for a missing cell."""
    column = identifier(source)
    if line := _as_line(column, labels, values):
        return line
    pairs = [*zip(labels, values, strict=True)]
    whens = [
        f"WHEN {constant(label)} THEN {constant(value)}"
        for label, value in pairs
        if label is not None and value is not None
    ]
    found = f"CASE {column} {' '.join(whens)} END"
    if labels[-1] is not None:
        return found
    if _is_of_gaps(labels, values):
        # None of its values needs to be listed.
        one, none = ("NULL" if value is None else constant(value) for value in (values[0], values[-1]))
        return f"CASE WHEN {column} IS NULL THEN {none} ELSE {one} END"
    if values[-1] is None:
        return found
    return f"CASE WHEN {column} IS NULL THEN {constant(values[-1])} ELSE {found} END"


def _as_line(column: str, labels: list[Any], values: list[Any]) -> str | None:
    """Return whole numbers that are a multiple of others and a constant as SQL; None if they are none."""
    pairs = [*zip(labels, values, strict=True)]
    pairs = pairs[:-1] if pairs[-1] == (None, None) else pairs
    # Any two values are on a line.
    if len(pairs) < _LEAST_OF_LINE or any(type(v) is not int for pair in pairs for v in pair):
        return None
    (x, y), (right, top) = pairs[0], pairs[1]
    factor, rest = divmod(top - y, right - x)
    if rest or any(v != y + factor * (label - x) for label, v in pairs):
        return None
    offset = y - factor * x
    scaled = column if factor == 1 else f"{factor} * {column}"
    return scaled + (f" {'+' if offset > 0 else '-'} {abs(offset)}" if offset else "")
