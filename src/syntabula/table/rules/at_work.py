"""Whether a schema has rules at all; only then are they loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from syntabula.table.schema.schema import Schema, is_whole

if TYPE_CHECKING:
    from syntabula.table.rules.distances import Distance
    from syntabula.table.rules.row_rules import RowRules


def row_rules(schema: Schema | None, stored: Mapping[str, Distance] | None = None) -> RowRules | None:
    """Return the rules of a schema at work; None if it has none.

    Args:
        schema: The schema of whole rows.
        stored: What columns were learned as distances from; None to read it off the rules.
    """
    if schema is None or schema.rules is None:
        return None
    from syntabula.table.rules.row_rules import RowRules

    return RowRules(schema, stored)


def learned_part(schema: Schema) -> Schema:
    """Return the schema of what is learned: the declared one, unless it has rules."""
    rules = row_rules(schema)
    return schema if rules is None else rules.learned_schema


def with_found(rules: RowRules, declared: Schema, learned: Schema, names: Iterable[str]) -> RowRules:
    """Return the rules with a schema of whole rows, in the table's order, with the domains that were found."""
    if is_whole(declared):
        return rules
    # Derived columns may be absent from the table.
    whole = dict.fromkeys([*names, *declared])
    columns = {name: declared[name] if name in declared else learned[name] for name in whole}
    found = row_rules(replace(declared, columns=columns, others=None))
    assert found is not None
    return found
