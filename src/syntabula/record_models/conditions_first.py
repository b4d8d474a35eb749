"""Conditions for models that draw rows column by column: columns with conditions first, the others given them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

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
_FEW, _MOST_ORDERS = 3, 6

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


def orders_of(columns: Sequence[str]) -> list[list[str]]:
    """Return the orders of columns in which the probability of their conditions is found, the given one first.

    A network that was trained on all orders gives another probability in each, as its distributions do not quite agree;
    rows without conditions are drawn in all of them. Of more than three columns six orders are taken, by a seed.
    """
    first = list(columns)
    if len(first) <= _FEW:
        return sorted(map(list, permutations(first)), key=lambda order: order != first)
    rng = np.random.default_rng(0)
    return [first, *([first[j] for j in rng.permutation(len(first))] for _ in range(_MOST_ORDERS - 1))]


def conditions_first(
    tried: Callable[[Sequence[str], int, np.random.Generator], Tried],
    finished: Callable[[NDArray[np.intp], np.random.Generator], EncodedTable],
    orders: Sequence[Sequence[str]],
    *,
    is_exact: bool,
    summed: Callable[[Sequence[str]], float | None] = lambda order: None,
) -> Restricted:
    """Return the records that satisfy conditions: rows are tried, kept with their chances, and finished.

    The probability is the mean over orders. In each it is the shared chance times the mean chance of rows that are tried
    (importance sampling, without bias however rare the conditions are), unless `summed` gives it. Rows are drawn in the
    first order. Where fewer than one in 10,000 would be kept, chances are taken relative to the largest of the tried
    rows: a larger one counts as that.

    Args:
        tried: Draws rows of the columns with conditions in an order.
        finished: Draws the other columns of rows that were tried in the first order and kept.
        orders: Of the columns with conditions; see `orders_of`.
        is_exact: Whether every row is kept, so that the shared chance is the probability.
        summed: Returns the exact probability in an order, or None where that takes too long; it is estimated then. All
            orders together have 20,000 rows.

    Raises:
        ResourceError: If none of the tried rows can be kept, or the chances of a few are so much larger than those of
            others that fewer than one row in 10,000 would be kept.
    """
    n = 1 if is_exact else max(_TRIED // len(orders), 1)
    rows, chance, kept = tried(orders[0], n, np.random.default_rng(0))
    accepted, most = float(kept.mean()), 1.0
    if not is_exact and chance > 0 and accepted < _LEAST_ACCEPTED:
        most = float(kept.max()) or 1.0
        accepted /= most
        if accepted < _LEAST_ACCEPTED:
            raise ResourceError(
                f"{accepted * most:.2%} of {n:,} rows that were tried satisfy the conditions; loosen them, or give the "
                "values of these columns as a table"
            )
    estimates = [(chance * float(kept.mean()), 0.0 if is_exact else chance * _error(kept))]
    for number, order in enumerate(orders):
        if (exact := None if is_exact else summed(order)) is not None:
            estimates[number:] = [(exact, 0.0)]
        elif number:
            _, other, chances = tried(order, n, np.random.default_rng(number))
            estimates.append((other * float(chances.mean()), other * _error(chances)))

    def draw(n: int, rng: np.random.Generator) -> EncodedTable:
        pieces, missing = [finished(rows[:0], rng)], n
        while missing > 0:
            tries = min(_ROWS_AT_ONCE, int(1.1 * missing / max(accepted, 1e-9)) + 10)
            some, _, chances = tried(orders[0], tries, rng)
            some = some[most * rng.random(len(some)) < chances][:missing]
            pieces.append(finished(some, rng))
            missing -= len(some)
        codes = zip(*(piece.codes for piece in pieces), strict=True)
        return EncodedTable(pieces[0].domain, tuple(np.concatenate(c) for c in codes))

    probabilities, errors = np.array(estimates).T
    return Restricted(
        float(probabilities.mean()),
        draw,
        cheap=None if is_exact else int(n * accepted),
        error=float(np.sqrt(np.square(errors).sum())) / len(orders),
    )


def _error(values: FloatArray) -> float:
    """Return the standard error of a mean."""
    return float(values.std()) / math.sqrt(len(values))
