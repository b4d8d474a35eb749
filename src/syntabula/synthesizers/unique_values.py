"""Values of a column that no two rows share, such as the days of a table with one row a day, for all rows of a draw.

A model of codes draws some days twice and skips others. The values of all rows are therefore chosen first, and the other
columns drawn given these. They depend on the release and the number of rows alone, so that all parts of a table agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.models.base import Model
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Date, Datetime

_TRIED = 20_000
"""Rows, at least, of whose values the chosen ones are quantiles."""


def most_rows(codec: Codec, name: str) -> int:
    """Return how many values such a column has between its bounds."""
    first, last = _grid(codec, name)
    return last - first + 1


def unique_values(codec: Codec, model: Model, name: str, n_rows: int, rng: np.random.Generator) -> RawColumn:
    """Return different values of a column in ascending order, distributed as the release says.

    Args:
        codec: The release's codec.
        model: The release's model.
        name: The column.
        n_rows: Number of values.
        rng: Of a fixed seed, so that all parts of a table agree.

    Raises:
        ArgumentError: If there are not so many between the bounds.
    """
    if n_rows > most_rows(codec, name):
        raise ArgumentError(
            f"column {name!r} is `unique` and has {most_rows(codec, name):,} values between its bounds; draw at most so "
            "many rows, or widen the bounds"
        )
    column = codec.schema[name]
    assert isinstance(column, Date | Datetime)
    n_tried = max(n_rows, _TRIED)
    drawn = codec.decode(model.sample(n_tried, rng), rng)[name]
    points = np.sort(column.points(drawn.values, drawn.physical.kind)[0].astype(np.int64))
    # Quantiles vary less than a draw of as many.
    chosen = points[((np.arange(n_rows) + 0.5) * n_tried / max(n_rows, 1)).astype(np.intp)]
    values, physical = column.values(_apart(chosen, *_grid(codec, name)))
    return RawColumn(values, np.zeros(n_rows, np.bool_), physical)


def _grid(codec: Codec, name: str) -> tuple[int, int]:
    column = codec.schema[name]
    assert isinstance(column, Date | Datetime)
    return column.grid()


def _apart(points: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
    """Return different points [n] between two, the nearest to ascending ones by their largest move."""
    steps = np.arange(points.size)
    # Points less their position must not descend; the middle of what lies before and after is the nearest such.
    moved = points - steps
    before, after = np.maximum.accumulate(moved), np.minimum.accumulate(moved[::-1])[::-1]
    found: NDArray[np.int64] = np.clip((before + after) // 2, first, last - points.size + 1) + steps
    return found
