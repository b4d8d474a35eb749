"""Numbers that are stored as texts because of signs, groups of digits, or texts such as limits beside them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from syntabula.table.frames.object_columns import object_array
from syntabula.table.frames.retyping import text_of
from syntabula.table.frames.text_times import TextTimes, repeated_texts, with_times_read
from syntabula.table.new_keys import FEW_VALUES
from syntabula.table.raw import PhysicalType, RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.numeric import MOST_TEXTS, Numeric
from syntabula.table.schema.schema import Schema, undeclared
from syntabula.table.schema.text_formats import (
    GROUPS,
    SHORTEST,
    SIGN_OR_CODE,
    SIGN_OR_UNIT,
    SPACES,
    NumberFormat,
)

_GROUPS, _SPACES = "".join(GROUPS), "".join(SPACES)
_GROUPED = re.compile(rf"[1-9][0-9]{{0,2}}([{_GROUPS}][0-9]{{3}})+([.,][0-9]*)?([eE][+-]?[0-9]+)?")
"""Digits in groups of three, unlike those of phones, such as 49 783444."""
_LIMIT = re.compile(rf"([<>≤≥]|<=|>=) ?([0-9][0-9.,{_GROUPS}]*( ?{SIGN_OR_UNIT})?|LO[DQ]|[DQ]L)")
_AMOUNT = re.compile(r"-.*|[^.,]*[.,].*|\D*([0-9]\D*){4,5}|\D*([0-9]\D*){7}")
"""Numbers in groups of three digits that are hardly codes; see `signed_kinds`."""
_BY_POINT = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})?|0")
_SURELY = 150
"""So many numbers all have three decimals by chance less often than once in a million times, if zeros are left out."""
_WORDS = {"#N/A", "<NA>", "N/A", "NA", "n/a", "NULL", "null", "None", "-", "--", "ND", "n.d."}
"""Texts that stand for a missing number, but are not empty."""
_NUMBER = re.compile(
    rf"(?P<first>[+-]?)(?P<prefix>{SIGN_OR_CODE}?)(?P<second>[+-]?)"
    rf"(?P<digits>[0-9.]([0-9.,{_GROUPS}]*[0-9])?\.?([eE][+-]?[0-9]+)?)(?P<suffix>([{_SPACES}]?{SIGN_OR_UNIT})?)"
)


def with_texts_read(table: RawTable, schema: Schema | None = None) -> RawTable:
    """Return a table with undeclared columns of texts read as what all of their cells say; sensitive.

    These are days or times (see `with_times_read`), and numbers that no library takes for such.
    """
    table = with_times_read(table, schema)
    found: dict[str, RawColumn] = {}
    for name in undeclared(table.columns, schema):
        if (texts := _as_texts(table.columns[name])) is not None:
            column = _as_numbers(name, replace(table, columns={name: texts}))
            if column is not None:
                found[name] = column
    return replace(table, columns=table.columns | found) if found else table


def with_signed_numbers_read(table: RawTable, schema: Schema | None = None) -> RawTable:
    """Return a table with undeclared columns of texts read as numbers if all cells are such, as 1.234,50; sensitive.

    What depends on texts beside the numbers, such as limits, stays texts: a domain that is found has none.
    """
    found = {}
    for name in undeclared(table.columns, schema):
        if table.columns[name].physical.kind == "text":
            column = _as_numbers(name, table)
            if column is not None and column.beside is None:
                found[name] = column
    return replace(table, columns=table.columns | found) if found else table


def _as_texts(raw: RawColumn) -> RawColumn | None:
    """Return a column of texts, or of texts and numbers, as workbooks hold them, as texts; None for any other."""
    if raw.physical.kind == "text":
        return raw
    present = raw.values[~raw.missing].tolist() if raw.physical.kind == "other" else []
    kinds = {*map(type, present)}
    if str not in kinds or not kinds <= {str, int, float}:
        return None
    written = text_of(Numeric(0, 0))
    texts = [None if gap else written(v) for v, gap in zip(raw.values, raw.missing, strict=True)]
    if any(text is None and not gap for text, gap in zip(texts, raw.missing, strict=True)):
        return None
    return RawColumn(RepeatedTexts.of(texts, raw.missing), raw.missing, PhysicalType("text", "object"))


def _as_numbers(name: str, table: RawTable) -> RawColumn | None:
    """Return a column of texts as numbers, with texts beside them; None if it holds anything else, or few numbers."""
    raw = table.columns[name]
    texts = repeated_texts(raw)
    occurs = np.bincount(texts.places[~raw.missing], minlength=texts.distinct.size) > 0
    bare = [text.strip() for text in texts.distinct.tolist()]
    present = {text for text, some in zip(bare, occurs, strict=True) if some and text}
    beside = sorted(text for text in present if text in _WORDS or _LIMIT.fullmatch(text))
    if len(beside) > MOST_TEXTS or len(present) - len(beside) <= FEW_VALUES:
        return None
    style = _Style.of(present.difference(beside))
    if style is None:
        return None
    position = {text: place for place, text in enumerate(beside, 1)}
    held = np.array([position.get(text, 0) for text in bare])[texts.places]
    held[raw.missing] = 0
    plain = RepeatedTexts(object_array([style.plain(text) for text in bare]), texts.places)
    numbers = RawColumn(plain, raw.missing | (held > 0), raw.physical)
    reader = TextTimes(replace(table, columns={name: numbers}), [name])
    plain_texts = [style.plain(text) for text in present.difference(beside)]
    dialect = table.origin.dialect
    decimal_comma = dialect is not None and dialect.delimiter == ";"
    decimal_comma |= _has_groups_by_point(plain_texts)
    if style.group:
        # Another mark than that between groups is before decimals.
        decimal_comma = any("," in text for text in plain_texts)
    physical = reader.types(("integer", "float"), decimal_comma=decimal_comma).get(name)
    if physical is None or (not beside and style.is_plain and _is_usual(physical)):
        return None
    column = reader.typed({name: physical}).columns[name]
    return replace(
        column,
        physical=replace(physical, format=style.format(physical)),
        beside=RepeatedTexts.placed(["", *beside], held) if beside else None,
    )


def _is_usual(physical: PhysicalType) -> bool:
    """Return whether libraries read such numbers, so that one that left them as texts did so on purpose."""
    return physical.format is None or NumberFormat.of(physical.format).is_usual


def _has_groups_by_point(numbers: Collection[str]) -> bool:
    """Return whether points in some distinct numbers, such as 850 and 2.116, are not before decimals but between groups.

    Where zeros at the end are left out, as the whole numbers show, one number in ten has fewer than three decimals.
    """
    if not all(map(_BY_POINT.fullmatch, numbers)):
        return False
    n_pointed = sum("." in number for number in numbers)
    return n_pointed >= _SURELY and len(numbers) - n_pointed > FEW_VALUES


def _is_amount(number: str) -> bool:
    """Return whether a number is hardly a code, if it has spaces between groups of digits."""
    return any(space in number for space in SPACES if space) and _AMOUNT.fullmatch(number) is not None


@dataclass(frozen=True)
class _Style:
    """What the numbers of a column have around and between their digits.

    Attributes:
        prefix: Sign or code of a currency before each, or nothing.
        group: Character between groups of digits that only some libraries read, or nothing.
        suffix: Sign of a currency or percent, or unit, behind each, or nothing.
    """

    prefix: str
    group: str
    suffix: str

    @classmethod
    def of(cls, numbers: Collection[str]) -> _Style | None:
        """Return the style that all numbers share; None if they are no numbers, or share none."""
        styles = set()
        groups: set[str] = set()
        signs: set[str] = set()
        for text in numbers:
            if (found := _NUMBER.fullmatch(text)) is None or (found["first"] and found["second"]):
                return None
            styles.add((found["prefix"], found["suffix"]))
            signs.add(found["first"] or found["second"])
            within = {character for character in found["digits"] if character in _GROUPS}
            if within and not _GROUPED.fullmatch(found["digits"]):
                return None
            groups |= within
        # Nobody writes a plus before amounts alone, but before phones.
        if len(styles) != 1 or len(groups) > 1 or (groups and signs == {"+"}):
            return None
        prefix, suffix = styles.pop()
        if not (prefix or suffix) and groups.intersection(SPACES) and not any(map(_is_amount, numbers)):
            return None
        return cls(prefix, "".join(groups), suffix)

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but digits and marks."""
        return not (self.prefix or self.group or self.suffix)

    def plain(self, text: str) -> str:
        """Return a number without signs and marks between groups; another text as it is."""
        found = _NUMBER.fullmatch(text)
        if found is None:
            return text
        digits = found["digits"].replace(self.group, "") if self.group else found["digits"]
        return found["first"] + found["second"] + digits

    def format(self, physical: PhysicalType) -> str | None:
        """Return the format of these numbers, given that of the plain ones."""
        if self.is_plain:
            return physical.format
        format = physical.format or ("1234" if physical.kind == "integer" else SHORTEST)
        return f"{self.prefix}{format[0]}{self.group}{format[1:]}{self.suffix}"
