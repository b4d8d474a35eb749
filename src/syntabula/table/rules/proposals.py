"""Rules that hold in every row of a table: proposals for a person to judge, as sensitive as the table."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError
from syntabula.table.database import identifier
from syntabula.table.raw import RawTable
from syntabula.table.rules.days_and_times import DAY, is_day_beside_time
from syntabula.table.rules.differences import differences, near_times
from syntabula.table.rules.evaluation import plain_cells
from syntabula.table.rules.following import Cells, bands, copies, day_parts, followers, n_unusual, varies
from syntabula.table.rules.following_days import day_followers
from syntabula.table.rules.following_pairs import pair_followers
from syntabula.table.rules.near_sums import NearSum, near_sums
from syntabula.table.rules.never_together import LEAST_EXPECTED, MOST_CONDITIONS, never_equal, never_together
from syntabula.table.rules.products import products
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Numeric,
    Ordered,
    Time,
)
from syntabula.table.schema.schema import Schema

_LOOKED_AT = 64
"""Rows on which sums are looked for before all rows are checked."""
_MOST_SUMS = 300_000
_MOST_TERMS = 4
_MOST_FEW_TERMS = 3
_NEARLY = 1e-3
_MOST_DECIMALS = 6
_MOST_ORDERS = 10
_LEAST_ROWS = 20
_OFTEN_EQUAL = 0.01
_OFTEN_BROKEN = 0.1
"""Part of the rows that must be expected to break the order of two numbers that are seldom equal."""


def proposed_rules(table: RawTable, schema: Schema) -> Rules | None:
    """Return rules that hold in every row of a table: sums, columns that follow from another one, orders, combinations
    of values that do not occur, and columns missing together.

    Args:
        table: The table.
        schema: Its drafted schema.

    Returns:
        Rules of provenance "observed"; None if none is found.
    """
    if table.n_rows < _LEAST_ROWS:
        return None
    cells = {n: plain_cells(c, table.columns[n]) for n, c in schema.columns.items() if not _is_name(c)}
    numbers = {n: v for n, v in cells.items() if isinstance(schema[n], Numeric) and varies(*v)}
    derive: dict[str, str] = {}
    for following in (copies, partial(day_parts, table=table), partial(day_followers, table=table)):
        derive |= following(_without(cells, derive), schema)
    counts = dict(differences(_without(cells, derive), schema, table=table))
    derive |= {name: expression.text for name, expression in counts.items()}
    # Before columns that would follow from a price and its product.
    derive |= products(
        _without(cells, derive),
        schema,
        holds=lambda name, text: _holds(Rules(derive={name: text}, provenance="observed"), table, schema),
    )
    # Only the bounds of numbers are read as those of a distance.
    counted = {frozenset(e.columns) for name, e in counts.items() if isinstance(schema[name], Numeric)}
    # A sum says more than the list of the cases that occur.
    derive |= dict(_sums(_without(numbers, derive), _MOST_TERMS))
    derive |= dict(_sums(_without({**numbers, **_few_numbers(cells, schema)}, derive), _MOST_FEW_TERMS))
    for following in (bands, followers):
        derive |= following(_without(cells, derive), schema)
    derive |= _totals(_without(numbers, derive))
    derive |= dict(pair_followers(_without(cells, derive), schema))
    left = _without(cells, derive)
    (order, below), together = _orders(left, schema), _together(left, schema)
    order, below = _beside_differences(order, below, counted, schema, together)
    require = [f"{identifier(a)} <= {identifier(b)}" for a, b in below] + never_equal(left, schema)
    windows = near_times(left, schema, order=order, counted=counted, together=together)
    # One bound of two would say little.
    room = max(0, MOST_CONDITIONS - len(require)) // 2
    require += [bound for window in windows[:room] for bound in window]
    require += never_together(left, schema, orders=[*order, *below], together=together)
    found = Rules(
        derive=derive,
        order=order,
        require=require[:MOST_CONDITIONS],
        together=together,
        provenance="observed",
    )
    return _holding(found, table, schema)


def _without(cells: Cells, names: Collection[str]) -> Cells:
    return {name: found for name, found in cells.items() if name not in names}


def _is_name(column: Column) -> bool:
    # Rules cannot use columns with texts beside their numbers.
    return not isinstance(column, Ordered | Categorical | Boolean) or (
        isinstance(column, Ordered) and bool(column.beside)
    )


def proposed_sums(table: RawTable, schema: Schema, rules: Rules | None) -> list[NearSum]:
    """Return sums that hold but for rounding, or in nearly every row, of columns that no rule derives already."""
    if table.n_rows < _LEAST_ROWS:
        return []
    derived = {} if rules is None else rules.derive
    numbers = {n: c for n, c in schema.columns.items() if isinstance(c, Numeric) and not c.beside}
    return near_sums(
        {n: plain_cells(c, table.columns[n]) for n, c in numbers.items() if n not in derived}, schema
    )


def _few_numbers(cells: Cells, schema: Schema) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return columns of few whole numbers, which are drafted as categories, that are not nearly constant."""
    return {
        name: found
        for name, found in cells.items()
        if isinstance(column := schema[name], Categorical)
        and column.label_type is int
        and n_unusual(*found) >= _LEAST_ROWS
    }


