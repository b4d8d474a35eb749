"""Read columns as a schema declares them if they are stored in another type, or in none.

Values are converted to the texts that they would be in a file. A library that guesses types keeps the meaning of cells,
not their spelling: 007 becomes 7 and true becomes True, unless one cell is something else, and all cells stay texts. To
read the other cells alike in both cases, a number, a flag or a time is taken for the category with that meaning, if
there is only one. The same holds for a text that equals no category:

- 7, 7.0 and "7.0" are the category "7", or "007" if that is the only category with this number;
- True and "TRUE" are the category "true", "True", "yes" or the like, and 1 if numbers are declared;
- 7+0j is 7;
- a time at midnight is the category "2020-01-31", if there is one;
- a time with a zone is its zone's wall-clock time, if no zone is declared;
- an empty text is missing, unless it is a category;
- a missing cell is the category that pandas takes for one, such as "", "NA" or "None", if there is exactly one and the
  column is not nullable.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import CoercionWarning, SchemaError, warn_caller
from syntabula.table.frames.object_columns import is_unicode
from syntabula.table.raw import RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.columns import (
    MICROSECONDS,
    SPELLINGS,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
    time_zone,
)
from syntabula.table.schema.schema import Schema, columns_listed
from syntabula.table.schema.text_formats import NumberFormat

_EXACT = 2**53
_BEYOND_64_BITS = 2**64
_DAY = MICROSECONDS["day"]
_EPOCH = dt.datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_OFFSET = re.compile(r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)(Z|[+-][0-9]{2}(:?[0-9]{2})?)$")
_GAPS_OF_PANDAS = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
}  # fmt: skip
"""The texts that `pandas.read_csv` takes for missing."""
_WORDS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose declared columns have the declared kinds, however they are stored.

    The stored type of a column is what its library inferred from all cells: one cell may turn integers into floats,
    texts or objects. So if the stored type does not suit the declaration, each cell is read independently, by its text
    in a file (see `declared_cells`). A cell without such a text, or whose text does not suit the declaration, is
    unreadable. No stored type is refused, because a refusal would reveal the cell that caused the type.

    The origin keeps the stored types of the other columns only: the synthetic types of declared columns follow from
    their declaration (see `output_type`).
    """
    declared = {name: column for name, column in schema.columns.items() if name in table.columns}
    if not table.origin.is_text:
        found = {name: _without_gaps(table.columns[name], column) for name, column in declared.items()}
        table = replace(table, columns=table.columns | found)
    read = {name: column for name, column in declared.items() if not _is_kept(table, name, column)}
    _warn_of_zones([n for n, c in read.items() if table.columns[n].physical.timezone and _is_without_zone(c)])
    columns = table.columns | _read_as_texts(table, read)
    stored = {name: p for name, p in table.origin.physical.items() if name not in schema}
    return replace(table, columns=columns, origin=replace(table.origin, physical=stored))


def _warn_of_zones(names: list[str]) -> None:
    if names:
        warn_caller(
            CoercionWarning(
                f"{columns_listed(names)}: times are stored with a time zone, which is dropped, and are read as "
                "its wall-clock times; to keep the zone, declare them as datetime with a timezone"
            )
        )


def _is_kept(table: RawTable, name: str, column: Column) -> bool:
    physical = table.columns[name].physical
    # The cells of a text file were already read as declared.
    guessed = physical.kind == "text" and not table.origin.is_text
    return column.objection(physical) is None and not (guessed and is_read_by_meaning(column))


def _read_as_texts(table: RawTable, declared: Mapping[str, Column]) -> dict[str, RawColumn]:
    """Read columns through their texts, each distinct text once."""
    from syntabula.table.files.declared_cells import read_texts

    texts: dict[str, list[str | None]] = {}
    rows: dict[str, NDArray[np.intp]] = {}
    for name, column in declared.items():
        raw = table.columns[name]
        values, places = distinct_values(raw)
        written = [*map(text_of(column), values)]
        # The first entry is for missing cells, and for those without a text.
        texts[name] = [*dict.fromkeys([None, *written])]
        position = {text: row for row, text in enumerate(texts[name])}
        rows[name] = np.zeros(raw.missing.size, dtype=np.intp)
        rows[name][~raw.missing] = np.array([position[text] for text in written], dtype=np.intp)[places]
    longest = max(map(len, texts.values()), default=0)
    filled = {name: [*found, *[None] * (longest - len(found))] for name, found in texts.items()}
    read = read_texts(filled, Schema(declared))[0] if filled else {}
    return {name: _placed(read[name], rows[name], table.columns[name]) for name in read}


