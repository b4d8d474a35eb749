"""The kinds of columns that a schema can declare, except numbers and times."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, get_args

from syntabula._arguments import count, shown
from syntabula.bins.uniform import integer_dtype
from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.clock_columns import Time
from syntabula.table.schema.column_base import (
    FLAG,
    LABEL_TYPES,
    ColumnBase,
    Label,
    Ordered,
    Provenance,
    declare,
    integers_to,
    left_out,
    plain_label,
    type_of,
    unless,
    with_missing_text,
)
from syntabula.table.schema.numeric import MAX_GRID, Numeric
from syntabula.table.schema.text_formats import read_number
from syntabula.table.schema.time_columns import MICROSECONDS, Date, Datetime, Resolution, time_zone

if TYPE_CHECKING:
    from syntabula.table.schema.key_mixtures import KeyMixture
    from syntabula.table.schema.key_patterns import KeyPattern

__all__ = [
    "COLUMN_TYPES",
    "FALSE_TEXTS",
    "LABEL_TYPES",
    "MAX_GRID",
    "MICROSECONDS",
    "SPELLINGS",
    "TRUE_TEXTS",
    "Boolean",
    "Categorical",
    "Column",
    "ColumnBase",
    "Date",
    "Datetime",
    "Identifier",
    "Label",
    "Numeric",
    "Ordered",
    "Provenance",
    "Resolution",
    "Time",
    "time_zone",
    "type_of",
    "with_missing_text",
]

MAX_CATEGORIES = 10_000_000


@dataclass(frozen=True)
class Categorical(ColumnBase):
    """One of the listed values: texts, truth values, or numbers that are codes.

    Attributes:
        categories: Distinct values, all text, all integers, all floats or all booleans.
        open: Whether unlisted values share a category of their own.
        other_label: Label of that category; of the same type as the categories and not one of them.

    Raises:
        SchemaError: If there are no categories or too many, or they are repeated, of mixed type, or not valid Unicode.
    """

    kind: ClassVar[str] = "categorical"
    categories: tuple[Label, ...]
    _: KW_ONLY
    open: bool = False
    other_label: Label = "other"

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, open=FLAG)
        if isinstance(self.categories, str | bytes) or not hasattr(self.categories, "__iter__"):
            raise SchemaError(f"categories must be a list of values, not {type_of(self.categories)}")
        given = tuple(self.categories)
        if not 1 <= len(given) <= MAX_CATEGORIES:
            raise SchemaError(f"categories must hold from 1 to {MAX_CATEGORIES} values")
        labels = tuple(plain_label(f"category number {i}", value) for i, value in enumerate(given, start=1))
        object.__setattr__(self, "categories", labels)
        kinds = {type(value) for value in labels}
        if len(kinds) > 1:
            mixed = ", ".join(word for kind, word in LABEL_TYPES.items() if kind in kinds)
            raise SchemaError(f"categories mix {mixed}; give all of them one type, in quotes for text")
        if len(set(labels)) < len(labels):
            raise SchemaError("a category is listed more than once; list each once")
        if self.open:
            self._check_other()
        if kinds == {int}:
            self._check_width()
        self._check_missing_text()

    def __eq__(self, other: object) -> bool:
        return self._stated() == other._stated() if isinstance(other, Categorical) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._stated())

    def _stated(self) -> tuple[object, ...]:
        # In Python 1 equals True and 1.0, but columns of these are read, compared and computed otherwise.
        return (self.label_type, *(getattr(self, f.name) for f in fields(self)))

    def writes(self, text: str) -> bool:
        """Return whether a text is a category, or is read as one."""
        if self.label_type is bool:
            return text.lower() in (*TRUE_TEXTS, *FALSE_TEXTS)
        if self.label_type is str:
            # Missing cells are told apart from white space around them.
            return any(str(label).strip(" \t\r\n") == text for label in self.labels)
        return read_number(text) in self.labels

    def _check_width(self) -> None:
        every = [int(label) for label in self.labels]
        try:
            integer_dtype(min(every), max(every))
        except SchemaError:
            raise SchemaError(
                "the categories do not fit a 64-bit integer; make them text, in quotes"
            ) from None

    def _check_other(self) -> None:
        other = plain_label("other_label", self.other_label)
        object.__setattr__(self, "other_label", other)
        if type(other) is not self.label_type:
            raise SchemaError(f"other_label must be {LABEL_TYPES[self.label_type]}, like the categories")
        if other in set(self.categories):
            raise SchemaError("other_label is already a category; choose another label")

    @property
    def label_type(self) -> type[Label]:
        """Type of all categories: str, int, float or bool."""
        return type(self.categories[0])

    @property
    def labels(self) -> tuple[Label, ...]:
        """Label of every code except missing."""
        return (*self.categories, self.other_label) if self.open else self.categories

    @property
    def code_of_own_other(self) -> int | None:
        """Code of the table's own category "other", as which rows hold unlisted values too; None if there is none.

        Of a domain that was found, `other_label` is "other", or "other_" beside such a category, which is no word of the
        table.
        """
        if not (self.open and self.provenance == "private" and isinstance(self.other_label, str)):
            return None
        own = self.other_label.rstrip("_")
        return self.categories.index(own) if own.lower() == "other" and own in self.categories else None

    @property
    def n_values(self) -> int:
        """Number of codes but missing."""
        return len(self.categories) + self.open

    @property
    def n_apart(self) -> int:
        """Number of codes at the end that are no declared category."""
        return self.open + self.nullable

    @property
    def stored(self) -> PhysicalType:
        """Stored type of the labels if the source has none."""
        if self.label_type is int:
            return integers_to(max(map(int, self.labels)))
        return {
            str: PhysicalType("text", "VARCHAR"),
            bool: PhysicalType("boolean", "BOOLEAN"),
            float: PhysicalType("float", "DOUBLE"),
        }[self.label_type]

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot hold the categories; None if it can."""
        # pandas turns integers into floats if one is missing.
        allowed: dict[type[Label], set[str]] = {
            str: {"text"},
            int: {"integer", "float", "decimal"},
            float: {"integer", "float", "decimal"},
            bool: {"boolean"},
        }
        return unless(
            physical, allowed[self.label_type], f"categorical with {self.label_type.__name__} values"
        )


