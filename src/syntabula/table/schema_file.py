"""Schemas as files: YAML or JSON, read with bounds on size, nesting and features.

version: 1
label: census
columns:
  age: {kind: numeric, lower: 17, upper: 90, integer: true}
  work: {kind: categorical, categories: [Private, State-gov], nullable: true}
others: find   # only if the table has more columns, whose domains are to be found privately
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import yaml

from syntabula._input_files import not_a_file
from syntabula._whole_file import whole_file
from syntabula.errors import SchemaError
from syntabula.table.columns import COLUMN_TYPES, Column
from syntabula.table.schema import Schema

VERSION = 1
MAX_BYTES = 10_000_000
MAX_DEPTH = 8
_BOOL = "tag:yaml.org,2002:bool"

# The C parser is the same safe loader, some ten times faster; not every build of PyYAML has it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _UniqueKeyLoader(_Loader):  # type: ignore[misc]
    """Safe loader that refuses repeated keys instead of keeping the last, and for which yes and no are text.

    Only true and false are truth values, as in YAML 1.2: `categories: [yes, no]` means the words.
    """

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {
        first: [pair for pair in pairs if pair[0] != _BOOL]
        for first, pairs in _Loader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build one mapping."""
        pairs = [[self.construct_object(part, deep=True) for part in pair] for pair in node.value]
        return _unique(pairs)


_UniqueKeyLoader.add_implicit_resolver(_BOOL, re.compile("(true|True|TRUE|false|False|FALSE)$"), [*"tTfF"])


def read_schema(path: str | Path) -> Schema:
    """Read a schema file.

    Args:
        path: File that ends in .yaml, .yml or .json, of at most 10 MB.

    Returns:
        The schema.

    Raises:
        SchemaError: If the file cannot be read, is not plain YAML or JSON (anchors, aliases and tags are
            refused), or does not describe a schema; the message names the column.
    """
    path = Path(path)
    _check_suffix(path)
    if kind := not_a_file(path, standard_input=True):
        raise SchemaError(f"schema file {path} is {kind} and no file; give the path of a file")
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SchemaError(f"schema file {path} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise SchemaError(f"schema file {path} is larger than {MAX_BYTES} bytes")
    document = _parse(raw, path)
    try:
        return schema_from_document(document)
    except SchemaError as error:
        raise SchemaError(f"schema file {path}: {error}") from None


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write a schema file, whole or not at all.

    Args:
        schema: Schema to write.
        path: File that ends in .yaml, .yml or .json; replaced if it exists.

    Raises:
        SchemaError: If the suffix is another one or the text would exceed 10 MB.
        OSError: If the file cannot be written.
    """
    path = Path(path)
    _check_suffix(path)
    document = schema_to_document(schema)
    if path.suffix.lower() == ".json":
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    raw = text.encode()
    if len(raw) > MAX_BYTES:
        raise SchemaError(f"the schema takes more than {MAX_BYTES} bytes as a file; shorten its categories")
    # Beyond the user's umask, an observed schema holds values of the data and is for its owner alone.
    mode = 0o600 if schema.observed_columns else 0o666
    with whole_file(path, mode=mode) as temporary:
        temporary.write_bytes(raw)


def schema_to_document(schema: Schema) -> dict[str, Any]:
    """Return a schema as a dictionary of JSON values; fields at their defaults are left out."""
    columns = {name: _column_document(column) for name, column in schema.columns.items()}
    label = {} if schema.label is None else {"label": schema.label}
    others = {} if schema.others is None else {"others": schema.others}
    return {"version": VERSION, **label, "columns": columns, **others}


def schema_from_document(document: object) -> Schema:
    """Rebuild a schema from a dictionary.

    Args:
        document: What `schema_to_document` returns, or the content of a schema file.

    Returns:
        The schema.

    Raises:
        SchemaError: If something is missing, unknown or of the wrong type; the message names the column.
    """
    if not isinstance(document, Mapping):
        raise SchemaError("a schema is a mapping with the keys 'version' and 'columns'")
    _refuse_unknown("the schema", document, ["version", "label", "columns", "others"])
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise SchemaError(f"the schema's version must be {VERSION}; other versions are not understood")
    columns = document.get("columns")
    if not isinstance(columns, Mapping):
        raise SchemaError("the schema's 'columns' must be a mapping of column names to columns")
    for name in columns:
        if not isinstance(name, str):
            raise SchemaError(f"column name {name!r} is not text; put it in quotes")
    made = {name: _column_from_document(name, body) for name, body in columns.items()}
    return Schema(made, label=document.get("label"), others=document.get("others"))


def _column_document(column: Column) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": column.kind}
    shared = ("nullable", "provenance")
    fields = sorted(dataclasses.fields(column), key=lambda field: field.name in shared)
    for field in fields:
        value = getattr(column, field.name)
        if value == field.default:
            continue
        if isinstance(value, dt.date):
            value = value.isoformat()
        document[field.name] = list(value) if isinstance(value, tuple) else value
    return document


def _column_from_document(name: str, body: object) -> Column:
    where = f"column {name!r}"
    if not isinstance(body, Mapping):
        raise SchemaError(f"{where} must be a mapping such as {{kind: boolean}}")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in COLUMN_TYPES:
        near = difflib.get_close_matches(str(kind), COLUMN_TYPES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SchemaError(f"{where}: kind must be one of {', '.join(COLUMN_TYPES)}{hint}")
    column_type = COLUMN_TYPES[kind]
    _refuse_unknown(where, body, ["kind", *(f.name for f in dataclasses.fields(column_type))])
    values = {key: _timed(value) if kind == "datetime" else value for key, value in body.items()}
    del values["kind"]
    try:
        return msgspec.convert(values, column_type)
    except msgspec.ValidationError as error:
        # Messages name the type that is expected and the path below the column, for instance `$.lower`.
        raise SchemaError(f"{where}: {error}") from None


def _timed(value: object) -> object:
    """Read a day, which YAML makes of 2024-01-31, as its first moment."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    if isinstance(value, str) and len(value) == len("2024-01-31") and value.count("-") == 2:
        return value + "T00:00:00"
    return value


def _refuse_unknown(where: str, document: Mapping[Any, Any], known: list[str]) -> None:
    for key in document:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(known)}"
            raise SchemaError(f"{where} has an unknown key {key!r}; {hint}")


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in {".yaml", ".yml", ".json"}:
        raise SchemaError(f"schema file {path} must end in .yaml, .yml or .json")


def _parse(raw: bytes, path: Path) -> object:
    try:
        text = raw.decode("utf-8-sig")
        if path.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_unique)
        _check_events(text)
        # The loader derives from the safe one: plain values only, no objects.
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
        raise SchemaError(f"schema file {path} is not valid YAML{line}: {error.problem}") from None
    except SchemaError as error:
        raise SchemaError(f"schema file {path}: {error}") from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError):
        kind = "JSON" if path.suffix.lower() == ".json" else "YAML"
        raise SchemaError(f"schema file {path} is not valid {kind}") from None


def _check_events(text: str) -> None:
    """Refuse what could blow up or surprise, before any object is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise SchemaError("anchors and aliases are not allowed; write the values out")
        if getattr(event, "tag", None) is not None:
            raise SchemaError("tags are not allowed; write plain values")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise SchemaError(f"values are nested more than {MAX_DEPTH} deep")


def _unique(pairs: Iterable[Iterable[Any]]) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise SchemaError(f"key {key!r} is given twice")
        mapping[key] = value
    return mapping
