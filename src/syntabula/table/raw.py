"""Tables as read from any source: plain numpy columns with masks of missing cells."""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from syntabula.errors import DataError, SchemaError


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedTexts:
    """The texts of a column as Arrow's dictionaries hold them, in one to four bytes a cell.

    Attributes:
        distinct: Texts as objects (str) [k], no two of them equal; at least one if there is a cell.
        places: For each cell, the position of its text among them [n], in any type of integers; arbitrary where the cell
            is missing.
    """

    distinct: NDArray[Any]
    places: NDArray[Any]

    @classmethod
    def of(cls, texts: Iterable[str | None], missing: NDArray[np.bool_]) -> RepeatedTexts:
        """Find the distinct texts of a column [n], in the order in which they first occur.

        Args:
            texts: The text of each cell; anything where it is missing.
            missing: True where a cell is missing [n].
        """
        position: dict[str, int] = {}
        cells = zip(texts, missing.tolist(), strict=True)
        found = (
            0 if gap or text is None else position.setdefault(text, len(position)) for text, gap in cells
        )
        places = np.fromiter(found, np.int64, count=missing.size)
        return cls.placed([*position], places)

    @classmethod
    def placed(cls, distinct: Sequence[str], places: NDArray[Any]) -> RepeatedTexts:
        """Return texts by their positions [n] among distinct ones [k], in the narrowest type of integers.

        Args:
            distinct: Distinct texts; none if every cell is missing.
            places: Positions, valid where a cell is not missing and k is not 0.
        """
        known = np.empty(max(len(distinct), 1), dtype=object)
        known[:] = distinct or [""]
        return cls(known, places.astype(np.min_scalar_type(known.size - 1), copy=False))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells, as an array of one dimension says it."""
        return self.places.shape

    def texts(self) -> NDArray[Any]:
        """Return the text of each cell as an object [n]; equal texts are one object."""
        found: NDArray[Any] = self.distinct[self.places]
        return found

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> RepeatedTexts:
        return RepeatedTexts(self.distinct, self.places[rows])

    def __repr__(self) -> str:
        return "RepeatedTexts()"


def joined(parts: Sequence[NDArray[Any] | RepeatedTexts]) -> NDArray[Any] | RepeatedTexts:
    """Concatenate the cells of a column's parts; texts stay repeated if those of all parts are."""
    repeated = [part for part in parts if isinstance(part, RepeatedTexts)]
    if len(repeated) < len(parts):
        return np.concatenate([p.texts() if isinstance(p, RepeatedTexts) else p for p in parts])
    position: dict[str, int] = {}
    placed = []
    for part in repeated:
        own = [position.setdefault(text, len(position)) for text in part.distinct.tolist()]
        placed.append(np.array(own, dtype=np.min_scalar_type(max(len(position) - 1, 0)))[part.places])
    return RepeatedTexts.placed([*position], np.concatenate(placed))


def joined_beside(columns: Sequence[RawColumn]) -> RepeatedTexts | None:
    """Concatenate the texts beside numbers of a column's parts, all read or drawn by one declaration."""
    parts = [column.beside for column in columns if column.beside is not None]
    return (
        RepeatedTexts(parts[0].distinct, np.concatenate([part.places for part in parts])) if parts else None
    )


PhysicalKind = Literal[
    "boolean", "integer", "float", "decimal", "text", "date", "datetime", "time", "duration", "other"
]
Container = Literal["pandas", "polars", "pyarrow", "csv", "tsv", "parquet", "arrow", "jsonl", "xlsx"]
DELIMITERS = ",;\t|"
"""Characters that may separate the cells of delimited text."""
TEXT_FORMATS: tuple[Container, ...] = ("csv", "tsv", "jsonl")
"""File formats that store no types."""

MISSING_TEXTS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "\\N", "?", "-", ".")
"""Texts by which text files of R, databases and others write a missing cell, in columns of other kinds than text."""

