"""Rules of a schema without those on some of its columns, for tables that lack these or have them declared otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.rules import Rules


class Kept(NamedTuple):
    """Rules on other columns.

    Attributes:
        rules: The rules; None if no rule is left.
        columns: The columns that they name.
        left_out: One line for each of the others, as it is written in a schema.
    """

    rules: Rules | None
    columns: frozenset[str]
    left_out: tuple[str, ...]


def kept_rules(at_work: RowRules, without: Collection[str]) -> Kept:
    """Return the rules that name none of some columns."""
    rules, derived = at_work.rules, at_work.compiled.derived
    of_conditions = {c.rule: c.expression.columns for c in at_work.compiled.conditions}
    named: list[Iterable[str]] = [
        *({name, *derived[name].columns} for name in rules.derive),
        *rules.order,
        *(of_conditions[condition] for condition in rules.require),
        *rules.together,
    ]
    stays = [not {*names} & {*without} for names in named]
    # In the order in which rules describe themselves.
    left = iter(stays)
    kept = replace(
        rules,
        derive={name: text for name, text in rules.derive.items() if next(left)},
        order=[chain for chain in rules.order if next(left)],
        require=[condition for condition in rules.require if next(left)],
        together=[names for names in rules.together if next(left)],
    )
    return Kept(
        kept if len(kept) else None,
        frozenset(name for names, stay in zip(named, stays, strict=True) if stay for name in names),
        tuple(line for line, stay in zip(rules.described(), stays, strict=True) if not stay),
    )
