"""Cells that an encoding had to change or leave out, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError
from syntabula.table.schema.columns import Categorical, Column

COERCIONS = {
    "clipped": "some values lie outside the declared bounds and are clipped to the nearest bound",
    "rounded": "some values are not whole, or not multiples of the column's step, and were rounded",
    "unknown": "some values are not declared categories",
    "unreadable": "some cells cannot be read as the declared kind (days and times are read as in 2024-01-31T10:00)",
    "missing": "some cells are missing though the column is not nullable, and their records are left out",
}
"""A sentence for each kind of coercion; for cells without a code, their outcome is added."""


def outcome(column: Column) -> str:
    """Return what happens to a cell that holds no value of a column's domain, by the declaration alone."""
    if isinstance(column, Categorical) and column.open:
        return "become the category for all others"
    return (
        "become missing"
        if column.nullable
        else "their records are left out, because the column is not nullable"
    )


_NONE = {
    "unknown": (
        "no value is a declared category, so all",
        "; check the kind and the categories in the schema",
    ),
    "unreadable": ("no cell can be read as the declared kind, so all", "; check the kind in the schema"),
}
"""Beginning and end of the sentence for columns in which no present cell has a code."""


@dataclass(frozen=True, repr=False)
class Coercions:
    """Cells that did not fit the declared domain: exact counts, only for the operator, never for release.

    Attributes:
        clipped: Per column, number of values outside the bounds.
        rounded: Per column, number of values that are not whole although declared integer, or off the grid of a step.
        unknown: Per column, number of values that are not declared categories.
        unreadable: Per column of a text file, number of cells that cannot be read as the declared kind.
        missing: Per column, number of missing cells of a column that is not nullable.
        records_left_out: Number of records that could not be encoded.
        outcomes: Per column, what happens to unknown and unreadable cells.
        none_fit: Columns in which all present cells are unknown or unreadable.
        kept: Which records of the table could be encoded [records].
    """

    clipped: Mapping[str, int] = field(default_factory=dict)
    rounded: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    records_left_out: int = 0
    outcomes: Mapping[str, str] = field(default_factory=dict)
    none_fit: tuple[str, ...] = ()
    kept: NDArray[np.bool_] | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with any coercion."""
        return tuple(dict.fromkeys(name for kind in COERCIONS for name in getattr(self, kind)))

    def describe(self) -> list[str]:
        """Return one sentence for each coercion, with all of its columns, and without counts or values."""
        columns: dict[str, list[str]] = {}
        for kind, text in COERCIONS.items():
            for name in getattr(self, kind):
                lacks_code = kind in _NONE and name in self.outcomes
                begin, end = _NONE[kind] if lacks_code and name in self.none_fit else (f"{text} and", "")
                sentence = f"{begin} {self.outcomes[name]}{end}" if lacks_code else text
                columns.setdefault(sentence, []).append(repr(name))
        return [
            f"column{'s' if len(names) > 1 else ''} {', '.join(names)}: {sentence}"
            for sentence, names in columns.items()
        ]

    def require_none(self) -> None:
        """Raise DataError if there is any; the message names columns, never values."""
        if self:
            raise DataError(
                f"strict reading failed. {'; '.join(self.describe())}. Correct the table, widen the "
                "bounds or categories, declare the column open or nullable, or read without strict. This "
                "failure depends on the data and is not covered by the privacy guarantee"
            )

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __repr__(self) -> str:
        return f"Coercions(columns={list(self.columns)})"
