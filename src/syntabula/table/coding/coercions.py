"""What did not fit the declared domain while a table was encoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from syntabula.table.schema.columns import Categorical, Column

KINDS = {
    "clipped": "some values lie outside the declared bounds and count as the nearest bound",
    "rounded": "some values of an integer column are not whole and were rounded",
    "unknown": "some values are not declared categories",
    "unreadable": "some cells cannot be read as the declared kind (days and times are read as in 2024-01-31T10:00)",
    "missing": "some cells are missing though the column is not nullable, and their records are left out",
}
"""A sentence for each kind of coercion; for those of cells without a code, what becomes of them is added."""


def outcome(column: Column) -> str:
    """Say what becomes of a cell that holds no value of a column's domain, by its declaration alone."""
    if isinstance(column, Categorical) and column.open:
        return "count as the category for all others"
    return (
        "count as missing" if column.nullable else "their records are left out, as the column is not nullable"
    )


_NONE = {
    "unknown": "no value is a declared category: check the kind and the categories in the schema,",
    "unreadable": "no cell can be read as the declared kind: check it in the schema,",
}
"""Sentences where all cells that hold something have no code."""


@dataclass(frozen=True, repr=False)
class Coercions:
    """What did not fit the declared domain: exact counts, for the operator's eyes only, never for release.

    Attributes:
        clipped: Per column, number of values outside the bounds.
        rounded: Per column, number of values that are not whole though declared integer.
        unknown: Per column, number of values that are no declared category.
        unreadable: Per column of a text file, number of cells that the declared kind does not read.
        missing: Per column, number of missing cells of a column that is not nullable.
        records_left_out: Number of records that could not be encoded.
        outcomes: Per column, what becomes of unknown and unreadable cells.
        none_fit: Columns of which all cells that hold something are unknown or unreadable.
    """

    clipped: Mapping[str, int] = field(default_factory=dict)
    rounded: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    records_left_out: int = 0
    outcomes: Mapping[str, str] = field(default_factory=dict)
    none_fit: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with any coercion."""
        return tuple(dict.fromkeys(name for kind in KINDS for name in getattr(self, kind)))

    def describe(self) -> list[str]:
        """Return one sentence for all columns with the same coercion, without counts or values."""
        columns: dict[str, list[str]] = {}
        for kind, text in KINDS.items():
            for name in getattr(self, kind):
                sentence, then = (_NONE[kind], "so that all") if name in self.none_fit else (text, "and")
                ending = f" {then} {self.outcomes[name]}" if kind in _NONE and name in self.outcomes else ""
                columns.setdefault(sentence + ending, []).append(repr(name))
        return [
            f"column{'s' if len(names) > 1 else ''} {', '.join(names)}: {sentence}"
            for sentence, names in columns.items()
        ]

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __repr__(self) -> str:
        return f"Coercions(columns={list(self.columns)})"