CELLS_AT_ONCE = 500_000
"""Long columns are processed in slices: an interrupt takes effect between two numpy or pandas calls, never within."""

_ORDERED = {"integer", "float", "decimal", "date", "datetime", "time"}
_WIDE_INTEGERS = {"HUGEINT", "UHUGEINT", "Int128", "UInt128"}
_INTEGER_NAME = re.compile(r"(u?)int(8|16|32|64)(?:\[pyarrow\])?", re.IGNORECASE)
_DECIMAL_NAME = re.compile(
    r"decimal\d*\((?:precision=)?(\d+), ?(?:scale=)?(-?\d+)\)(?:\[pyarrow\])?", re.IGNORECASE
)
_INTEGERS_OF_DATABASES = {"TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64"}
_NARROW_FLOATS = {"float16": "float16", "halffloat": "float16", "float32": "float32", "float": "float32"}


@dataclass(frozen=True)
class PhysicalType:
    """How a column is stored at its source.

    Attributes:
        kind: Kind of its values.
        name: Its type as the source prints it, such as "Int64" or "datetime64[ns, Europe/Paris]".
        timezone: Zone of a zoned datetime.
        scale: Decimal places of a decimal, or of what a format writes.
        format: How text writes its values, as `format` of a schema says; None for the usual form.
        years: First and last year that years of two digits should mean, if possible; None if that is unknown.
        order: Texts, or numbers that are labels, in the order in which the type itself ranks them; none if it does not.
        missing_as: Text by which a text file writes a missing cell.
        missing_value: Value that stands for a missing cell where values are stored as such, in the units of raw columns.
        is_complete: Whether no cell of this type can be missing, as in the integers and flags of numpy.
    """

    kind: PhysicalKind
    name: str
    timezone: str | None = None
    scale: int | None = None
    format: str | None = None
    years: tuple[int, int] | None = field(default=None, repr=False, compare=False)
    order: tuple[str | int | float, ...] = field(default=(), repr=False, compare=False)
    missing_as: str | None = field(default=None, compare=False)
    missing_value: int | float | None = field(default=None, compare=False)
    is_complete: bool = field(default=False, repr=False, compare=False)

    @property
    def is_labels(self) -> bool:
        """Whether values are labels without distances: texts, and numbers that pandas holds as categories."""
        return self.kind == "text" or (self.kind in ("integer", "float") and self.name.startswith("category"))

    @property
    def may_be_times(self) -> bool:
        """Whether texts may be days or times for all that their library knows: pandas reads both as texts."""
        return self.kind == "text" and self.name in ("object", "str")

    @property
    def is_ordered(self) -> bool:
        """Whether values lie between bounds: numbers that are not labels, days and times."""
        return self.kind in _ORDERED and not self.is_labels

    @property
    def without_domain(self) -> str | None:
        """Why no column can be declared for such values, and the remedy; None if one can."""
        if self.kind == "duration":
            return "holds durations; convert them to numbers, for instance seconds"
        if self.kind == "other":
            return (
                f"holds mixed or nested values, or an unsupported type ({self.name}); convert it to text, "
                "numbers or dates, or drop it"
            )
        return None

    @property
    def limits(self) -> tuple[int | float, int | float]:
        """The least and the largest number that this type can store, infinite if its name states none."""
        named = _INTEGERS_OF_DATABASES.get(self.name.removeprefix("U"))
        if matched := _INTEGER_NAME.fullmatch(named or self.name):
            unsigned, bits = matched[1] or (named and self.name.startswith("U")), int(matched[2])
            return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if matched := _DECIMAL_NAME.fullmatch(self.name):
            largest = float(Decimal(10 ** int(matched[1]) - 1).scaleb(-int(matched[2])))
            return -largest, largest
        largest = float(np.finfo(narrow).max) if (narrow := self.narrow_float) else math.inf
        return -largest, largest

    @property
    def narrow_float(self) -> str | None:
        """Name of the type of numpy, float16 or float32, that this type stores numbers in; None for others."""
        name = _NARROW_FLOATS.get(self.name.removesuffix("[pyarrow]").lower())
        return name if self.kind == "float" else None

    def require_domain(self, column: str) -> None:
        """Raise SchemaError if no column can be declared for such values; depends on the type alone."""
        if reason := self.without_domain:
            raise SchemaError(f"column {column!r} {reason}")

    @property
    def written(self) -> PhysicalType:
        """Type of this column's synthetic values: integers, if it is read as decimals only because of its width."""
        wide = self.kind == "decimal" and self.name in _WIDE_INTEGERS
        return PhysicalType("integer", self.name) if wide else self


