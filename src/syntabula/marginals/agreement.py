"""How far rows agree in pairs of columns, in whole numbers, so that no order of adding changes a sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.measurement import FloatArray

Vectors = NDArray[np.float32]

_LENGTH = 128.0


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
        scales = _LENGTH / np.sqrt(np.maximum(squares, 1e-12))
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
    return _LENGTH**4
