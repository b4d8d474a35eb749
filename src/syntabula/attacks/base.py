"""The interface that attacks implement, the attacker's knowledge, and what can be attacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from syntabula.errors import DataError
from syntabula.marginals.domain import Codes, code_dtype
from syntabula.metrics.comparison import Floats, View
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.columns import Boolean, Categorical, Identifier
from syntabula.table.schema.schema import Schema
from syntabula.table.unit_rows import Rows, units_of_rows


class Attack(Protocol):
    """Turns a synthetic table into features that may reveal whether the target was in the original."""

    @property
    def key(self) -> str:
        """Its lower-case name."""
        ...

    @property
    def learns(self) -> bool:
        """Whether a classifier is trained on the features; otherwise there is one, larger if the target was in."""
        ...

    def features(self, synthetic: View, knowledge: Knowledge) -> Floats:
        """Return the features [features], equally many for every synthetic table.

        Raises:
            ArgumentError: If the attack cannot be mounted on the target.
        """
        ...


class Fitted(Protocol):
    """A fitted synthesizer, which can be sampled."""

    def sample_columns(self, n: int, *, seed: int) -> dict[str, RawColumn]:
        """Draw n rows."""
        ...


class Synthesizer(Protocol):
    """Anything that can be attacked: it learns a table, with or without privacy."""

    def fit(self, source: RawTable, schema: Schema | None = None) -> Fitted:
        """Learn a table."""
        ...


_NUMBERS = {"integer", "float", "decimal", "date", "datetime", "time"}


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """The records of a table, and the target among them.

    As differential privacy assumes, the attacker knows every other record; where the schema names a unit, every record
    of every other unit, and the target is all records of one unit.

    Attributes:
        raw: All records, including the target.
        kinds: Says which columns are categorical, and which are identifiers, which attacks ignore.
        target: Row of the target, or one of its rows; None if all records are targets.
        numeric: Names of the numeric columns, dates and times among them.
        categories: Code of each value of each categorical column. Missing cells have the next code, values
            that no record has the one after that.
        table: All records, coded.
    """

    raw: RawTable
    kinds: Schema
    target: int | None = None
    numeric: tuple[str, ...] = field(init=False)
    categories: Mapping[str, Mapping[Any, int]] = field(init=False)
    table: View = field(init=False)

    def __post_init__(self) -> None:
        columns = {n: c for n, c in self.kinds.columns.items() if not isinstance(c, Identifier)}
        categorical = [n for n, c in columns.items() if isinstance(c, Categorical | Boolean)]
        object.__setattr__(self, "numeric", tuple(n for n in columns if n not in categorical))
        coded = {
            name: {value: code for code, value in enumerate(_distinct(self.raw.columns[name]))}
            for name in categorical
        }
        object.__setattr__(self, "categories", coded)
        object.__setattr__(self, "table", self.read(self.raw.columns))

    def read(self, columns: Mapping[str, RawColumn]) -> View:
        """Encode another table with the same columns.

        Raises:
            DataError: If a column is missing, or a numeric column is not stored as numbers.
        """
        absent = [name for name in (*self.numeric, *self.categories) if name not in columns]
        if absent:
            raise DataError(f"the synthetic table lacks the columns {absent}")
        return View(
            {name: _numbers(name, columns[name]) for name in self.numeric},
            {name: _codes(columns[name], known) for name, known in self.categories.items()},
            next(iter(columns.values())).values.size,
        )

    @cached_property
    def units(self) -> Rows:
        """Number of each record's unit [rows]; without units, each record is its own."""
        units = units_of_rows(self.raw, self.kinds)
        return np.arange(self.raw.n_rows) if units is None else units

    @cached_property
    def target_rows(self) -> Rows:
        """Rows of the target: one, or all rows of its unit; none if all records are targets."""
        if self.target is None:
            return np.empty(0, np.intp)
        return np.flatnonzero(self.units == self.units[self.target])

    @cached_property
    def other_rows(self) -> Rows:
        """Rows of all records but the target's."""
        return np.delete(np.arange(self.table.n_rows), self.target_rows)

    @cached_property
    def others(self) -> View:
        """All records but the target's."""
        return self.table.take(self.other_rows)

    @cached_property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """Least and largest value of each numeric column over all records; (0, 0) if all are missing."""
        return {name: _bounds(values) for name, values in self.table.numbers.items()}

    @property
    def sizes(self) -> Mapping[str, int]:
        """Number of codes of each categorical column: of values, of missing and of unknown ones."""
        return {name: len(known) + 2 for name, known in self.categories.items()}


def _bounds(values: Floats) -> tuple[float, float]:
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)


def _numbers(name: str, column: RawColumn) -> Floats:
    if column.physical.kind not in _NUMBERS and not column.missing.all():
        raise DataError(f"column {name!r} is stored as {column.physical.kind}, but attacked as numbers")
    numbers: Floats = np.where(column.missing, 0, column.values).astype(np.float64)
    numbers[column.missing] = np.nan
    return numbers


def _codes(column: RawColumn, known: Mapping[Any, int]) -> Codes:
    missing, unknown = len(known), len(known) + 1
    found = (known.get(value, unknown) for value in column.values.tolist())
    codes: Codes = np.fromiter(found, code_dtype(unknown + 1), count=column.values.size)
    codes[column.missing] = missing
    return codes


def _distinct(column: RawColumn) -> list[Any]:
    return sorted(set(column.values[~column.missing].tolist()), key=repr)
