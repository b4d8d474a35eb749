"""Which found columns came out without information, or nearly: a summary for whoever did not declare them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.models.recoded import RecodedModel
from syntabula.table.schema.columns import Categorical, Identifier, Ordered

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.table.coding.codec import Codec
    from syntabula.table.raw import RawColumn
    from syntabula.table.schema.columns import Column

DRAWN = 1_000
"""Rows by which columns are judged."""

_NEARLY_ALL = 0.9
"""Part of the rows that hold "other", from which on a column says nothing of what it held."""

FEWEST_PARTS = 5
"""Parts of its range that a column of numbers, days or times tells apart at least, unless one is a single value."""


def is_coarse(name: str, codec: Codec, model: Model) -> bool:
    """Return whether a column has fewer than five codes for more points, none of which is a value of its own.

    The codes of a release and their merging are released, so this costs no privacy.

    Args:
        name: An ordered column.
        codec: How it is coded.
        model: The distribution over its codes, some of which may be merged, or empty.
    """
    column, bins, roundness = codec.schema[name], codec.bins[name], codec.roundness.get(name)
    assert isinstance(column, Ordered)
    lower, upper, integer = column.span()
    parts, held = _parts(name, bins.size + column.nullable, model)
    parts, held = parts[: bins.size], held[: bins.size]
    distinct, codes, counts = np.unique(parts[held], return_inverse=True, return_counts=True)
    if distinct.size >= FEWEST_PARTS or (integer and upper - lower < distinct.size):
        return False
    if roundness is not None and not roundness.steps:
        # Each bin is a single value.
        return False
    ends = np.array([float(edge - bins.edges[0]) for edge in bins.edges])
    step = 1.0 if integer else math.ulp(max(abs(lower), abs(upper)))
    if roundness is not None and roundness.unit is not None:
        step = max(step, float(roundness.unit))
    alone = (counts == 1)[codes] & (np.diff(ends)[held] <= step * (1 + 1e-9))
    return not alone.any()


def _parts(name: str, size: int, model: Model) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return which of the codes that a model tells apart each code is part of, and which codes hold any rows [size]."""
    parts, held = np.arange(size), np.ones(size, dtype=np.bool_)
    while isinstance(model, RecodedModel):
        if name in model.recoding.maps:
            held &= model.recoding.shares[name][parts] > 0
            parts = model.recoding.maps[name][parts]
        model = model.inner
    return parts, held


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
