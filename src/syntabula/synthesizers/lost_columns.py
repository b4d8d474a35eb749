"""Which found columns came out without information: a summary for whoever did not declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from syntabula.table.schema.columns import Categorical, Identifier

if TYPE_CHECKING:
    from syntabula.synthesizers.release import Release
    from syntabula.table.raw import RawColumn
    from syntabula.table.schema.columns import Column

_DRAWN = 1_000
_NEARLY_ALL = 0.9
"""Part of the rows that hold "other", from which on a column says nothing of what it held."""


def lost_columns(release: Release) -> list[str]:
    """Return the columns whose domains were found privately and whose rows carry no information.

    Such a column is made anew, holds one value, or "other" in nine of ten rows. It is judged by rows drawn from the
    release, so this costs no privacy.

    Args:
        release: What was learned.
    """
    found = [name for name, how in release.provenance.items() if how == "private"]
    if not found:
        return []
    rows = release.sample_columns(_DRAWN, seed=0)
    return [name for name in found if _is_lost(release.schema[name], rows[name])]


def _is_lost(column: Column, drawn: RawColumn) -> bool:
    if isinstance(column, Identifier):
        return True
    values = drawn.values[~drawn.missing]
    if isinstance(column, Categorical) and column.open:
        others = np.count_nonzero(values == column.other_label)
        if others >= _NEARLY_ALL * max(drawn.missing.size, 1):
            return True
    kinds = len(set(values.tolist())) + bool(drawn.missing.any())
    return kinds <= 1
