"""Whether a found column has missing cells: by its stored type, by a noisy count, or as the learner can tell better."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.bounds import MISSING_TAIL
from syntabula.prepare.found_keys import Curated
from syntabula.prepare.searched import SearchedColumn
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.columns import Column, Identifier


def with_missing(column: Column, physical: PhysicalType, *, hidden_kept: bool) -> Column:
    """Return a column with the code for missing cells that it should have.

    A few missing cells are hidden by the noise of a search. Without a code for them their whole records would be left
    out, which a table of many columns cannot bear. With one, a learner that measures single columns tells with most of
    the budget whether any cell is missing, and gives the code no records if noise hides that too.

    Args:
        column: As it was found under a budget.
        physical: How it is stored.
        hidden_kept: Whether missing cells that the search does not tell from noise get a code.
    """
    if physical.is_complete and column.nullable:
        return replace(column, nullable=False)
    # Records whose key is missing are kept anyway.
    if not hidden_kept or physical.is_complete or isinstance(column, Identifier):
        return column
    return replace(column, nullable=True)


def has_missing(raw: SearchedColumn, curator: Curated, *, share: Fraction, step: str) -> bool:
    """Return whether more cells are missing than noise explains.

    Args:
        raw: The column.
        curator: Makes the curator of some values.
        share: Fraction of the whole budget.
        step: Name of this spend in the ledger.
    """
    n_present, n_missing = raw.numbers()
    alike = CountedPoints(
        np.zeros(min(n_present, 1), dtype=np.int64), np.full(min(n_present, 1), n_present, np.int64)
    )
    answer = curator(alike, n_missing).histogram([0, 2], share=share, step=step, count_missing=True)
    return bool(answer.values[-1] > answer.above_noise(MISSING_TAIL))
