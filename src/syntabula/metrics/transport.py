"""Wasserstein distance of two samples of points in one or two columns, numeric or categorical."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.errors import ResourceError
from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Floats
from syntabula.metrics.roads import Line, Roads, roads_between

Solver = Literal["exact", "sinkhorn"]
Places = NDArray[np.intp]

MOST_PIVOTS = 10_000_000
"""Pivots after which a transport counts as unsolved; 3,000 points take some tens of thousands."""

_STABLE = 300
"""Largest cost, in multiples of the entropy term's weight, that can safely be exponentiated."""

_ROADS = 0.06
"""Roads per move above which each move is taken by itself: the fewer roads, the faster."""

_FEW = 10_000
"""Moves up to which each is taken by itself, as it takes no time either way."""

_EQUAL = 1e-12
"""Fractions of rows that differ by less than this are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One column of two samples.

    Attributes:
        real: Index of each real cell's value among `size` values [real rows].
        synthetic: The same for the synthetic cells [synthetic rows].
        size: Number of values.
        values: Distinct numbers [size], ascending and within 0 .. 1, NaN (missing) last; None for categories.
    """

    real: Places
    synthetic: Places
    size: int
    values: Floats | None = None

    @classmethod
    def of_numbers(cls, real: Floats, synthetic: Floats) -> Axis:
        """Return the axis of a numeric column [rows each] that is scaled to 0 .. 1, NaN where missing."""
        values, places = np.unique(np.concatenate([real, synthetic]), return_inverse=True)
        return cls(places[: real.size], places[real.size :], values.size, values)

    @classmethod
    def of_categories(cls, real: Codes, synthetic: Codes, size: int) -> Axis:
        """Return the axis of a categorical column [rows each]."""
        return cls(real.astype(np.intp), synthetic.astype(np.intp), size)

    def costs(self, sources: Places, sinks: Places) -> Floats:
        """Return the cost of each move [sources, sinks]: |x - y| for numbers, otherwise 1 if values differ
        and 0 if not."""
        if self.values is None:
            differ: Floats = (sources[:, None] != sinks[None, :]).astype(np.float64)
            return differ
        first, second = self.values[sources], self.values[sinks]
        cost: Floats = np.subtract.outer(first, second)
        np.abs(cost, out=cost)
        if math.isnan(self.values[-1]):
            cost[np.isnan(cost)] = 1.0
            cost[np.ix_(np.isnan(first), np.isnan(second))] = 0.0
        return cost

    def line(self) -> Line:
        """Return the values as places on a line, followed by those at 1 from all others."""
        numbers = np.zeros(0) if self.values is None else self.values[~np.isnan(self.values)]
        return Line(numbers, self.size)

    @property
    def dimensions(self) -> int:
        """Dimensions needed to place the values so that distances approximate `costs`."""
        return self.size if self.values is None else 2

    def along(self, direction: Floats) -> Floats:
        """Return the projections of the values [size] on a direction [dimensions].

        Categories are the corners of a simplex. Missing numbers are beside the line, 0.87 to 1 from its points.
        """
        if self.values is None:
            return direction * math.sqrt(0.5)
        missing = np.isnan(self.values)
        on_line = np.where(missing, 0.5, self.values) * direction[0]
        shadows: Floats = on_line + missing * math.sqrt(0.75) * direction[1]
        return shadows


def along_axis(axis: Axis) -> float:
    """Return the distance of the samples along one axis, exactly.

    For categories it is the total variation distance. For numbers it is the area between the distribution
    functions; with missing cells, the mass present in both samples is moved at this cost, and the surplus
    becomes missing, or present, at a cost of 1.
    """
    p, q = (np.bincount(part, minlength=axis.size) / part.size for part in (axis.real, axis.synthetic))
    if axis.values is None:
        return float(np.abs(p - q).sum() / 2)
    present = ~np.isnan(axis.values)
    shares = p[present].sum(), q[present].sum()
    distance = abs(shares[0] - shares[1])
    if min(shares) > 0:
        distance += min(shares) * _area(axis.values[present], p[present] / shares[0] - q[present] / shares[1])
    return float(distance)