@dataclass(frozen=True, eq=False, repr=False)
class RawColumn:
    """Values of one column.

    Attributes:
        cells: The `values` as they are held: these, or texts of which many are equal.
        missing: True where a cell is missing.
        physical: How it is stored at the source.
        unreadable: True where a cell of a text file cannot be read as the declared kind, or text is not valid
            Unicode; such cells are missing too. None if there are none.
        beside: The declared text that a cell of a column of numbers holds in place of one [n], at the position of the
            text in the declaration, from 1; the empty text, at position 0, for other cells. Cells that hold one are
            missing too. None if no text is declared.
    """

    cells: NDArray[Any] | RepeatedTexts
    missing: NDArray[np.bool_]
    physical: PhysicalType
    unreadable: NDArray[np.bool_] | None = None
    beside: RepeatedTexts | None = None

    def __post_init__(self) -> None:
        if self.cells.shape != self.missing.shape or self.missing.ndim != 1:
            raise DataError("values and missing of a column must be one-dimensional and have the same length")

    @property
    def values(self) -> NDArray[Any]:
        """One value per row, by kind; repeated texts are put into a new array.

        Boolean as bool; integer as int64 or uint64; float as float64; decimal, and integers of more than 64 bits, as
        objects (decimal.Decimal); text as objects (str); date as int64 days since 1970-01-01; datetime as int64
        microseconds since 1970-01-01 (UTC if zoned, wall clock otherwise); time as int64 microseconds since midnight;
        duration as int64 microseconds; other as objects. The value of a missing cell is arbitrary.
        """
        return self.cells.texts() if isinstance(self.cells, RepeatedTexts) else self.cells

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> RawColumn:
        """Return some rows of the column, by position or as marked."""
        unreadable = None if self.unreadable is None else self.unreadable[rows]
        beside = None if self.beside is None else self.beside[rows]
        return RawColumn(self.cells[rows], self.missing[rows], self.physical, unreadable, beside)

    def __repr__(self) -> str:
        return f"RawColumn({self.physical.kind})"


