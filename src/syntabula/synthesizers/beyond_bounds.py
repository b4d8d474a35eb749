"""Values beyond a bound that was found privately: where each whole number has a code, the last one holds them too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Bins
from syntabula.models.recoded import one_way_of
from syntabula.prepare.atoms import MOVED
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Numeric

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.prepare.bounds import FoundBounds
    from syntabula.table.raw import PhysicalType

SPIKE = 1.5
"""Times as many records as each of the values before it from which on the upper bound holds more than its own. Of
eleven tables at epsilon 1, four seeds each, this and `MOVED` found 11 bounds, beyond all of which records lay."""

BEFORE = 3
"""Number of values before it that are looked at; noise may hide one."""

TAIL = 4
"""Times as many values as the last code gets as it would hold if each were as frequent as those before it. Counts that
fall by a constant part from value to value lie within so many, but for a fiftieth."""


def with_room_beyond(
    codec: Codec,
    model: Model,
    bounds: Mapping[str, FoundBounds],
    stored: Mapping[str, PhysicalType],
) -> Codec:
    """Let the last code of a column reach beyond its upper bound, where the bound is frequent by what was moved to it.

    It is drawn as a tail, and not as a value that hardly any record has. This follows from the model and from counts that
    were released when the bounds were sought, so that it costs no budget. A bound that holds more than may lie beyond
    it, such as the age at which a survey ends, stays as it is.

    Args:
        codec: How the table was encoded.
        model: The model of its codes; if it knows no marginals, nothing changes.
        bounds: The bounds that were found.
        stored: Stored types of the columns, which limit how far their values go.
    """
    names = [
        name
        for name, found in bounds.items()
        if name in codec.domain and _ends_with_a_value(codec, name) and found.beyond_at_most > 0
    ]
    marginals = one_way_of(model, names) if names else None
    further = {}
    for name, counts in zip(names, marginals or (), strict=bool(marginals)):
        column = codec.schema[name]
        assert isinstance(column, Numeric)
        held = counts[: codec.bins[name].size]
        room = _room(held, bounds[name].beyond_at_most * float(counts.sum()))
        least, most = (int(column.lower), int(column.upper))
        upper = min(most + room, 2 * most - least, stored[name].limits[1])
        if upper > most:
            further[name] = int(upper)
    if not further:
        return codec
    columns = {
        n: replace(c, upper=further[n]) if n in further and isinstance(c, Numeric) else c
        for n, c in codec.schema.columns.items()
    }
    bins = {n: Bins((*codec.bins[n].edges[:-1], u + 1), integer=True) for n, u in further.items()}
    schema = codec.schema.with_columns(columns, rules=codec.schema.rules)
    return replace(codec, schema=schema, bins={**codec.bins, **bins})


def _ends_with_a_value(codec: Codec, name: str) -> bool:
    """Return whether the last codes of a column of whole numbers are single values, drawn as they are."""
    column, roundness = codec.schema[name], codec.roundness.get(name)
    if not isinstance(column, Numeric) or not column.integer or column.step is not None or column.texts:
        return False
    if name in codec.spreads or roundness is not None or column.upper == 0:
        return False
    last = np.diff([float(edge) for edge in codec.bins[name].edges[-BEFORE - 2 :]])
    return last.size == BEFORE + 1 and bool((last == 1).all())


def _room(held: NDArray[np.float64], n_moved: float) -> int:
    """Return how many more values the last code should hold; 0 if it holds its own alone, as far as one can tell.

    Args:
        held: Expected number of records of each value [n].
        n_moved: Number of records that may lie beyond the bound.
    """
    last, before = float(held[-1]), float(held[-BEFORE - 1 : -1].max())
    if not 0 < SPIKE * before < last < MOVED * n_moved:
        return 0
    return math.ceil(TAIL * last / before) - 1
