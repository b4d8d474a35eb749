"""Sums that hold but for rounding, or in nearly every row of a table: proposals for a person to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.rules.following import Cells, varies
from syntabula.table.schema.columns import Column, Numeric
from syntabula.table.schema.schema import Schema

LEAST_HELD = 0.95
"""Part of the rows in which a sum holds at least."""
_LEAST_WITH_PART = 0.9
"""The same among the rows in which one of its parts is not zero, of which there must be enough."""
_LEAST_ROWS = 20
_LOOKED_AT = 64
_TELLING = 32
"""Rows on which sums are looked for: some spread evenly, and those in which most columns are not zero."""
_TRIED_FIRST = 8
_LEAST_TRIED = 0.75
_LEAST_OF_PART = 2
_MOST_TERMS = 4
_MOST_SUMS = 300_000
_AT_ONCE = 20_000
_MOST_CHECKED = 2_000
_MOSTLY = 0.9
"""Part of the values that are multiples of the unit to which a column is rounded."""
_MOST_DECIMALS = 6
_LEAST_SIZE = 20
"""Units of rounding that a usual total has: of smaller ones, rounding leaves too little to tell."""
_EXACT = 1e-6

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NearSum:
    """A column that is a sum or a difference of others, but for rounding or in nearly every row.

    Attributes:
        name: The column.
        expression: What gives it, as SQL.
        n_rows: Number of rows of the table.
        n_off: In how many of them it is off by more than rounding explains.
        within: How far it is off at most in the others.
    """

    name: str
    expression: str
    n_rows: int
    n_off: int
    within: float


@dataclass(frozen=True)
class _Found:
    total: int
    parts: tuple[int, ...]
    n_off: int
    within: float


def near_sums(cells: Cells, schema: Schema) -> list[NearSum]:
    """Return columns that are the sum of two to four others in at least 95 % of the rows, or the rest of such a sum.

    Money that is rounded part by part differs from the rounded sum by up to half a cent for each part; whole numbers
    are compared as they are. A part counts only if it is not zero in some rows, and the sum holds in most of these.

    Args:
        cells: The columns; those with missing cells are left out.
        schema: Their declarations.
    """
    complete = {
        name: v.astype(np.float64)
        for name, (v, gaps) in cells.items()
        if isinstance(schema[name], Numeric) and varies(v, gaps) and not gaps.any()
    }
    # Sums of numbers that are too large are not exact.
    complete = {name: v for name, v in complete.items() if np.abs(v).max() < 2.0**50}
    names = [*complete]
    if len(names) < 3:
        return []
    table = np.stack([*complete.values()])
    units = np.array([_unit_of(v, schema[name]) for name, v in complete.items()])
    best: dict[int, _Found] = {}
    for total, parts in _candidates(table, units):
        found = _judged(table, units, total, parts)
        known = best.get(total)
        if found and (known is None or (found.n_off, len(parts)) < (known.n_off, len(known.parts))):
            best[total] = found
    chosen: list[NearSum] = []
    needs: dict[int, set[int]] = {}
    for found in sorted(best.values(), key=lambda f: (f.n_off, len(f.parts))):
        solved, plus, minus = _solved(found, units, {*needs}.union(*needs.values()))
        used = {*plus, *minus}
        if solved in needs or solved in _reached(used, needs):
            continue
        needs[solved] = used
        text = " + ".join(identifier(names[i]) for i in plus)
        text += "".join(f" - {identifier(names[i])}" for i in minus)
        coarsest = max(units[i] for i in (solved, *used))
        if found.within > _EXACT and 0 < coarsest < 1:
            text = f"round({text}, {round(-np.log10(coarsest))})"
        chosen.append(NearSum(names[solved], text, table.shape[1], found.n_off, found.within))
    return chosen


def _unit_of(values: Floats, column: Column) -> float:
    """Return the decimal unit to which nearly all values but 0 are rounded; 0 for whole numbers and for any others."""
    values = values[values != 0]
    if not isinstance(column, Numeric) or column.integer or not values.size:
        return 0.0
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = values * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1e3)).mean() >= _MOSTLY:
            return float(10.0**-decimals)
    return 0.0


def _slack(units: Floats | float) -> Floats:
    """Return how far rounding takes a sum from its total: half a unit of each of them, of which the sum is given."""
    return np.asarray(units / 2 * (1 + _EXACT) + _EXACT)


def _candidates(table: Floats, units: Floats) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield totals and parts that fit in most of a few rows."""
    spread = np.linspace(0, table.shape[1] - 1, _LOOKED_AT).astype(np.intp)
    telling = np.argsort(-np.count_nonzero(table, axis=0), kind="stable")[:_TELLING]
    # In another order, so that the first rows are some of all.
    rows = np.random.default_rng(0).permutation(np.unique(np.concatenate([spread, telling])))
    few = table[:, rows]
    usual = np.median(np.abs(table), axis=1)
    n_checked = 0
    for n_terms in range(2, _MOST_TERMS + 1):
        if comb(len(table), n_terms) > _MOST_SUMS:
            return
        every = np.array([*combinations(range(len(table)), n_terms)], dtype=np.intp)
        for start in range(0, len(every), _AT_ONCE):
            parts = every[start : start + _AT_ONCE]
            slack = _slack(units[parts].sum(axis=1)[:, None] + units)
            sums = few[parts].sum(axis=1)
            hits = np.zeros(slack.shape, dtype=np.intp)
            for row in range(min(_TRIED_FIRST, rows.size)):
                hits += np.abs(sums[:, row, None] - few[:, row]) <= slack
            # What is usually zero tells little.
            is_large = (usual > 0) & (usual >= _LEAST_SIZE * np.where(slack > 2 * _EXACT, slack, 0))
            likely = is_large & (hits >= _LEAST_TRIED * min(_TRIED_FIRST, rows.size))
            for which, total in zip(*np.nonzero(likely), strict=True):
                near = np.abs(sums[which] - few[total]) <= slack[which, total]
                if total in parts[which] or near.mean() < _LEAST_TRIED:
                    continue
                # Of parts that are zero in these rows any number would fit.
                if (np.count_nonzero(few[parts[which]][:, near], axis=1) < _LEAST_OF_PART).any():
                    continue
                n_checked += 1
                if n_checked > _MOST_CHECKED:
                    return
                yield int(total), tuple(parts[which].tolist())


