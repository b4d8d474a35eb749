"""Expressions of rules: SQL that is parsed to a tree and held to a list of what a row's own values can be asked.

A schema may come from a stranger. So the text itself never runs: DuckDB parses it, every node of the tree must be one
of those below, and what runs is written anew from the tree, with its columns renamed. There are no subqueries, tables,
settings, files, variables, macros, aggregates or clocks, nothing random, and no function whose result may be much longer
than its arguments: memory is bounded by the length of the expression.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from syntabula._arguments import near
from syntabula.errors import SchemaError
from syntabula.table.database import at_hand
from syntabula.table.rules.instants import compared_columns, given_columns, needs_splitting, objection
from syntabula.table.rules.reserved_names import reserved_names, told

MOST_CHARACTERS = 20_000
MOST_NODES = 5_000
MOST_LEVELS = 100

_CLASSES = {
    "CONSTANT": {"VALUE_CONSTANT"},
    "COLUMN_REF": {"COLUMN_REF"},
    "COMPARISON": {
        "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
        "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM",
    },
    "CONJUNCTION": {"CONJUNCTION_AND", "CONJUNCTION_OR"},
    "OPERATOR": {
        "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_NULLIF", "COMPARE_IN",
        "COMPARE_NOT_IN",
    },
    "BETWEEN": {"COMPARE_BETWEEN"},
    "CASE": {"CASE_EXPR"},
    "CAST": {"OPERATOR_CAST"},
    "FUNCTION": {"FUNCTION"},
    "TYPE": {"TYPE"},
}  # fmt: skip
_ARITHMETIC = (
    "+ - * / // % ** ^ abs sign round floor ceil ceiling trunc sqrt cbrt exp ln log log2 log10 pow power mod "
    "greatest least degrees radians sin cos tan isnan isinf isfinite even xor & |"
)
_CHOICES = "nullif ifnull if"
_TEXTS = (
    "|| ~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape lower lcase upper ucase "
    "length len char_length character_length strlen trim ltrim rtrim substring substr left right starts_with "
    "prefix ^@ ends_with suffix contains strpos position instr concat split_part reverse ascii regexp_matches "
    "regexp_full_match"
)
_DATES = (
    "year month day dayofmonth dayofweek weekday isodow dayofyear week weekofyear yearweek isoyear quarter hour "
    "minute second millisecond microsecond decade century date_part datepart date_trunc datetrunc date_diff "
    "datediff date_sub datesub date_add age last_day monthname dayname make_date make_timestamp to_years "
    "to_quarters to_months to_weeks to_days to_hours to_minutes to_seconds to_milliseconds to_microseconds "
    "epoch epoch_ms epoch_us"
)
_NAMES = (
    "boolean bool tinyint smallint integer int bigint hugeint utinyint usmallint uinteger ubigint real float "
    "double decimal numeric varchar text string date timestamp time interval int1 int2 int4 int8 int16 int32 "
    "int64 float4 float8 datetime long short char"
)
FUNCTIONS = frozenset(f"{_ARITHMETIC} {_CHOICES} {_TEXTS} {_DATES}".split())
TYPES = frozenset(_NAMES.split())
_HINTS = {
    "now": "the clock differs from run to run",
    "random": "rules are not random",
    "repeat": "its result may be of any length",
}
_PLAIN = {
    # Parts of nodes that are no expressions: their keys, in the versions of DuckDB that this library supports.
    "literal": {"kind", "text"},
    "value": {"type", "is_null", "value"},
    "type": {"id", "type_info"},
    "cast_type": {"id", "type_info"},
    "type_info": {"type", "alias", "modifiers", "extension_info", "width", "scale", "collation"},
    "order_bys": {"type", "orders"},
    "qualified_name": {"path"},
    "argument": {"name", "expression"},
    "check": {"when_expr", "then_expr"},
}


@dataclass(frozen=True)
class Expression:
    """An expression that passed.

    Attributes:
        text: As the user wrote it.
        columns: Columns of the schema that it uses, each once.
        sql: What runs, over columns named by `alias`.
        literals: The texts of its constants.
        only_compares: Whether it does nothing but compare columns and constants, so that the order of these decides.
        gives_instant: Whether its value is one of its times with a zone, as a point in time.
    """

    text: str
    columns: tuple[str, ...]
    sql: str
    literals: tuple[str, ...] = ()
    only_compares: bool = False
    gives_instant: bool = False


def tree_of(text: str) -> dict[str, Any]:
    """Return the tree of an expression; raises SchemaError if it cannot be parsed."""
    return _parsed(text)[1]


def sql_of(node: dict[str, Any]) -> str:
    """Return the SQL of a part of an expression that passed."""
    document, _ = _parsed("NULL")
    document["statements"][0]["node"]["select_list"] = [node]
    return _written(document)


def alias(position: int) -> str:
    """Return the name of a column of the schema in what runs, by its position in the schema."""
    return f"c{position}"


def instant_alias(position: int) -> str:
    """Return the name of a column of times with a zone as points in time, which do not depend on their zone."""
    return f"u{position}"


def read_expression(
    text: str, names: tuple[str, ...], zoned: frozenset[str] = frozenset(), *, for_zoned: bool = False
) -> Expression:
    """Parse an expression over columns of one row.

    Times with a zone are wall-clock times, but two of them are compared and subtracted as points in time, and `epoch`
    counts from a point in time: wall clocks differ by zones, and are put back in autumn.

    Args:
        text: SQL as the user wrote it.
        names: Columns of the schema, in order.
        zoned: Those of times with a zone.
        for_zoned: Whether it computes a column of times with a zone.

    Raises:
        SchemaError: If it cannot be parsed, is too long or too deep, names no column of the schema, or asks for more
            than a row's own values; says which part.
    """
    if len(text) > MOST_CHARACTERS:
        raise SchemaError(f"the expression has more than {MOST_CHARACTERS:,} characters; shorten it")
    return _read(text, names, zoned, for_zoned)


@lru_cache(maxsize=2048)
def _read(text: str, names: tuple[str, ...], zoned: frozenset[str], for_zoned: bool) -> Expression:
    try:
        document, node = _parsed(text)
    except SchemaError:
        if reserved := reserved_names(text, names, _parses):
            raise SchemaError(told(reserved)) from None
        raise
    nodes = _checked(node)
    for one in nodes:
        if needs_splitting(one, children_of, zoned):
            _split(one)
    nodes = _checked(node)
    only_compares = all(_is_comparison(one) for one in nodes)
    compared = [part for one in nodes for part in compared_columns(one, children_of, zoned)]
    given = given_columns(node, children_of, zoned) if for_zoned else []
    instants = {id(one) for one in (*compared, *given)}
    for one in nodes:
        if (why := objection(one, children_of, zoned, instants)) is not None:
            raise SchemaError(why)
    used: dict[str, None] = {}
    literals: dict[str, None] = {}
    for one in nodes:
        if one["class"] == "CONSTANT":
            constant = one.get("literal") or one["value"]
            literals[str(constant.get("text", constant.get("value")))] = None
        if one["class"] == "COLUMN_REF":
            name = _column(one["column_names"], names)
            used[name] = None
            renamed = instant_alias if id(one) in instants else alias
            one["column_names"] = [renamed(names.index(name))]
    return Expression(text, tuple(used), _written(document), tuple(literals), only_compares, bool(given))


def _split(node: dict[str, Any]) -> None:
    """Make BETWEEN of a column two comparisons, of which each is one of points in time or of wall clocks."""
    _, both = _parsed("0 >= 0 AND 0 <= 0")
    for part, end in zip(both["children"], ("lower", "upper"), strict=True):
        part |= {"left": deepcopy(node["input"]), "right": node[end]}
    node.clear()
    node.update(both)


def _is_comparison(node: Mapping[str, Any]) -> bool:
    kind, detail = node["class"], node["type"]
    if kind in ("CAST", "TYPE"):
        return all(child["class"] in ("CONSTANT", "TYPE") for child in children_of(node))
    if kind == "OPERATOR":
        return detail not in ("OPERATOR_COALESCE", "OPERATOR_NULLIF")
    return kind in ("CONSTANT", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "BETWEEN")


def _parses(text: str) -> bool:
    try:
        _parsed(text)
    except SchemaError:
        return False
    return True


def _parsed(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the tree of a statement that selects the expression, and the expression's node."""
    import duckdb

    try:
        # A line end, in case the text ends in a comment.
        statement = f"SELECT ({text}\n)"
        statement.encode()
        with at_hand() as database:
            found = database.execute("SELECT json_serialize_sql(?::VARCHAR)", [statement]).fetchone()[0]
        document = json.loads(found)
    except (duckdb.Error, UnicodeEncodeError):
        raise SchemaError("it cannot be read as an SQL expression; check its spelling") from None
    except RecursionError:
        raise SchemaError(_too_deep()) from None
    if document.get("error"):
        said = str(document.get("error_message", ""))
        if "depth" in said:
            raise SchemaError(_too_deep())
        raise SchemaError(
            f"it cannot be read as an SQL expression ({said.splitlines()[0]}); check its spelling"
        )
    statements = document["statements"]
    select = statements[0]["node"] if len(statements) == 1 else {}
    plain: dict[str, Any] = {
        "type": "SELECT_NODE",
        "modifiers": [],
        "where_clause": None,
        "group_expressions": [],
        "group_sets": [],
        "having": None,
        "sample": None,
        "qualify": None,
    }
    is_plain = (
        all(select.get(key, missing) == missing for key, missing in plain.items())
        and select.get("from_table", {}).get("type") == "EMPTY"
        and not select.get("cte_map", {}).get("map")
        and len(select.get("select_list", [])) == 1
        and not select["select_list"][0].get("alias")
    )
    if not is_plain:
        raise SchemaError(
            "it must be a single expression over the columns of one row, without FROM, WHERE and the like"
        )
    return document, select["select_list"][0]


