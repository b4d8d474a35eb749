"""How far rows agree, and which are nearest to each record, in whole numbers: no order of adding changes a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.measurement import FloatArray

_LENGTH = 1024.0
_MOST_NUMBERS = 1_000_000
_ROWS_AT_ONCE = 4096
_MOST_MULTIPLIED = 32


class Nearness:
    """Tells how near rows are by some numbers for each code: by the L2 distance of their vectors.

    A row is the vector of its codes' numbers side by side, all scaled by one factor, with which no row is longer than
    1,024, and rounded to whole numbers.

    All of it is exact. Up to a million numbers a row, rounding lengthens a vector to at most 1,524. So the absolute
    values of a product's terms add up to less than 2^22 (Cauchy and Schwarz), and float32 holds each partial sum,
    whatever the order. Twice a product less a squared length is a whole number below 2^24 as well. So the nearest row of
    a record depends on that record and the rows alone, not on which records are compared at once.

    Args:
        tables: Numbers of each code of each column [codes, numbers].

    Raises:
        ArgumentError: If a row has more than a million numbers.
    """

    def __init__(self, tables: Sequence[FloatArray]) -> None:
        found = [np.asarray(table, dtype=np.float64) for table in tables]
        longest = np.sqrt(sum(float(np.square(table).sum(1).max(initial=0.0)) for table in found))
        scale = _LENGTH / max(longest, 1e-12)
        self._tables = [np.rint(table * scale).astype(np.float32) for table in found]
        if self.width > _MOST_NUMBERS:
            raise ArgumentError(
                f"a row has {self.width:,} numbers to compare, at most {_MOST_NUMBERS:,} are exact; merge rare categories"
            )

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return sum(table.shape[1] for table in self._tables)

    @property
    def tables(self) -> list[NDArray[np.float32]]:
        """Whole numbers of each code of each column [codes, numbers]."""
        return self._tables

    def nearest(self, rows: EncodedTable, among: EncodedTable) -> NDArray[np.intp]:
        """Return the position of the nearest of some rows to each row, the first if several are as near [rows]."""
        alone = {j: w for j, table in enumerate(self._tables) if (w := _of_equal_codes(table))}
        held = self._vectors(among, alone)
        squares = np.square(held).sum(1) + np.float32(sum(w**2 for w in alone.values()))
        found = np.empty(rows.n_rows, dtype=np.intp)
        for start in range(0, rows.n_rows, _ROWS_AT_ONCE):
            piece = slice(start, start + _ROWS_AT_ONCE)
            part = EncodedTable(rows.domain, tuple(codes[piece] for codes in rows.codes))
            near = 2 * (self._vectors(part, alone) @ held.T) - squares
            for j, weight in alone.items():
                np.add(near, 2 * weight**2, out=near, where=part.codes[j][:, None] == among.codes[j])
            found[piece] = np.argmax(near, axis=1)
        return found

    def _vectors(self, rows: EncodedTable, but: Mapping[int, np.float32]) -> NDArray[np.float32]:
        """Return the numbers of rows side by side, without those of some columns."""
        tables = enumerate(zip(self._tables, rows.codes, strict=True))
        none = np.zeros((rows.n_rows, 0), dtype=np.float32)
        return np.concatenate([none, *(t[c] for j, (t, c) in tables if j not in but)], axis=1)


def _of_equal_codes(table: NDArray[np.float32]) -> np.float32:
    """Return the number by which only equal codes of a column agree, which is quicker to add than to multiply.

    It is 0 if unlike codes agree too, or there are so few codes that products are quicker.
    """
    size = len(table)
    alike = table.shape == (size, size) and size > _MOST_MULTIPLIED and table[0, 0] > 0
    if not alike or np.count_nonzero(table) != size or (np.diagonal(table) != table[0, 0]).any():
        return np.float32(0)
    return np.float32(table[0, 0])


Vectors = NDArray[np.float32]

_VECTOR_LENGTH = 128.0


class Agreement:
    """Compares rows by some numbers for each code.

    A row is the vector of its codes' numbers side by side, scaled to length 128 and rounded to whole numbers. The
    agreement of two rows is the square of their inner product: a sum over pairs of columns of how alike both are in
    the one and in the other.

    All of it is exact. Up to 16,000 numbers a row, rounding lengthens a vector to at most 192, so the absolute values
    of a product's terms add up to at most 36,864 (Cauchy and Schwarz), and float32 holds each partial sum. A square is
    rounded to float32 by itself, to a whole number below 2^31. So it depends on two rows alone, and a sum of squares in
    int64 on nothing but which they are.

    Args:
        tables: Numbers of each code of each column [codes, numbers].
    """

    def __init__(self, tables: Sequence[FloatArray]) -> None:
        self._tables = [np.asarray(table, dtype=np.float64) for table in tables]
        self._squares = [np.square(table).sum(1) for table in self._tables]

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return sum(table.shape[1] for table in self._tables)

    @property
    def tables(self) -> list[FloatArray]:
        """Numbers of each code of each column [codes, numbers]."""
        return self._tables

    def vectors(self, rows: EncodedTable) -> Vectors:
        """Return the vectors of rows [rows, numbers], whole numbers."""
        squares = np.zeros(rows.n_rows)
        for column, codes in zip(self._squares, rows.codes, strict=True):
            squares += column[codes]
        scales = _VECTOR_LENGTH / np.sqrt(np.maximum(squares, 1e-12))
        found = np.empty((rows.n_rows, self.width), dtype=np.float32)
        start = 0
        for table, codes in zip(self._tables, rows.codes, strict=True):
            stop = start + table.shape[1]
            found[:, start:stop] = np.rint(table[codes] * scales[:, None])
            start = stop
        return found


def squared_agreement(one: Vectors, other: Vectors) -> NDArray[np.float32]:
    """Return the agreement of each row of one table with each of another [rows of one, rows of the other]."""
    products: NDArray[np.float32] = one @ other.T
    return np.square(products, out=products)


def full_agreement() -> float:
    """Return the agreement of a row with itself, before rounding."""
    return _VECTOR_LENGTH**4
