"""Groups of rows of which rules discard most: a rule that few of a group satisfy by chance removes the group silently."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syntabula.table.coding.column_codes import encode_column
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Boolean, Categorical, Column

FEWEST_ROWS = 100
LEAST_SHARE = 0.005
"""Groups of fewer drawn rows, or of a smaller share of them, may be noise of the release."""

MOST_LOST = 0.5
"""A group is lost if it is kept at most so often as rows are on the whole."""

MOST_CATEGORIES = 1000

_MOST_LOOKED_AT = 50_000


@dataclass
class Groups:
    """How many of the drawn rows, and of the kept ones, belong to each group.

    A group is the rows with one category of a column, or those in which a nullable column is missing or present.

    Attributes:
        columns: The columns that decide whether rows break rules.
        seen: For each column, the drawn and the kept rows of each group [2, groups].
    """

    columns: Mapping[str, Column]
    seen: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Mapping[str, Column], names: Collection[str]) -> Groups:
        """Return groups by those of the named columns that have some."""
        return cls({name: columns[name] for name in names if _n_groups(columns[name]) > 1})

    def add(self, rows: Mapping[str, RawColumn], kept: NDArray[np.bool_]) -> None:
        """Count drawn rows, of which some are kept; of many, the first."""
        kept = kept[:_MOST_LOOKED_AT]
        some = np.arange(kept.size)
        for name, column in self.columns.items():
            raw = rows[name] if rows[name].missing.size == kept.size else rows[name].take(some)
            groups, n = _groups(column, raw), _n_groups(column)
            counts = np.array([np.bincount(groups, minlength=n), np.bincount(groups[kept], minlength=n)])
            self.seen[name] = self.seen.get(name, 0) + counts

    def lost(self) -> list[str]:
        """Return the columns of which some group is mostly discarded while others are kept."""
        return [name for name, counts in self.seen.items() if _loses(*counts)]


def _loses(drawn: NDArray[np.int64], kept: NDArray[np.int64]) -> bool:
    whole = max(int(drawn.sum()), 1)
    enough = (drawn >= FEWEST_ROWS) & (drawn >= LEAST_SHARE * whole)
    return bool((enough & (kept <= MOST_LOST * kept.sum() / whole * drawn)).any())


def _n_groups(column: Column) -> int:
    if isinstance(column, Categorical | Boolean):
        return column.n_values + column.nullable if column.n_values <= MOST_CATEGORIES else 0
    return 1 + column.nullable


def _groups(column: Column, raw: RawColumn) -> NDArray[np.intp]:
    """Return the group of each row."""
    if isinstance(column, Categorical | Boolean):
        return np.asarray(encode_column(column, raw, None).codes, dtype=np.intp)
    return raw.missing.astype(np.intp)
