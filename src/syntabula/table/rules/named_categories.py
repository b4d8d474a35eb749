"""Texts in expressions that stand for categories, each of which a column must declare: a slip would match no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from syntabula._arguments import near
from syntabula.errors import SchemaError
from syntabula.table.rules.expressions import Expression, children_of, tree_of
from syntabula.table.schema.columns import Categorical, Column

_COMPARED = (
    "COMPARE_EQUAL",
    "COMPARE_NOTEQUAL",
    "COMPARE_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM",
    "COMPARE_IN",
    "COMPARE_NOT_IN",
)


def check_categories(
    where: str, expression: Expression, columns: Mapping[str, Column], *, computes: str | None = None
) -> None:
    """Check that texts which an expression compares with a column, or gives to a derived one, are its categories.

    Columns that are open may hold others.

    Args:
        where: The rule, for the message.
        expression: Its expression.
        columns: The columns of the schema.
        computes: The column that it computes, if any.

    Raises:
        SchemaError: If a text is no category; says which one may be meant.
    """
    named = [*expression.columns, *([] if computes is None else [computes])]
    closed = {name for name in named if _is_closed(columns[name])}
    if not closed or not expression.literals:
        return
    tree = tree_of(expression.text)
    stated = [*_compared(tree), *([] if computes is None else ((computes, text) for text in _results(tree)))]
    for name, text in stated:
        column = columns[name]
        if name in closed and isinstance(column, Categorical) and text not in column.categories:
            hint = near(text, column.categories, 3) or (
                "; correct it, or list it among the categories; missing cells are told by IS NULL"
            )
            raise SchemaError(f"rules: {where}: {text!r} is no category of column {name!r}{hint}")


def _is_closed(column: Column) -> bool:
    return isinstance(column, Categorical) and not column.open and column.label_type is str


def _compared(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield columns with texts that they are compared with."""
    parts = [*children_of(node)]
    if node["type"] in _COMPARED:
        # A list may hold columns too, which are not compared with the texts beside them.
        for part in parts[1:]:
            for one, other in ((parts[0], part), (part, parts[0])):
                if one["class"] == "COLUMN_REF":
                    yield from ((one["column_names"][-1], text) for text in _text(other))
    for part in parts:
        yield from _compared(part)


def _results(node: dict[str, Any]) -> Iterator[str]:
    """Yield the texts that an expression may give."""
    yield from _text(node)
    if node["type"] == "CASE_EXPR":
        chosen = [check["then_expr"] for check in node["case_checks"]]
        for part in (*chosen, *([node["else_expr"]] if node.get("else_expr") else [])):
            yield from _results(part)
    elif node["type"] == "OPERATOR_COALESCE":
        for part in children_of(node):
            yield from _results(part)


def _text(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text that a node is, if it is one."""
    if node["class"] == "CONSTANT":
        constant = node.get("literal") or node["value"]
        if constant.get("kind") == "STRING" or constant.get("type", {}).get("id") == "VARCHAR":
            yield str(constant.get("text", constant.get("value")))
