"""Rows for given values among those that were drawn freely: where enough have them, no network need draw given them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.record_models.representation import ColumnLookup, Places

_WORTH, _SPARE = 25, 4096
"""Free rows that are drawn for each row with one given value, and beyond these for all; for several values each as many
times fewer, as a network follows these better by itself, and fewer free rows have them."""
_FEWEST, _MOST = 512, 65_536
"""Rows that are drawn freely at once."""
_CELLS = 100
"""Parts, of as many records, in which values of an ordered column with more codes are taken to be alike."""


def matched_rows(
    lookups: Sequence[ColumnLookup],
    wanted: Places,
    free: Callable[[int], Places],
    positions: Sequence[int],
) -> tuple[Places, NDArray[np.bool_]]:
    """Return for given places a free row that has them, each free row for one at most, and where there is one [n].

    Which free rows are taken, and how many are drawn, depends on their values of the given columns alone, so a row that
    was found is drawn from the distribution of free rows that have these values. Rows are drawn until all given ones
    have one, or until too few of those that are left get one.

    Args:
        lookups: Of each given column.
        wanted: Given places [n, given columns], at least one of each; a place that no code has is never found.
        free: Draws so many rows [rows, columns].
        positions: Of the given columns in rows.

    Returns:
        Rows [n, columns], of which those that were not found mean nothing, and which were found [n].
    """
    cells = [_cells(lookup) for lookup in lookups]
    goal = _inside(cells, wanted)
    n = len(wanted)
    worth_each, spare = (max(most // len(positions), 1) for most in (_WORTH, _SPARE))
    found = np.zeros(n, dtype=np.bool_)
    rows: Places | None = None
    size = _FEWEST
    while spare > 0:
        drawn = free(size)
        if rows is None:
            rows = np.zeros((n, drawn.shape[1]), dtype=np.intp)
        left = np.flatnonzero(~found)
        takes, taken = pairs(goal[left], _inside(cells, drawn[:, list(positions)]))
        rows[left[takes]], found[left[takes]] = drawn[taken], True
        n_left = left.size - takes.size
        if not n_left:
            break
        worth = worth_each * takes.size
        spare -= max(size - worth, 0)
        # As many as they seem to need, and no more than they are worth.
        needed = int(1.1 * n_left * size / max(takes.size, 1))
        most = _MOST if worth >= size else spare
        size = min(max(min(needed, worth_each * n_left), _FEWEST), max(most, _FEWEST))
    assert rows is not None
    return rows, found


def pairs(wanted: Places, offered: Places) -> tuple[Places, Places]:
    """Return positions of rows and of others with the same cells, in pairs, of each as many as there can be.

    Args:
        wanted: Cells of rows [rows, columns].
        offered: Cells of others [others, columns].
    """
    keys = np.zeros(len(wanted) + len(offered), dtype=np.intp)
    for one, other in zip(wanted.T, offered.T, strict=True):
        column = np.concatenate([one, other])
        keys = np.unique(keys * (column.max() + 1) + column, return_inverse=True)[1]
    own, others = keys[: len(wanted)], keys[len(wanted) :]
    # The first of a key goes to the first of the same key, and so on.
    _, takes, taken = np.intersect1d(
        _numbered(own, keys.size), _numbered(others, keys.size), assume_unique=True, return_indices=True
    )
    return takes, taken


def _numbered(keys: Places, n_keys: int) -> Places:
    """Return a number for each key that says how many of its kind came before, and which it is [keys]."""
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    before = np.empty(keys.size, dtype=np.intp)
    before[order] = np.arange(keys.size) - np.searchsorted(in_order, in_order, side="left")
    return before * n_keys + keys


def _cells(lookup: ColumnLookup) -> Places:
    """Return the cell of each place of a column, and last one that no free row has."""
    places = np.arange(lookup.size, dtype=np.intp)
    if lookup.waves is not None and lookup.size > _CELLS:
        shares = np.exp(lookup.log_shares.astype(np.float64))
        middles = (np.cumsum(shares) - shares / 2) / shares.sum()
        places = (middles * _CELLS).astype(np.intp)
    return np.append(places, lookup.size)


def _inside(cells: Sequence[Places], places: Places) -> Places:
    """Return the cells of places [rows, columns]."""
    return np.stack([of_column[column] for of_column, column in zip(cells, places.T, strict=True)], 1)
