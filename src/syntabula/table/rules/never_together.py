"""Combinations of two columns' values that no row has though many would if the columns were independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.rules.following import Cells, constant
from syntabula.table.schema.columns import Boolean, Categorical, Numeric
from syntabula.table.schema.schema import Schema

LEAST_EXPECTED = 100
"""Rows that must be expected of a combination: fewer may be missing although it is only rare."""
LEAST_SHARE = 0.01
"""Part of the rows that a value has at least."""
LEAST_OF_SINGLES = 0.02
"""Part of the rows that must be expected where both values are single ones of many: such pairs are many."""
MOST_CONDITIONS = 10
_MOST_ROWS = 20_000
_MOST_EVENTS = 600
_MOST_LABELS = 20
_COMMON = 0.1
"""Part of the values from which on the least or the largest number may stand for something else, as -1 does."""


Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Event:
    """Something that a cell may be.

    Attributes:
        column: The cell's column.
        sql: Condition on it.
        rows: Rows for which it is so [n].
        is_single: Whether it is one of more than two values.
        is_of_gaps: Whether it says that the cell is missing, or that it is not.
    """

    column: str
    sql: str
    rows: Flags
    is_single: bool = False
    is_of_gaps: bool = False


def never_together(
    cells: Cells, schema: Schema, *, orders: Sequence[Sequence[str]], together: Sequence[Sequence[str]]
) -> list[str]:
    """Return conditions that forbid what no row has: a value of one column beside all but one value of another.

    Values are categories, zero, a number that stands out, and missing. Looked at are up to 20,000 rows; the caller checks
    the others.

    Args:
        cells: Columns that do not follow from others.
        schema: The table's schema.
        orders: Lists of columns that ascend, in which the least value of one says all of those before it.
        together: Lists of columns that are missing together.

    Returns:
        At most ten SQL conditions: those first of which most rows would be expected.
    """
    rows = _looked_at(len(next(iter(cells.values()))[1]) if cells else 0)
    group = {name: names[0] for names in together for name in names}
    events: list[Event] = []
    for name, (values, missing) in cells.items():
        if len(events) < _MOST_EVENTS:
            events += _events(
                name, values[rows], missing[rows], schema, sees_gaps=group.get(name, name) == name
            )
    if not events:
        return []
    in_order = {frozenset(pair) for names in orders for pair in combinations(names, 2)}
    return _conditions(events, in_order, group)[:MOST_CONDITIONS]


def _looked_at(n_rows: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, max(n_rows - 1, 0), min(n_rows, _MOST_ROWS)).astype(np.intp))


def _events(
    name: str, values: NDArray[Any], missing: Flags, schema: Schema, *, sees_gaps: bool
) -> Iterator[Event]:
    """Yield what a column's cells may be, each followed by its negation; a missing cell has neither of two values."""
    column, present = identifier(name), ~missing
    standing_out, is_single = _that_stand_out(values[present], schema, name) if present.any() else ([], False)
    for value in standing_out:
        equal = present & (values == value)
        yield Event(name, f"{column} = {constant(value)}", equal, is_single)
        yield Event(name, f"{column} <> {constant(value)}", present & ~equal)
    if sees_gaps and LEAST_SHARE <= missing.mean() <= 1 - LEAST_SHARE:
        yield Event(name, f"{column} IS NULL", missing, is_of_gaps=True)
        yield Event(name, f"{column} IS NOT NULL", present, is_of_gaps=True)


def _that_stand_out(present: NDArray[Any], schema: Schema, name: str) -> tuple[list[Any], bool]:
    """Return frequent categories, or of a number zero and an end that is common; and whether there are more than two."""
    distinct, counts = np.unique(present, return_counts=True)
    share = counts / present.size
    often = (share >= LEAST_SHARE) & (share <= 1 - LEAST_SHARE)
    if isinstance(schema[name], Categorical | Boolean):
        # Of two categories, one is the negation of the other.
        most = np.argsort(-counts, kind="stable")[: 1 if distinct.size == 2 else _MOST_LABELS]
        return [distinct.tolist()[i] for i in most if often[i]], distinct.size > 2
    if not isinstance(schema[name], Numeric):
        return [], False
    ends = [i for i in (0, distinct.size - 1) if share[i] >= _COMMON and often[i]]
    zero = np.flatnonzero((distinct == 0) & often).tolist()
    return [_as_number(distinct[i].item()) for i in dict.fromkeys([*zero, *ends])], True


