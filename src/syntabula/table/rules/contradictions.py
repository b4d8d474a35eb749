"""Refuses conditions that no row satisfies, alone or together, before anything is read or spent.

Conditions that share columns are tried together, on rows that cover the declared domains. If all values of the
columns are few, these are all rows. If conditions only compare columns and constants, the order of the values
decides, and few points stand for all, see `deciding`. Else the rows are a sample, which proves nothing; there two
rules draw a warning if they exclude each other in it and chance hardly explains that. Orders alone are decided without
any rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import RuleWarning, SchemaError, warn_caller
from syntabula.table.raw import RawColumn
from syntabula.table.rules.deciding import are_satisfiable, deciding_points, family, is_line
from syntabula.table.rules.evaluation import rows_database, satisfied
from syntabula.table.rules.expressions import Expression
from syntabula.table.rules.probes import (
    MOST_ROWS,
    bases,
    combinations_of,
    completed,
    domain_values,
)
from syntabula.table.schema.columns import Column, Ordered

Flags = NDArray[np.bool_]

_FIRST_ROWS = 2_000
_MOST_TRIED = 200_000
_MOST_PAIRS = 100
_SURELY_SOME = 20.0
"""Rows that satisfy two unrelated rules, as expected of a sample, above which it is no chance that none does."""


@dataclass(frozen=True)
class Stated:
    """A condition and how an error names it.

    Attributes:
        where: Such as `require 'a < b'`.
        expression: The condition.
        order: The columns of which it states the order; empty if it states something else.
    """

    where: str
    expression: Expression
    order: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class _Tried:
    """Which of the tried rows satisfy each condition, and whether no other row could satisfy more of them."""

    held: tuple[Flags, ...]
    exact: bool

    @property
    def some(self) -> bool:
        return bool(np.logical_and.reduce(self.held).any())

    def least_conflict(self) -> list[int]:
        """Return the positions of conditions that no row satisfies together, of which none can be left out."""
        left = [*range(len(self.held))]
        for place in range(len(self.held)):
            rest = [p for p in left if p != place]
            if rest and not np.logical_and.reduce([self.held[p] for p in rest]).any():
                left = rest
        return left


def refuse_contradictions(
    conditions: Sequence[Stated], derived: Mapping[str, Expression], columns: Mapping[str, Column]
) -> None:
    """Raise SchemaError for conditions that no row satisfies; warn of two that seem to exclude each other."""
    for group in _sharing_columns(conditions, derived):
        if all(c.order and not {*c.order} & {*derived} for c in group):
            _decide_orders(group, derived, columns)
            continue
        tried = _try([c.expression for c in group], derived, columns)
        if tried.some:
            continue
        if len(group) == 1:
            raise _unsatisfied(group[0])
        if tried.exact:
            _refuse([group[place] for place in tried.least_conflict()], derived, columns)
        else:
            _check_pairs(group, derived, columns)


def _decide_orders(
    group: Sequence[Stated], derived: Mapping[str, Expression], columns: Mapping[str, Column]
) -> None:
    ordered = {n: column for c in group for n in c.order if is_line(column := columns[n])}
    if are_satisfiable([c.order for c in group], ordered):
        return
    left = [*group]
    for one in group:
        rest = [c for c in left if c is not one]
        if rest and not are_satisfiable([c.order for c in rest], ordered):
            left = rest
    _refuse(left, derived, columns)


def _check_pairs(
    group: Sequence[Stated], derived: Mapping[str, Expression], columns: Mapping[str, Column]
) -> None:
    for single in group:
        # A rule that fails alone is named alone.
        refuse_contradictions([single], derived, columns)
    pairs = [pair for pair in combinations(group, 2) if len(_sharing_columns(pair, derived)) == 1]
    for pair in pairs[:_MOST_PAIRS]:
        tried = _try([c.expression for c in pair], derived, columns)
        if tried.some:
            continue
        if tried.exact:
            _refuse(pair, derived, columns)
        first, second = tried.held
        if first.size * first.mean() * second.mean() >= _SURELY_SOME:
            warn_caller(
                RuleWarning(
                    f"rules: {_listed(pair)}: of {first.size:,} rows that were tried over the declared domains, none "
                    "satisfies both; if they contradict each other, drop or correct one of them"
                )
            )


def _refuse(
    group: Sequence[Stated], derived: Mapping[str, Expression], columns: Mapping[str, Column]
) -> None:
    if len(group) == 1:
        raise _unsatisfied(group[0])
    expressions = [c.expression for c in group]
    if _try(expressions, derived, columns, missing=True).some:
        warn_caller(
            RuleWarning(
                f"rules: {_listed(group)}: only rows with missing cells satisfy all of them, so only such rows will be "
                "drawn; if that is not meant, drop or correct one of them"
            )
        )
        return
    raise SchemaError(
        f"rules: {_listed(group)}: no row of the declared domains satisfies all of them, so none could be drawn; drop or "
        "correct one of them, or the domains"
    )


def _unsatisfied(rule: Stated) -> SchemaError:
    return SchemaError(
        f"rules: {rule.where}: no row that was tried over the declared domains satisfies it; correct the rule or the "
        "domains, or if it states an equality, derive one of its columns from the others"
    )


def _listed(group: Sequence[Stated]) -> str:
    return " and ".join(c.where for c in group)


def _sharing_columns(conditions: Iterable[Stated], derived: Mapping[str, Expression]) -> list[list[Stated]]:
    """Return the conditions in groups that share no learned column."""
    groups: list[tuple[set[str], list[Stated]]] = []
    for condition in conditions:
        names, members = set(bases(condition.expression.columns, derived)), [condition]
        for group in [g for g in groups if g[0] & names]:
            groups.remove(group)
            names, members = names | group[0], group[1] + members
        groups.append((names, members))
    return [members for _, members in groups]


def _try(
    conditions: Sequence[Expression],
    derived: Mapping[str, Expression],
    columns: Mapping[str, Column],
    *,
    missing: bool = False,
) -> _Tried:
    """Try conditions together, first on few rows: most rules are satisfied by some of them."""
    names = bases([name for c in conditions for name in c.columns], derived)
    values, exact = _cover(names, conditions, derived, columns)
    if missing:
        values = {n: _with_missing(v) if columns[n].nullable else v for n, v in values.items()}
    sizes = [column.missing.size for column in values.values()]
    whole = math.prod(sizes)
    most = whole if whole <= _MOST_TRIED else MOST_ROWS
    held: tuple[Flags, ...] = ()
    for n_rows in dict.fromkeys((min(most, _FIRST_ROWS), most)):
        places = combinations_of(sizes, n_rows)
        cells = {n: column.take(p) for (n, column), p in zip(values.items(), places, strict=True)}
        with rows_database() as database:
            full, fits = completed(database, columns, cells, n_rows, derived)
            held = tuple(h & fits for h in satisfied(database, columns, full, n_rows, conditions))
        if _Tried(held, exact).some:
            break
    return _Tried(held, exact and most == whole)


def _cover(
    names: Sequence[str],
    conditions: Sequence[Expression],
    derived: Mapping[str, Expression],
    columns: Mapping[str, Column],
) -> tuple[dict[str, RawColumn], bool]:
    """Return values of each column, and whether their combinations decide if any row satisfies the conditions."""
    literals = [x for c in (*conditions, *derived.values()) for x in c.literals]
    ordered = {n: c for n in names if isinstance(c := columns[n], Ordered)}
    points: dict[str, NDArray[Any]] = {}
    exact = True
    if all(c.only_compares and not {*c.columns} & {*derived} for c in conditions):
        lines = {n: c for n, c in ordered.items() if is_line(c)}
        for one in {family(c) for c in lines.values()}:
            of_family = {n: c for n, c in lines.items() if family(c) == one}
            new, enough = deciding_points(of_family, literals)
            points |= new
            exact &= enough
    found = {}
    for name in names:
        column = columns[name]
        if name in points:
            cells, physical = ordered[name].values(points[name])
            found[name] = RawColumn(cells, np.zeros(points[name].size, np.bool_), physical)
            continue
        found[name] = domain_values(column, literals)
        exact &= found[name].missing.size == _n_values(column)
    return found, exact


def _n_values(column: Column) -> float:
    if not isinstance(column, Ordered):
        return column.n_values
    lower, upper, whole = column.span()
    return upper - lower + 1 if whole else math.inf


def _with_missing(column: RawColumn) -> RawColumn:
    rows = np.append(np.arange(column.missing.size), 0)
    longer = column.take(rows)
    longer.missing[-1] = True
    return longer
