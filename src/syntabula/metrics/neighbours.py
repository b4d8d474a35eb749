"""Nearest records of one table for each record of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.metrics.comparison import Floats
from syntabula.metrics.features import Points


def nearest(queries: Points, base: Points, n_neighbours: int = 1) -> tuple[Floats, NDArray[np.intp]]:
    """Return the nearest points of a base, exactly.

    Uses a k-d tree in few dimensions and blocked matrix products in many, where no tree helps.

    Args:
        queries: Points [queries, dimensions].
        base: Points [points, dimensions].
        n_neighbours: How many of the nearest to return; at most the number of points.

    Returns:
        Their Euclidean distances [queries, neighbours], ascending, and their rows in the base.

    Raises:
        MissingExtraError: If scikit-learn is not installed.
    """
    neighbours = require("sklearn.neighbors", "evaluate")
    index = neighbours.NearestNeighbors(n_neighbors=n_neighbours).fit(base)
    rows: NDArray[np.intp] = index.kneighbors(queries, return_distance=False)
    # Products of matrices leave the distance of equal points a little above 0; differences do not.
    distances = np.column_stack([np.linalg.norm(queries - base[column], axis=1) for column in rows.T]).astype(
        np.float64
    )
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)
