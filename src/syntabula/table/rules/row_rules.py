"""Rules at work: the table that is learned in place of the declared one, and its rows completed and checked.

Derived columns are left out of what is learned. Of the columns in an order, the narrowest is learned as it is. A later
one is learned as its distance from the largest of those between that are present, an earlier one from the smallest;
if none is present, from the first or last value that they can have. Distances are at least 0; where
orders of numbers cross, those that are drawn too large for the bounds are made shorter, see `rooms`. A column that rules
keep within a window around another one, such as the 30 days after it, is learned as its distance too, which has the
window's bounds. All of this is done record by record, so neighbouring tables stay neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError
from syntabula.table.coding.column_codes import present_cells
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.rules.checks import Compiled, Condition
from syntabula.table.rules.computed import Flags, as_declared, bound_as_number, equal_cells, longest_text
from syntabula.table.rules.days_and_times import DAY, is_day_beside_time, moved_by
from syntabula.table.rules.distances import Distance, leading_to
from syntabula.table.rules.evaluation import Cells, rows_database, satisfied, values_of
from syntabula.table.rules.grids import common, grid_of, is_exact
from syntabula.table.rules.missing_together import missing_together
from syntabula.table.rules.rooms import Room
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Column,
    Date,
    Datetime,
    Numeric,
)
from syntabula.table.schema.gaps import Gap, GapColumn
from syntabula.table.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class RowRules:
    """The rules of a schema, at work on tables.

    Attributes:
        schema: All columns of released rows, with the rules.
        stored: What columns were learned as, where a file says so; None to read it off the rules.
    """

    schema: Schema
    stored: Mapping[str, Distance] | None = None

    @property
    def rules(self) -> Rules:
        """The rules as declared."""
        assert self.schema.rules is not None
        return self.schema.rules

    @cached_property
    def compiled(self) -> Compiled:
        """The rules, checked against the columns."""
        found = self.schema.compiled_rules
        assert found is not None
        return found if self.stored is None else replace(found, distances=self.stored)

    @cached_property
    def learned_schema(self) -> Schema:
        """What is learned: the schema without derived columns, with distances in place of columns in an order."""
        columns: dict[str, Column] = {
            name: self.distance(name) if name in self.compiled.distances else column
            for name, column in self.schema.columns.items()
            if name not in self.compiled.derived
        }
        if not columns:
            raise SchemaError(
                "rules: every column is derived, so nothing is left to learn; leave one out of derive"
            )
        return self.schema.with_columns(columns, rules=None)

    def distance(self, name: str) -> Numeric:
        """Return the declaration of a column's distance from its neighbours; bounds follow from theirs and from rules."""
        distance = self.compiled.distances[name]
        column, others = self._ordered(name), [self._ordered(n) for n in distance.columns]
        observed = any(c.provenance == "observed" for c in (column, *others))
        shared: dict[str, Any] = {
            "nullable": column.nullable,
            "provenance": "observed" if observed else column.provenance,
            "bins": column.bins,
            "atoms": None if column.atoms is None else (),
        }
        if not isinstance(column, Numeric):
            unit = self.unit(name)
            least, most = (bound // unit for bound in self._reach(name, Fraction(unit)))
            number = Numeric(int(least), int(most), integer=True, **shared)
            return Gap.of(number, column) if column.has_days and self._unit_of(name) == unit else number
        numbers = [c for c in (column, *others) if isinstance(c, Numeric)]
        units = None if any(c.grid() is None for c in numbers) else [c.unit for c in numbers]
        whole = all(c.integer for c in numbers)
        if units is not None and not whole and not is_exact(self._reach(name, None), reduce(common, units)):
            # Floats do not tell neighbours on the common grid apart, though those of each column.
            units = None
        ends = self._reach(name, None if units is None else reduce(common, units))
        least, most = map(int if whole else float, ends)
        return Numeric(least, most, **shared, **grid_of(units, whole=whole))

    def room(self, name: str) -> Room | None:
        """Return the room into which drawn distances of a column lead; None if they may lead beyond its bounds."""
        distance, column = self.compiled.distances[name], self._ordered(name)
        if distance.until is None:
            return None
        assert isinstance(column, Numeric)
        return Room(column, distance.until, distance.upwards, float(self.distance(name).upper))

    def _reach(self, name: str, unit: Fraction | None) -> tuple[Any, Any]:
        """Return the smallest and the largest distance that the bounds of columns and the rules allow.

        Args:
            name: A column that is learned as a distance.
            unit: Distance between neighbouring distances; None if there are any.
        """
        distance = self.compiled.distances[name]
        near, far = ("lower", "upper") if distance.upwards else ("upper", "lower")
        most = max(abs(bound_as_number(self._ordered(name), far) - self._reference(name)), 0) + 0
        others = [bound_as_number(self._ordered(n), far) for n in distance.columns]
        nearest = bound_as_number(self._ordered(name), near)
        least = -max(*(abs(other - nearest) for other in others), 0) if distance.least != 0 else 0
        moves = [
            moved_by(self.schema[name], self.schema[n], upwards=distance.upwards) for n in distance.columns
        ]
        least, most = least + min(0, *(m for m, _ in moves)), most + max(m for _, m in moves)
        if distance.least is not None and distance.least > least:
            least = distance.least if unit is None else math.ceil(distance.least / unit) * unit
        stated = distance.most
        if stated is not None and stated < most:
            stated = stated if unit is None else math.floor(stated / unit) * unit
            # Where no distance is left, no row satisfies the rules, which is said elsewhere.
            most = stated if stated >= least else most
        return least, most

    def learned_table(self, table: RawTable) -> tuple[RawTable, dict[str, int]]:
        """Return what is learned of a table, and for each column in an order how many of its values were clipped."""
        columns = {n: c for n, c in table.columns.items() if n not in self.compiled.derived}
        clipped: dict[str, int] = {}
        for name in self.compiled.distances:
            if name in columns:
                columns[name], clipped[name] = self._as_distance(name, table.columns)
        return RawTable(columns, table.n_rows, table.origin), {n: k for n, k in clipped.items() if k}

    def _as_distance(self, name: str, cells: Cells) -> tuple[RawColumn, int]:
        raw = cells[name]
        values, present, clipped = self.numbers(name, raw)
        unit = self.unit(name)
        base = self._whole(name, self.base(name, cells))
        above = values - base if self.compiled.distances[name].upwards else base - values
        declared = self.distance(name)
        if declared.integer:
            distance = np.floor_divide(above, unit) if unit > 1 else above
            points: NDArray[Any] = np.clip(
                distance.astype(np.int64), int(declared.lower), int(declared.upper)
            )
            physical = PhysicalType("integer", "int64")
        else:
            points = np.clip(above.astype(np.float64), declared.lower, declared.upper)
            physical = PhysicalType("float", "float64")
        ends = values // unit if isinstance(declared, Gap) else None
        return GapColumn(np.where(present, points, 0), ~present, physical, raw.unreadable, ends=ends), clipped

    def base(self, name: str, cells: Cells) -> NDArray[Any]:
        """Return what each row's distance is counted from; where all neighbours are missing, the reference.

        The distance of a day from a time counts from the midnight before this.
        """
        distance = self.compiled.distances[name]
        reference = self._reference(name)
        nearest = np.maximum if distance.upwards else np.minimum
        found = []
        for other in filter(cells.__contains__, distance.columns):
            values, present, _ = self.numbers(other, cells[other])
            if not isinstance(self.schema[name], Date):
                values = values + moved_by(self.schema[name], self.schema[other], upwards=distance.upwards)[0]
            found.append(np.where(present, values, reference))
        return np.asarray(reduce(nearest, found, np.asarray(reference)))

    def numbers(self, name: str, raw: RawColumn) -> tuple[NDArray[Any], Flags, int]:
        """Return an ordered column's values as numbers within its bounds, which are present, and how many were clipped.

        Days and times are microseconds since 1970; a missing cell has the value of the lower bound.
        """
        column = self._ordered(name)
        present = present_cells(raw)
        points, clipped, _ = column.points(raw.values[present], raw.physical.kind)
        values, _ = column.values(points)
        if isinstance(column, Date):
            values = values * MICROSECONDS["day"]
        filled = np.full(raw.missing.size, bound_as_number(column, "lower"), dtype=values.dtype)
        filled[present] = values
        return filled, present, clipped

    def _reference(self, name: str) -> Any:
        """Return the first value that a column or its neighbours can have, or for one before them the last."""
        distance = self.compiled.distances[name]
        names = (name, *distance.columns)
        if distance.upwards:
            return min(bound_as_number(self._ordered(n), "lower") for n in names)
        return max(bound_as_number(self._ordered(n), "upper") for n in names)

    def unit(self, name: str) -> int:
        """Return the unit of a distance: microseconds for days and times, 1 for numbers."""
        if isinstance(self.schema[name], Date):
            return DAY
        return min(map(self._unit_of, (name, *self.compiled.distances[name].columns)))

    def _whole(self, name: str, base: NDArray[Any]) -> NDArray[Any]:
        """Return what distances are counted from, as midnights if these are distances of days."""
        return base - base % DAY if isinstance(self.schema[name], Date) else base

    def _unit_of(self, name: str) -> int:
        column = self._ordered(name)
        if isinstance(column, Numeric):
            return 1
        return MICROSECONDS[column.resolution if isinstance(column, Datetime) else "day"]

    def _ordered(self, name: str) -> Numeric | Date | Datetime:
        column = self.schema[name]
        assert isinstance(column, Numeric | Date | Datetime)
        return column

    def completed(
        self, learned: Cells, n_rows: int, rng: np.random.Generator
    ) -> tuple[dict[str, RawColumn], Flags, dict[str, int]]:
        """Complete decoded rows of the learned table, and check them.

        Columns that are missing together are missing where the first of them is. Where it is not, a cell that is missing
        takes the value of another of these rows, so that as many rows have missing cells as the release says.

        Args:
            learned: The decoded columns.
            n_rows: Number of rows.
            rng: Chooses these other rows.

        Returns:
            All columns in the order of the schema; which rows satisfy all rules; and for each rule that some break, how
            many do.
        """
        cells, broken = dict(learned), dict[str, Flags]()
        for names in self.rules.together:
            cells |= missing_together(names, cells, rng)
        for name in self.compiled.distances:
            cells[name], fits = self.as_end(name, cells)
            if not fits.all():
                broken[f"{name} within its bounds"] = ~fits
        columns, conditions = self.schema.columns, self.compiled.conditions
        with self._database() as database:
            for stage in self.compiled.stages:
                for name, raw in self._derived(database, stage, cells, n_rows).items():
                    cells[name], fits = as_declared(columns[name], raw)
                    if not fits.all():
                        broken[f"{name} within its domain"] = ~fits
            expressions = [c.expression for c in conditions]
            held = satisfied(database, columns, cells, n_rows, expressions)
        for condition, holds in zip(conditions, held, strict=True):
            if not holds.all():
                broken[condition.rule] = ~holds
        kept = np.ones(n_rows, np.bool_)
        for rows in broken.values():
            kept &= ~rows
        ordered = {name: cells[name] for name in columns}
        return ordered, kept, {rule: int(rows.sum()) for rule, rows in broken.items()}

    def holds(self, condition: Condition, learned: Cells, n_rows: int) -> Flags:
        """Return which rows satisfy one condition, and have its computed columns in their domains.

        Args:
            condition: One of the compiled ones.
            learned: The learned columns that decide it.
            n_rows: Number of rows.
        """
        cells, columns = dict(learned), self.schema.columns
        kept = np.ones(n_rows, np.bool_)
        for name, distance in self.compiled.distances.items():
            if name in cells and all(other in cells for other in distance.columns):
                cells[name], fits = self.as_end(name, cells)
                kept &= fits
        with self._database() as database:
            for name in self.compiled.derived:
                if all(c in cells for c in self.compiled.derived[name].columns):
                    raw = self._derived(database, [name], cells, n_rows)[name]
                    cells[name], fits = as_declared(columns[name], raw)
                    kept &= fits
            (held,) = satisfied(database, columns, cells, n_rows, [condition.expression])
        return kept & held

    def _database(self) -> AbstractContextManager[Any]:
        """Return a database for expressions; none is opened if there are none."""
        needed = self.compiled.derived or self.compiled.conditions
        return rows_database() if needed else nullcontext()

    def _derived(
        self, database: Any, names: Sequence[str], cells: Cells, n_rows: int
    ) -> dict[str, RawColumn]:
        """Return columns as their expressions say, not yet as declared."""
        columns, derived = self.schema.columns, self.compiled.derived
        found = values_of(
            database,
            columns,
            cells,
            n_rows,
            [derived[n] for n in names],
            [longest_text(columns[n]) for n in names],
        )
        return dict(zip(names, found, strict=True))

    def as_end(self, name: str, cells: Cells) -> tuple[RawColumn, Flags]:
        """Return a column in an order from its decoded distance, and which of its cells its declaration allows."""
        column, distance = self._ordered(name), cells[name]
        base = self._whole(name, self.base(name, cells))
        if (room := self.room(name)) is not None:
            return self.as_column(name, room.values(distance.values, base), distance.missing)
        way = 1 if self.compiled.distances[name].upwards else -1
        unit = 1 if isinstance(column, Numeric) else self.unit(name)
        return self.as_column(name, base + way * distance.values * unit, distance.missing)

    def as_column(self, name: str, numbers: NDArray[Any], missing: Flags) -> tuple[RawColumn, Flags]:
        """Return an ordered column of numbers, as `numbers` gives them, and which cells its declaration allows."""
        column = self._ordered(name)
        if isinstance(column, Numeric):
            kind = "integer" if numbers.dtype.kind in "iu" else "float"
            physical = PhysicalType(kind, str(numbers.dtype))  # type: ignore[arg-type]
        else:
            zone = column.timezone if isinstance(column, Datetime) else None
            physical = PhysicalType("datetime", "datetime64[us]", timezone=zone)
        return as_declared(column, RawColumn(numbers, missing, physical))

    def anchored(self, name: str, cells: Cells, given: RawColumn) -> tuple[str, RawColumn, Flags] | None:
        """Move what a column is a distance from, so that the distance that was drawn leads to given values.

        Args:
            name: A column that is learned as a distance.
            cells: Completed columns.
            given: Its values.

        Returns:
            The other column, its values, and which of these its declaration allows; of several, the one that the others
            are distances from, so that all move alike. None if it is not one that was learned as it is.
        """
        starts = leading_to(name, self.compiled.distances) - self.compiled.distances.keys()
        if len(starts) != 1:
            return None
        (start,) = starts
        base, _, _ = self.numbers(start, cells[start])
        (drawn, here, _), (wanted, there, _) = (self.numbers(name, raw) for raw in (cells[name], given))
        if is_day_beside_time(self.schema[start], self.schema[name]):
            # Whole days lead from a day to another one, and keep the hour of a time.
            drawn, wanted = drawn - drawn % DAY, wanted - wanted % DAY
        moved = base + np.where(here & there, wanted - drawn, 0)
        return start, *self.as_column(start, moved, cells[start].missing)

    @property
    def used(self) -> set[str]:
        """The columns that a rule names."""
        found = self.compiled
        expressions = [*found.derived.values(), *(c.expression for c in found.conditions)]
        named = {name for expression in expressions for name in expression.columns}
        return named.union(found.derived, found.distances, *(d.columns for d in found.distances.values()))

    @property
    def checked(self) -> list[str]:
        """The rules that `broken_by` checks of a table with all columns, in its order."""
        derived = [f"{name} = {found.text}" for name, found in self.compiled.derived.items()]
        return [*dict.fromkeys([*derived, *(c.rule for c in self.compiled.conditions)])]

    def broken_by(self, cells: Cells, n_rows: int) -> dict[str, Flags]:
        """Return for each rule the rows of a whole table, as read, that break it; without rules of absent columns."""
        columns, found = self.schema.columns, dict[str, Flags]()
        here = [
            name
            for name, expression in self.compiled.derived.items()
            if name in cells and all(c in cells for c in expression.columns)
        ]
        conditions = [c for c in self.compiled.conditions if all(n in cells for n in c.expression.columns)]
        with self._database() as database:
            for name, raw in (self._derived(database, here, cells, n_rows) if here else {}).items():
                computed, fits = as_declared(columns[name], raw)
                rule = f"{name} = {self.compiled.derived[name].text}"
                found[rule] = ~fits | ~equal_cells(columns[name], computed, cells[name])
            expressions = [c.expression for c in conditions]
            held = satisfied(database, columns, cells, n_rows, expressions)
        return found | {c.rule: ~holds for c, holds in zip(conditions, held, strict=True)}


def rules_in_words(rules: Mapping[str, float]) -> str:
    """Return rules with the share of rows that breaks each, worst first."""
    worst = sorted(rules.items(), key=lambda item: -item[1])
    return "; ".join(f"{rule} ({share:.1%})" for rule, share in worst[:5])
