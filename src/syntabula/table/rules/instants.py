"""Where an expression asks for points in time, and not for the wall clocks of their zones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

Node = dict[str, Any]
Children = Callable[[Node], Iterable[Node]]

_SINCE_1970 = frozenset({"epoch", "epoch_ms", "epoch_us"})
_EXTREMES = frozenset({"greatest", "least"})
_CHOICES = _EXTREMES | {"ifnull"}
_DIFFERENCES = frozenset({"date_diff", "datediff", "date_sub", "datesub"})
_PARTS = frozenset({"date_part", "datepart"})
_CLOCK_UNITS = frozenset({"hour", "minute", "second", "millisecond", "microsecond"})
"""Of these a difference of points in time has as many whatever the zone; days and longer ones are those of calendars."""


def compared_columns(node: Node, children: Children, zoned: frozenset[str]) -> Sequence[Node]:
    """Return the columns of times with a zone that a node compares, subtracts, or counts from 1970.

    They may stand in CASE, COALESCE, GREATEST and the like, of which the value is one of them.

    Args:
        node: A node of the tree of an expression.
        children: Returns the expressions directly below a node.
        zoned: Names of the columns of times with a zone.
    """
    return instants_among(_asked(node, [*children(node)]), children, zoned)


def instants_among(parts: Sequence[Node], children: Children, zoned: frozenset[str]) -> Sequence[Node]:
    """Return the columns of which some parts that are compared are one, if all these are of times with a zone."""
    found = [value for part in parts for value in _values(part, children)]
    return found if _are_columns(found, zoned) else []


def needs_splitting(node: Node, children: Children, zoned: frozenset[str]) -> bool:
    """Return whether a node is BETWEEN of a column, and only one of its comparisons is one of points in time."""
    if node["class"] != "BETWEEN" or not _are_columns([node["input"]], zoned):
        return False
    ends = [_holds_zoned(node[end], children, zoned) for end in ("lower", "upper")]
    return any(ends) and not compared_columns(node, children, zoned)


def objection(node: Node, children: Children, zoned: frozenset[str], instants: Collection[int]) -> str | None:
    """Return why a node cannot choose or compare points in time as it should, and what to do; None if it can.

    Args:
        node: A node of the tree of an expression.
        children: Returns the expressions directly below a node.
        zoned: Names of the columns of times with a zone.
        instants: Identities of the columns that are taken as points in time.
    """
    parts = [*children(node)]
    if function_of(node) in _EXTREMES:
        columns = [one for one in _values(node, children) if _are_columns([one], zoned)]
        if len(columns) > 1 and any(id(one) not in instants for one in columns):
            return (
                f"it takes {function_of(node)} of several times with a zone where their wall clocks are asked for, whose "
                "order is another one; choose by CASE WHEN with a comparison of two columns"
            )
    asked = _asked(node, parts)
    if instants_among(asked, children, zoned):
        return None
    with_zone = [part for part in asked if _holds_zoned(part, children, zoned)]
    mixed = any(not _are_columns(_values(part, children), zoned) for part in with_zone)
    several = node["class"] == "BETWEEN" or node["type"] in ("COMPARE_IN", "COMPARE_NOT_IN")
    alone = len(asked) == 1
    if (mixed and (alone or len(with_zone) > 1)) or (several and len(with_zone) > 1):
        return (
            "it compares or counts times with a zone together with other values, such as constants: points in time and "
            "wall clocks cannot be told apart there; write a comparison for each, joined by AND or OR"
        )
    return None


def given_columns(root: Node, children: Children, zoned: frozenset[str]) -> Sequence[Node]:
    """Return the columns of which an expression's value is one, if it is one of times with a zone or missing.

    Args:
        root: The expression.
        children: Returns the expressions directly below a node.
        zoned: Names of the columns of times with a zone.
    """
    found = _values(root, children)
    return found if _are_columns(found, zoned) else []


def _asked(node: Node, parts: Sequence[Node]) -> Sequence[Node]:
    """Return the parts of a node that it compares, subtracts, or counts from 1970."""
    function = function_of(node)
    asks = node["class"] in ("COMPARISON", "BETWEEN") or node["type"] in ("COMPARE_IN", "COMPARE_NOT_IN")
    asks |= function in _SINCE_1970 or (function == "-" and len(parts) == 2)
    if function in _DIFFERENCES | _PARTS and parts:
        unit, parts = constant_text(parts[0]).lower(), parts[1:]
        asks = unit.removesuffix("s") in _CLOCK_UNITS if function in _DIFFERENCES else unit == "epoch"
    return parts if asks else []


def _holds_zoned(part: Node, children: Children, zoned: frozenset[str]) -> bool:
    """Return whether the value of a part may be a column of times with a zone."""
    return any(_are_columns([value], zoned) for value in _values(part, children))


def _values(node: Node, children: Children) -> list[Node]:
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
