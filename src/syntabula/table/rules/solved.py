"""Cells that follow from given ones by a rule that derives another column: of a stay and its end, the beginning.

A derived column that is a sum of others, as differences of days are, can be solved for each of them. What is found this
way need not be drawn until the rule holds by chance. Each row is looked at alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from syntabula.table.coding.column_codes import present_cells
from syntabula.table.raw import RawColumn
from syntabula.table.rules.computed import Flags, bound_as_number
from syntabula.table.rules.days_and_times import is_day_beside_time
from syntabula.table.rules.evaluation import Cells
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.windows import Sum, sum_of_derived
from syntabula.table.schema.columns import MICROSECONDS, Column, Date, Datetime, Numeric, Ordered

_ROUNDING = 1e-6
"""Part of the distance between two values by which sums of floats may be wrong."""

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Least and greatest value in each row [n]; there is none where the least is the greater one."""


@dataclass(frozen=True)
class Solved:
    """Cells that follow from given ones.

    Attributes:
        cells: Their columns; where they do not follow, cells mean nothing.
        known: For each of these columns, in which rows they follow [n].
    """

    cells: dict[str, RawColumn]
    known: dict[str, Flags]


@dataclass(frozen=True, eq=False)
class Solver:
    """The derived columns of a table of given values that are sums of others.

    Attributes:
        rules: The rules.
        sums: By column, what it is the sum of; days and times are microseconds since 1970.
    """

    rules: RowRules
    sums: Mapping[str, Sum]

    @classmethod
    def of(cls, rules: RowRules, given: Collection[str]) -> Self:
        """Return the sums among the given columns."""
        columns = rules.schema.columns
        texts = {name: found.text for name, found in rules.compiled.derived.items()}
        found = {name: sum_of_derived(name, columns, texts) for name in texts if name in given}
        sums = {
            name: one
            for name, one in found.items()
            if one is not None and one.factors and all(map(_is_solvable, map(columns.get, one.factors)))
        }
        return cls(rules, sums)

    def solved(self, given: Cells) -> Solved:
        """Return the cells of columns that are not given, where one value alone fits what is given.

        Args:
            given: The given columns.
        """
        found = Solved({}, {})
        # What one sum gives may be what another one lacks.
        for _ in self.sums:
            for name, one in self.sums.items():
                for unknown in one.factors.keys() - given.keys():
                    self._solve(name, unknown, given, found)
        return found

    def _solve(self, name: str, unknown: str, given: Cells, found: Solved) -> None:
        """Add the cells of one column that one sum gives."""
        column, cells = self._ordered(unknown), {**found.cells, **given}
        others = [n for n in self.sums[name].factors if n != unknown]
        if not all(n in cells for n in others):
            return
        here = present_cells(given[name])
        rows = np.ones_like(here)
        for other in others:
            rows &= present_cells(cells[other]) & found.known.get(other, rows)
        least, most = self._points(unknown, *self._ends(name, unknown, cells), open_=self.sums[name].open)
        values, fits = self.rules.as_column(unknown, self._values(unknown, least), ~here)
        rows &= np.where(here, fits & (least == most), column.nullable)
        before = found.known.get(unknown, np.zeros_like(rows))
        if before.any():
            kept = found.cells[unknown]
            values.values[before], values.missing[before] = kept.values[before], kept.missing[before]
        if rows.any():
            found.cells[unknown], found.known[unknown] = values, before | rows

    def distances(self, given: Cells) -> Solved:
        """Return the cells of columns learned as distances that a given difference tells, if neither end is given."""
        found = Solved({}, {})
        for name, distance in self.rules.compiled.distances.items():
            for derived, one in self.sums.items():
                pair = {name, *distance.columns}
                if len(pair) == 2 and one.factors.keys() == pair and not pair & given.keys():
                    cells, known = self._distance(name, derived, given[derived])
                    if known.any() and name not in found.cells:
                        found.cells[name], found.known[name] = cells, known
        return found

    def _distance(self, name: str, derived: str, raw: RawColumn) -> tuple[RawColumn, Flags]:
        """Return a column as its distance from another one, and in which rows a difference tells it."""
        distance, declared, one = (
            self.rules.compiled.distances[name],
            self.rules.distance(name),
            self.sums[derived],
        )
        (start,) = distance.columns
        factor = one.factors[name] * (1 if distance.upwards else -1)
        grid, unit = declared.grid(), self.rules.unit(name)
        values, here, _ = self.rules.numbers(derived, raw)
        is_other = is_day_beside_time(self.rules.schema[name], self.rules.schema[start])
        if grid is None or is_other or one.factors[name] != -one.factors[start]:
            return raw, np.zeros_like(here)
        ends = _ends(values.astype(np.float64), one, factor * declared.unit * unit)
        least, most = _whole(*ends, open_=one.open)
        numbers, physical = declared.values(np.clip(least, *grid).astype(np.int64))
        # Where both may be missing, nothing says which of them is.
        paired = any({name, start} <= {*names} for names in self.rules.rules.together)
        of_end = declared.nullable and (paired or not self.rules.schema[start].nullable)
        told = (least == most) & (least >= grid[0]) & (least <= grid[1])
        return RawColumn(numbers, ~here, physical), np.where(here, told, of_end)

    def moved(self, cells: Cells, given: Collection[str], rng: np.random.Generator) -> dict[str, RawColumn]:
        """Return all columns with sums as given, where moves of some columns, one after the other, suffice.

        Where several values of a column fit, any of them is taken.

        Args:
            cells: All columns.
            given: Those whose cells stay.
            rng: Chooses the rows whose values take the place of missing cells.
        """
        found = dict(cells)
        for name, one in self.sums.items():
            here, free = present_cells(cells[name]), [n for n in one.factors if n not in given]
            for unknown in free:
                found[unknown] = _filled(found[unknown], here, rng)
            for unknown in free:
                column = self._ordered(unknown)
                values, there, _ = self.rules.numbers(unknown, found[unknown])
                complete = np.logical_and.reduce([present_cells(found[n]) for n in one.factors])
                bounds = [self._point(unknown, bound_as_number(column, side)) for side in ("lower", "upper")]
                least, most = self._points(unknown, *self._ends(name, unknown, found), open_=one.open)
                points = _between(
                    self._point(unknown, values), least, most, rng, whole=column.grid() is not None
                )
                near = self._values(unknown, np.clip(points, *bounds)).astype(values.dtype)
                absent = complete & ~here & column.nullable
                found[unknown], _ = self.rules.as_column(
                    unknown, np.where(complete & here, near, values), ~there | absent
                )
        return found

    def _ordered(self, name: str) -> Ordered:
        column = self.rules.schema[name]
        assert isinstance(column, Ordered)
        return column

    def _ends(self, name: str, unknown: str, cells: Cells) -> Ends:
        """Return between which values of a column a sum has its given value, whatever the bounds."""
        one = self.sums[name]
        rest = self.rules.numbers(name, cells[name])[0].astype(np.float64)
        for other, factor in one.factors.items():
            if other != unknown:
                rest = rest - float(factor) * self.rules.numbers(other, cells[other])[0]
        return _ends(rest, one, one.factors[unknown])

    def _points(
        self, unknown: str, low: NDArray[np.float64], high: NDArray[np.float64], *, open_: bool
    ) -> Ends:
        """Return the first and the last point of a column between two values; without a grid, these values."""
        if self._ordered(unknown).grid() is None:
            return low, high
        return _whole(self._point(unknown, low), self._point(unknown, high), open_=open_)

    def _point(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values / float(_unit(self._ordered(name)))

    def _values(self, name: str, points: NDArray[np.float64]) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return the values of a column at points; of days and times, as whole microseconds."""
        column = self._ordered(name)
        if isinstance(column, Numeric):
            return column.values(points if column.grid() is None else points.astype(np.int64))[0]
        return points.astype(np.int64) * int(_unit(column))


def _is_solvable(column: Column | None) -> bool:
    """Return whether the values of a column are numbers, or days and times at equal distances."""
    return isinstance(column, Numeric | Datetime) or (isinstance(column, Date) and column.resolution == "day")


def _unit(column: Ordered) -> Fraction:
    """Return the distance between the values of a column; of days and times, in microseconds. 1 if there is none."""
    if isinstance(column, Numeric):
        return column.unit
    return Fraction(MICROSECONDS[column.resolution if isinstance(column, Datetime) else "day"])


def _ends(rest: NDArray[np.float64], one: Sum, factor: Fraction) -> Ends:
    """Return what lies between a sum and the number that it holds beside its columns, in units of a factor."""
    low, high = ((rest - float(end)) / float(factor) for end in (one.low, one.high))
    return np.minimum(low, high), np.maximum(low, high)


def _whole(low: NDArray[np.float64], high: NDArray[np.float64], *, open_: bool) -> Ends:
    """Return the first and the last whole number between two, which themselves may be left out."""
    if open_:
        return np.floor(low + _ROUNDING) + 1, np.ceil(high - _ROUNDING) - 1
    return np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING)


def _between(
    points: NDArray[np.float64],
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    whole: bool,
) -> NDArray[np.float64]:
    """Return points with others between two ends [n] in place of those that are not."""
    # Where calendars are in between, the ends themselves may be too wide.
    width = np.maximum(most - least, 0) + whole
    others = least + (np.floor if whole else np.positive)(rng.random(points.size) * width)
    return np.where((points >= least) & (points <= most), points, others)


def _filled(column: RawColumn, here: Flags, rng: np.random.Generator) -> RawColumn:
    """Return a column with its missing cells in some rows filled with those of other rows."""
    gaps, donors = np.flatnonzero(here & column.missing), np.flatnonzero(~column.missing)
    if not gaps.size or not donors.size:
        return column
    rows = np.arange(here.size)
    rows[gaps] = rng.choice(donors, gaps.size)
    return column.take(rows)
