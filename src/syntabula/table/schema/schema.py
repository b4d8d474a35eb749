"""The declaration of a table: its columns, their domains, and the sources of the domains."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, get_args

from syntabula._arguments import count, near, shown
from syntabula.errors import ArgumentError, ObservedDomainError, SchemaError
from syntabula.table.raw import is_encoding
from syntabula.table.schema.column_base import declare, left_out
from syntabula.table.schema.columns import Column, ColumnBase, Date, Datetime, Identifier, Provenance
from syntabula.table.schema.file import OF_TABLE, document_of, fields_of_document, read_schema, write_document

if TYPE_CHECKING:
    from syntabula.table.raw import RawTable
    from syntabula.table.rules.checks import Compiled
    from syntabula.table.rules.rules import Rules

Others = Literal["find"]
Quotes = Literal["all"]
MOST_ROWS_PER_UNIT = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """Named columns in order, each with a declared domain.

    Attributes:
        columns: Columns by name; ordered and read-only.
        label: Free text that names the schema.
        others: "find" if a table may have further columns; their domains are found under differential privacy, for part
            of the budget, as for a table without a schema. None if there are no others; a column that was forgotten
            is then refused.
        unit: The identifier column that names whom a row is about, such as a person, where persons have several rows.
            The guarantee is then for all rows of one person, not for a single row, and keys are made anew. None if each
            row is about somebody else.
        rows_per_unit: How many rows of a person are kept, at most; needed with `unit`. The others are dropped, chosen by
            the key alone. Noise grows with this number, so it should be what most persons have, not the largest, and
            known without looking at the table.
        rules: What must hold within each row: derived columns, orders, impossible combinations; see `Rules`.
        encoding: The encoding of CSV and TSV files, such as "cp1252", as Python names it; synthetic files have it too.
            None for UTF-8, and for UTF-16 that begins with a byte order mark, as Excel writes it.
        quotes: "all" if CSV and TSV files put all cells in quotes; None if they do so with texts at most.

    Raises:
        SchemaError: If there is no column and `others` are not found, a name is empty or not text, a value is not a
            column, a rule is wrong, `unit` is no identifier column that always has a value, or `encoding` is unknown.

    Examples:
        >>> from syntabula.table.schema.columns import Boolean, Numeric
        >>> schema = Schema({"age": Numeric(17, 90, integer=True), "member": Boolean()})
        >>> schema["age"].upper
        90
    """

    columns: Mapping[str, Column]
    label: str | None = None
    others: Others | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    rules: Rules | None = None
    encoding: str | None = None
    quotes: Quotes | None = None

    def __init__(
        self,
        columns: Mapping[str, Column],
        *,
        label: str | None = None,
        others: Others | None = None,
        unit: str | None = None,
        rows_per_unit: int | None = None,
        rules: Rules | None = None,
        encoding: str | None = None,
        quotes: Quotes | None = None,
    ) -> None:
        if not isinstance(columns, Mapping) or not (columns or others):
            raise SchemaError("columns must be a mapping of column names to columns, with at least one entry")
        for name, column in columns.items():
            check_name(name)
            if not isinstance(column, ColumnBase):
                raise SchemaError(f"column {name!r} must be one of {_kinds()}, not {type(column).__name__}")
        if label is not None and not isinstance(label, str):
            raise SchemaError(f"label must be text; got {shown(label)}")
        if others is not None and (not isinstance(others, str) or others not in get_args(Others)):
            raise SchemaError(
                "others must be 'find' (to find the domains of further columns privately) or left out; got "
                f"{shown(others)}"
            )
        object.__setattr__(self, "columns", MappingProxyType(dict(columns)))
        if encoding is not None and not is_encoding(encoding):
            raise SchemaError(
                f"encoding must be the name of an encoding of text, such as cp1252 or latin-1; got {shown(encoding)}"
            )
        if quotes not in (None, *get_args(Quotes)):
            raise SchemaError(f"quotes must be 'all' or left out; got {shown(quotes)}")
        object.__setattr__(self, "encoding", encoding)
        object.__setattr__(self, "quotes", quotes)
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "others", others)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "rows_per_unit", rows_per_unit)
        self._check_unit()
        if len(several := [n for n, c in columns.items() if getattr(c, "unique", False)]) > 1:
            raise SchemaError(
                f"{columns_listed(several)}: at most one column can be `unique`, since rows are drawn in its order; "
                "leave it out of the others"
            )
        object.__setattr__(self, "rules", _checked_rules(rules))
        _ = self.compiled_rules  # refuses rules that do not fit the columns

    def _check_unit(self) -> None:
        declare(self, rows_per_unit=left_out(count(1, MOST_ROWS_PER_UNIT)))
        if self.unit is None:
            if self.rows_per_unit is not None:
                raise SchemaError(
                    "rows_per_unit needs a unit; add `unit:` with the name of the column that says whom a row is about"
                )
            return
        if not isinstance(self.unit, str):
            raise SchemaError(f"unit must be the name of a column; got {shown(self.unit)}")
        column = self.columns.get(self.unit)
        if column is None:
            raise SchemaError(
                f"unit is {self.unit!r}, which the schema does not declare{near(self.unit, self, 3) or ';'} declare this "
                "column as {kind: identifier}"
            )
        if not isinstance(column, Identifier):
            raise SchemaError(
                f"unit is {self.unit!r}, which is declared {column.kind}; declare it as {{kind: identifier}}, because a "
                "key is never learned, but made anew"
            )
        if column.nullable:
            raise SchemaError(
                f"unit is {self.unit!r}, which is nullable; each row must say whom it is about: leave out `nullable`"
            )
        if self.rows_per_unit is None:
            raise SchemaError(
                "rows_per_unit is missing; state how many rows of one unit are kept, at most, such as `rows_per_unit: 5`"
            )

    @functools.cached_property
    def compiled_rules(self) -> Compiled | None:
        """The rules, checked against the columns; None if there are none."""
        if self.rules is None:
            return None
        from syntabula.table.rules.checks import compiled

        return compiled(self.rules, self.columns)

    def __reduce__(self) -> Any:
        # A mapping proxy cannot be pickled or copied.
        stated = {name: getattr(self, name) for name in ("label", "rules", *OF_TABLE)}
        return functools.partial(Schema, **stated), (dict(self.columns),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        # The order of columns is part of the declaration.
        return self._declared() == other._declared()

    def __hash__(self) -> int:
        return hash(self._declared())

    def _declared(self) -> tuple[object, ...]:
        of_table = (getattr(self, name) for name in ("label", "rules", *OF_TABLE))
        return *of_table, *self.columns.items()

    def __repr__(self) -> str:
        # Without domains: observed ones must not appear in a log.
        others = ["others found"] if self.others else []
        unit = [] if self.unit is None else [f"at most {self.rows_per_unit} rows of one {self.unit}"]
        return f"Schema({', '.join([f'{n}: {c.kind}' for n, c in self.columns.items()] + others + unit)})"

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
            raise SchemaError(f"there is no column {shown(name)}{near(name, self, 3)}") from None

    @property
    def provenance(self) -> dict[Provenance, tuple[str, ...]]:
        """Names of the columns of each provenance, for the privacy statement."""
        return {
            p: tuple(n for n, c in self.columns.items() if c.provenance == p) for p in get_args(Provenance)
        }

    @property
    def observed_columns(self) -> tuple[str, ...]:
        """Columns whose domain was taken from the data, which the guarantee does not cover."""
        return self.provenance["observed"]

    def with_column(self, name: str, column: Column) -> Schema:
        """Return a schema with one column replaced in place, or added at the end."""
        check_name(name)
        return self.with_columns({**self.columns, name: column}, rules=self.rules)

    def with_columns(self, columns: Mapping[str, Column], *, rules: Rules | None) -> Schema:
        """Return a schema of other columns and rules, and otherwise the same entries."""
        return replace(self, columns=columns, rules=rules)

    def check_table(self, table: RawTable) -> None:
        """Check that a table can be read as declared, by names and types, never by values.

        Args:
            table: Table to check.

        Raises:
            SchemaError: If a column is missing, undeclared although `others` is None, or has a stored type that its kind
                cannot read.
        """
        self.check_names(table.columns)
        objections = [
            f"column {name!r} {reason}"
            for name, column in self.columns.items()
            if name in table.columns
            and (reason := column.objection(table.columns[name].physical)) is not None
        ]
        if objections:
            raise SchemaError(". ".join(objections))

    def check_names(self, names: Collection[str]) -> None:
        """Check the names of a table's columns; raises SchemaError if one is missing, or undeclared and not found."""
        # A derived column is computed, so a table need not have it.
        computed = {} if self.rules is None else self.rules.derive
        absent = [name for name in self if name not in names and name not in computed]
        extra = undeclared(names, self)
        if absent:
            # If more are absent, this is probably the wrong table rather than a misspelling.
            likely = absent if len(absent) <= 3 else []
            hints = "".join(
                f"; for {name!r}{hint.removeprefix(';')}" for name in likely if (hint := near(name, extra, 3))
            )
            raise SchemaError(
                f"the table has no {columns_listed(absent)}{hints}; rename or add the column, or remove it "
                "from the schema"
            )
        if extra and not self.others:
            raise SchemaError(
                f"the schema does not declare {columns_listed(extra)}; declare it, drop it from the table, or write "
                "`others: find` in the schema file (Schema(..., others='find')) to find undeclared columns "
                "privately, for part of the budget"
            )

    @classmethod
    def from_yaml(cls, path: str | Path) -> Schema:
        """Read a schema file (.yaml, .yml or .json); see `table.schema.file.read_schema`."""
        return read_schema(path, cls)

    def to_yaml(self, path: str | Path) -> None:
        """Write a schema file (.yaml, .yml or .json); see `table.schema.file.write_document`."""
        # An observed schema holds values of the data, so only its owner may read it.
        write_document(self.to_json(), path, for_all=not self.observed_columns)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from what `to_json` returned; raises SchemaError on anything else."""
        return cls(**fields_of_document(document))

    def to_json(self) -> dict[str, Any]:
        """Return the schema as a dictionary of JSON values."""
        of_table = {name: getattr(self, name) for name in OF_TABLE}
        return document_of(self.columns, self.label, of_table, self.rules)


SchemaSource = Schema | str | os.PathLike[str]
"""A schema, or the path of a schema file."""


def as_schema(schema: object) -> Schema:
    """Return a schema, read from its file if a path is given; raises SchemaError if it is neither."""
    if isinstance(schema, str | os.PathLike):
        return Schema.from_yaml(Path(os.fspath(schema)))
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema must be a syntabula.Schema or the path of a schema file, not {type(schema).__name__}"
        )
    return schema


def is_whole(schema: Schema | None) -> TypeGuard[Schema]:
    """Return whether a schema declares every domain."""
    return schema is not None and schema.others is None


def completed(schema: Schema | None, names: Iterable[str], found: Mapping[str, Column]) -> Schema:
    """Return a schema of all columns of a table, in its order: as declared, or else as found."""
    if schema is None:
        return Schema(found)
    computed = () if schema.rules is None else schema.rules.derive
    listed = dict.fromkeys([*names, *computed])
    columns = {n: schema[n] if n in schema else found[n] for n in listed}
    return replace(schema, columns=columns, others=None)


def undeclared(names: Iterable[str], schema: Schema | None) -> list[str]:
    """Return the names of a table's columns that a schema does not declare."""
    return [name for name in names if schema is None or name not in schema]