def _checked(root: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all nodes of an expression; raises SchemaError for the first that is not allowed."""
    found: list[dict[str, Any]] = []
    left = [(root, 0)]
    while left:
        node, level = left.pop()
        if level > MOST_LEVELS:
            raise SchemaError(_too_deep())
        if len(found) >= MOST_NODES:
            raise SchemaError(f"it has more than {MOST_NODES:,} parts; shorten it")
        _check_node(node)
        found.append(node)
        left += [(child, level + 1) for child in children_of(node)]
    return found


def _check_node(node: dict[str, Any]) -> None:
    kind, detail = str(node.get("class")), str(node.get("type"))
    if detail not in _CLASSES.get(kind, ()):
        raise SchemaError(f"it uses {_in_words(kind, detail)}, which a rule cannot; {_ALLOWED}")
    if node.get("alias"):
        raise SchemaError(f"it names a part {node['alias']!r}, which a rule cannot; drop the name")
    if kind == "FUNCTION":
        _check_function(node)
    elif kind == "TYPE" or "cast_type" in node:
        _check_type(node)


def _check_function(node: Mapping[str, Any]) -> None:
    name = str(node["function_name"])
    path = node.get("qualified_name", {"path": [name]})["path"]
    if node.get("schema") or node.get("catalog") or path != [name]:
        raise SchemaError(
            f"it names the place of a function, {'.'.join(map(str, path))!r}; write the function's name alone"
        )
    if name.lower() not in FUNCTIONS:
        why = _HINTS.get(name.lower())
        words = sorted(f for f in FUNCTIONS if f[0].isalpha())
        hint = f": {why}" if why else near(name, words) or f"; {_ALLOWED}"
        raise SchemaError(f"it uses the function {name!r}, which a rule cannot{hint}")
    if node.get("filter") or node.get("distinct") or (node.get("order_bys") or {}).get("orders"):
        raise SchemaError(f"it uses {name!r} over many rows; a rule sees one row")
    given = node.get("arguments") or node.get("children") or ()
    if name.lower() == "age" and len(given) < 2:
        raise SchemaError(
            "it uses 'age' of one argument, which asks for today's date; give the other day too"
        )
    if any(argument.get("name") for argument in given):
        raise SchemaError(f"it names an argument of {name!r}; give arguments by position")


def _check_type(node: Mapping[str, Any]) -> None:
    name = str(node["type_name"] if "type_name" in node else node["cast_type"].get("id"))
    path = node.get("qualified_name", {"path": [name]})["path"]
    if name.lower() not in TYPES or path != [name] or node.get("schema") or node.get("catalog"):
        raise SchemaError(
            f"it casts to {name!r}, which a rule cannot; cast to a number, text, date or timestamp"
        )
    inner = node.get("children") or []
    if len(inner) > (2 if name.lower() in ("decimal", "numeric") else 0):
        raise SchemaError(f"it casts to {name!r} with arguments, which a rule cannot; drop them")


def children_of(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the expressions directly below a node; anything else in it must be known."""
    for key, value in node.items():
        yield from _within(key, value)


def _within(key: str, value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _within({"arguments": "argument", "case_checks": "check"}.get(key, key), one)
    elif isinstance(value, dict):
        if "class" in value:
            yield value
            return
        if not set(value) <= _PLAIN.get(key, set()):
            raise SchemaError(f"it holds a part {key!r} that a rule cannot; {_ALLOWED}")
        for inner, one in value.items():
            yield from _within(inner, one)


def _column(path: list[str], names: tuple[str, ...]) -> str:
    if len(path) > 1:
        whole = ".".join(path)
        quoted = f'; put the name in double quotes: "{whole}"' if whole in names else ""
        raise SchemaError(f"it names {whole!r}, but rules see the columns of one row alone{quoted}")
    (name,) = path
    if name in names:
        return name
    longer = [n for n in names if not n.isidentifier() and name in n]
    quoted = f'; if you mean {longer[0]!r}, put it in double quotes: "{longer[0]}"' if longer else ""
    hint = near(name, names, 3) or quoted or "; texts are in single quotes, and columns must be declared"
    raise SchemaError(f"there is no column {name!r}{hint}")


def _written(document: Any) -> str:
    """Return the SQL of an expression, written anew from its tree."""
    import duckdb

    try:
        with at_hand() as database:
            query = "SELECT json_deserialize_sql(?::JSON)"
            found = database.execute(query, [json.dumps(document)]).fetchone()[0]
    except duckdb.SerializationException:
        # DuckDB has a limit of its own, which some parts come nearer to than others.
        raise SchemaError(_too_deep()) from None
    text = str(found)
    assert text.startswith("SELECT ")
    return text.removeprefix("SELECT ")


_ALLOWED = (
    "rules may use arithmetic, comparisons, CASE, and functions of numbers, texts and dates on columns of the same "
    "row"
)


def _in_words(kind: str, detail: str) -> str:
    words = {
        "SUBQUERY": "a query",
        "STAR": "a star",
        "LAMBDA": "a lambda",
        "WINDOW": "a window over many rows",
        "PARAMETER": "a parameter",
        "COLLATE": "a collation",
        "POSITIONAL_REFERENCE": "a column by its number",
        "DEFAULT": "DEFAULT",
    }
    return words.get(kind) or detail.removeprefix("OPERATOR_").replace("_", " ").lower()


def _too_deep() -> str:
    return f"it is nested too deep; write it with at most {MOST_LEVELS} levels, or fewer where it holds CASE"
