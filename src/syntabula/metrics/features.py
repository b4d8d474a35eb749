"""Tables as matrices: for distances, and for models that tell real from synthetic rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.marginals.encoded import Codes
from syntabula.metrics.comparison import Comparison, Floats, View

Points = NDArray[np.float32]

MOST_DIMENSIONS = 256
"""A categorical column takes no more dimensions than this, which keeps 10,000 rows of it at 10 MB."""


def points(tables: Comparison, view: View) -> Points:
    """Return rows as points [rows, dimensions] whose squared distance adds up over the columns.

    A number counts with its distance after scaling to 0 .. 1 over real and synthetic, a category with 1 if it
    differs, and a number that is missing on one side alone with about 1. In a column of more categories than
    MOST_DIMENSIONS each lies at a corner of a cube that a hash chooses; they are then about 1 apart as well:
    the standard deviation of the squared distance is 0.06.
    """
    widths = {name: min(tables.size(name), MOST_DIMENSIONS) for name in tables.categorical}
    n_dimensions = sum(widths.values())
    gaps = {name: np.isnan(view.numbers[name]) for name in tables.numeric}
    with_gaps = [name for name in tables.numeric if _has_gaps(tables, name)]
    matrix = np.zeros((view.n_rows, n_dimensions + len(tables.numeric) + len(with_gaps)), dtype=np.float32)
    place = 0
    for name in tables.numeric:
        matrix[:, place] = np.where(gaps[name], 0.5, tables.scaled(view, name))
        place += 1
    for name in with_gaps:
        # Beside the middle of the line, at 0.87 to 1 from every point of it.
        matrix[:, place] = gaps[name] * math.sqrt(0.75)
        place += 1
    for name, width in widths.items():
        occurring, codes = np.unique(view.codes[name], return_inverse=True)
        exact = tables.size(name) <= MOST_DIMENSIONS
        corners = _simplex(occurring, width) if exact else _cube(occurring, width)
        matrix[:, place : place + width] = corners[codes]
        place += width
    return matrix


def _simplex(codes: Codes, size: int) -> Points:
    """Return a corner of a simplex with edges of length 1 for each code [codes, size]."""
    corners: Points = (codes[:, None] == np.arange(size)).astype(np.float32)
    return corners * np.float32(math.sqrt(0.5))


def _cube(codes: Codes, width: int) -> Points:
    """Return a corner of a cube for each code [codes, width]; two corners are about 1 apart."""
    n_words = width // 64
    words: NDArray[Any] = codes.astype(np.uint64)[:, None] * np.uint64(n_words)
    # SplitMix64 (Steele, Lea and Flood 2014): every bit is as good as the toss of a fair coin.
    words = (words + np.arange(1, n_words + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    bits = np.unpackbits(words.view(np.uint8).reshape(codes.size, width // 8), axis=1)
    return (2 * bits.astype(np.float32) - 1) * np.float32(math.sqrt(0.5 / width))


def ordinal(tables: Comparison, view: View) -> Floats:
    """Return rows as numbers [rows, columns] for models of trees: codes of categories, NaN where missing."""
    # Trees hold float32: larger numbers count as the largest of these.
    limit = float(np.finfo(np.float32).max)
    columns = [
        np.clip(view.numbers[name], -limit, limit)
        if name in view.numbers
        else view.codes[name].astype(np.float64)
        for name in tables.columns
    ]
    return np.column_stack(columns)


def main_effects(tables: Comparison, view: View) -> Any:
    """Return rows as a sparse matrix [rows, effects] for linear models.

    A number becomes its scaled value, and an effect of being missing where that occurs; a category becomes an
    indicator, except the most frequent one, which the intercept stands for.
    """
    sparse = require("scipy.sparse", "evaluate")
    blocks = []
    for name in tables.numeric:
        missing = np.isnan(view.numbers[name])
        blocks.append(np.where(missing, 0.0, tables.scaled(view, name)))
        if _has_gaps(tables, name):
            blocks.append(missing.astype(np.float64))
    dense = sparse.csr_array(np.column_stack(blocks)) if blocks else sparse.csr_array((view.n_rows, 0))
    rows, ones = np.arange(view.n_rows), np.ones(view.n_rows)
    indicators = []
    for name in tables.categorical:
        size = tables.size(name)
        one_hot = sparse.csr_array(
            (ones, (rows, view.codes[name].astype(np.intp))), shape=(view.n_rows, size)
        )
        frequent = int(np.bincount(tables.real.codes[name], minlength=size).argmax())
        indicators.append(one_hot[:, [code for code in range(size) if code != frequent]])
    return sparse.hstack([dense, *indicators], format="csr")


def _has_gaps(tables: Comparison, name: str) -> bool:
    return any(bool(np.isnan(v.numbers[name]).any()) for v in (tables.real, tables.synthetic))