SPELLINGS = ("true/false", "True/False", "TRUE/FALSE", "t/f", "yes/no", "Yes/No", "y/n", "Y/N", "1/0")
"""The spellings of true and false in text."""
TRUE_TEXTS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_TEXTS = ("false", "f", "no", "n", "0", "0.0")
"""Texts that are read as true and as false in any case, among them all `SPELLINGS`."""


@dataclass(frozen=True)
class Boolean(ColumnBase):
    """True or false.

    Attributes:
        spelling: How delimited text writes the two, true first: one of `SPELLINGS`. All of them can be read.

    Raises:
        SchemaError: If the spelling is not one of them.
    """

    kind: ClassVar[str] = "boolean"
    _: KW_ONLY
    spelling: str = SPELLINGS[0]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.spelling, str) or self.spelling not in SPELLINGS:
            raise SchemaError(
                f"spelling must be one of {', '.join(SPELLINGS)}; declare other words as categories; got "
                f"{shown(self.spelling)}"
            )
        self._check_missing_text()

    def writes(self, text: str) -> bool:
        """Return whether a text is read as true or false."""
        return text.lower() in (*TRUE_TEXTS, *FALSE_TEXTS)

    @property
    def n_values(self) -> int:
        """Number of codes but missing."""
        return 2

    @property
    def stored(self) -> PhysicalType:
        """Stored type of flags if the source has none; its name is their spelling, unless that is true and false."""
        return PhysicalType("boolean", "BOOLEAN" if self.spelling == SPELLINGS[0] else self.spelling)

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as true or false; None if it can."""
        return unless(physical, {"boolean"}, self.kind)


@dataclass(frozen=True)
class Identifier(ColumnBase):
    """Values that name a record, or free text: never learned, but made anew as running numbers or by a pattern.

    If it is nullable, the model learns which cells are missing, as for any other column.

    Attributes:
        prefix: Text before each number.
        width: Number of digits to which numbers are padded with zeros; None for no padding.
        integer: Whether the new values are integers rather than text.
        pattern: Shape of new keys, such as "C-\\d{6}" or "\\d{4}-[A-Z]{5}": digits, classes such as [A-Z]
            and [0-9a-f], counts, and characters as themselves; or uuid; or several of these joined by |. None for
            running numbers.
        shares: Parts of the rows that have each of several patterns, such as [0.7, 0.3]; all the same by default. Each
            of up to 1,000 patterns has at least one of 1,000 rows.
        distinct: How many different keys there are, such as 400 of stores in a table of sales: more rows have them again,
            all equally often. None if all differ, as those of units always do.

    Raises:
        SchemaError: If integers are given a prefix or a width, or a pattern that makes no integers, or a pattern is not
            understood, given beside a prefix or a width, or makes fewer different keys than there are.
    """

    kind: ClassVar[str] = "identifier"
    _: KW_ONLY
    prefix: str = ""
    width: int | None = None
    integer: bool = False
    pattern: str | None = None
    distinct: int | None = None
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        declare(self, integer=FLAG, width=left_out(count(1, 32)), distinct=left_out(count(1, MAX_GRID)))
        if not isinstance(self.prefix, str):
            raise SchemaError(f"prefix must be text; got {shown(self.prefix)}")
        object.__setattr__(self, "prefix", plain_label("prefix", self.prefix))
        if self.integer and (self.prefix or self.width is not None):
            raise SchemaError("integer identifiers cannot have a prefix or a width; drop them")
        self._check_shares()
        if self.pattern is not None:
            found = self.keys()
            if self.prefix or self.width is not None:
                raise SchemaError("a pattern says all of a key; drop prefix and width, and write them in it")
            if self.integer and not found.is_number:
                raise SchemaError(
                    "integer identifiers need a pattern of 1 to 18 digits that does not begin with zero, such as "
                    r"[1-9]\d{7}"
                )
            if self.distinct is not None and self.distinct > found.n_keys:
                raise SchemaError(
                    f"pattern has {found.n_keys:,} different keys, fewer than `distinct`; declare a longer one"
                )
        self._check_missing_text()

    def _check_shares(self) -> None:
        if self.shares is None:
            return
        from syntabula.table.schema.key_patterns import alternatives_of

        n, given = len(alternatives_of(self.pattern)), self.shares
        listed = [*given] if isinstance(given, list | tuple) else []
        fits = all(type(share) in (int, float) and 0 < share < math.inf for share in listed)
        if n < 2 or len(listed) != n or not fits:
            raise SchemaError(
                "shares must be a list of numbers above 0, one for each of several patterns joined by |, such as "
                "[0.7, 0.3]"
            )
        object.__setattr__(self, "shares", tuple(map(float, listed)))

    def keys(self, name: str = "") -> KeyPattern | KeyMixture:
        """Return the keys of the pattern, which there must be, for a column of some name."""
        from syntabula.table.schema.key_mixtures import keys_of

        assert self.pattern is not None
        return keys_of(self.pattern, self.shares, name)

    def writes(self, text: str) -> bool:
        """Return whether a text is one of the new keys, however many there are."""
        if self.pattern is not None:
            return self.keys().fits(text)
        number = text.removeprefix(self.prefix)
        if not (text.startswith(self.prefix) and number.isascii() and number.isdigit()):
            return False
        return int(number) > 0 and f"{int(number):0{self.width or 1}d}" == number

    @property
    def repeats(self) -> bool:
        """Whether fewer keys differ than the pattern has; with all of them, keys repeat where there are more rows."""
        if self.distinct is None or self.pattern is None:
            return self.distinct is not None
        return self.distinct < self.keys().n_keys

    @property
    def n_values(self) -> int:
        """Number of codes except missing: all present values share one."""
        return 1

    @property
    def is_learned(self) -> bool:
        """Whether the model learns which values are missing."""
        return self.nullable

    @property
    def stored(self) -> PhysicalType:
        """Stored type of the new values if the source has none."""
        return PhysicalType("integer", "BIGINT") if self.integer else PhysicalType("text", "VARCHAR")

    def objection(self, physical: PhysicalType) -> str | None:
        """Return None: identifiers are not read, so they may have any stored type."""
        return None


Column = Numeric | Categorical | Boolean | Date | Datetime | Time | Identifier
COLUMN_TYPES: dict[str, type[Column]] = {c.kind: c for c in get_args(Column)}
