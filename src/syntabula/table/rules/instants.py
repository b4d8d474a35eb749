"""Where an expression asks for points in time, and not for the wall clocks of their zones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Node = dict[str, Any]

_SINCE_1970 = frozenset({"epoch", "epoch_ms", "epoch_us"})
_CHOICES = frozenset({"greatest", "least", "ifnull"})
_DIFFERENCES = frozenset({"date_diff", "datediff", "date_sub", "datesub"})
_PARTS = frozenset({"date_part", "datepart"})
_CLOCK_UNITS = frozenset({"hour", "minute", "second", "millisecond", "microsecond"})
"""Of these a difference of points in time has as many whatever the zone; days and longer ones are those of calendars."""


def compared_columns(node: Node, parts: Sequence[Node], zoned: frozenset[str]) -> Sequence[Node]:
    """Return the columns of times with a zone that a node compares, subtracts, or counts from 1970.

    Args:
        node: A node of the tree of an expression.
        parts: The expressions directly below it.
        zoned: Names of the columns of times with a zone.
    """
    function = function_of(node)
    asks = node["class"] in ("COMPARISON", "BETWEEN") or node["type"] in ("COMPARE_IN", "COMPARE_NOT_IN")
    asks |= function in _SINCE_1970 or (function == "-" and len(parts) == 2)
    if function in _DIFFERENCES | _PARTS and parts:
        unit, parts = constant_text(parts[0]).lower(), parts[1:]
        asks = unit.removesuffix("s") in _CLOCK_UNITS if function in _DIFFERENCES else unit == "epoch"
    return parts if asks and _are_columns(parts, zoned) else []


def given_columns(
    root: Node, children: Callable[[Node], Iterable[Node]], zoned: frozenset[str]
) -> Sequence[Node]:
    """Return the columns of which an expression's value is one, if it is one of times with a zone or missing.

    Args:
        root: The expression.
        children: Returns the expressions directly below a node.
        zoned: Names of the columns of times with a zone.
    """
    found = _values(root, children)
    return found if _are_columns(found, zoned) else []


def _values(node: Node, children: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return the parts of which a node's value is one, or else missing: the values of CASE and the like, or the node."""
    if node["class"] == "CASE":
        inner = [*(check["then_expr"] for check in node["case_checks"]), node["else_expr"]]
    elif node["type"] == "OPERATOR_COALESCE" or function_of(node) in _CHOICES:
        inner = [*children(node)]
    elif function_of(node) == "if":
        inner = [*children(node)][1:]
    elif _is_null(node):
        return []
    else:
        return [node]
    return [part for value in inner for part in _values(value, children)]


def _is_null(node: Node) -> bool:
    if node["class"] != "CONSTANT":
        return False
    # The first as DuckDB 2 writes it, the second as DuckDB 1 does.
    literal, value = node.get("literal") or {}, node.get("value") or {}
    return literal.get("kind") == "NULL_LITERAL" or bool(value.get("is_null"))


def constant_text(node: Node) -> str:
    """Return the text of a constant; empty for another node."""
    if node["class"] != "CONSTANT":
        return ""
    constant = node.get("literal") or node.get("value") or {}
    return str(constant.get("text", constant.get("value", "")))


def function_of(node: Node) -> str | None:
    """Return the name of a function in lower case; None for another node."""
    return str(node["function_name"]).lower() if node["class"] == "FUNCTION" else None


def _are_columns(nodes: Sequence[Node], names: frozenset[str]) -> bool:
    return all(one["class"] == "COLUMN_REF" and one["column_names"][-1] in names for one in nodes)
