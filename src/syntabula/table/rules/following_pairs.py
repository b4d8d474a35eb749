"""Columns that follow from two others together in every row: the distance from where and where to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.rules.expressions import MOST_CHARACTERS
from syntabula.table.rules.following import (
    CHARACTERS_PER_VALUE,
    MOST_COMPARED,
    ROWS_PER_VALUE,
    TRIED_ROWS,
    Cells,
    coded,
    constant,
    is_often_seen,
    n_confirmed,
    rarest,
)
from syntabula.table.schema.columns import Column, Numeric
from syntabula.table.schema.schema import Schema

_MOST_SOURCES = 30
"""Columns of few values whose pairs are looked at, those of the fewest values first."""
_MOST_VALUES = MOST_CHARACTERS // CHARACTERS_PER_VALUE


def pair_followers(cells: Cells, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield columns that follow from two others of few values, as CASE expressions; from either alone they do not.

    That a cell is missing is a value of each column. Numbers are rather computed from labels than labels from numbers.
    """
    few = coded(cells, schema, _MOST_VALUES)
    # From an amount, such as the total of an order, its parts follow as far as no two totals are alike.
    labels_of = {n: found for n, found in few.items() if not _is_amount(schema[n])}
    sources = sorted(labels_of, key=lambda name: len(few[name][1]))[:_MOST_SOURCES]
    rare = {name: rarest(codes) for name, (codes, _) in few.items()}
    found: list[tuple[bool, int, str, tuple[str, str]]] = []
    for pair in combinations(sources, 2):
        first, second = pair
        n_others = len(few[second][1])
        both = few[first][0] * n_others + few[second][0]
        n_pairs = 0
        for name, (codes, labels) in few.items():
            if name in pair or not _follows(both[:TRIED_ROWS], codes[:TRIED_ROWS]):
                continue
            n_pairs = n_pairs or np.unique(both).size
            # By chance a column follows from pairs that hardly repeat, or from any if it is nearly constant.
            if n_pairs * ROWS_PER_VALUE > both.size or rare[name] < n_pairs or len(labels) > n_pairs:
                continue
            if not is_often_seen(np.unique(both, return_inverse=True)[1]):
                continue
            gaps = _missing(few[name]) & (_missing(few[first]) | _missing(few[second]))
            if n_confirmed(both, codes, gaps) < ROWS_PER_VALUE:
                continue
            if _follows(both, codes) and not any(_follows(few[n][0], codes) for n in pair):
                found.append((not isinstance(schema[name], Numeric), n_pairs, name, pair))
    taken: set[str] = set()
    used: set[str] = set()
    for _, _, name, pair in sorted(found, key=lambda one: one[:2]):
        if name in taken or name in used or taken & {*pair}:
            continue
        if (expression := _as_values(name, pair, few)) is not None:
            taken.add(name)
            used |= {*pair}
            yield name, expression


def _missing(coded_column: tuple[NDArray[np.intp], list[Any]]) -> NDArray[np.bool_]:
    codes, labels = coded_column
    return np.asarray(codes == (len(labels) - 1 if labels[-1] is None else -1))


def _is_amount(column: Column) -> bool:
    return isinstance(column, Numeric) and not column.integer


def _follows(own: NDArray[np.intp], codes: NDArray[np.intp]) -> bool:
    """Return whether rows with one code have one of another."""
    code_of = np.zeros(int(own.max(initial=0)) + 1, dtype=np.intp)
    code_of[own] = codes
    return bool((code_of[own] == codes).all())


def _as_values(
    name: str, pair: tuple[str, str], few: dict[str, tuple[NDArray[np.intp], list[Any]]]
) -> str | None:
    """Return the values of a column for pairs of values of two others as SQL; None if it is too long or takes long."""
    (outer, tops), (inner, lows) = sorted(((n, few[n]) for n in pair), key=lambda one: len(one[1][1]))
    codes, labels = few[name]
    whens = []
    longest = 0
    for code, top in enumerate(tops[1]):
        rows = tops[0] == code
        below, first = np.unique(lows[0][rows], return_index=True)
        longest = max(longest, below.size)
        values = [labels[c] for c in codes[rows][first].tolist()]
        steps = [*zip((lows[1][b] for b in below.tolist()), values, strict=True)]
        whens.append(f"WHEN {_is(outer, top)} THEN {_values(inner, steps)}")
    if (len(tops[1]) + longest) * codes.size > MOST_COMPARED:
        return None
    found = f"CASE {' '.join(whens)} END"
    return found if len(found) <= MOST_CHARACTERS else None


def _values(column: str, steps: list[tuple[Any, Any]]) -> str:
    """Return the value for each of some values of a column as SQL."""
    whens = [f"WHEN {_is(column, one)} THEN {constant(value)}" for one, value in steps if value is not None]
    return f"CASE {' '.join(whens)} END" if whens else "NULL"


def _is(column: str, value: Any) -> str:
    return f"{identifier(column)} IS NULL" if value is None else f"{identifier(column)} = {constant(value)}"
