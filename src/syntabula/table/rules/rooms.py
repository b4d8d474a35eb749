"""The room that a number has where orders cross: from its neighbours to the bound that it must not pass.

A distance that a model draws may lead beyond the bound. It is then made shorter, in proportion, so that it leads into the
room, and no row has to be drawn again for it. Distances of real rows never lead beyond, so this changes drawn rows alone,
and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.rules.distances import Distance
from syntabula.table.rules.placing import connected
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import Column, Numeric

_MOST_POINTS = 2**31
"""Grid points up to which a quotient by the grid's unit says whether a float is one of them."""
_OF_ROUNDING = 1e-5
"""Part of a unit by which such a quotient may be off."""


@dataclass(frozen=True)
class Room:
    """The room that a column has beside its neighbours.

    Attributes:
        column: Its declaration.
        until: The value at the end of the room, exactly as it is meant.
        upwards: Whether the room is above the neighbours.
        most: The largest distance that is drawn.
    """

    column: Numeric
    until: Fraction
    upwards: bool
    most: float

    def values(self, distances: NDArray[Any], base: NDArray[Any]) -> NDArray[Any]:
        """Return the values to which distances lead, in the room where there is any [n].

        Args:
            distances: Drawn distances, from 0 to the largest one [n].
            base: The nearest value of the neighbours in each row [n].
        """
        way = 1 if self.upwards else -1
        has_grid, unit = self.column.grid() is not None, float(self.column.unit)
        reached = (base + way * distances) / unit
        begin, end, longest = self._inside(base) / unit, self.until / self.column.unit, self.most / unit
        if has_grid:
            reached = np.rint(reached)
            begin = (np.ceil if self.upwards else np.floor)(begin - way * _OF_ROUNDING)
            end = Fraction(math.floor(end) if self.upwards else math.ceil(end))
        room = (float(end) - begin) * way
        shorter = distances / unit * (np.maximum(room, 0) / longest if longest > 0 else 0.0)
        if has_grid:
            shorter = np.floor(shorter + _OF_ROUNDING)
        taken = (reached - begin) * way
        points = np.where((taken < 0) | (taken > room), begin + way * shorter, reached)
        # A sum may be rounded beyond an end.
        inside = np.clip(points, np.minimum(begin, float(end)), np.maximum(begin, float(end)))
        # Where there is no room, the value stays beyond its bounds, and the row is drawn again.
        points = np.where(room >= 0, inside, reached)
        return self.column.values(points.astype(np.int64))[0] if has_grid else points

    def _inside(self, base: NDArray[Any]) -> NDArray[np.float64]:
        """Return where rooms begin: at the neighbours, or at the column's own bound on their side if that is nearer."""
        own = self.column.lower if self.upwards else self.column.upper
        nearest = np.maximum if self.upwards else np.minimum
        return np.asarray(nearest(base, own), dtype=np.float64)


def with_rooms(
    distances: Mapping[str, Distance], rules: Rules, columns: Mapping[str, Column]
) -> dict[str, Distance]:
    """Return distances with the ends of their rooms, as the declarations and the rules alone decide.

    Where orders cross, distances from one column lead away from all the others. Columns of other orders have no rooms:
    few of their rows leave the bounds, and drawing these again keeps small distances nearer. Days and times have none,
    nor have distances that a rule bounds, nor numbers that floats do not tell apart.
    """
    crossing = crossing_columns(distances, rules)
    return {
        name: replace(distance, until=_until(name, distance, rules, columns))
        if name in crossing and has_room(name, distance, columns)
        else distance
        for name, distance in distances.items()
    }


def crossing_columns(distances: Mapping[str, Distance], rules: Rules) -> set[str]:
    """Return the columns of orders that cross: between two of these columns, pairs of neighbours lead on two ways.

    Lists such as [a, b, d] and [a, c, d] cross. A single list does not, however it is cut into pairs, nor does a star,
    such as parts that are each at most the whole.
    """
    pairs = {(c, name) if d.upwards else (name, c) for name, d in distances.items() for c in d.columns}
    named = {name for pair in pairs for name in pair}
    pairs |= {p for chain in rules.order for p in combinations(chain, 2) if named.issuperset(p)}
    found: set[str] = set()
    for group in connected(sorted(pairs)):
        names = {name for pair in group for name in pair}
        after = {name: _beyond(name, group) for name in names}
        neighbours = [
            (first, last)
            for first in names
            for last in after[first]
            if not any(last in after[between] for between in after[first])
        ]
        # Connected columns with as many pairs of neighbours as columns, or more, are no tree.
        if len(neighbours) >= len(names):
            found |= names
    return found


def has_room(name: str, distance: Distance, columns: Mapping[str, Column]) -> bool:
    """Return whether a column's distance can be made shorter where it leads beyond the column's room."""
    numbers = [columns[n] for n in (name, *distance.columns)]
    is_free = distance.least == 0 and distance.most is None
    return is_free and all(
        isinstance(c, Numeric) and max(map(abs, c.grid() or (0,))) <= _MOST_POINTS for c in numbers
    )


def _until(name: str, distance: Distance, rules: Rules, columns: Mapping[str, Column]) -> Fraction:
    """Return the end of a column's room: its last value, or that of what it never comes after, whichever is nearer."""
    # Where a column may be missing, its bound says nothing, nor does what comes after it alone.
    kept = [[n for n in chain if n == name or not columns[n].nullable] for chain in rules.order]
    pairs = {pair for chain in kept for pair in combinations(chain, 2)}
    beyond = _beyond(name, pairs if distance.upwards else {(last, first) for first, last in pairs})
    numbers = [c for c in (columns[n] for n in (name, *beyond)) if isinstance(c, Numeric)]
    return min(map(_last, numbers)) if distance.upwards else max(map(_first, numbers))


def _beyond(name: str, pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Return the columns to which pairs lead from one, by one or several steps."""
    found: set[str] = set()
    left = [name]
    while left:
        here = left.pop()
        new = {last for first, last in pairs if first == here} - found
        found |= new
        left += new
    return found


def _first(column: Numeric) -> Fraction:
    grid = column.grid()
    return Fraction(Decimal(repr(column.lower))) if grid is None else grid[0] * column.unit


def _last(column: Numeric) -> Fraction:
    grid = column.grid()
    return Fraction(Decimal(repr(column.upper))) if grid is None else grid[1] * column.unit
