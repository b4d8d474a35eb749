"""Find the part of a wide range that holds nearly all values of a column, under differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from syntabula.privacy.doors.columns import ColumnCurator

HALVINGS = 8
"""Windows are as wide as the range, half as wide, and so on, up to this many halvings."""

HELD = 0.9
"""Fraction of the records that a window should hold."""

WORTH_OF_HALVING = 0.1
"""Fraction of the records that a window may lose in exchange for half the width."""

LEAST_HALVINGS = 2
MOST_DRAWS = 2
WINDOW_CELLS = 12
EVEN_CELLS = 3
GROWTH = 4


@dataclass(frozen=True)
class Window:
    """A half-open interval with its lower end, and how often the range was halved to get it."""

    lower: int | float
    upper: int | float
    halvings: int


def find_window(
    column: ColumnCurator,
    lower: int | float,
    upper: int | float,
    *,
    n_estimated: float,
    draw_share: Fraction,
    step: str,
) -> tuple[Window | None, Fraction]:
    """Find the narrowest window that holds nine tenths of the values, by one selection among all widths.

    The candidates are the range [lower, upper), its halves, quarters and so on, which overlap by half. The score of
    a window falls by the records that it lacks of nine tenths of all, but it may lack a tenth of them for each
    halving. All widths have the same weight, divided among their windows. Unlike a histogram fine enough for the
    narrowest window, this selection sees all records of a window at once, and with large noise it keeps the range
    as it is. If it selects one of the two finest widths, it runs once more inside that window and half a width to
    either side.

    Args:
        column: The values.
        lower: Start of the range; public or released.
        upper: End of the range, excluded.
        n_estimated: Released number of records in the range.
        draw_share: Fraction of the whole budget for each draw.
        step: Name of the spends in the ledger.

    Returns:
        The window, or None if it is hardly narrower than the range; and the share that was spent.
    """
    low, high, halvings, spent = lower, upper, 0, Fraction(0)
    window: Window | None = None
    for _ in range(MOST_DRAWS):
        candidates = _windows(low, high, integer=column.integer)
        chosen = column.window(
            [(c.lower, c.upper) for c in candidates],
            enough=HELD * n_estimated,
            merits=[WORTH_OF_HALVING * n_estimated * c.halvings for c in candidates],
            log_weights=[-math.log(2 ** (c.halvings + 1) - 1) for c in candidates],
            share=draw_share,
            step=step,
        )
        spent += draw_share
        found = candidates[chosen]
        halvings += found.halvings
        window = Window(found.lower, found.upper, halvings)
        width = found.upper - found.lower
        if found.halvings < HALVINGS - 1 or (column.integer and width < WINDOW_CELLS):
            break
        margin = int(width) // 2 if column.integer else width / 2
        low, high = max(low, found.lower - margin), min(high, found.upper + margin)
    return (window if halvings >= LEAST_HALVINGS else None), spent


def cells_around(
    window: Window, lower: int | float, upper: int | float, *, integer: bool
) -> list[int | float]:
    """Return the edges of twelve cells in a window, and of wider and wider ones out to both ends of the range."""
    width = window.upper - window.lower
    step: int | float = width / WINDOW_CELLS
    inner: list[int | float]
    if integer:
        step = max(1, int(width) // WINDOW_CELLS)
        count = min(WINDOW_CELLS, int(width))
        inner = [int(window.lower) + i * int(width) // count for i in range(count)]
    else:
        inner = [window.lower + step * i for i in range(WINDOW_CELLS)]
    below = _outwards(window.lower, lower, -step)
    above = _outwards(window.upper, upper, step)
    return [*reversed(below), *inner, window.upper, *above]


def _outwards(start: int | float, end: int | float, step: int | float) -> list[int | float]:
    """Return edges from start (excluded) to end: three equal steps, then steps that grow fourfold."""
    edges: list[int | float] = []
    place, size = start, step
    while place != end:
        place = min(place + size, end) if step > 0 else max(place + size, end)
        edges.append(place)
        if len(edges) >= EVEN_CELLS:
            size *= GROWTH
    return edges


def _windows(lower: int | float, upper: int | float, *, integer: bool) -> list[Window]:
    """Return all windows."""
    width = upper - lower
    deepest = min(HALVINGS, int(width).bit_length() - 1) if integer else HALVINGS
    windows = []
    for halvings in range(deepest + 1):
        places = 2 ** (halvings + 1) - 1
        for place in range(places):
            if integer:
                # Quotients of integers, so that the windows together cover the whole range.
                parts = 2 ** (halvings + 1)
                low, high = (int(lower) + i * int(width) // parts for i in (place, place + 2))
                windows.append(Window(low, high, halvings))
            else:
                half = width / 2 ** (halvings + 1)
                windows.append(Window(lower + place * half, min(lower + (place + 2) * half, upper), halvings))
    return windows