def _judged(table: Floats, units: Floats, total: int, parts: tuple[int, ...]) -> _Found | None:
    """Return in how many rows a sum is off; None if these are too many, or too few show that a part belongs to it."""
    slack = float(_slack(units[[total, *parts]].sum()))
    off = np.abs(table[[*parts]].sum(axis=0) - table[total])
    held = off <= slack
    if held.mean() < LEAST_HELD:
        return None
    for part in parts:
        counts = np.abs(table[part]) > slack
        if np.count_nonzero(counts) < _LEAST_ROWS or held[counts].mean() < _LEAST_WITH_PART:
            return None
    within = float(off[held].max())
    return _Found(total, parts, int(np.count_nonzero(~held)), within if within > _EXACT else 0.0)


def _solved(found: _Found, units: Floats, used: set[int]) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the column to compute, those that it is a sum of, and those that are taken off.

    A whole total of parts with decimals, such as a loan of what is paid and what is left, is known first: the sum of
    two drawn parts would be no such number. Then a part is what the others leave of it.
    """
    fine = [part for part in found.parts if units[part] > 0]
    if found.within or units[found.total] > 0 or not fine:
        return found.total, found.parts, ()
    rest = next((part for part in reversed(fine) if part not in used), fine[-1])
    return rest, (found.total,), tuple(part for part in found.parts if part != rest)


def _reached(columns: set[int], needs: Mapping[int, set[int]]) -> set[int]:
    """Return some columns and all that they are computed from."""
    found = {*columns}
    while more := {*()}.union(*(needs.get(i, ()) for i in found)) - found:
        found |= more
    return found
