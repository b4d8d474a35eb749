"""Draft the domain of a column of texts."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from numpy.typing import NDArray

from syntabula.table.new_keys import FEW_VALUES, MANY_VALUES, hardly_repeat, identifier_of
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Categorical, Column, Identifier
from syntabula.table.schema.text_formats import SIGN

NO_VALUES = "has no values; its domain is a placeholder, so declare the real one"
"""The note of a column of any kind without values."""

_MOSTLY = 0.9
"""Texts of which at least this part are numbers are noted as numbers with some texts among them."""

_LEAST_ROWS = 10
"""Of more than `MANY_VALUES` texts with fewer rows each than this on average, none should be listed in a draft."""

_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_OTHER_DAY = re.compile(
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1([0-9]{2}|[0-9]{4})|[0-9]{4}([./])[0-9]{1,2}\3[0-9]{1,2}"
    r"|[0-9]{1,2}([ -])[A-Za-z]{3}\4([0-9]{2}|[0-9]{4})"
)
_DAY_NOTE = (
    "holds what looks like days; declare it a date, with the `format` in which they are written, such as '%d.%m.%y' or "
    "'%d-%b-%y', to learn their order; the bounds say in which century years of two digits are"
)
_PLAIN = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_WITH_SIGN = re.compile(rf"[+-]?({SIGN} ?)?[+-]?[0-9][0-9.,' \u00a0\u202f]*( ?{SIGN})?")
_SIGN_NOTE = (
    "holds numbers with a sign of a currency or percent, which are read as text; declare it numeric, with the `format` "
    "in which they are written, such as '1.234,50 €' or '1234%', to learn them as numbers"
)
_NEGATIVE = re.compile(rf"\(({SIGN} ?)?[0-9][0-9.,]*( ?{SIGN})?\)|({SIGN} ?)?[0-9][0-9.,]*( ?{SIGN})?-")
_NEGATIVE_NOTE = (
    "holds numbers, negative ones in parentheses or with a minus at the end, which are read as text; write the minus in "
    "front to learn them as numbers"
)
_MIXED_NOTE = (
    "holds numbers and some texts, so each is a category; declare it numeric, with these texts as `texts`, to learn the "
    "numbers as such"
)


def drafted_text(raw: RawColumn) -> tuple[Column, str | None]:
    """Return the domain of a column of texts, and a note about it that shows none of them."""
    values: NDArray[Any] = raw.values[~raw.missing]
    nullable = bool(values.size < raw.missing.size or not values.size)
    labels = set(values.tolist())
    if len(labels) > FEW_VALUES and all(map(_COMMA.fullmatch, labels)):
        return Identifier(nullable=nullable, provenance="observed"), (
            "holds numbers with a decimal comma, which are read as text; write them with a point to learn them as numbers"
        )
    if not labels:
        return Categorical(("unknown",), nullable=True, provenance="observed"), NO_VALUES
    number_note = _note_of_numbers(labels)
    if len(labels) > FEW_VALUES and all(map(_OTHER_DAY.fullmatch, labels)):
        number_note = _DAY_NOTE
    # Names of persons and the like: a list of them would tell who is in the table, and a row or two of each tell little.
    are_listed = len(labels) <= MANY_VALUES or values.size >= _LEAST_ROWS * len(labels)
    if hardly_repeat(len(labels), values.size) or not are_listed:
        kind = "differs in every row" if len(labels) == values.size else "has very many distinct values"
        key = identifier_of(Counter(values.tolist()), nullable=nullable, provenance="observed")
        by = "running numbers" if key.pattern is None else "new keys of the pattern that its values show"
        return key, number_note or (
            f"{kind}, so it is treated as an identifier and replaced by {by}; to learn it, declare it "
            "categorical, with its common values and `open: true`"
        )
    note = number_note or (
        "has many categories; consider merging some" if len(labels) > MANY_VALUES else None
    )
    order = raw.physical.order
    listed = tuple(text for text in order if text in labels) if order else tuple(sorted(labels))
    return Categorical(listed, nullable=nullable, provenance="observed"), note


def _note_of_numbers(labels: set[str]) -> str | None:
    """Return a note if texts are numbers with a sign, or nearly all of them are numbers."""
    if len(labels) <= FEW_VALUES:
        return None
    plain = sum(_PLAIN.fullmatch(text) is not None for text in labels)
    negative = {text for text in labels if _NEGATIVE.fullmatch(text)}
    if negative and all(map(_WITH_SIGN.fullmatch, labels - negative)):
        return _NEGATIVE_NOTE
    has_sign = any(re.search(SIGN, text) for text in labels)
    if not plain and has_sign and all(map(_WITH_SIGN.fullmatch, labels)):
        return _SIGN_NOTE
    # Codes of digits have leading zeros.
    if len(labels) * _MOSTLY <= plain < len(labels) and not any(re.match("0[0-9]", text) for text in labels):
        return _MIXED_NOTE
    return None
