"""Numbers that are stored as texts because some cells hold a limit of detection instead, such as <0.5."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from syntabula.table.frames.retyping import text_of
from syntabula.table.frames.text_times import TextTimes, repeated_texts, with_times_read
from syntabula.table.new_keys import FEW_VALUES
from syntabula.table.raw import PhysicalType, RawColumn, RawTable, RepeatedTexts
from syntabula.table.schema.numeric import MOST_TEXTS, Numeric
from syntabula.table.schema.schema import Schema, undeclared

_LIMIT = re.compile(r"([<>≤≥]|<=|>=) ?([0-9][0-9.,]*|LO[DQ]|[DQ]L)")
_NUMBER = re.compile(r"[+-]?[0-9.][0-9.,'eE+-]*")


def with_texts_read(table: RawTable, schema: Schema | None = None) -> RawTable:
    """Return a table with undeclared columns of texts read as what all of their cells say; sensitive.

    These are days or times (see `with_times_read`), and numbers with limits beside them.
    """
    table = with_times_read(table, schema)
    found: dict[str, RawColumn] = {}
    for name in undeclared(table.columns, schema):
        if (texts := _as_texts(table.columns[name])) is not None:
            column = _with_limits(name, replace(table, columns={name: texts}))
            if column is not None:
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


def _with_limits(name: str, table: RawTable) -> RawColumn | None:
    """Return a column of texts as numbers with limits beside them; None if it holds anything else, or few numbers."""
    raw = table.columns[name]
    texts = repeated_texts(raw)
    occurs = np.bincount(texts.places[~raw.missing], minlength=texts.distinct.size) > 0
    stripped = [text.strip() for text in texts.distinct.tolist()]
    present = {text for text, some in zip(stripped, occurs, strict=True) if some and text}
    limits = sorted(text for text in present if _LIMIT.fullmatch(text))
    numbers = present.difference(limits)
    if not 1 <= len(limits) <= MOST_TEXTS or len(numbers) <= FEW_VALUES:
        return None
    if not all(map(_NUMBER.fullmatch, numbers)):
        return None
    position = {text: place for place, text in enumerate(limits, 1)}
    beside = RepeatedTexts.placed(
        ["", *limits], np.array([position.get(text, 0) for text in stripped])[texts.places]
    )
    beside.places[raw.missing] = 0
    without = replace(raw, missing=raw.missing | (beside.places > 0))
    reader = TextTimes(replace(table, columns={name: without}), [name])
    physical = reader.types(("integer", "float"))
    return replace(reader.typed(physical).columns[name], beside=beside) if physical else None
