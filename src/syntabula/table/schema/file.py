"""Schema files in YAML or JSON, read with limits on size, nesting and features.

version: 1
label: census
columns:
  age: {kind: numeric, lower: 17, upper: 90, integer: true}
  work: {kind: categorical, categories: [Private, State-gov], nullable: true}
others: find   # only if the table has more columns, whose domains will be found privately
rules:         # only if something is known to hold within each row
  derive: {total: part_a + part_b}
unit: person   # only if persons have several rows; an identifier column, and at most so many rows of each are kept
rows_per_unit: 5
encoding: cp1252   # only if a text file is not in UTF-8
quotes: all        # only if a text file puts all of its cells in quotes
"""

from __future__ import annotations

import codecs
import dataclasses
import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from syntabula._arguments import near, shown
from syntabula._arguments import path as file_path
from syntabula._files import not_a_file, whole_file
from syntabula.errors import SchemaError
from syntabula.table.schema.columns import COLUMN_TYPES, Column
from syntabula.table.schema.plain_yaml import read_yaml, write_yaml

if TYPE_CHECKING:
    from syntabula.table.rules.rules import Rules

SchemaT = TypeVar("SchemaT")

VERSION = 1
MAX_BYTES = 10_000_000
LABELS = ("categories", "other_label", "texts")
"""Entries of a column that hold labels, which must be exactly as typed."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = r"[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?"
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?")
_DAY_OR_TIME = re.compile(f"{_DAY.pattern}({_TIME})?")


def read_schema(path: str | Path, make: Callable[..., SchemaT]) -> SchemaT:
    """Read a schema file.

    Args:
        path: File that ends in .yaml, .yml or .json, of at most 10 MB.
        make: Makes the schema from its columns, label, others and rules.

    Returns:
        The schema.

    Raises:
        SchemaError: If the file cannot be read, is not plain YAML or JSON (anchors, aliases and tags are
            refused), or does not describe a schema; the message names the column.
        ArgumentError: If the path is not a path.
    """
    path = _checked(path)
    if kind := not_a_file(path, standard_input=True):
        raise SchemaError(f"schema file {path} is {kind}, not a file; give the path of a file")
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SchemaError(f"schema file {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise SchemaError(f"schema file {path} is larger than {MAX_BYTES} bytes")
    try:
        return make(**fields_of_document(_document(raw, path)))
    except SchemaError as error:
        raise SchemaError(f"schema file {path}: {error}") from None


def write_document(document: Mapping[str, Any], path: str | Path, *, for_all: bool) -> None:
    """Write a schema file, completely or not at all.

    Args:
        document: Result of `document_of`.
        path: File that ends in .yaml, .yml or .json; an existing file, or symbolic link, is replaced.
        for_all: Whether users other than the owner may read it, as far as the umask allows.

    Raises:
        SchemaError: If the suffix is not supported, or the text would exceed 10 MB.
        ArgumentError: If the path is not a path.
        OSError: If the file cannot be written.
    """
    path = _checked(path)
    if path.suffix.lower() == ".json":
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = write_yaml(document)
    raw = text.encode()
    if len(raw) > MAX_BYTES:
        raise SchemaError(f"the schema needs more than {MAX_BYTES} bytes as a file; shorten its categories")
    with whole_file(path, mode=0o666 if for_all else 0o600) as temporary:
        temporary.write_bytes(raw)


OF_TABLE = ("others", "unit", "rows_per_unit", "encoding", "quotes")
"""Entries of the whole table, after its columns."""

_NOT_OFFERED = {
    "weights": "all rows count alike; with `rows_per_unit: 1` each unit counts once, with as little noise as weights",
    "per_unit": "the rows of one synthetic unit are drawn apart from each other, so that no column is constant in them; "
    "take out these columns into a table with one row per unit, and make a release of each, with half of the budget",
}
"""Entries that a user may look for where units have several rows, with the reason and what to do instead."""


def document_of(
    columns: Mapping[str, Column],
    label: str | None,
    of_table: Mapping[str, str | int | None],
    rules: Rules | None = None,
) -> dict[str, Any]:
    """Return a schema as a dictionary of JSON values; fields at their defaults are left out."""
    stated = {name: _column_document(column) for name, column in columns.items()}
    named = {} if label is None else {"label": label}
    further = {name: entry for name, entry in of_table.items() if entry is not None}
    stated_rules = {} if rules is None else {"rules": rules.to_json()}
    return {"version": VERSION, **named, "columns": stated, **further, **stated_rules}


def fields_of_document(document: object) -> dict[str, Any]:
    """Read the columns, the label, the others and the rules of a schema.

    Args:
        document: Result of `document_of`, or the content of a schema file.

    Returns:
        The arguments of a schema, by name.

    Raises:
        SchemaError: If something is missing, unknown or of the wrong type; the message names the column.
    """
    if not isinstance(document, Mapping):
        raise SchemaError("a schema must be a mapping with the keys 'version' and 'columns'")
    for key, reason in _NOT_OFFERED.items():
        if key in document:
            raise SchemaError(f"the schema has the key {key!r}, which is not offered: {reason}")
    _refuse_unknown("the schema", document, ["version", "label", "columns", *OF_TABLE, "rules"])
    if "version" not in document:
        raise SchemaError(f"the schema's version is missing; write `version: {VERSION}` at its beginning")
    version = document["version"]
    if type(version) is not int or version != VERSION:
        raise SchemaError(f"the schema's version must be the number {VERSION}, not {shown(version)}")
    columns = document.get("columns")
    if not isinstance(columns, Mapping):
        raise SchemaError("the schema's 'columns' must be a mapping of column names to columns")
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(f"column name {name!r} is not text; put it in quotes")
    made = {name: _column_from_document(name, body) for name, body in columns.items()}
    found = {"columns": made, "label": document.get("label")} | {n: document.get(n) for n in OF_TABLE}
    if "rules" not in document:
        return found
    from syntabula.table.rules.rules import Rules

    return found | {"rules": Rules.from_json(document["rules"])}


def _column_document(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": column.kind}
    shared = ("nullable", "missing_as", "provenance")
    fields = sorted(dataclasses.fields(column), key=lambda field: field.name in shared)
    for field in fields:
        value = getattr(column, field.name)
        if value == field.default:
            continue
        document[field.name] = [*map(_stated, value)] if isinstance(value, tuple) else _stated(value)
    return document


def _stated(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value


def _column_from_document(name: str, body: object) -> Column:
    where = f"column {name!r}"
    if not isinstance(body, Mapping):
        raise SchemaError(f"{where} must be a mapping such as {{kind: boolean}}")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in COLUMN_TYPES:
        raise SchemaError(f"{where}: kind must be one of {', '.join(COLUMN_TYPES)}{near(kind, COLUMN_TYPES)}")
    column_type = COLUMN_TYPES[kind]
    _refuse_unknown(where, body, ["kind", *(f.name for f in dataclasses.fields(column_type))])
    values = {key: value for key, value in body.items() if key != "kind"}
    for field in dataclasses.fields(column_type):
        if field.name not in values and field.default is dataclasses.MISSING:
            raise SchemaError(f"{where}: {field.name} is missing; a {kind} column needs it")
    try:
        if kind in ("date", "datetime"):
            values |= {side: _time(side, values[side], kind) for side in ("lower", "upper")}
            if isinstance(values.get("atoms"), list):
                values["atoms"] = [_time("an atom", atom, kind) for atom in values["atoms"]]
        if kind == "time":
            values |= {side: _clock(side, values[side]) for side in ("lower", "upper") if side in values}
            if isinstance(values.get("atoms"), list):
                values["atoms"] = [_clock("an atom", atom) for atom in values["atoms"]]
        return column_type(**values)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


def _time(name: str, value: object, kind: str) -> dt.date:
    """Read a day, or a time (a day alone means its first moment); messages do not show the value."""
    pattern = _DAY if kind == "date" else _DAY_OR_TIME
    if not isinstance(value, str) or not pattern.fullmatch(value):
        example = "a day such as 2024-01-31" + (
            "" if kind == "date" else ", or a time such as 2024-01-31T10:00:00"
        )
        raise SchemaError(f"{name} must be {example}")
    try:
        return dt.date.fromisoformat(value) if kind == "date" else dt.datetime.fromisoformat(value)
    except ValueError:
        parts = "day or month" if kind == "date" else "day, month, hour or offset"
        raise SchemaError(f"{name} does not exist in the calendar; correct its {parts}") from None


def _clock(name: str, value: object) -> dt.time:
    """Read a clock time; messages do not show the value."""
    if isinstance(value, str) and _CLOCK.fullmatch(value):
        return dt.time.fromisoformat(value)
    raise SchemaError(f"{name} must be a clock time in quotes, such as '07:30' or '23:59:59'")


def _refuse_unknown(where: str, document: Mapping[Any, Any], known: list[str]) -> None:
    for key in document:
        if key not in known:
            hint = near(key, known) or f"; allowed are {', '.join(known)}"
            raise SchemaError(f"{where} has an unknown key {key!r}{hint}")


def _checked(path: str | Path) -> Path:
    found = Path(file_path("path", path))
    if found.suffix.lower() not in {".yaml", ".yml", ".json"}:
        raise SchemaError(f"schema file {path} must end in .yaml, .yml or .json")
    return found


def _document(raw: bytes, path: Path) -> object:
    """Return the content of a file; raises SchemaError."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in raw:
        raise SchemaError("the file seems to be UTF-16; save it in UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SchemaError(f"line {line} is not UTF-8; save the file in UTF-8") from None
    if path.suffix.lower() != ".json":
        return read_yaml(text, LABELS)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except SchemaError:
        raise
    except json.JSONDecodeError as error:
        raise SchemaError(f"this is not valid JSON in line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise SchemaError("this is not valid JSON: values are nested too deep") from None
    except ValueError:
        raise SchemaError("this is not valid JSON: a number has too many digits") from None


def _no_number(constant: str) -> NoReturn:
    raise SchemaError(f"{constant} is not a JSON number; write a finite number")


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise SchemaError(f"key {key!r} is given twice; keep one of them")
        mapping[key] = value
    return mapping