def _sums(numbers: Cells, most_terms: int) -> Iterator[tuple[str, str]]:
    """Yield columns that are the sum of two or more others, the fewest first."""
    complete = {n: v.astype(np.float64) for n, (v, gaps) in numbers.items() if not gaps.any()}
    names = [*complete]
    if len(names) < 3:
        return
    table = np.stack([complete[n] for n in names])
    # Rows in which most columns are not zero tell sums apart best.
    rows = np.argsort(-np.count_nonzero(table, axis=0), kind="stable")[:_LOOKED_AT]
    few = table[:, rows]
    by_cells: dict[bytes, list[int]] = {}
    for i, cells in enumerate(_rounded(few)):
        by_cells.setdefault(cells.tobytes(), []).append(i)
    taken: set[int] = set()
    for terms in range(2, most_terms + 1):
        if comb(len(names), terms) > _MOST_SUMS:
            return
        for chosen in combinations(range(len(names)), terms):
            total = few[[*chosen]].sum(axis=0)
            for i in by_cells.get(_rounded(total).tobytes(), ()):
                if i in chosen or taken & {i, *chosen}:
                    continue
                whole = table[[*chosen]].sum(axis=0)
                if np.allclose(whole, table[i], rtol=1e-9, atol=1e-6):
                    taken.add(i)
                    yield names[i], " + ".join(identifier(names[c]) for c in chosen)


def _totals(numbers: Cells) -> dict[str, str]:
    """Return a column that is the sum of any number of others and a constant, such as a fee that all rows have.

    Least squares tell its parts: each has the coefficient 0 or 1. If several columns are such sums, or parts are sums
    themselves, coefficients are not unique, and none is found.
    """
    complete = {n: v.astype(np.float64) for n, (v, gaps) in numbers.items() if not gaps.any()}
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # numbers too large or small to be squared have no spread
        names = [n for n, v in complete.items() if 0 < v.std() < math.inf]
    if len(names) < 3:
        return {}
    table = np.stack([complete[n] for n in names])
    means, spreads = table.mean(axis=1), table.std(axis=1)
    standard = (table - means[:, None]) / spreads[:, None]
    alike = standard @ standard.T / table.shape[1]
    for i in np.argsort(-means).tolist():
        others = np.delete(np.arange(len(names)), i)
        solved = np.linalg.lstsq(alike[np.ix_(others, others)], alike[others, i], rcond=None)[0]
        parts = solved * spreads[i] / spreads[others]
        added = others[np.round(parts) == 1]
        if added.size < 2 or np.abs(parts - np.isin(others, added)).max() > _NEARLY:
            continue
        offset = float(np.round(means[i] - means[added].sum(), _MOST_DECIMALS))
        if np.allclose(table[added].sum(axis=0) + offset, table[i], rtol=1e-9, atol=1e-6):
            terms = " + ".join(identifier(names[part]) for part in added)
            return {names[i]: terms + (f" + {offset:.10g}" if offset else "").replace("+ -", "- ")}
    return {}


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.round(values, 4) + 0.0)


