"""A guide to schema files, generated from the docstrings of the kinds of columns."""

from __future__ import annotations

from dataclasses import MISSING, fields
from textwrap import indent, wrap

from syntabula._docstrings import attribute_notes, description
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.column_base import ColumnBase
from syntabula.table.schema.columns import COLUMN_TYPES, SPELLINGS
from syntabula.table.schema.schema import Schema

EXAMPLE = """\
version: 1
columns:
  age: {kind: numeric, lower: 0, upper: 120, integer: true}
  amount: {kind: numeric, lower: 0, upper: 50000, step: 100, atoms: [0, 50000]}
  sex: {kind: categorical, categories: [F, M], nullable: true}
  ward: {kind: categorical, categories: [emergency, surgery], open: true}
  code: {kind: categorical, categories: ["007", "012"]}  # in quotes, as all texts that look like numbers or times
  arrived: {kind: time, nullable: true}
  admitted: {kind: date, lower: 2020-01-01, upper: 2024-12-31}
  discharged: {kind: date, lower: 2020-01-01, upper: 2025-12-31, nullable: true}
  stay: {kind: numeric, lower: 0, upper: 2200, integer: true, nullable: true}
  name: {kind: identifier}
others: find
rules:
  derive:
    stay: discharged - admitted
  order: [[admitted, discharged]]
  require:
    - not (ward = 'emergency' and age < 1)
"""
_OF_EVERY_KIND = [f.name for f in fields(ColumnBase)]


def schema_guide() -> str:
    """Return an example of a schema file, and each kind of column with its entries."""
    lines = ["A schema file (.yaml or .json) states what is public about the columns of a table:", ""]
    lines += [indent(EXAMPLE, "  ")]
    for key, kind in COLUMN_TYPES.items():
        lines += [f"kind: {key}", *_wrapped(description(kind), "  ")]
        names = [f.name for f in fields(kind) if f.name not in _OF_EVERY_KIND and f.name != "_"]
        lines += [*_entries(kind, names), ""]
    lines += ["Of every kind:", *_entries(ColumnBase, _OF_EVERY_KIND), ""]
    lines += [
        "Of the table:",
        *_entries(Schema, ["others", "unit", "rows_per_unit", "encoding", "quotes", "label"]),
        "",
    ]
    lines += ["rules", *_wrapped(description(Rules), "  ")]
    lines += _entries(Rules, [f.name for f in fields(Rules)])
    return "\n".join(lines)


def _entries(kind: type[ColumnBase | Schema | Rules], names: list[str]) -> list[str]:
    """Return lines about some entries: whether each is needed, its default otherwise, and its meaning."""
    notes, defaults = attribute_notes(kind), {f.name: f.default for f in fields(kind)}
    lines = []
    for name in names:
        default = defaults[name]
        usual = "needed" if default is MISSING and kind is not Rules else f"if not given: {_shown(default)}"
        lines += [f"    {name} ({usual})", *_wrapped(notes.get(name, ""), "        ")]
    return lines


def _shown(default: object) -> str:
    if default is None or default is MISSING or default == ():
        return "none"
    return str(default).lower() if isinstance(default, bool) else repr(default)


def _wrapped(text: str, indentation: str) -> list[str]:
    text = text.replace("`SPELLINGS`", ", ".join(SPELLINGS)).replace("`", "")
    return wrap(text, width=100, initial_indent=indentation, subsequent_indent=indentation)