def in_the_plane(
    first: Axis, second: Axis, *, solver: Solver = "exact", regularisation: float = 0.05
) -> float:
    """Return the least cost of moving the real points onto the synthetic ones, per point.

    The cost of a move is the sum over both axes. As that is a metric, points that both samples share can stay
    in place: transporting only the differences is a smaller problem with the same optimum. The exact solver moves them
    along roads (`roads`), by Orden's form of a transport with points in between ("The Transhipment Problem", 1956).

    Args:
        first: First column.
        second: Second column, of the same rows.
        solver: "exact": network simplex. "sinkhorn": entropy-regularised transport (Cuturi 2013), whose cost
            is never below the exact one, up to the tolerance of the iteration; it is faster with many points
            and a strong entropy term.
        regularisation: Weight of the entropy term, in units of cost.

    Raises:
        MissingExtraError: If the optimal transport library is not installed.
        ResourceError: If the network simplex does not finish.
    """
    places = (first.real * second.size + second.real, first.synthetic * second.size + second.synthetic)
    points, index = np.unique(np.concatenate(places), return_inverse=True)
    n_real = first.real.size
    p, q = (np.bincount(part, minlength=points.size) / part.size for part in (index[:n_real], index[n_real:]))
    surplus = p - q
    sources, sinks = np.flatnonzero(surplus > _EQUAL), np.flatnonzero(surplus < -_EQUAL)
    if not sources.size or not sinks.size:
        return 0.0
    supply, demand = surplus[sources], -surplus[sinks]
    moved = float(supply.sum())
    supply, demand = supply / moved, demand / demand.sum()
    n_moves = sources.size * sinks.size
    if solver == "exact" and n_moves > _FEW:
        some = np.concatenate([sources, sinks])
        places = points[some] // second.size, points[some] % second.size
        roads = roads_between(first.line(), second.line(), places, int(_ROADS * n_moves))
        if roads is not None:
            return moved * _along(roads, supply, demand)
    costs = first.costs(points[sources] // second.size, points[sinks] // second.size)
    costs += second.costs(points[sources] % second.size, points[sinks] % second.size)
    return moved * _transport(supply, demand, costs, solver, regularisation)


def sliced(first: Axis, second: Axis, directions: Floats) -> float:
    """Return the mean distance of the points' projections on some directions (Bonneel et al. 2015).

    This differs from the exact distance, and is never above it for numbers.

    Args:
        first: First column.
        second: Second column, of the same rows.
        directions: Unit vectors [directions, dimensions of both axes].
    """
    weight = np.repeat(
        [1 / first.real.size, -1 / first.synthetic.size], [first.real.size, first.synthetic.size]
    )
    total = 0.0
    for direction in directions:
        along = first.along(direction[: first.dimensions]), second.along(direction[first.dimensions :])
        real = along[0][first.real] + along[1][second.real]
        synthetic = along[0][first.synthetic] + along[1][second.synthetic]
        shadow = np.concatenate([real, synthetic])
        order = np.argsort(shadow)
        total += _area(shadow[order], weight[order])
    return total / len(directions)


def _area(values: Floats, weights: Floats) -> float:
    """Return the area between two distribution functions; weights [values] are the differences of their steps."""
    return float(np.abs(np.cumsum(weights)[:-1]) @ np.diff(values))


def _transport(supply: Floats, demand: Floats, costs: Floats, solver: Solver, regularisation: float) -> float:
    if solver == "sinkhorn":
        library = require("ot", "evaluate")
        # Plain scaling underflows if the largest cost is too many times the weight.
        method = "sinkhorn" if costs.max() < _STABLE * regularisation else "sinkhorn_log"
        return float(library.sinkhorn2(supply, demand, costs, regularisation, method=method, stopThr=1e-6))
    return _exact(supply, demand, costs)


def _along(roads: Roads, supply: Floats, demand: Floats) -> float:
    """Return the least cost of moves along roads, from the first nodes to those after them.

    Each node takes in as much as all that is moved, and gives out as much, more or less what it holds itself. What does
    not pass through stays, at no cost.
    """
    sparse = require("scipy.sparse", "evaluate")
    given, taken = np.ones(roads.n_nodes), np.ones(roads.n_nodes)
    given[: supply.size] += supply
    taken[supply.size : supply.size + demand.size] += demand
    nodes = np.arange(roads.n_nodes)
    starts = np.concatenate([nodes, roads.starts, roads.ends])
    ends = np.concatenate([nodes, roads.ends, roads.starts])
    lengths = np.concatenate([np.zeros(nodes.size), roads.lengths, roads.lengths])
    return _exact(given, taken, sparse.coo_array((lengths, (starts, ends)), shape=(nodes.size, nodes.size)))


def _exact(supply: Floats, demand: Floats, costs: Any) -> float:
    """Return the least cost [sources, sinks], of which a sparse matrix has those of all moves there are."""
    library = require("ot", "evaluate")
    cost, log = library.emd2(supply, demand, costs, numItermax=MOST_PIVOTS, log=True)
    if log["warning"] is not None:
        raise ResourceError("an exact transport was not solved; compare fewer rows, or use solver='sinkhorn'")
    return float(cost)