def _orders(cells: Cells, schema: Schema) -> tuple[list[list[str]], list[list[str]]]:
    """Return pairs of columns in an order, and further ones whose later column is in one of these.

    They are dates and times, and numbers that are often equal, or whose order many rows would break if the columns were
    independent.
    """
    families: dict[tuple[type[Column], str | None], list[str]] = {}
    for name, column in schema.columns.items():
        if name in cells and isinstance(column, Ordered) and varies(*cells[name]):
            zone = column.timezone if isinstance(column, Datetime) else None
            # A day and a time are in an order by their days.
            kind: type[Column] = Datetime if isinstance(column, Date) else type(column)
            families.setdefault((kind, zone), []).append(name)
    found: list[tuple[float, float, list[str]]] = []
    for (kind, _), names in families.items():
        for a, b in combinations(names, 2):
            both = ~(cells[a][1] | cells[b][1])
            one, other = cells[a][0][both], cells[b][0][both]
            if is_day_beside_time(schema[a], schema[b]):
                one, other = (
                    v // DAY if isinstance(schema[n], Datetime) else v for n, v in ((a, one), (b, other))
                )
            if not both.any() or one.min() > other.max() or other.min() > one.max():
                continue
            pair = [a, b]
            if not (one <= other).all():
                one, other, pair = other, one, [b, a]
                if not (one <= other).all():
                    continue
            equal = float((one == other).mean())
            if equal == 1:
                continue
            if kind is Numeric and (equal < _OFTEN_EQUAL or _mostly_zero(one, other)):
                equal = 0.0
            broken = float(1 - np.searchsorted(np.sort(one), other, side="right").mean() / one.size)
            if kind is not Numeric or equal or broken >= max(_OFTEN_BROKEN, LEAST_EXPECTED / one.size):
                found.append((equal, broken, pair))
    found.sort(key=lambda pair: (-pair[0], -pair[1]))
    kept: list[list[str]] = []
    further: list[list[str]] = []
    for *_, (start, end) in found:
        if isinstance(schema[start], Time):
            # Clock times have no distances.
            further.append([start, end])
        elif end not in {last for _, last in kept} and len(kept) < _MOST_ORDERS:
            kept.append([start, end])
        elif end not in _after(start, [*kept, *further]):
            further.append([start, end])
    return kept, [pair for pair in further if pair[1] not in _after(pair[0], kept)]


def _after(start: str, orders: Sequence[Sequence[str]]) -> set[str]:
    """Return the columns that come after one, directly or by way of others."""
    found = {start}
    while new := {end for first, end in orders if first in found} - found:
        found |= new
    return found - {start}


def _beside_differences(
    order: list[list[str]],
    below: list[list[str]],
    counted: Collection[frozenset[str]],
    schema: Schema,
    together: Sequence[Sequence[str]],
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the orders with which differences of two times can be learned, and the others as further ones.

    A column is learned as one distance only, from one that has a value wherever it has one: if two columns are learned
    by two orders already, their difference is not.
    """
    kept: list[list[str]] = []
    others: list[list[str]] = []
    for pair in order:
        in_order = [{*names} for names in (*kept, pair)]
        fits = all(_can_be_learned(times, in_order, schema, together) for times in counted)
        (kept if fits else others).append(pair)
    return kept, [*others, *below]


def _can_be_learned(
    times: frozenset[str], in_order: Sequence[set[str]], schema: Schema, together: Sequence[Sequence[str]]
) -> bool:
    """Return whether two columns can be learned as a distance after all that are in an order."""
    starts = [name for name in times if any(name in names for names in in_order)]
    if len(starts) == 1:
        return not schema[starts[0]].nullable or any(times <= {*names} for names in together)
    return not starts or times in in_order


def _mostly_zero(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether two columns are equal mostly where both are zero, which says little about their order."""
    equal = first == second
    return bool((first[equal] == 0).mean() > 0.5)


def _together(cells: Cells, schema: Schema) -> list[list[str]]:
    groups: dict[bytes, list[str]] = {}
    for name, (_, missing) in cells.items():
        if schema[name].nullable and missing.any() and not missing.all():
            groups.setdefault(np.packbits(missing).tobytes(), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _holding(found: Rules, table: RawTable, schema: Schema) -> Rules | None:
    """Return the rules that can be declared and that no row breaks."""
    if not len(found) or _holds(found, table, schema):
        return found if len(found) else None
    singles = [
        *(Rules(derive={n: e}, provenance="observed") for n, e in found.derive.items()),
        *(Rules(order=[chain], provenance="observed") for chain in found.order),
        *(Rules(require=[condition], provenance="observed") for condition in found.require),
        *(Rules(together=[names], provenance="observed") for names in found.together),
    ]
    kept = [one for one in singles if _holds(one, table, schema)]
    whole = Rules(
        derive={n: e for one in kept for n, e in one.derive.items()},
        order=[chain for one in kept for chain in one.order],
        require=[condition for one in kept for condition in one.require],
        together=[names for one in kept for names in one.together],
        provenance="observed",
    )
    return whole if kept and _holds(whole, table, schema) else None


def _holds(rules: Rules, table: RawTable, schema: Schema) -> bool:
    try:
        ruled = RowRules(schema.with_columns(schema.columns, rules=rules))
        broken = ruled.broken_by(table.columns, table.n_rows)
    except SchemaError:
        return False
    return not any(rows.any() for rows in broken.values())
