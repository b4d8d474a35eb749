"""Records as points, so that distances between them make sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.metrics.comparison import View

Points = NDArray[np.float32]


@dataclass(frozen=True)
class Coordinates:
    """Columns as axes: numbers scaled to 0 .. 1, categories one axis each.

    As in SynMeter (Du and Li): Euclidean distance over these axes, divided by the root of the number of
    columns. Two records that differ in one category alone are sqrt(2 / columns) apart. A missing number lies
    half an interval below the least, so that it is near to no other.

    Attributes:
        bounds: What becomes 0 and 1 of each numeric column.
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
        n_columns = len(self.bounds) + len(self.sizes)
        points = np.zeros((view.n_rows, self.n_axes), np.float32)
        for axis, (name, (low, high)) in enumerate(self.bounds.items()):
            scaled = (view.numbers[name] - low) / ((high - low) or 1.0)
            points[:, axis] = np.where(np.isnan(scaled), -0.5, scaled)
        first, rows = len(self.bounds), np.arange(view.n_rows)
        for name, size in self.sizes.items():
            points[rows, first + view.codes[name].astype(np.intp)] = 1.0
            first += size
        points /= np.float32(np.sqrt(n_columns))
        return points
