"""Whom each row of a table is about, and splits that keep all rows of one person, or other unit, together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError, SchemaError, SplitWarning, warn_caller
from syntabula.table.frames.retyping import distinct_values, text_of
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.schema import Schema

Rows = NDArray[np.intp]


_OF_FITS = (
    "or leave their rows out. This failure depends on the data and is not covered by the privacy guarantee"
)
_OF_SCORES = (
    "leave their rows out, or give a schema without `unit`, so that each row counts for itself: rows of one unit are "
    "kept together wherever the table is divided"
)


def unit_keys(raw: RawColumn, schema: Schema, *, remedy: str = _OF_FITS) -> tuple[Rows, list[str]]:
    """Return each row's unit as a position [rows] among the keys, and each key once.

    Keys are equal if their texts in a file are: one cell may make a library store all keys in another type, which
    changes no key's text.

    Args:
        raw: The column that names units.
        schema: Names this column as its unit.
        remedy: What else than filling empty cells helps, as the error says it.

    Raises:
        DataError: If a row does not say whom it is about. That depends on the data, and the guarantee does not cover it.
    """
    assert schema.unit is not None
    values, places = distinct_values(raw)
    texts = [*map(text_of(schema[schema.unit]), values)]
    if raw.missing.any() or any(text is None or not text.strip() for text in texts):
        raise DataError(
            f"column {schema.unit!r} names the unit, but has cells that are empty or cannot be read as a key; fill "
            f"them, {remedy}"
        )
    keys = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text))}
    numbers = np.fromiter((keys[text] for text in texts if text), np.intp, count=len(texts))
    return numbers[places], [*keys]


def units_of_rows(table: RawTable, schema: Schema | None) -> Rows | None:
    """Return the number of each row's unit [rows]; None if the schema names no unit, so that each row is its own.

    Raises:
        DataError: If a row does not say whom it is about.
        SchemaError: If the column that names units is missing.
    """
    if schema is None or schema.unit is None:
        return None
    return unit_keys(_unit_column(table, schema.unit), schema, remedy=_OF_SCORES)[0]


def warn_of_shared_units(tables: dict[str, RawTable], schema: Schema | None) -> None:
    """Warn if units have rows in both of two tables that should have none in common.

    Args:
        tables: The two tables, by what they are called.
        schema: Says which column names the unit, if any does.
    """
    if schema is None or schema.unit is None:
        return
    unit = schema.unit
    first, second = (
        set(unit_keys(_unit_column(table, unit), schema, remedy=_OF_SCORES)[1]) for table in tables.values()
    )
    if not first.isdisjoint(second):
        here, there = tables
        warn_caller(
            SplitWarning(
                f"some units of {unit!r} have rows in the {here} table and in the {there} table, which should "
                "show how a method does on units that it has not seen; keep all rows of one unit on one side"
            )
        )


def _unit_column(table: RawTable, unit: str) -> RawColumn:
    if unit not in table.columns:
        raise SchemaError(
            f"column {unit!r}, which names the unit, is missing from a table; add it, or leave out `unit`"
        )
    return table.columns[unit]


def shuffled(n_rows: int, units: Rows | None, rng: np.random.Generator) -> Rows:
    """Return the rows [rows] in a random order in which those of one unit stand together."""
    if units is None:
        return rng.permutation(n_rows)
    return np.argsort(rng.permutation(int(units.max(initial=-1)) + 1)[units], kind="stable")


def parted(n_first: int, n_rows: int, units: Rows | None, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Split rows at random in two, neither of them empty, with all rows of a unit in the same part.

    Args:
        n_first: Rows of the first part; with units, as nearly as whole ones allow.
        n_rows: Number of rows.
        units: Number of each row's unit [rows], or None.
        rng: Draws the parts.

    Raises:
        DataError: If all rows are of one unit.
    """
    rows = shuffled(n_rows, units, rng)
    if units is not None:
        ends = np.flatnonzero(np.diff(units[rows])) + 1
        if not ends.size:
            raise DataError(
                "all rows are of one unit, so that they cannot be split; at least two are needed, or a schema without "
                "`unit`"
            )
        n_first = int(ends[np.abs(ends - n_first).argmin()])
    return rows[:n_first], rows[n_first:]


def chosen_units(n_units: int, rows: Rows, units: NDArray[Any], rng: np.random.Generator) -> Rows:
    """Return those of some rows, rising, that belong to so many of their units, chosen at random."""
    chosen = rng.choice(np.unique(units[rows]), size=n_units, replace=False)
    return rows[np.isin(units[rows], chosen)]
