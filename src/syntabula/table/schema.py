"""What is declared about a table: its columns, their domains, and where the domains come from."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from syntabula.errors import ObservedDomainError, SchemaError
from syntabula.table.columns import Column, ColumnBase, Provenance

if TYPE_CHECKING:
    from syntabula.table.raw import RawTable


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """Named columns in order, each with a declared domain.

    Attributes:
        columns: Column of each name; kept in order and read-only.
        label: Free text that names the schema.

    Raises:
        SchemaError: If there is no column, a name is empty or no text, or a value is no column.

    Examples:
        >>> from syntabula.table.columns import Boolean, Numeric
        >>> schema = Schema({"age": Numeric(17, 90, integer=True), "member": Boolean()})
        >>> schema["age"].upper
        90
    """

    columns: Mapping[str, Column]
    label: str | None = None

    def __init__(self, columns: Mapping[str, Column], *, label: str | None = None) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise SchemaError("a schema needs a mapping of at least one column name to its column")
        for name, column in columns.items():
            _check_name(name)
            if not isinstance(column, ColumnBase):
                raise SchemaError(f"column {name!r} must be one of {_kinds()}, not {type(column).__name__}")
        if label is not None and not isinstance(label, str):
            raise SchemaError("label must be text")
        object.__setattr__(self, "columns", MappingProxyType(dict(columns)))
        object.__setattr__(self, "label", label)

    def __reduce__(self) -> Any:
        # A mapping proxy cannot be pickled or copied.
        return functools.partial(Schema, label=self.label), (dict(self.columns),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        # In order: the order of columns is part of what is declared.
        return self.label == other.label and [*self.columns.items()] == [*other.columns.items()]

    def __hash__(self) -> int:
        return hash((self.label, *self.columns.items()))

    def __repr__(self) -> str:
        # Without domains: those that were read off the data do not belong into a log.
        return f"Schema({', '.join(f'{n}: {c.kind}' for n, c in self.columns.items())})"

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except (KeyError, TypeError):
            raise SchemaError(f"there is no column {name!r}{_near(name, self)}") from None

    @property
    def provenance(self) -> dict[Provenance, tuple[str, ...]]:
        """Names of the columns of each provenance, for the privacy statement."""
        return {
            p: tuple(n for n, c in self.columns.items() if c.provenance == p) for p in get_args(Provenance)
        }

    @property
    def observed_columns(self) -> tuple[str, ...]:
        """Columns whose domain was read off the data, which the guarantee does not cover."""
        return self.provenance["observed"]

    def with_column(self, name: str, column: Column) -> Schema:
        """Return a schema with one column replaced in place, or added at the end."""
        return Schema({**self.columns, name: column}, label=self.label)

    def check_table(self, table: RawTable) -> None:
        """Check that a table can be read as declared; looks at names and types, never at values.

        Args:
            table: Table to check.

        Raises:
            SchemaError: If a column is missing, undeclared, or stored in a way that its kind does not read.
        """
        absent = [name for name in self if name not in table.columns]
        extra = [name for name in table.columns if name not in self]
        if absent:
            # For more, another table is the likelier mistake than other names.
            likely = absent if len(absent) <= 3 else []
            hints = "".join(
                f"; for {name!r}{_near(name, extra)[1:]}" for name in likely if _near(name, extra)
            )
            raise SchemaError(
                f"the table has no column {_listed(absent)}{hints}; rename or add the column, or take it out "
                "of the schema"
            )
        if extra:
            raise SchemaError(
                f"the schema does not declare column {_listed(extra)}; declare it or drop it from the table"
            )
        objections = [
            f"column {name!r} {reason}"
            for name, column in self.columns.items()
            if (reason := column.objection(table.columns[name].physical)) is not None
        ]
        if objections:
            raise SchemaError(". ".join(objections))

    @classmethod
    def from_yaml(cls, path: str | Path) -> Schema:
        """Read a schema file (.yaml, .yml or .json); see `schema_file.read_schema`."""
        from syntabula.table.schema_file import read_schema

        return read_schema(path)

    def to_yaml(self, path: str | Path) -> None:
        """Write a schema file (.yaml, .yml or .json); see `schema_file.write_schema`."""
        from syntabula.table.schema_file import write_schema

        write_schema(self, path)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from what `to_json` returned; raises SchemaError on anything else."""
        from syntabula.table.schema_file import schema_from_document

        return schema_from_document(document)

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a dictionary of JSON values."""
        from syntabula.table.schema_file import schema_to_document

        return schema_to_document(self)


def as_schema(schema: object) -> Schema:
    """Return a schema as one; raises SchemaError if it is none, for instance the path of one."""
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema must be a syntabula.Schema, not {type(schema).__name__}; read a file with "
            "Schema.from_yaml(path)"
        )
    return schema


def check_declared(schema: object, *, allow_observed: bool) -> None:
    """Refuse what is no schema, and domains that were read off the data without leave.

    Raises:
        SchemaError: If it is no schema.
        ObservedDomainError: If the domain of a column was read off the data and that is not allowed.
    """
    schema = as_schema(schema)
    if schema.observed_columns and not allow_observed:
        names = _listed([*schema.observed_columns])
        raise ObservedDomainError(
            f"the domains of columns {names} are marked as observed: they were read off the data. Replace them "
            "by public facts and mark them public, or say allow_observed=True (--observed-domain)"
        )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        unnamed = (
            "; a column without a name often holds the row numbers that pandas writes: leave them out by "
            "to_csv(index=False), or give the column a name"
        )
        raise SchemaError(
            f"a column name must be text of at least one character, not {name!r}{unnamed if name == '' else ''}"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"column name {name!r} is not valid Unicode; rename the column") from None


def _kinds() -> str:
    return ", ".join(c.__name__ for c in get_args(Column))


def _near(name: object, known: Any) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=3)
    if not close and (same := [k for k in known if k.casefold() == str(name).casefold()]):
        close = same[:3]
    return f"; did you mean {', '.join(map(repr, close))}?" if close else ""


def _listed(names: list[str], most: int = 10) -> str:
    text = ", ".join(repr(n) for n in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"
