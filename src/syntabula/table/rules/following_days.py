"""Columns whose labels follow from the weekday, the month or the hour of another one: opening hours, seasons, shifts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.raw import RawTable
from syntabula.table.rules.evaluation import rows_database, values_of
from syntabula.table.rules.expressions import Expression, alias
from syntabula.table.rules.following import ROWS_PER_VALUE, Cells, coded, constant, rarest, varies
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Numeric, Time
from syntabula.table.schema.schema import Schema

_MONTHS = 12
_KINDS = {"isodow({0})": range(1, 8), "month({0})": range(1, _MONTHS + 1), "hour({0})": range(24)}
"""Parts of a day in SQL, and their values."""
_FEWEST_HOURS = 6
"""Hours with rows below which a column may follow from them by chance."""


def day_followers(cells: Cells, schema: Schema, *, table: RawTable) -> Iterator[tuple[str, str]]:
    """Yield columns of few labels that follow from a weekday, month or hour, as CASE expressions.

    All weekdays or months must occur, as one that does not may have any label. An hour that does not has that of the
    last one before it that does. Where the day or time is missing, so is the other column.
    """
    few = coded(cells, schema, _KINDS["hour({0})"].stop)
    labelled = [n for n in few if isinstance(schema[n], Categorical | Boolean | Numeric)]
    taken: set[str] = set()
    for source, (_, missing) in cells.items():
        column = schema[source]
        if not isinstance(column, Date | Datetime | Time) or not varies(*cells[source]):
            continue
        if isinstance(column, Time) and column.is_number:
            continue
        left = [n for n in labelled if n not in taken and np.array_equal(cells[n][1], missing)]
        parts = [p for p in _KINDS if _has(column, p)]
        if not left or not parts:
            continue
        rows = np.flatnonzero(~missing)
        place = alias([*schema.columns].index(source))
        expressions = [Expression(p.format(identifier(source)), (source,), p.format(place)) for p in parts]
        with rows_database() as database:
            present = {source: table.columns[source].take(rows)}
            found = values_of(database, schema.columns, present, rows.size, expressions)
        for name in left:
            codes, labels = few[name]
            for part, values in zip(parts, found, strict=True):
                label_of = _followed(values.values.astype(np.intp), codes[rows], _KINDS[part])
                if label_of is None or rarest(codes) < len(label_of) * ROWS_PER_VALUE:
                    continue
                taken.add(name)
                whens = [f"WHEN {kind} THEN {constant(labels[code])}" for kind, code in label_of.items()]
                yield name, f"CASE {part.format(identifier(source))} {' '.join(whens)} END"
                break


def _has(column: Date | Datetime | Time, part: str) -> bool:
    if part.startswith("hour"):
        return not isinstance(column, Date) and getattr(column, "resolution", "") != "day"
    return not isinstance(column, Time)


def _followed(kinds: NDArray[np.intp], codes: NDArray[np.intp], every: range) -> dict[int, Any] | None:
    """Return the code of each kind of day or hour; None if rows of one kind have several codes, or a kind is missing."""
    counts = np.bincount(kinds, minlength=every.stop)[every.start :]
    is_clock = every.start == 0
    occurring = int((counts >= ROWS_PER_VALUE).sum())
    if occurring < (_FEWEST_HOURS if is_clock else len(every)):
        return None
    code_of = np.full(every.stop, -1)
    code_of[kinds] = codes
    if (code_of[kinds] != codes).any():
        return None
    found = code_of[every.start :].tolist()
    # Twice around the clock, as the first hours may follow the last ones of the day before.
    filled: list[int] = [*accumulate([*found, *found], lambda last, code: last if code < 0 else code)][
        len(found) :
    ]
    return dict(zip(every, filled, strict=True)) if len(set(filled)) > 1 else None
