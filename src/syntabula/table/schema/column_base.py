"""The base of all kinds of columns: codes, points of ordered columns, and checks of arguments.

No message shows a bound or a label, because drafts take them from the data.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import Rule, count, flag, normalise, one_of
from syntabula.bins.scale import Scale
from syntabula.bins.uniform import MAX_BINS, Bins, integer_dtype
from syntabula.errors import ArgumentError, SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType
from syntabula.table.schema.text_formats import read_number

Provenance = Literal["public", "private", "observed"]
Label = str | int | float | bool
"""The name of a category in a schema."""

LABEL_TYPES: dict[type[Label], str] = {
    str: "text",
    bool: "true and false",
    int: "whole numbers",
    float: "numbers with a point",
}
"""The type of labels, in words."""


@dataclass(frozen=True, kw_only=True)
class ColumnBase:
    """The base of every kind of column.

    Codes of a column: its bins or categories in order, then "other" if it is open, or the texts beside its numbers, then
    missing if it is nullable.

    Attributes:
        nullable: Whether cells may be missing; missing then has its own code.
        missing_as: Text by which text files write a missing cell, such as "NA" or "-999", no value of the column; left
            empty by default. If it writes a value of the column's type, as -999 does, this value stands for a missing
            cell in files and data frames alike, however it is spelled, unless the type of the column there cannot hold
            it. NA, NULL and the like are read as missing beside values that are no texts, whether stated or not.
        provenance: Source of the domain: stated (`public`), found under privacy (`private`) or taken from the data
            (`observed`, which the guarantee does not cover).
    """

    kind: ClassVar[str]
    nullable: bool = False
    missing_as: str | None = None
    provenance: Provenance = "public"

    def __post_init__(self) -> None:
        declare(self, nullable=FLAG, provenance=one_of(*get_args(Provenance)))
        if self.missing_as is None:
            return
        text = plain_label("missing_as", self.missing_as)
        if not isinstance(text, str) or not text or text != text.strip() or not text.isprintable():
            raise SchemaError("missing_as must be a text, in quotes, without white space around it")
        if like_a_formula(text) and not _PLAIN_NUMBER.fullmatch(text):
            raise SchemaError(
                "missing_as begins like a formula, which a spreadsheet would run; choose another text"
            )
        if not self.nullable:
            raise SchemaError("missing_as needs cells that may be missing; state `nullable: true` too")
        object.__setattr__(self, "missing_as", text)

    def _check_missing_text(self) -> None:
        """Refuse a text for missing cells that is a value too; the last step of each kind's checks."""
        if self.missing_as is not None and self.writes(self.missing_as):
            raise SchemaError(
                "missing_as is a value of the column too, so files could not tell the two apart; choose another text, or "
                "take the value out of the domain"
            )

    def writes(self, text: str) -> bool:
        """Return whether a text file may hold a value of the column, or a text beside these, as this text."""
        raise NotImplementedError

    def objection(self, physical: PhysicalType) -> str | None:
        """Say why a column of this stored type cannot be read as declared, and what to do; None if it can."""
        raise NotImplementedError

    @property
    def stored(self) -> PhysicalType:
        """Stored type of the values if the source has none, as in text files."""
        raise NotImplementedError

    @property
    def n_values(self) -> int:
        """Number of codes except missing, for a column that is not ordered."""
        raise NotImplementedError

    @property
    def n_apart(self) -> int:
        """Number of codes at the end that are no value of the column: those of missing and of other values."""
        return int(self.nullable)

    @property
    def is_learned(self) -> bool:
        """Whether the column has codes: all columns do, except identifiers that are not nullable."""
        return True

    def n_codes(self, bins: Bins | None = None) -> int:
        """Return the number of codes; `bins` are those of an ordered column."""
        return self.n_values + self.nullable if bins is None else bins.size + self.n_apart

    def span(self) -> tuple[Any, Any, bool]:
        """Return first and last point of an ordered column, and whether they are grid points (integers)."""
        raise SchemaError(f"a {self.kind} column has no bins")


ColumnKind = TypeVar("ColumnKind", bound=ColumnBase)


