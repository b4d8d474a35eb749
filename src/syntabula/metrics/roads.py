"""A few roads between points in the plane, along which every distance is as short as directly.

A transport between thousands of points has millions of moves. A distance that is a sum over two axes is also that of a
path through points in between: each move is a few steps along roads, of which there are some tens of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.metrics.comparison import Floats

Places = NDArray[np.intp]

_SLAB = 256
_FEW = 8
"""Categories up to which each has roads to each other one: there are more of these than to crossings, but fewer nodes."""
_NONE = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Line:
    """One axis of points.

    Attributes:
        numbers: Numbers of the values, ascending [numbers]; any values after them are at a distance of 1 from all others.
        size: Number of values.
    """

    numbers: Floats
    size: int

    @property
    def has_apart(self) -> bool:
        """Whether some values are at 1 from all others, as categories and missing numbers are."""
        return self.numbers.size < self.size


@dataclass(frozen=True)
class Roads:
    """Roads between nodes; both ways.

    Attributes:
        starts: Node at one end [roads]; the points come first, then crossings.
        ends: Node at the other end [roads].
        lengths: Length of each [roads].
        n_nodes: Number of nodes.
    """

    starts: Places
    ends: Places
    lengths: Floats
    n_nodes: int


def roads_between(first: Line, second: Line, points: tuple[Places, Places], most: int) -> Roads | None:
    """Return roads between points, no two alike; None if it takes more than so many.

    Values at a distance of 1 from all others have a crossing half way, one for each value of the other axis. As numbers
    differ by 1 at most, no path over a crossing is shorter than the distance. Points on a line are joined in its order.
    Other points in the plane are joined if no third one lies in the rectangle between them: through any that does, the
    way is as short.

    Args:
        first: First axis.
        second: Second axis.
        points: Index of each point's value on both [points each].
        most: Largest number of roads.
    """
    lines = first, second
    for axis, other in ((0, 1), (1, 0)):
        if not lines[axis].numbers.size and not lines[other].has_apart:
            of_categories, of_numbers = np.unique(points[axis], return_inverse=True)[1], points[other]
            if of_categories.max(initial=0) < _FEW:
                return _between_categories(of_categories, of_numbers, lines[other].numbers)
    x, y = points
    pairs: list[tuple[Places, Places]] = []
    lengths: list[Floats] = []
    place = [x, y]
    for axis, other in ((0, 1), (1, 0)):
        if not lines[axis].has_apart:
            continue
        # The crossings of the second axis include those of crossings of the first.
        held, at = np.unique(place[other], return_inverse=True)
        n = place[axis].size
        pairs.append((np.arange(n), n + at))
        lengths.append(np.full(n, 0.5))
        half_way = np.full(held.size, lines[axis].size)
        place[axis], place[other] = np.append(place[axis], half_way), np.append(place[other], held)
    x, y = place
    for axis, along in ((0, 1), (1, 0)):
        numbers = lines[along].numbers
        some = np.flatnonzero((place[axis] >= lines[axis].numbers.size) & (place[along] < numbers.size))
        some = some[np.lexsort((place[along][some], place[axis][some]))]
        same = place[axis][some[1:]] == place[axis][some[:-1]]
        starts, ends = some[:-1][same], some[1:][same]
        pairs.append((starts, ends))
        lengths.append(numbers[place[along][ends]] - numbers[place[along][starts]])
    plane = np.flatnonzero((x < first.numbers.size) & (y < second.numbers.size))
    found = _in_sight(x[plane], y[plane], most)
    if found is None:
        return None
    starts, ends = plane[found[0]], plane[found[1]]
    pairs.append((starts, ends))
    across = np.abs(first.numbers[x[ends]] - first.numbers[x[starts]])
    lengths.append(across + np.abs(second.numbers[y[ends]] - second.numbers[y[starts]]))
    every = [np.concatenate(ends) for ends in zip(*pairs, strict=True)]
    return Roads(every[0], every[1], np.concatenate(lengths), x.size)


def _between_categories(categories: Places, places: Places, numbers: Floats) -> Roads:
    """Return roads from each point [n] to the next one of each category on either side, on the way to all others.

    Args:
        categories: Category of each point, from 0.
        places: Index of each point's number.
        numbers: The numbers, ascending.
    """
    n = places.size
    order = np.argsort(places, kind="stable")
    own, at = categories[order], numbers[places[order]]
    starts, ends = [], []
    for category in range(int(own.max(initial=-1)) + 1):
        after = np.minimum.accumulate(np.where(own == category, np.arange(n), n)[::-1])[::-1]
        before = np.maximum.accumulate(np.where(own == category, np.arange(n), -1))
        for some, found in ((slice(0, n - 1), after[1:]), (slice(1, n), before[:-1])):
            there = (found >= 0) & (found < n)
            starts.append(np.arange(n)[some][there])
            ends.append(found[there])
    every = np.unique(np.sort([np.concatenate(starts), np.concatenate(ends)], axis=0), axis=1)
    lengths = at[every[1]] - at[every[0]] + (own[every[0]] != own[every[1]])
    return Roads(order[every[0]], order[every[1]], lengths, n)


def _in_sight(x: Places, y: Places, most: int) -> tuple[Places, Places] | None:
    """Return the pairs of points [n] without a third one in the rectangle between; None if more than so many."""
    starts, ends, n_found = [], [], 0
    # Those above, then those below.
    for rises, is_below in ((y, False), (y.max(initial=0) - y, True)):
        # The nearest one of a column of points comes first, and hides the others of it.
        order = np.lexsort((rises, x))
        up, columns = rises[order].astype(np.int32), x[order]
        # Least height above each point's own, of the points to the right of it that were looked at.
        lowest = np.full(up.size, _NONE, np.int32)
        for start in range(0, up.size, _SLAB):
            slab = up[start : start + _SLAB]
            ranked = np.sort(slab)
            before = np.searchsorted(ranked, up[:start]) < np.searchsorted(ranked, lowest[:start])
            rows = np.concatenate([np.flatnonzero(before), np.arange(start, start + slab.size)])
            seen = np.where(slab >= up[rows, None], slab, _NONE)
            own = seen[rows.size - slab.size :]
            own[np.tril_indices(slab.size)] = _NONE
            steps = np.minimum.accumulate(np.column_stack([lowest[rows], seen]), axis=1)
            lowest[rows] = steps[:, -1]
            row, column = np.nonzero(steps[:, 1:] < steps[:, :-1])
            one, other = rows[row], start + column
            if is_below:
                # Those of the same column or height were found before.
                apart = (columns[one] != columns[other]) & (up[one] != up[other])
                one, other = one[apart], other[apart]
            n_found += one.size
            if n_found > most:
                return None
            starts.append(order[one])
            ends.append(order[other])
    if not starts:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    return np.concatenate(starts), np.concatenate(ends)
