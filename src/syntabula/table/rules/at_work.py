"""Whether a schema has rules at all; only then are they loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from syntabula.table.schema.schema import Schema

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
