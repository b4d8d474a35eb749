"""Whether rows satisfy the rules of their schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.score import Part, Score
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.columns import Date, Datetime
from syntabula.table.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class BrokenRules:
    """Share of synthetic rows that break a rule of the schema; the parts are single rules.

    The facts give the same shares of the real table, whose rows may break rules too.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "broken-rules"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        if tables.rules is None:
            return Score(metric=self.key, value=math.nan, direction="lower", note="the schema has no rules")
        broken = {
            role: tables.rules.broken_by(_cells(tables, view, tables.rules.schema), view.n_rows)
            for role, view in (("real", tables.real), ("synthetic", tables.synthetic))
        }
        shares = {
            role: {rule: float(rows.mean()) for rule, rows in found.items()} for role, found in broken.items()
        }
        parts: dict[Part, float] = {(rule,): share for rule, share in shares["synthetic"].items()}
        real = {f"of the real rows: {rule}": share for rule, share in shares["real"].items()}
        any_real = _any(broken["real"], tables.real.n_rows)
        return Score(
            metric=self.key,
            value=_any(broken["synthetic"], tables.synthetic.n_rows),
            direction="lower",
            details=parts,
            facts={"of the real rows": any_real, **real},
            note=f"{any_real:.2%} of the real rows break a rule" if any_real else "",
        )


def _any(broken: Mapping[str, NDArray[np.bool_]], n_rows: int) -> float:
    wrong = np.zeros(n_rows, np.bool_)
    for rows in broken.values():
        wrong |= rows
    return float(wrong.mean()) if n_rows else 0.0


def _cells(tables: Comparison, view: View, schema: Schema) -> dict[str, RawColumn]:
    """Return the cells of a table as they were read; times are microseconds."""
    cells = {}
    for name, numbers in view.numbers.items():
        column = schema[name]
        is_time = isinstance(column, Date | Datetime)
        missing = np.isnan(numbers)
        if is_time:
            zone = column.timezone if isinstance(column, Datetime) else None
            values = np.rint(np.where(missing, 0, numbers)).astype(np.int64)
            cells[name] = RawColumn(values, missing, PhysicalType("datetime", "TIMESTAMP", timezone=zone))
        else:
            cells[name] = RawColumn(numbers, missing, PhysicalType("float", "DOUBLE"))
    for name, codes in view.codes.items():
        labels, stored = object_array([*tables.categories[name]]), schema[name].stored
        if stored.kind == "float":
            # The last label, None, becomes NaN.
            labels = labels.astype(np.float64)
        cells[name] = RawColumn(labels[codes], codes == len(labels) - 1, stored)
    return cells
