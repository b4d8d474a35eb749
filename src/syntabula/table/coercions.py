"""What did not fit the declared domain while a table was encoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = {
    "clipped": "some values lie outside the declared bounds and count as the nearest bound",
    "rounded": "some values of an integer column are not whole and were rounded",
    "unknown": "some values are not declared categories and count as other, as missing, or drop their record",
    "unreadable": "some cells cannot be read as the declared kind (days and times are read as in 2024-01-31T10:00) "
    "and count as missing, or drop their record",
    "missing": "some cells are missing though the column is not nullable, and their records are left out",
}
"""A sentence for each kind of coercion."""


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
    """

    clipped: Mapping[str, int] = field(default_factory=dict)
    rounded: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    records_left_out: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with any coercion."""
        return tuple(dict.fromkeys(name for kind in KINDS for name in getattr(self, kind)))

    def describe(self) -> list[str]:
        """Return one sentence per column and kind of coercion, without counts or values."""
        return [f"column {n!r}: {text}" for kind, text in KINDS.items() for n in getattr(self, kind)]

    def __bool__(self) -> bool:
        return bool(self.columns)

    def __repr__(self) -> str:
        return f"Coercions(columns={list(self.columns)})"