@dataclass(frozen=True)
class Dialect:
    """The form of delimited text, which its header shows: public, as the names of columns are.

    Attributes:
        delimiter: Character between cells.
        quoted: Whether texts are in quotes, as all names of the header are.
        marked: Whether a byte order mark comes first, by which Excel knows UTF-8.
        returns: Whether a carriage return precedes the line feed at the end of a line, as Windows writes it.
        every: Whether all cells are in quotes, which records say and not the header: False unless privacy is off.
        encoding: Encoding of the text, as Python names it: declared, or by the byte order mark.
    """

    delimiter: str = ","
    quoted: bool = False
    marked: bool = False
    returns: bool = False
    every: bool = False
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Origin:
    """The kind of table that was read, so that a synthetic one can have the same kind.

    Attributes:
        container: Library or file format.
        physical: Stored type of each undeclared column; the synthetic table uses it too.
        dialect: Form of a delimited file, if it is not the usual one of its suffix.
    """

    container: Container
    physical: Mapping[str, PhysicalType]
    dialect: Dialect | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is a text file, which stores no types."""
        return self.container in TEXT_FORMATS

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts."""
        return {
            "container": self.container,
            "physical": {
                name: {"kind": p.kind, "name": p.name, "timezone": p.timezone, "scale": p.scale}
                for name, p in self.physical.items()
            },
        } | ({} if self.dialect is None else {"dialect": asdict(self.dialect)})

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Origin:
        """Rebuild from `to_json`; raises ValueError, KeyError or TypeError on malformed facts."""
        if facts["container"] not in get_args(Container):
            raise ValueError("unknown kind of table")
        dialect = Dialect(**facts["dialect"]) if "dialect" in facts else None
        if dialect is not None and (
            dialect.delimiter not in [*DELIMITERS]
            or not {*map(type, (dialect.quoted, dialect.marked, dialect.returns, dialect.every))} <= {bool}
            or not is_encoding(dialect.encoding)
        ):
            raise ValueError("unknown form of delimited text")
        return cls(facts["container"], {n: PhysicalType(**p) for n, p in facts["physical"].items()}, dialect)

    def with_container(self, container: Container) -> Origin:
        """Return the same types in another kind of table."""
        return replace(
            self, container=container, dialect=self.dialect if container == self.container else None
        )


@dataclass(frozen=True, eq=False, repr=False)
class RawTable:
    """A table of raw columns; its repr shows names and kinds only.

    Attributes:
        columns: Columns by name, in order.
        n_rows: Number of rows (sensitive).
        origin: Its source.
    """

    columns: dict[str, RawColumn]
    n_rows: int
    origin: Origin

    def __post_init__(self) -> None:
        if any(c.missing.size != self.n_rows for c in self.columns.values()):
            raise DataError("the columns of a table differ in length")

    def __repr__(self) -> str:
        return f"RawTable({len(self.columns)} columns)"


_ESCAPES = ("idna", "punycode", "raw-unicode-escape", "unicode-escape")
"""What Python counts as encodings of text, but no file is in: cells with capitals or backslashes would change."""


def is_encoding(name: object) -> TypeGuard[str]:
    """Return whether a name is that of an encoding of text files which Python knows."""
    try:
        return (
            isinstance(name, str)
            and "x".encode(name).decode(name) == "x"
            and codecs.lookup(name).name not in _ESCAPES
        )
    except (LookupError, ValueError):
        return False


def check_names(names: Iterable[Any]) -> None:
    """Refuse tables without columns, repeated names and names that are not text; raises DataError."""
    listed = list(names)
    if not listed:
        raise DataError("the table has no columns")
    if any(not isinstance(name, str) for name in listed):
        kinds = sorted({type(n).__name__ for n in listed if not isinstance(n, str)})
        raise DataError(
            f"every column name must be text, but some are {', '.join(kinds)}; rename the columns, for "
            'instance with frame.columns = [f"column_{i}" for i in range(frame.shape[1])]'
        )
    if twice := [name for name, count in Counter(listed).items() if count > 1]:
        raise DataError(
            f"the table has more than one column named {', '.join(map(repr, twice[:10]))}; rename or drop "
            "all but one"
        )


def slices(size: int) -> Iterator[slice]:
    """Cut this many cells into slices of CELLS_AT_ONCE; there is at least one."""
    return (slice(start, start + CELLS_AT_ONCE) for start in range(0, max(size, 1), CELLS_AT_ONCE))


def sliced(column: RawColumn, dtype: DTypeLike, make: Callable[[RawColumn], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function to each slice of a column, and return the results as one array of a type."""
    made = np.empty(column.missing.size, dtype)
    for cut, part in zip(slices(made.size), parts_of(column), strict=True):
        made[cut] = make(part)
    return made


def parts_of(column: RawColumn) -> Iterator[RawColumn]:
    """Cut a column into slices."""
    for cut in slices(column.missing.size):
        yield column.take(cut)