def check_declared(schema: Schema, *, allow_observed: bool) -> None:
    """Refuse domains and rules that were taken from the data without permission; raises ObservedDomainError."""
    _check_rules_declared(schema, allow_observed=allow_observed)
    if schema.observed_columns and not allow_observed:
        names = listed([*schema.observed_columns])
        raise ObservedDomainError(
            f"the domains of columns {names} are marked as observed: they were read off the data. Replace them "
            "with public facts and mark them public; or remove these columns and write `others: find` to find their "
            "domains privately; or pass allow_observed=True (--observed-domain), which is not private"
        )


def _checked_rules(rules: object) -> Rules | None:
    if rules is None:
        return None
    from syntabula.table.rules.rules import Rules

    if not isinstance(rules, Rules):
        raise SchemaError(f"rules must be a syntabula.Rules, or left out; got {shown(rules)}")
    return rules if len(rules) else None


def _check_rules_declared(schema: Schema, *, allow_observed: bool) -> None:
    if schema.rules is not None and schema.rules.provenance == "observed" and not allow_observed:
        raise ObservedDomainError(
            "the rules are marked as observed: they were read off the data. Keep those that are facts, known without the "
            "data, and remove their entry `provenance`; or pass allow_observed=True (--observed-domain), which is not "
            "private"
        )


