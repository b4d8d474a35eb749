"""Numbers that are stored as texts because of signs, groups of digits, or texts such as limits beside them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.frames.object_columns import object_array
from syntabula.table.frames.retyping import text_of
from syntabula.table.frames.text_times import TextTimes, repeated_texts, with_times_read
from syntabula.table.new_keys import FEW_VALUES
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable, RepeatedTexts
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
_BY_COMMA = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})*|0")
_SURELY = 150
"""So many numbers all have three decimals by chance less often than once in a million times, if zeros are left out."""
_NO_NUMBER = "x"
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
            written = _written(texts, table.origin)
            if written is not None:
                found[name] = written.read(texts, table.origin)
    return replace(table, columns=table.columns | found) if found else table


def with_signed_numbers_read(table: RawTable, schema: Schema | None = None) -> RawTable:
    """Return a table with undeclared columns of texts read as numbers if all cells are such, as 1.234,50; sensitive.

    What depends on texts beside the numbers, such as limits, stays texts: a domain that is found has none.
    """
    found = {}
    for name in undeclared(table.columns, schema):
        if (raw := table.columns[name]).physical.kind == "text":
            texts = repeated_texts(raw)
            counts = np.bincount(texts.places[~raw.missing], minlength=texts.distinct.size)
            written = signed_numbers(texts.distinct.tolist(), counts, table.origin)
            if written is not None:
                found[name] = written.read(raw, table.origin)
    return replace(table, columns=table.columns | found) if found else table


def signed_numbers(
    distinct: Sequence[str], counts: NDArray[np.int64], origin: Origin
) -> WrittenNumbers | None:
    """Return how some texts write numbers, if all do, as 1.234,50, and no library reads them; sensitive.

    Args:
        distinct: The distinct texts of a column.
        counts: Number of cells of each.
        origin: Where they are from.
    """
    texts = RepeatedTexts.placed(distinct, np.arange(len(distinct)))
    raw = RawColumn(texts, counts == 0, PhysicalType("text", "string")) if len(distinct) else None
    written = None if raw is None else _written(raw, origin, counts)
    return None if written is None or written.beside else written


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


def number_or_mark(text: str) -> str:
    """Return a text that may be a number in some form, or else one that is none, the same for all."""
    return text if not (bare := text.strip()) or _NUMBER.fullmatch(bare) else _NO_NUMBER


@dataclass(frozen=True)
class WrittenNumbers:
    """How a column of texts writes numbers.

    Attributes:
        style: What they have around and between their digits.
        physical: The type of the numbers without that.
        beside: Texts beside the numbers, such as limits.
    """

    style: _Style
    physical: PhysicalType
    beside: tuple[str, ...]

    def read(self, raw: RawColumn, origin: Origin) -> RawColumn:
        """Return a column, or a part of one, as numbers; cells that are none are missing."""
        numbers, held, _ = _plain(raw, self.style, self.beside)
        table = RawTable({"": numbers}, numbers.missing.size, origin)
        column = TextTimes(table, [""]).typed({"": self.physical}).columns[""]
        return replace(
            column,
            physical=self.physical_in_style,
            beside=RepeatedTexts.placed(["", *self.beside], held) if self.beside else None,
        )

    @property
    def physical_in_style(self) -> PhysicalType:
        """Their type with the format that writes them."""
        return replace(self.physical, format=self.style.format(self.physical))


def _plain(
    raw: RawColumn, style: _Style, beside: Sequence[str]
) -> tuple[RawColumn, NDArray[Any], NDArray[np.bool_]]:
    """Return texts without what the style has around digits, which text beside numbers each cell is [n], and which texts
    are such [k]."""
    texts = repeated_texts(raw)
    bare = [text.strip() for text in texts.distinct.tolist()]
    position = {text: place for place, text in enumerate(beside, 1)}
    of_texts = np.array([position.get(text, 0) for text in bare])
    held = of_texts[texts.places]
    held[raw.missing] = 0
    plain = RepeatedTexts(object_array([style.plain(text) for text in bare]), texts.places)
    return RawColumn(plain, raw.missing | (held > 0), raw.physical), held, of_texts > 0


def _written(
    raw: RawColumn, origin: Origin, counts: NDArray[np.int64] | None = None
) -> WrittenNumbers | None:
    """Return how a column of texts writes numbers; None if it holds anything else, or few numbers.

    Args:
        raw: The column.
        origin: Where it is from.
        counts: Number of cells of each distinct text, if others than its own.
    """
    texts = repeated_texts(raw)
    if counts is None:
        counts = np.bincount(texts.places[~raw.missing], minlength=texts.distinct.size)
    present = {
        bare for text, n in zip(texts.distinct.tolist(), counts, strict=True) if n and (bare := text.strip())
    }
    beside = tuple(sorted(text for text in present if text in _WORDS or _LIMIT.fullmatch(text)))
    if len(beside) > MOST_TEXTS or len(present) - len(beside) <= FEW_VALUES:
        return None
    style = _Style.of(present.difference(beside))
    if style is None:
        return None
    numbers, _, are_beside = _plain(raw, style, beside)
    table = RawTable({"": numbers}, numbers.missing.size, origin)
    reader = TextTimes(table, [""], {"": np.where(are_beside, 0, counts)})
    plain_texts = [style.plain(text) for text in present.difference(beside)]
    decimal_comma = origin.dialect is not None and origin.dialect.delimiter == ";"
    decimal_comma &= not _has_groups_by_comma(plain_texts)
    decimal_comma |= _has_groups_by_point(plain_texts)
    if style.group:
        # Another mark than that between groups is before decimals.
        decimal_comma = any("," in text for text in plain_texts)
    physical = reader.types(("integer", "float"), decimal_comma=decimal_comma).get("")
    if physical is None or (not beside and style.is_plain and _is_usual(physical)):
        return None
    return WrittenNumbers(style, physical, beside)


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


def _has_groups_by_comma(numbers: Collection[str]) -> bool:
    """Return whether commas in some of the numbers, such as 850 and 2,116, are between groups; see `shows_thousands`."""
    with_comma = sum("," in number for number in numbers)
    return 0 < with_comma < len(numbers) and all(map(_BY_COMMA.fullmatch, numbers))


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
