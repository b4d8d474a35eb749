"""Conditions for models that draw rows column by column: columns with conditions first, the others given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ResourceError
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.restricted import Restricted
from syntabula.record_models.representation import ColumnLookup

_ROWS_AT_ONCE = 4096
_TRIED = 20_000
_LEAST_ACCEPTED = 1e-4

Tried = tuple[NDArray[np.intp], float, FloatArray]
"""Rows whose conditional columns alone are drawn; a chance that all share; and the chance to keep each."""


def rarest_first(lookups: Mapping[str, ColumnLookup], masks: Mapping[str, FloatArray]) -> list[str]:
    """Return the columns with conditions, the rarest condition first.

    Args:
        lookups: Of each column.
        masks: Weight of each code with records, for the columns with conditions.
    """
    shares = {c: float((np.exp(lookups[c].log_shares) * mask).sum()) for c, mask in masks.items()}
    return sorted(masks, key=lambda column: shares[column])


def conditions_first(
    tried: Callable[[int, np.random.Generator], Tried],
    finished: Callable[[NDArray[np.intp], np.random.Generator], EncodedTable],
    *,
    is_exact: bool,
) -> Restricted:
    """Return the records that satisfy conditions: rows are tried, kept with their chances, and finished.

    Args:
        tried: Draws rows of the columns with conditions.
        finished: Draws the other columns of the rows that were kept.
        is_exact: Whether every row is kept, so that the shared chance is the probability; it is estimated on 20,000
            rows otherwise.

    Raises:
        ResourceError: If fewer than one row in 10,000 would be kept.
    """
    rows, chance, kept = tried(1 if is_exact else _TRIED, np.random.default_rng(0))
    accepted = float(kept.mean())
    if not is_exact and chance > 0 and accepted < _LEAST_ACCEPTED:
        raise ResourceError(
            f"{accepted:.2%} of {_TRIED:,} rows that were tried satisfy the conditions; loosen them, or give the values "
            "of these columns as a table"
        )

    def draw(n: int, rng: np.random.Generator) -> EncodedTable:
        pieces, missing = [finished(rows[:0], rng)], n
        while missing > 0:
            tries = min(_ROWS_AT_ONCE, int(1.1 * missing / max(accepted, 1e-9)) + 10)
            some, _, chances = tried(tries, rng)
            some = some[rng.random(len(some)) < chances][:missing]
            pieces.append(finished(some, rng))
            missing -= len(some)
        codes = zip(*(piece.codes for piece in pieces), strict=True)
        return EncodedTable(pieces[0].domain, tuple(np.concatenate(c) for c in codes))

    return Restricted(chance * accepted, draw, cheap=None if is_exact else int(_TRIED * accepted))
