"""Columns that are missing in the same rows, drawn so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syntabula.table.raw import RawColumn
from syntabula.table.rules.evaluation import Cells


def missing_together(names: Sequence[str], cells: Cells, rng: np.random.Generator) -> dict[str, RawColumn]:
    """Return columns that are missing exactly where the first of them is; see `RowRules.completed`."""
    missing, found = cells[names[0]].missing, dict[str, RawColumn]()
    for name in names[1:]:
        column = cells[name]
        gaps = np.flatnonzero(~missing & column.missing)
        donors = np.flatnonzero(~missing & ~column.missing)
        rows = np.arange(missing.size)
        if donors.size:
            rows[gaps] = rng.choice(donors, gaps.size)
        moved = column.take(rows)
        # Without any row to take a value from, the rows stay as they are, and are discarded.
        found[name] = replace(moved, missing=missing | moved.missing)
    return found
