"""Checks rules against the columns of their schema, and compiles them for use on rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise

from syntabula._arguments import near
from syntabula.errors import SchemaError
from syntabula.table.database import identifier, quoted
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.rules.computed import as_declared
from syntabula.table.rules.contradictions import Stated, refuse_contradictions
from syntabula.table.rules.days_and_times import in_order
from syntabula.table.rules.distances import Distance, distances_of, holds_window, is_learned, sorted_by_needs
from syntabula.table.rules.evaluation import result_types
from syntabula.table.rules.expressions import Expression, read_expression
from syntabula.table.rules.named_categories import check_categories
from syntabula.table.rules.probes import tried_values
from syntabula.table.rules.rooms import with_rooms
from syntabula.table.rules.rules import EarlierRules, Rules
from syntabula.table.rules.stated_windows import StatedWindows
from syntabula.table.rules.windows import are_comparable
from syntabula.table.schema.columns import (
    Column,
    Datetime,
    Identifier,
    Ordered,
    Time,
    time_zone,
)

_SHOWN = 80


@dataclass(frozen=True)
class Condition:
    """A condition on rows.

    Attributes:
        rule: The rule, as `Rules.described` writes it.
        expression: False where a row breaks it.
        learned: Whether what is learned leaves out most or all rows that break it.
    """

    rule: str
    expression: Expression
    learned: bool = False


@dataclass(frozen=True)
class Compiled:
    """Rules that fit their schema.

    Attributes:
        derived: Expression of each derived column, in an order in which they can be computed.
        stages: The same columns, in groups of which each needs none but the groups before it.
        distances: What each column is a distance from that is learned as one; in an order in which they can be computed.
        conditions: What must hold of every row besides.
    """

    derived: Mapping[str, Expression]
    stages: tuple[tuple[str, ...], ...]
    distances: Mapping[str, Distance]
    conditions: tuple[Condition, ...]


def compiled(rules: Rules, columns: Mapping[str, Column]) -> Compiled:
    """Check and compile rules.

    Raises:
        SchemaError: If a rule names no column or one that it cannot use, cannot be read or computed, gives another
            type than declared, belongs to a cycle, or is satisfied by no row; says which rule, and what to do.
    """
    return _compiled(rules, tuple(columns.items()), isinstance(rules, EarlierRules))


@lru_cache(maxsize=64)
def _compiled(rules: Rules, named: tuple[tuple[str, Column], ...], is_earlier: bool) -> Compiled:
    columns = dict(named)
    _check_named(rules, columns)
    derived = {
        name: _read(f"derive for column {name!r}", text, columns, computes=columns[name])
        for name, text in rules.derive.items()
    }
    required = [Condition(text, _read(f"require {_short(text)}", text, columns)) for text in rules.require]
    for name, expression in derived.items():
        _check_usable(f"derive for column {name!r}", expression.columns, columns)
        if not is_earlier:
            check_categories(f"derive for column {name!r}", expression, columns, computes=name)
    for condition in required:
        _check_usable(f"require {_short(condition.rule)}", condition.expression.columns, columns)
        if not is_earlier:
            check_categories(f"require {_short(condition.rule)}", condition.expression, columns)
    derived = _in_order(derived, lambda name: derived[name].columns, _derived_cycle)
    _check_types(derived, required, columns)
    windows = StatedWindows.of(columns, {c.rule: c.expression for c in required}, derived)
    distances = with_rooms(distances_of(rules, columns, windows), rules, columns)
    required = [
        replace(
            c, learned=all(holds_window(window, distances, columns) for window in windows.by_rule[c.rule])
        )
        if c.rule in windows.by_rule
        else c
        for c in required
    ]
    derived = {name: _in_zone(name, expression, columns) for name, expression in derived.items()}
    for name, expression in derived.items():
        found = _check_computable(f"derive for column {name!r}", expression, derived, columns)
        _check_in_domain(name, found, columns[name])
    for condition in required:
        _check_computable(f"require {_short(condition.rule)}", condition.expression, derived, columns)
    listed = _of_lists(rules, columns, distances)
    stated = [Stated(f"require {_short(c.rule)}", c.expression) for c in required]
    # Columns that are missing together exclude no row whose cells are all present.
    stated += [
        Stated(f"order {_short(c.rule)}", c.expression, chain)
        for c, chain in zip(listed, rules.order, strict=False)
    ]
    refuse_contradictions(stated, derived, columns)
    return Compiled(derived, _stages(derived), distances, (*required, *listed))


def _check_named(rules: Rules, columns: Mapping[str, Column]) -> None:
    lists = [("order", rules.order), ("together", rules.together)]
    named = [("derive", [*rules.derive]), *((kind, names) for kind, those in lists for names in those)]
    for kind, names in named:
        for name in names:
            if name not in columns:
                raise SchemaError(
                    f"rules: {kind} names column {name!r}, which the schema does not declare"
                    f"{near(name, columns, 3) or '; declare it among the columns'}"
                )
            if isinstance(columns[name], Identifier):
                raise SchemaError(_of_identifier(kind, name))
            _check_values(kind, name, columns[name])
    for name in rules.derive:
        if getattr(columns[name], "unique", False):
            raise SchemaError(
                f"rules: derive computes column {name!r}, which is `unique`: its values follow from other columns and "
                "may repeat; leave out `unique`, or declare a column that it is computed from as `unique`"
            )
    for chain in rules.order:
        _check_chain(chain, columns)
    for names in rules.together:
        for name in names:
            if name in rules.derive:
                raise SchemaError(
                    f"rules: together names column {name!r}, which is derived: its missing cells follow from its "
                    "expression; drop it from the list"
                )
            if not columns[name].nullable:
                raise SchemaError(
                    f"rules: together names column {name!r}, which is never missing; declare it `nullable: true`, or "
                    "drop it from the list"
                )


def _check_chain(chain: Sequence[str], columns: Mapping[str, Column]) -> None:
    for name in chain:
        if isinstance(columns[name], Time):
            conditions = [f"{identifier(a)} <= {identifier(b)}" for a, b in pairwise(chain)]
            raise SchemaError(
                f"rules: order names column {name!r}, which holds clock times of any day, and is not learned as a "
                f"distance; write {' and '.join(map(repr, conditions))} under `require` instead"
            )
        if not isinstance(columns[name], Ordered):
            raise SchemaError(
                f"rules: order names column {name!r}, which is {columns[name].kind}; order takes numbers, dates and times"
            )
    if not are_comparable([columns[name] for name in chain]):
        raise SchemaError(
            f"rules: order joins columns that cannot be compared ({', '.join(chain)}): give numbers, or dates and times "
            "that all have a time zone or all have none"
        )


def _read(
    where: str, text: str, columns: Mapping[str, Column], *, computes: Column | None = None
) -> Expression:
    zoned = frozenset(name for name, column in columns.items() if _is_zoned(column))
    for_zoned = computes is not None and _is_zoned(computes)
    try:
        return read_expression(text, tuple(columns), zoned, for_zoned=for_zoned)
    except SchemaError as error:
        raise SchemaError(f"rules: {where}: {error}") from None


def _check_usable(where: str, used: Iterable[str], columns: Mapping[str, Column]) -> None:
    for name in used:
        if isinstance(columns[name], Identifier):
            raise SchemaError(_of_identifier(where, name))
        _check_values(where, name, columns[name])


def _check_values(where: str, name: str, column: Column) -> None:
    if isinstance(column, Ordered) and column.beside:
        raise SchemaError(
            f"rules: {where} uses column {name!r}, whose cells may hold texts instead of numbers; leave it out of rules, "
            "or drop its `texts`"
        )


def _of_identifier(where: str, name: str) -> str:
    return (
        f"rules: {where} uses column {name!r}, an identifier, whose values are made anew; leave it out of rules, or "
        "declare another kind"
    )


def _in_order(
    found: Mapping[str, Expression],
    needs: Callable[[str], Iterable[str]],
    cycle: Callable[[Sequence[str]], str],
) -> dict[str, Expression]:
    return {name: found[name] for name in sorted_by_needs(found, needs, cycle)}


def _stages(derived: Mapping[str, Expression]) -> tuple[tuple[str, ...], ...]:
    stage: dict[str, int] = {}
    for name, expression in derived.items():
        stage[name] = 1 + max((stage[c] for c in expression.columns if c in stage), default=-1)
    return tuple(tuple(n for n in stage if stage[n] == i) for i in sorted({*stage.values()}))


def _derived_cycle(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"rules: column {names[0]!r} is derived from itself; give an expression of other columns"
    shown = ", ".join(map(repr, names))
    return f"rules: columns {shown} are derived from each other in a cycle; leave one of them to be learned"


def _of_lists(
    rules: Rules, columns: Mapping[str, Column], distances: Mapping[str, Distance]
) -> list[Condition]:
    """Return the conditions that lists of columns mean."""
    found = []
    for chain in rules.order:
        text = " AND ".join(in_order((a, columns[a]), (b, columns[b])) for a, b in combinations(chain, 2))
        learned = all(is_learned(*pair, distances) for pair in pairwise(chain))
        expression = _read("order", text, columns)
        found.append(Condition(" <= ".join(chain), expression, learned))
    for listed in rules.together:
        first = f"{identifier(listed[0])} IS NULL"
        text = " AND ".join(f"({first}) = ({identifier(n)} IS NULL)" for n in listed[1:])
        found.append(
            Condition(f"missing together: {', '.join(listed)}", _read("together", text, columns), True)
        )
    return found


def _is_zoned(column: Column) -> bool:
    return isinstance(column, Datetime) and column.timezone is not None


def _in_zone(name: str, expression: Expression, columns: Mapping[str, Column]) -> Expression:
    """Return the expression of a column of times with a zone as one of points in time, and any other as it is."""
    column, sql = columns[name], expression.sql
    if not isinstance(column, Datetime) or column.timezone is None:
        return expression
    if expression.gives_instant:
        return replace(expression, sql=f"make_timestamptz(epoch_us({sql}))")
    zones = {c.timezone for n in expression.columns if isinstance(c := columns[n], Datetime)} - {None}
    if zones - {column.timezone}:
        raise SchemaError(
            f"rules: derive for column {name!r}: it computes with wall-clock times of another zone "
            f"({', '.join(sorted(map(str, zones)))}) than that of the column; declare them in the same zone"
        )
    zone = time_zone(column.timezone)
    if isinstance(zone, dt.timezone):
        offset = zone.utcoffset(None) // dt.timedelta(microseconds=1)
        return replace(expression, sql=f"make_timestamptz(epoch_us(({sql})::TIMESTAMP) - {offset})")
    return replace(expression, sql=f"(({sql})::TIMESTAMP AT TIME ZONE {quoted(column.timezone)})")


def _check_types(
    derived: Mapping[str, Expression], required: Sequence[Condition], columns: Mapping[str, Column]
) -> None:
    types = result_types(columns, [*derived.values(), *(c.expression for c in required)])
    for name, physical in zip(derived, types, strict=False):
        where = f"rules: derive for column {name!r}"
        if isinstance(physical, SchemaError):
            raise SchemaError(f"{where}: {physical}; cast a part to another type, or correct the expression")
        if physical.kind == "datetime" and isinstance(column := columns[name], Datetime):
            physical = replace(physical, timezone=column.timezone)
        if columns[name].objection(physical) is not None:
            raise SchemaError(
                f"{where}: the expression gives {_kind(physical)}, and the column is declared {columns[name].kind}; "
                "change the column's kind, or the expression (for instance by CAST)"
            )
    for condition, physical in zip(required, types[len(derived) :], strict=True):
        where = f"rules: require {_short(condition.rule)}"
        if isinstance(physical, SchemaError):
            raise SchemaError(f"{where}: {physical}; cast a part to another type, or correct the expression")
        if physical.kind != "boolean":
            raise SchemaError(f"{where}: it gives {_kind(physical)}, not true or false; write a comparison")


def _check_computable(
    where: str, expression: Expression, derived: Mapping[str, Expression], columns: Mapping[str, Column]
) -> RawColumn:
    """Try an expression on rows that cover the domain of its columns, and return its values on them."""
    found = tried_values(columns, expression, derived)
    if found.missing.all() and found.missing.size:
        raise SchemaError(
            f"rules: {where}: it cannot be computed for any row of the declared domains, as when a text is compared with "
            "a number; compare like with like, or correct its constants"
        )
    return found


def _check_in_domain(name: str, found: RawColumn, column: Column) -> None:
    """Refuse a derived column all of whose values on some rows are outside its domain."""
    _, fits = as_declared(column, found)
    if fits.size and not fits.any():
        raise SchemaError(
            f"rules: derive for column {name!r}: no value that was computed over the declared domains lies in that of "
            "the column; correct the expression, or the column's bounds or categories"
        )


def _kind(physical: PhysicalType) -> str:
    return {"boolean": "true or false", "datetime": "times"}.get(physical.kind, f"{physical.kind} values")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")