def _as_number(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _conditions(
    events: Sequence[Event], in_order: set[frozenset[str]], group: Mapping[str, str]
) -> list[str]:
    """Return what no row has, as conditions, without those that follow from others."""
    rows = np.stack([event.rows for event in events]).astype(np.float32)
    together, number = rows @ rows.T, rows.sum(axis=1)
    negation = np.arange(len(events)) ^ 1
    columns = np.array([event.column for event in events])
    missing_alike = np.array([group.get(event.column, event.column) for event in events])
    of_gaps = np.array([event.is_of_gaps for event in events])
    # What has a value is not missing, nor is what is missing in the same rows.
    same_column = (columns[:, None] == columns) | (
        (missing_alike[:, None] == missing_alike) & (of_gaps[:, None] | of_gaps)
    )
    # [i, j]: whoever is i is j too.
    follows = (together[:, negation] == 0) & (together > 0)
    expected = np.outer(number, number[negation]) / rows.shape[1]
    single = np.array([event.is_single for event in events])
    least = np.where(single[:, None] & single[negation], LEAST_OF_SINGLES * rows.shape[1], 0)
    told = follows & ~same_column & (expected >= np.maximum(least, LEAST_EXPECTED))
    alike = told & told.T
    first = np.array([min([i, *np.flatnonzero(alike[i])]) for i in range(len(events))])
    plain = follows & same_column & ~np.eye(len(events), dtype=np.bool_)
    found: dict[frozenset[int], tuple[float, str]] = {}
    for i, j in np.argwhere(told).tolist():
        if frozenset((columns[i], columns[j])) in in_order:
            continue
        if alike[i, j]:
            if first[j] == i and not {*found} & {frozenset((i, j)), frozenset((i ^ 1, j ^ 1))}:
                found[frozenset((i, j))] = expected[i, j], f"({events[i].sql}) = ({events[j].sql})"
        elif first[i] == i and first[j] == j and not _follows_by_others(i, j, told, plain, first):
            pair = frozenset((i, j ^ 1))
            found.setdefault(pair, (expected[i, j], f"not ({events[i].sql} and {events[j ^ 1].sql})"))
    return [condition for _, condition in sorted(found.values(), key=lambda one: -one[0])]


def _follows_by_others(i: int, j: int, told: Flags, plain: Flags, first: NDArray[np.intp]) -> bool:
    """Return whether j follows from i by way of a third event, other than by what is said of an equal of i or j."""
    between = np.flatnonzero((told[i] | plain[i]) & (told[:, j] | plain[:, j]))
    return any(first[k] not in (i, j) or plain[i, k] or plain[k, j] for k in between if k not in (i, j))


def never_equal(cells: Cells, schema: Schema) -> list[str]:
    """Return conditions that two columns of the same kind of names differ, such as who plays at home and who is a guest.

    These are categories, more than two of each and several of both, that no row has alike, though many would if the
    columns were independent. Columns that share a single name, such as `No`, mostly do not mean the same by it.
    """
    shares: dict[str, dict[Any, float]] = {}
    for name, (values, missing) in cells.items():
        distinct, counts = np.unique(values[~missing], return_counts=True)
        if isinstance(schema[name], Categorical) and distinct.size > 2:
            shares[name] = dict(zip(distinct.tolist(), (counts / missing.size).tolist(), strict=True))
    found = []
    for (a, of_a), (b, of_b) in combinations(shares.items(), 2):
        (x, x_missing), (y, y_missing) = cells[a], cells[b]
        shared = of_a.keys() & of_b.keys()
        expected = sum(of_a[v] * of_b[v] for v in shared) * x.size
        if len(shared) > 1 and expected >= LEAST_EXPECTED and not (~x_missing & ~y_missing & (x == y)).any():
            found.append((expected, f"{identifier(a)} <> {identifier(b)}"))
    return [condition for _, condition in sorted(found, key=lambda one: -one[0])]
