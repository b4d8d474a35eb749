"""Tables of small integer codes, stored by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError
from syntabula.marginals.domain import Domain

Codes = NDArray[np.unsignedinteger]


def code_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0 .. size - 1."""
    return np.min_scalar_type(max(size - 1, 0))


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """Rows of codes over a domain.

    Attributes:
        domain: Columns and their sizes.
        codes: One array [rows] per column, in the domain's order, in the smallest unsigned type.

    Raises:
        DataError: If lengths differ, or a code lies outside its column's size.
    """

    domain: Domain
    codes: tuple[Codes, ...]

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.domain):
            raise DataError(f"{len(self.codes)} code columns were given for {len(self.domain)} columns")
        small: list[Codes] = []
        for column, size, codes in zip(self.domain.columns, self.domain.sizes, self.codes, strict=True):
            array = np.asarray(codes)
            if array.ndim != 1 or array.dtype.kind not in "ui":
                raise DataError(f"codes of column {column!r} must be a one-dimensional integer array")
            if array.size and (int(array.min()) < 0 or int(array.max()) >= size):
                raise DataError(f"column {column!r} has a code outside 0 .. {size - 1}")
            small.append(np.ascontiguousarray(array, dtype=code_dtype(size)))
        if len({column.size for column in small}) > 1:
            raise DataError("the columns of an encoded table differ in length")
        object.__setattr__(self, "codes", tuple(small))

    @classmethod
    def from_mapping(cls, domain: Domain, codes: Mapping[str, NDArray[Any]]) -> EncodedTable:
        """Make a table from a mapping of column names to codes; it must hold every column of the domain."""
        return cls(domain, tuple(codes[c] for c in domain.columns))

    @property
    def n_rows(self) -> int:
        """Number of rows (exact, so it is sensitive if the table is)."""
        return int(self.codes[0].size) if self.codes else 0

    def column(self, name: str) -> Codes:
        """Return the codes [rows] of one column."""
        return self.codes[self.domain.index(name)]

    def project(self, columns: Sequence[str]) -> EncodedTable:
        """Return the table of some columns, in the order given."""
        return EncodedTable(self.domain.project(columns), tuple(self.column(c) for c in columns))

    def __repr__(self) -> str:
        return f"EncodedTable({len(self.domain)} columns)"
