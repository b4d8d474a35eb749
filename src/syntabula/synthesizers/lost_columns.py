"""Whether a found column came out without information: a summary for whoever did not declare it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from syntabula.table.schema.columns import Categorical, Identifier

if TYPE_CHECKING:
    from syntabula.table.raw import RawColumn
    from syntabula.table.schema.columns import Column

DRAWN = 1_000
"""Rows by which columns are judged."""

_NEARLY_ALL = 0.9
"""Part of the rows that hold "other", from which on a column says nothing of what it held."""


def is_lost(column: Column, drawn: RawColumn) -> bool:
    """Return whether a column carries no information: it is made anew, holds one value, or "other" in nine of ten rows.

    Args:
        column: Its domain, which was found privately.
        drawn: Its values in `DRAWN` rows of the release, so that this costs no privacy.
    """
    if isinstance(column, Identifier):
        # Without privacy keys come out in the form that they have, which is all that there is.
        return column.pattern is None
    values = drawn.values[~drawn.missing]
    if isinstance(column, Categorical) and column.open:
        others = np.count_nonzero(values == column.other_label)
        if others >= _NEARLY_ALL * max(drawn.missing.size, 1):
            return True
    kinds = len(set(values.tolist())) + bool(drawn.missing.any())
    return kinds <= 1