def check_name(name: object) -> None:
    """Refuse a column's name that no schema can hold; raises SchemaError."""
    if not isinstance(name, str) or not name:
        unnamed = (
            "; a column without a name often holds the row numbers that pandas writes: leave them out with "
            "to_csv(index=False), or name the column"
        )
        raise SchemaError(
            f"a column name must be text of at least one character, not {shown(name)}"
            f"{unnamed if isinstance(name, str) else ''}"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"column name {name!r} is not valid Unicode; rename the column") from None


def _kinds() -> str:
    return ", ".join(c.__name__ for c in get_args(Column))


def listed(names: Sequence[str], most: int = 10) -> str:
    """Return names in quotes; of very many, only the first."""
    text = ", ".join(repr(n) for n in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def columns_listed(names: Sequence[str]) -> str:
    """Return "column" or "columns", and their names."""
    return f"{'column' if len(names) == 1 else 'columns'} {listed(names)}"


def unique_columns(schema: Schema) -> dict[str, Date | Datetime]:
    """Return the column that no two rows share, by its name, if there is one."""
    return {n: c for n, c in schema.columns.items() if isinstance(c, Date | Datetime) and c.unique}


def check_number(schema: Schema, n_rows: int) -> None:
    """Refuse more rows than a column that no two rows share has values; raises ArgumentError."""
    for name, column in unique_columns(schema).items():
        if n_rows > most_rows(column):
            raise ArgumentError(
                f"column {name!r} is `unique` and has {most_rows(column):,} values between its bounds; draw at most so "
                "many rows, or widen the bounds"
            )


def most_rows(column: Date | Datetime) -> int:
    """Return how many values a column has between its bounds."""
    first, last = column.grid()
    return last - first + 1
