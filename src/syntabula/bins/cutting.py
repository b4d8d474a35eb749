"""Bins cut into parts, such that values drawn within the parts are distributed as within the whole bins."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.spread import Spread
from syntabula.bins.uniform import Bins

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of bins.

    Attributes:
        bins: One bin per part.
        spread: How values lie within the parts; evenly if None.
        whole: The bin that each part is of [parts].
        shares: Probability that a value of that bin lies in the part [parts].
    """

    bins: Bins
    spread: Spread | None
    whole: NDArray[np.intp]
    shares: FloatArray


def cut(bins: Bins, spread: Spread | None, cuts: Iterable[int | float]) -> Parts:
    """Cut bins.

    Args:
        bins: The bins.
        spread: How values lie within them; evenly if None.
        cuts: Where new bins begin, strictly between the outer edges; they may be edges already.
    """
    old = list(bins.edges)
    new = sorted({*old, *cuts})
    if len(new) <= len(old):
        return Parts(bins, spread, np.arange(bins.size), np.ones(bins.size))
    whole = np.array([bisect.bisect_right(old, e, hi=len(old) - 1) - 1 for e in new[:-1]], dtype=np.intp)
    # Integers are exact; the widths of Python's own may exceed 64 bits.
    widths = [b - a for a, b in itertools.pairwise(old)]
    parts = Bins(tuple(new), integer=bins.integer)
    of_each = list(zip(itertools.pairwise(new), whole.tolist(), strict=True))
    # Not the difference of two places, which is 0 for one integer of very many.
    portions = [(b - a) / widths[k] for (a, b), k in of_each]
    if spread is None:
        return Parts(parts, None, whole, np.array(portions))
    starts = [(a - old[k]) / widths[k] for (a, _), k in of_each]
    within = replace(
        spread,
        means=tuple(spread.means[k] for k in whole),
        deviations=tuple(spread.deviations[k] for k in whole),
        parts=tuple(zip(starts, portions, strict=True)),
    )
    return Parts(parts, within, whole, within.shares())
