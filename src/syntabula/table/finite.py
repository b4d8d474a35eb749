"""Infinite numbers of a table count as missing where bounds are found, or cells may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import CoercionWarning, warn_caller
from syntabula.table.parts.part_reading import Part, PartOf
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.columns import Numeric
from syntabula.table.schema.schema import Schema, columns_listed


def finite_table(table: RawTable, schema: Schema | None, *, tell: bool = False) -> RawTable:
    """Return a table whose infinite numbers count as missing, as cells that cannot be read do.

    Each cell is looked at alone, so that neighbouring tables stay neighbours. In a declared column that is not nullable
    they stay, and are clipped to the nearest bound as others beyond it.

    Args:
        table: The table as read.
        schema: The declared columns.
        tell: Whether to warn of those in undeclared columns; without noise, so not under a budget. Those in declared
            columns are told in any case, where they are coded, as clipped values are.
    """
    found: dict[str, RawColumn] = {}
    for name, raw in table.columns.items():
        column = None if schema is None else schema.columns.get(name)
        if column is not None and not (isinstance(column, Numeric) and column.nullable):
            continue
        if (infinite := infinite_cells(raw)).any():
            unreadable = infinite if raw.unreadable is None else raw.unreadable | infinite
            found[name] = replace(raw, missing=raw.missing | infinite, unreadable=unreadable)
    if not found:
        return table
    if tell and (undeclared := [n for n in found if schema is None or n not in schema]):
        warn_caller(CoercionWarning(f"{columns_listed(undeclared)}: infinite numbers become missing"))
    return RawTable({**table.columns, **found}, table.n_rows, table.origin)


def infinite_cells(raw: RawColumn) -> NDArray[np.bool_]:
    """Return which cells hold an infinite number; none of labels, which have no bounds."""
    if raw.physical.kind not in ("float", "decimal") or raw.physical.is_labels:
        return np.zeros(raw.missing.size, np.bool_)
    if raw.physical.kind == "float":
        infinite = np.isinf(raw.values)
    else:
        infinite = np.fromiter((isinstance(v, Decimal) and v.is_infinite() for v in raw.values), np.bool_)
    return np.asarray(infinite & ~raw.missing)


@dataclass(frozen=True)
class FinitePart(PartOf):
    """A part whose infinite numbers count as missing; see `finite_table`.

    Attributes:
        tell: Whether to warn of those in undeclared columns.
    """

    tell: bool

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        """Yield the records piece by piece; see `Part.tables`."""
        for table in self.part.tables(schema, columns):
            yield finite_table(table, schema, tell=self.tell)


def finite_parts(parts: RawParts, *, tell: bool) -> RawParts:
    """Return a table in parts whose infinite numbers count as missing; see `finite_table`."""
    return parts.wrapped(partial(_finite, tell=tell))


def _finite(part: Part, _: int, *, tell: bool) -> FinitePart:
    return FinitePart(part, tell)
