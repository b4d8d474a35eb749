"""Whether a schema has rules at all; only then are they loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syntabula.table.schema.schema import Schema

if TYPE_CHECKING:
    from syntabula.table.rules.row_rules import RowRules


def row_rules(schema: Schema | None) -> RowRules | None:
    """Return the rules of a schema at work; None if it has none."""
    if schema is None or schema.rules is None:
        return None
    from syntabula.table.rules.row_rules import RowRules

    return RowRules(schema)


def learned_part(schema: Schema) -> Schema:
    """Return the schema of what is learned: the declared one, unless it has rules."""
    rules = row_rules(schema)
    return schema if rules is None else rules.learned_schema
