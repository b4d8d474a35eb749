"""Rules for the number of bins of a column, by name (Ganev et al., "The Importance of Being Discrete", table 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from syntabula.bins import bin_count
from syntabula.metrics.comparison import Floats
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Numeric
from syntabula.table.schema.schema import Schema

MOST = 1000

RULES: Mapping[str, Callable[[Floats, float], int]] = {
    "doane": lambda values, _: bin_count.doane_non_private(values),
    "rice": lambda values, _: bin_count.rice(values.size),
    "freedman-diaconis": lambda values, _: bin_count.freedman_diaconis_non_private(values),
    "shimazaki-shinomoto": lambda values, _: bin_count.shimazaki_shinomoto_non_private(values),
    "budget-rice": lambda values, epsilon: bin_count.budget_rice(values.size, epsilon),
}
"""Rules from a column and a budget; none of them is private, as each reads the column or its exact length."""


def with_rule(schema: Schema, table: RawTable, rule: str, epsilon: float) -> Schema:
    """Return a schema whose numeric columns have as many bins as a rule says, at most 1,000."""
    for name, column in schema.columns.items():
        if isinstance(column, Numeric):
            known = table.columns[name]
            values = known.values[~known.missing].astype(np.float64)
            if values.size > 1:
                count = min(max(RULES[rule](values, epsilon), 2), MOST)
                schema = schema.with_column(name, replace(column, bins=count))
    return schema
