"""A codec some of whose bins are cut into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import Parts
from syntabula.table.coding.codec import Codec


def finer_codes(
    codec: Codec, parts: Mapping[str, Parts], *, told: bool
) -> tuple[Codec, dict[str, NDArray[np.intp]], dict[str, NDArray[np.float64]]]:
    """Return a codec with parts as the bins of some columns.

    Args:
        codec: The codec.
        parts: Parts of the bins of some of its columns.
        told: Whether it is known of a row in which part of a bin it lies; otherwise the parts are drawn by their shares.

    Returns:
        The codec; for each of these columns the old code of each of the new ones; and the share that each has of it.
    """
    codes, shares = {}, {}
    for name, cut in parts.items():
        # The last codes of both codecs are those of texts beside the values, and of missing cells.
        n_apart = codec.schema[name].n_apart
        codes[name] = np.append(cut.whole, codec.bins[name].size + np.arange(n_apart)).astype(np.intp)
        shares[name] = np.append(cut.shares, np.ones(n_apart))
    lifts = {}
    for name, of_times in codec.lifts.items():
        own = [lift.over(codes[lift.column]) if lift.column in codes else lift for lift in of_times.lifts]
        found = replace(of_times, lifts=tuple(own))
        lifts[name] = found.finer(parts[name], told=told) if name in parts else found
    finer = replace(
        codec,
        bins={**codec.bins, **{name: cut.bins for name, cut in parts.items()}},
        spreads={**codec.spreads, **{n: cut.spread for n, cut in parts.items() if cut.spread is not None}},
        lifts=lifts,
    )
    return finer, codes, shares