def with_missing_text(column: ColumnKind, physical: PhysicalType) -> ColumnKind:
    """Return a column with the text by which its file writes missing cells, if it has any that is no value too."""
    text = physical.missing_as
    if text is None or not column.nullable or column.writes(text):
        return column
    return replace(column, missing_as=text)


class Ordered(ColumnBase):
    """A column of values between two bounds; each value is a point of a grid, or a real number.

    Attributes:
        lower: Lower bound.
        upper: Upper bound; part of the domain.
        bins: Number of bins, to override the codec's default.
        atoms: Values known to be frequent; None if they are not known.
    """

    lower: Any
    upper: Any
    bins: int | None
    atoms: tuple[Any, ...] | None

    @property
    def beside(self) -> tuple[str, ...]:
        """Texts that cells may hold in place of a value, each of which has a code of its own."""
        return ()

    @property
    def n_apart(self) -> int:
        """Number of codes at the end that are no value of the column: those of texts beside values, and of missing."""
        return len(self.beside) + self.nullable

    @property
    def declared_atoms(self) -> list[int | float]:
        """Points of the declared atoms, in ascending order."""
        given = [self.written(atom)[0] for atom in self.atoms or ()]
        return sorted(float(point) if self.grid() is None else int(point) for point in given)

    def grid(self) -> tuple[int, int] | None:
        """First and last grid point; None if there is no grid."""
        raise NotImplementedError

    def span(self) -> tuple[Any, Any, bool]:
        """Return first and last point, and whether they are grid points (integers)."""
        grid = self.grid()
        return (float(self.lower), float(self.upper), False) if grid is None else (*grid, True)

    def scale(self) -> Scale | None:
        """Return the scale on which bins are made, in points; None if it is even."""
        return None

    @property
    def has_days(self) -> bool:
        """Whether weekdays and days of the month of values are worth telling apart; see `calendar.days_of`."""
        return False

    @property
    def in_words(self) -> str:
        """Description of a value, such as "a number"."""
        raise NotImplementedError

    @property
    def grain(self) -> str:
        """Distance between points, in words; empty if there is nothing to say."""
        return ""

    def points(self, values: NDArray[Any], kind: PhysicalKind) -> tuple[NDArray[Any], int, int]:
        """Return the points of values, and the numbers of values that were clipped and rounded.

        Args:
            values: Stored values [n], none of them missing.
            kind: Their stored kind, one that `objection` allows.

        Returns:
            [n] grid points as 64-bit integers, or float64 if there is no grid; values outside the bounds are clipped
            to the nearest one. Then the two numbers.
        """
        raise NotImplementedError

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], PhysicalType]:
        """Return the values [n] of points [n], and their stored type."""
        raise NotImplementedError

    def writes(self, text: str) -> bool:
        """Return whether a text is one beside the values, or a value within the bounds."""
        number = self.stored.kind in ("integer", "float")
        try:
            point, _ = self.written(read_number(text, self.stored.format) if number else text)
        except (TypeError, ValueError, OverflowError):
            return text in self.beside
        first, last, _ = self.span()
        return bool(first <= point <= last)

    def written(self, value: object) -> tuple[Fraction, Fraction]:
        """Return the first and the last point that a user's value covers; they may lie between points of the grid.

        Raises:
            TypeError: If it is not a value of this kind.
            ValueError: If it is text without such a value, or does not fit the column's zone.
            OverflowError: If it lies beyond the calendar.
        """
        raise NotImplementedError


_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]*)?", re.ASCII)


def like_a_formula(text: str) -> bool:
    """Return whether a text begins as formulas of spreadsheets do."""
    return text[0] in "=@" or (text[0] in "+-" and bool(text.strip("+-")))


def clip_integers(values: NDArray[Any], lower: int, upper: int) -> tuple[NDArray[Any], int]:
    """Clip 64-bit integers exactly, whatever the signs of type and bounds; return them and how many were clipped."""
    info = np.iinfo(values.dtype)
    dtype = integer_dtype(lower, upper)
    if lower > info.max or upper < info.min:
        nearest = lower if lower > info.max else upper
        return np.full(values.size, nearest, dtype=dtype), int(values.size)
    least, most = (values.dtype.type(b) for b in (max(lower, int(info.min)), min(upper, int(info.max))))
    inside = np.clip(values, least, most)
    return inside.astype(dtype), int((inside != values).sum())


