"""Columns that are stored otherwise than a schema declares them, or in no type at all, read as it declares.

Their values become the texts that they would be in a file. A library that guesses types keeps what cells mean, not how
they are written: 007 becomes 7 and true becomes True, unless one cell is something else, and all of them stay texts. So
that the others are read alike in both cases, a number, a flag or a time is the category that means it, if only one does,
and so is a text that no category equals:

- 7, 7.0 and "7.0" are the category "7", or "007" if that is the only one of this number;
- True and "TRUE" are the category "true", "True", "yes" or the like, and 1 where numbers are declared;
- 7+0j is 7;
- a time at midnight is the category "2020-01-31", if there is one;
- a time with a zone is, where none is declared, what the clock of that zone shows;
- a text with nothing in it is missing, unless it is a category.
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

from syntabula._warnings import warn_caller
from syntabula.errors import CoercionWarning, SchemaError
from syntabula.table.frames.object_columns import is_unicode
from syntabula.table.raw import RawColumn, RawTable
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
from syntabula.table.schema.schema import Schema, listed

_EXACT = 2**53
_BEYOND_64_BITS = 2**64
_DAY = MICROSECONDS["day"]
_EPOCH = dt.datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_OFFSET = re.compile(r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)(Z|[+-][0-9]{2}(:?[0-9]{2})?)$")
_WORDS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}


def typed_as_declared(table: RawTable, schema: Schema) -> RawTable:
    """Return a table whose declared columns are of the kinds that the schema declares, however they are stored.

    The stored type of a column is what its library made of all cells: one of them may turn whole numbers into floats,
    texts or objects. Where a column is not of a kind that its declaration reads, each cell is therefore read on its own,
    by what it would be as text in a file (see `declared_cells`); what has no such text, or none that
    the declaration reads, is unreadable. No stored type is refused, as the refusal would tell of the cell that made it.

    The origin keeps the stored types of the other columns alone: what comes out of the declared ones follows from
    their declaration (see `output_type`).
    """
    declared = {name: column for name, column in schema.columns.items() if name in table.columns}
    if not table.origin.is_text:
        found = {name: _without_empty(table.columns[name], column) for name, column in declared.items()}
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
                f"column {listed(names)}: times are stored with a time zone, which is left out, and count as its clock "
                "shows them; to keep it, declare them as datetime with a timezone"
            )
        )


def _is_kept(table: RawTable, name: str, column: Column) -> bool:
    physical = table.columns[name].physical
    # The cells of a file of text were read as declared before.
    guessed = physical.kind == "text" and not table.origin.is_text
    return column.objection(physical) is None and not (guessed and is_read_by_meaning(column))


def _read_as_texts(table: RawTable, declared: Mapping[str, Column]) -> dict[str, RawColumn]:
    """Read columns by their texts, each distinct one once."""
    from syntabula.table.files.declared_cells import read_texts

    texts: dict[str, list[str | None]] = {}
    rows: dict[str, NDArray[np.intp]] = {}
    for name, column in declared.items():
        raw = table.columns[name]
        values, places = distinct_values(raw)
        written = [*map(text_of(column), values)]
        # The first is that of missing cells, and of those without a text.
        texts[name] = [*dict.fromkeys([None, *written])]
        position = {text: row for row, text in enumerate(texts[name])}
        rows[name] = np.zeros(raw.missing.size, dtype=np.intp)
        rows[name][~raw.missing] = np.array([position[text] for text in written], dtype=np.intp)[places]
    longest = max(map(len, texts.values()), default=0)
    filled = {name: [*found, *[None] * (longest - len(found))] for name, found in texts.items()}
    read = read_texts(filled, Schema(declared))[0] if filled else {}
    return {name: _placed(read[name], rows[name], table.columns[name]) for name in read}


def _placed(read: RawColumn, rows: NDArray[np.intp], raw: RawColumn) -> RawColumn:
    """Return the cells of a column, each as it was read in its row, and which of them are unreadable."""
    unreadable = (rows == 0) & ~raw.missing
    for marks in (raw.unreadable, None if read.unreadable is None else read.unreadable[rows]):
        unreadable = unreadable if marks is None else unreadable | marks
    return replace(read.take(rows), unreadable=unreadable if unreadable.any() else None)


def _without_empty(raw: RawColumn, column: Column) -> RawColumn:
    """Return a column of which empty texts are missing, where a schema declares texts and none that is empty."""
    of_text = isinstance(column, Identifier) or (isinstance(column, Categorical) and column.label_type is str)
    if (
        raw.values.dtype != object
        or not of_text
        or (isinstance(column, Categorical) and "" in column.categories)
    ):
        return raw
    empty = np.fromiter((isinstance(v, str) and not v for v in raw.values), np.bool_, count=raw.values.size)
    return replace(raw, missing=raw.missing | empty) if empty.any() else raw


def distinct_values(raw: RawColumn) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the values of the cells that are not missing, each once where equal ones are the same.

    Returns:
        The values, and the position among them of each cell that is not missing. Days and points in time are those of
        Python, and None beyond its calendar; durations are None, as no column reads them.
    """
    present: NDArray[Any] = raw.values[~raw.missing]
    if raw.physical.kind == "text":
        rows = {text: row for row, text in enumerate(dict.fromkeys(present.tolist()))}
        return [*rows], np.fromiter((rows[text] for text in present), np.intp, count=present.size)
    if present.dtype == object:
        # Some have no equals, and others equal what is written otherwise, as 1 does True.
        return present.tolist(), np.arange(present.size)
    found, places = np.unique(present, return_inverse=True)
    values: list[Any] = found.tolist()
    match raw.physical.kind:
        case "date":
            days = [_moment(day * _DAY) for day in values]
            return [day and day.date() for day in days], places
        case "datetime":
            return [_moment(value, raw.physical.timezone) for value in values], places
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
    """Say whether a column has texts as categories of which some write a number, or true or false."""
    texts = _Texts.of(column)
    return bool(texts.numbers) or not texts.labels.isdisjoint((texts.true, texts.false))