def _placed(read: RawColumn, rows: NDArray[np.intp], raw: RawColumn) -> RawColumn:
    """Return the cells of a column, each as read in its row, and mark those that are unreadable."""
    unreadable = (rows == 0) & ~raw.missing
    for marks in (raw.unreadable, None if read.unreadable is None else read.unreadable[rows]):
        unreadable = unreadable if marks is None else unreadable | marks
    return replace(read.take(rows), unreadable=unreadable if unreadable.any() else None)


def _without_gaps(raw: RawColumn, column: Column) -> RawColumn:
    """Return a column with the cells as missing that stand for missing ones."""
    found = _without_empty(raw, column)
    if column.missing_as is None:
        return found
    from syntabula.table.frames.missing_values import without_missing_values

    return without_missing_values(found, column)


def _without_empty(raw: RawColumn, column: Column) -> RawColumn:
    """Return a column with empty texts as missing, if a schema declares texts but not the empty one.

    A missing cell becomes the one category that pandas takes for missing, if no cell may be missing.
    """
    of_objects = isinstance(raw.cells, RepeatedTexts) or raw.cells.dtype == object
    if isinstance(column, Categorical) and not column.nullable and of_objects:
        meant = [label for label in column.categories if label in _GAPS_OF_PANDAS]
        if len(meant) == 1 and raw.missing.any():
            unreadable = False if raw.unreadable is None else raw.unreadable
            gaps = raw.missing & ~np.asarray(unreadable)
            return replace(raw, cells=np.where(gaps, meant[0], raw.values), missing=raw.missing & ~gaps)
    of_text = isinstance(column, Identifier) or (isinstance(column, Categorical) and column.label_type is str)
    if not of_objects or not of_text or (isinstance(column, Categorical) and "" in column.categories):
        return raw
    if isinstance(raw.cells, RepeatedTexts):
        empty = (raw.cells.distinct == "")[raw.cells.places] & ~raw.missing
    else:
        empty = np.fromiter(
            (isinstance(v, str) and not v for v in raw.cells), np.bool_, count=raw.missing.size
        )
    return replace(raw, missing=raw.missing | empty) if empty.any() else raw


def distinct_values(raw: RawColumn) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the values of present cells, each once if equal values are interchangeable.

    Returns:
        The values, and the position among them of each present cell. Days and times are Python's, or None beyond its
        calendar; durations are None, because no column reads them.
    """
    present: NDArray[Any] = raw.values[~raw.missing]
    if raw.physical.kind == "text":
        rows = {text: row for row, text in enumerate(dict.fromkeys(present.tolist()))}
        return [*rows], np.fromiter((rows[text] for text in present), np.intp, count=present.size)
    if present.dtype == object:
        # Some never equal anything, and others equal a value that is written differently, as 1 equals True.
        return present.tolist(), np.arange(present.size)
    found, places = np.unique(present, return_inverse=True)
    values: list[Any] = found.tolist()
    match raw.physical.kind:
        case "date":
            days = [_moment(day * _DAY) for day in values]
            return [day and day.date() for day in days], places
        case "datetime":
            return [_moment(value, raw.physical.timezone) for value in values], places
        case "time":
            moments = [_moment(value) for value in values]
            return [moment and moment.time() for moment in moments], places
        case "duration":
            return [None] * len(values), places
    return values, places


def _moment(microseconds: int, timezone: str | None = None) -> dt.datetime | None:
    try:
        moment = _EPOCH + dt.timedelta(microseconds=microseconds)
        return moment if timezone is None else moment.replace(tzinfo=dt.UTC).astimezone(time_zone(timezone))
    except OverflowError:
        return None
    except SchemaError:
        return moment.replace(tzinfo=dt.UTC)


def is_read_by_meaning(column: Column) -> bool:
    """Return whether a column's categories are texts, some of which write a number, or true or false."""
    texts = _Texts.of(column)
    return bool(texts.numbers) or not texts.labels.isdisjoint((texts.true, texts.false))


def _is_without_zone(column: Column) -> bool:
    """Return whether a column declares days, or times without a zone."""
    return isinstance(column, Date) or (isinstance(column, Datetime) and column.timezone is None)


def text_of(column: Column) -> Callable[[Any], str | None]:
    """Return the function from a value to its text in a file read by a column's declaration; None if it has no text."""
    return _Texts.of(column).written