def integers_to(largest: int) -> PhysicalType:
    """Return the stored type of integers up to a largest one, if the source has no type."""
    return PhysicalType("integer", "BIGINT" if largest < 2**63 else "UBIGINT")


def unless(physical: PhysicalType, allowed: set[str], declared: str) -> str | None:
    """Return the objection to a stored kind that is not allowed; None if it is allowed."""
    if physical.kind in allowed:
        return None
    return (
        f"is stored as {physical.kind} ({physical.name}) but declared {declared}, which accepts "
        f"{', '.join(sorted(allowed))}; convert the column or change its kind in the schema"
    )


def left_out(rule: Rule) -> Rule:
    """Return a rule for an optional entry of a schema."""
    return Rule(f"{rule.allowed}, or left out", rule.or_none.read)


def declare(column: object, **rules: Rule) -> None:
    """Check fields of a column or a schema and store the values that their rules return; raises SchemaError."""
    try:
        normalise(column, **rules)
    except ArgumentError as error:
        raise SchemaError(str(error)) from None


def require_order(ascending: bool) -> None:
    """Refuse bounds in the wrong order; raises SchemaError."""
    if not ascending:
        raise SchemaError("lower is above upper; swap the bounds")


def checked_atoms(column: Ordered, given: object, plain: Callable[[object], Any]) -> tuple[Any, ...]:
    """Return declared atoms as plain values; raises SchemaError if one is no value of the column, or is repeated."""
    if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
        raise SchemaError(f"atoms must be a list of values of the column, not {type_of(given)}")
    atoms = tuple(map(plain, given))
    if len(atoms) > MOST_ATOMS:
        raise SchemaError(f"atoms must be at most {MOST_ATOMS} values; list the most frequent ones")
    if len(set(atoms)) < len(atoms):
        raise SchemaError("an atom is listed more than once; list each once")
    first, last, _ = column.span()
    for atom in atoms:
        point = column.written(atom)[0]
        if not first <= point <= last:
            raise SchemaError("an atom lies outside the bounds; drop it or widen them")
        if column.grid() is not None and point % 1 != 0:
            raise SchemaError(
                f"an atom is no value of the column, whose values lie{column.grain}; correct it"
            )
    return atoms


def plain_bound(name: str, value: object, integer: bool) -> int | float:
    """Return a bound as int or float; raises SchemaError if it is not a number, or not whole although it must be."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise SchemaError(f"{name} must be a number, not {type_of(value)}")
    if isinstance(value, numbers.Integral):
        whole = int(value)
        integer_dtype(whole, whole)
        return whole
    real = _finite(name, value)
    if not integer:
        return real
    exact = Fraction(value if isinstance(value, numbers.Rational | Decimal) else real)
    if exact % 1 != 0:
        raise SchemaError(f"{name} must be a whole number, because the column is integer")
    return plain_bound(name, int(exact), integer)


def plain_label(name: str, value: object) -> Label:
    """Return a label as text, int, float or bool; raises SchemaError if this is impossible or inexact."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SchemaError(f"{name} is not valid Unicode; replace its lone surrogates") from None
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if not isinstance(value, numbers.Real | Decimal):
        raise SchemaError(f"{name} must be text, a number, true or false, not {type_of(value)}")
    real = _finite(name, value)
    if real != value:
        raise SchemaError(f"{name} is a number that no float holds exactly; give it as a float or as text")
    return real


def type_of(value: object) -> str:
    """Return the type of a value in plain words, without the value."""
    words = {bool: "a truth value", int: "a whole number", float: "a number with a point", str: "text"}
    words |= {type(None): "null", dict: "a mapping", list: "a list"}
    return next((word for kind, word in words.items() if isinstance(value, kind)), type(value).__name__)


def _finite(name: str, value: numbers.Real | Decimal) -> float:
    try:
        real = float(value) + 0.0  # -0.0 becomes 0.0
    except (ValueError, OverflowError):
        real = math.nan
    if not math.isfinite(real):
        raise SchemaError(f"{name} must be a finite number")
    return real


MOST_ATOMS = 250
"""Most atoms that a column may declare."""

FLAG = Rule("true or false", flag.read)
BIN_COUNT = left_out(count(1, MAX_BINS))
"""The rule for a column's own number of bins."""