def _is_without_zone(column: Column) -> bool:
    """Say whether a column declares days or times without a zone."""
    return isinstance(column, Date) or (isinstance(column, Datetime) and column.timezone is None)


def text_of(column: Column) -> Callable[[Any], str | None]:
    """Return the function from a value to its text in a file that is read as a column declares; None if it has none."""
    return _Texts.of(column).written


@dataclass(frozen=True)
class _Texts:
    """How the values of a column are written.

    Attributes:
        true: What true is.
        false: What false is.
        labels: The categories that are texts.
        numbers: Those that write a number, by that number; none that others write as well.
        wall_clock: Whether times are declared without a zone.
    """

    true: str
    false: str
    labels: frozenset[str]
    numbers: Mapping[Decimal, str]
    wall_clock: bool

    @classmethod
    def of(cls, column: Column) -> _Texts:
        categories = column.categories if isinstance(column, Categorical) else ()
        labels = frozenset(label for label in categories if isinstance(label, str))
        numbers = [(Decimal(label), label) for label in labels if _NUMBER.fullmatch(label)]
        times = Counter(number for number, _ in numbers)
        of_numbers = isinstance(column, Categorical) and column.label_type in (int, float)
        true, false = ("1", "0") if of_numbers or isinstance(column, Numeric) else _spelling(labels)
        unique = {n: label for n, label in numbers if times[n] == 1}
        return cls(true, false, labels, unique, _is_without_zone(column))

    def written(self, value: Any) -> str | None:
        """Return the text of a value; None if it has no plain one."""
        match value:
            case str():
                return self._text(value) if is_unicode(value) else None
            case bool() | np.bool_():
                return self.true if value else self.false
            case np.timedelta64():
                return None  # an integer to numpy
            case int() | float() | Decimal() | np.integer() | np.floating():
                return self._number(value)
            case complex() | np.complexfloating():
                # One complex number makes complex ones of all numbers of a column.
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
            return self._text(_number_text(value))
        except ValueError:
            return None  # of thousands of digits

    def _moment(self, value: dt.datetime) -> str:
        moment = value
        if value.tzinfo is not None:
            with suppress(OverflowError):
                moment = value.replace(tzinfo=None) if self.wall_clock else value.astimezone(dt.UTC)
        # As Python writes it: pandas adds nanoseconds.
        text = dt.datetime.isoformat(moment)
        shorter = [text[:10]] if moment.time() == dt.time() else []
        shorter += [text[:16]] if text[16:] == ":00" else []
        forms = [text, *shorter]
        return next((x for form in forms for x in (form, form.replace("T", " ")) if x in self.labels), text)


def _spelling(labels: frozenset[str]) -> tuple[str, str]:
    """Return how categories write true and false; as those words if they do not."""
    pairs = [spelling.split("/") for spelling in SPELLINGS]
    for true, false in pairs:
        if {true, false} <= labels:
            return true, false
    true, false = (next((w for w in words if w in labels), word) for word, words in _WORDS.items())
    return true, false


def _number_text(value: Any) -> str:
    """Return a number as text, a whole one without a point, so that 7, 7.0 and 7.00 are written alike."""
    if isinstance(value, Decimal):
        whole = value.is_finite() and abs(value) < _BEYOND_64_BITS and value == value.to_integral_value()
        return str(int(value)) if whole else str(value)
    if isinstance(value, float | np.floating):
        real = float(value)
        whole = math.isfinite(real) and abs(real) <= _EXACT and real.is_integer()
        return str(int(real)) if whole else repr(real)
    return str(int(value))
