"""Tables as matrices, for distances, nearest records and models that tell real from synthetic rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Comparison, Floats, View

Points = NDArray[np.float32]

MOST_DIMENSIONS = 256
"""Most dimensions of a categorical column, so that 10,000 rows of it take 10 MB."""

_MOST_AXES_OF_TREE = 15
"""Most coordinates among which a k-d tree finds neighbours faster than a look at all records."""

_CELLS_AT_ONCE = 4_000_000
_BASE_AT_ONCE, _QUERIES_AT_ONCE = 2048, 128
"""Rows of both tables that are compared at a time: a few megabytes, which fit in a cache."""


def points(tables: Comparison, view: View) -> Points:
    """Return rows as points [rows, dimensions] whose squared distance is a sum over the columns.

    Numbers contribute their distance after scaling to 0 .. 1 over real and synthetic, different categories
    contribute 1, and a number that is missing in only one row about 1. In a column with more than
    MOST_DIMENSIONS categories, a hash places each at a corner of a cube; they are then also about 1 apart,
    with a standard deviation of the squared distance of 0.06.
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
        # Beside the middle of the line, 0.87 to 1 from every point on it.
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
    # SplitMix64 (Steele, Lea and Flood 2014): every bit is as random as a fair coin.
    words = (words + np.arange(1, n_words + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    bits = np.unpackbits(words.view(np.uint8).reshape(codes.size, width // 8), axis=1)
    return (2 * bits.astype(np.float32) - 1) * np.float32(math.sqrt(0.5 / width))


def ordinal(tables: Comparison, view: View) -> Floats:
    """Return rows as numbers [rows, columns] for tree models: codes of categories, NaN where missing."""
    # Trees use float32, so larger numbers are clipped to its range.
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

    A number becomes its scaled value, plus an indicator of missing values if there are any; a category
    becomes an indicator, except the most frequent one, which the intercept represents.
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


@dataclass(frozen=True)
class Coordinates:
    """Rows as coordinates: numbers scaled to 0 .. 1, and one axis for each category.

    As in SynMeter (Du and Li), the distance is Euclidean over these axes, divided by the square root of the
    number of columns. Two records that differ in one category alone are sqrt(2 / columns) apart. A
    missing number is placed half the range below the least, away from all others.

    Attributes:
        bounds: Values of each numeric column that become 0 and 1.
        sizes: Number of codes of each categorical column.
    """

    bounds: Mapping[str, tuple[float, float]]
    sizes: Mapping[str, int]

    @property
    def n_axes(self) -> int:
        """Number of axes."""
        return len(self.bounds) + sum(self.sizes.values())

    def of(self, view: View) -> Points:
        """Return the points [rows, axes] of a table."""
        points = np.zeros((view.n_rows, self.n_axes), np.float32)
        points[:, : len(self.bounds)] = self._numbers(view)
        first, rows = len(self.bounds), np.arange(view.n_rows)
        for name, size in self.sizes.items():
            points[rows, first + view.codes[name].astype(np.intp)] = 1 / self._root
            first += size
        return points

    def nearest(self, queries: View, base: View) -> Floats:
        """Return the distance of each row of a table to the nearest row of another one [queries], exactly.

        Raises:
            MissingExtraError: If scikit-learn is not installed.
        """
        if self.n_axes <= _MOST_AXES_OF_TREE:
            return nearest(self.of(queries), self.of(base))[0][:, 0]
        rows = self._nearest_rows(queries, base)
        found = np.empty(queries.n_rows)
        piece = max(1, _CELLS_AT_ONCE // self.n_axes)
        for start in range(0, queries.n_rows, piece):
            places = np.arange(start, min(start + piece, queries.n_rows))
            difference = self.of(queries.take(places)) - self.of(base.take(rows[places]))
            found[places] = np.linalg.norm(difference, axis=1)
        return found

    def _nearest_rows(self, queries: View, base: View) -> NDArray[np.intp]:
        """Return the row of the nearest record of a base [queries].

        Categories that differ are counted, and numbers multiplied: the axes of categories are never made, of which
        there may be thousands.
        """
        numbers, others = (self._numbers(view).astype(np.float64) for view in (queries, base))
        # One product gives |y|^2 - 2 x y; the square of a query is the same for all its distances.
        factors = np.column_stack([-2 * numbers, np.ones(queries.n_rows)])
        others = np.column_stack([others, np.square(others).sum(axis=1)]).T
        share = 2 * float(1 / self._root) ** 2
        least, rows = np.full(queries.n_rows, np.inf), np.zeros(queries.n_rows, np.intp)
        for first in range(0, base.n_rows, _BASE_AT_ONCE):
            piece = slice(first, first + _BASE_AT_ONCE)
            for start in range(0, queries.n_rows, _QUERIES_AT_ONCE):
                asked = slice(start, start + _QUERIES_AT_ONCE)
                distances = factors[asked] @ others[:, piece]
                differ = np.zeros(distances.shape, np.min_scalar_type(len(self.sizes)))
                for name in self.sizes:
                    differ += queries.codes[name][asked, None] != base.codes[name][None, piece]
                distances += differ * share
                places = distances.argmin(axis=1)
                found = np.take_along_axis(distances, places[:, None], axis=1)[:, 0]
                nearer = found < least[asked]
                least[asked][nearer], rows[asked][nearer] = found[nearer], first + places[nearer]
        return rows

    def _numbers(self, view: View) -> Points:
        """Return the coordinates of the numbers [rows, numbers]."""
        points = np.empty((view.n_rows, len(self.bounds)), np.float32)
        for axis, (name, (low, high)) in enumerate(self.bounds.items()):
            scaled = (view.numbers[name] - low) / ((high - low) or 1.0)
            points[:, axis] = np.where(np.isnan(scaled), -0.5, scaled)
        points /= self._root
        return points

    @property
    def _root(self) -> np.float32:
        """The root of the number of columns, by which all is divided."""
        return np.float32(math.sqrt(len(self.bounds) + len(self.sizes)))


def nearest(queries: Points, base: Points, n_neighbours: int = 1) -> tuple[Floats, NDArray[np.intp]]:
    """Return the nearest points of a base, exactly.

    Uses a k-d tree in few dimensions, and blocked matrix products in many, where a tree does not help.

    Args:
        queries: Points [queries, dimensions].
        base: Points [points, dimensions].
        n_neighbours: Number of neighbours; at most the number of points.

    Returns:
        Their Euclidean distances [queries, neighbours], ascending, and their rows in the base.

    Raises:
        MissingExtraError: If scikit-learn is not installed.
    """
    neighbours = require("sklearn.neighbors", "evaluate")
    index = neighbours.NearestNeighbors(n_neighbors=n_neighbours).fit(base)
    rows: NDArray[np.intp] = index.kneighbors(queries, return_distance=False)
    # Matrix products leave the distance of equal points slightly above 0; differences do not.
    distances = np.column_stack([np.linalg.norm(queries - base[column], axis=1) for column in rows.T]).astype(
        np.float64
    )
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)