@dataclass(frozen=True)
class _Texts:
    """The spelling of a column's values.

    Attributes:
        true: Text of true.
        false: Text of false.
        labels: The categories that are texts.
        numbers: Those that write a number, by number, if no other category writes the same one.
        wall_clock: Whether times are declared without a zone.
        number_form: The declared form of numbers, or None.
    """

    true: str
    false: str
    labels: frozenset[str]
    numbers: Mapping[Decimal, str]
    wall_clock: bool
    number_form: NumberFormat | None

    @classmethod
    def of(cls, column: Column) -> _Texts:
        categories = column.categories if isinstance(column, Categorical) else ()
        labels = frozenset(label for label in categories if isinstance(label, str))
        numbers = [(Decimal(label), label) for label in labels if _NUMBER.fullmatch(label)]
        times = Counter(number for number, _ in numbers)
        of_numbers = isinstance(column, Categorical) and column.label_type in (int, float)
        true, false = ("1", "0") if of_numbers or isinstance(column, Numeric) else _spelling(labels)
        unique = {n: label for n, label in numbers if times[n] == 1}
        stated = column.format if isinstance(column, Numeric) else None
        form = None if stated is None else NumberFormat.of(stated)
        return cls(true, false, labels, unique, _is_without_zone(column), form)

    def written(self, value: Any) -> str | None:
        """Return the text of a value; None if it has no plain text."""
        match value:
            case str():
                return self._text(value) if is_unicode(value) else None
            case bool() | np.bool_():
                return self.true if value else self.false
            case np.timedelta64():
                return None  # numpy takes it for an integer
            case int() | float() | Decimal() | np.integer() | np.floating():
                return self._number(value)
            case complex() | np.complexfloating():
                # One complex number makes all numbers of a column complex.
                return self._number(value.real) if value.imag == 0 else None
            case np.datetime64():
                return self.written(value.astype("datetime64[us]").item())
            case dt.datetime():
                return self._moment(value)
            case dt.date() | dt.time():
                return value.isoformat()
        return None

    def _text(self, text: str) -> str:
        if text in self.labels:
            return text
        bare = text.strip()
        if self.wall_clock:
            return _OFFSET.sub(r"\1", bare)
        if bare.lower() in _WORDS:
            return self.true if bare.lower() == "true" else self.false
        return self.numbers.get(Decimal(bare), text) if self.numbers and _NUMBER.fullmatch(bare) else text

    def _number(self, value: Any) -> str | None:
        try:
            if self.number_form is not None and math.isfinite(value):
                return self.number_form.written(_plain_number(value))
            return self._text(_number_text(value))
        except ValueError:
            return None  # of thousands of digits

    def _moment(self, value: dt.datetime) -> str:
        moment = value
        if value.tzinfo is not None:
            with suppress(OverflowError):
                moment = value.replace(tzinfo=None) if self.wall_clock else value.astimezone(dt.UTC)
        # Python's form, because pandas adds nanoseconds.
        text = dt.datetime.isoformat(moment)
        shorter = [text[:10]] if moment.time() == dt.time() else []
        shorter += [text[:16]] if text[16:] == ":00" else []
        forms = [text, *shorter]
        return next((x for form in forms for x in (form, form.replace("T", " ")) if x in self.labels), text)


def _spelling(labels: frozenset[str]) -> tuple[str, str]:
    """Return the categories' spelling of true and false; those words by default."""
    pairs = [spelling.split("/") for spelling in SPELLINGS]
    for true, false in pairs:
        if {true, false} <= labels:
            return true, false
    true, false = (next((w for w in words if w in labels), word) for word, words in _WORDS.items())
    return true, false


def _number_text(value: Any) -> str:
    """Return a number as text, without a point if it is whole, so that 7, 7.0 and 7.00 are written alike."""
    if isinstance(value, Decimal):
        whole = value.is_finite() and abs(value) < _BEYOND_64_BITS and value == value.to_integral_value()
        return str(int(value)) if whole else str(value)
    if isinstance(value, float | np.floating):
        real = float(value)
        whole = math.isfinite(real) and abs(real) <= _EXACT and real.is_integer()
        return str(int(real)) if whole else repr(real)
    return str(int(value))


def _plain_number(value: Any) -> Decimal | float | int:
    if isinstance(value, Decimal):
        return value
    return float(value) if isinstance(value, float | np.floating) else int(value)
