"""Joins the densities of bins, once a model knows how many records each bin holds; it costs no budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.scale import Scale, parts_of
from syntabula.bins.uniform import Bins, Parts
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel, one_way_of
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Ordered

PARTS = 8
MOST_PARTS = 21
"""A bin is cut into eighths, or finer, so that its density falls by less than half from a part to the next. The last
part of a bin with the most parts would hold less than one record in 20,000, and gets none: up to a far bound it may be
a thousand times as wide as the others, and one value there outweighs all that is known of the column."""

LEAST_SHARE = 1e-12
"""Bins with less than this fraction of the records are taken to be empty."""

LEAST_SLOPE = 0.2
"""A bin whose density changes by less than this, in the logarithm, stays as it is."""

BENT = 1.5
"""A bin that is longer than this on its logarithmic scale, as seen from its inner end, is cut in any case."""

SPIKE = 2.0
"""A bin of one point that is denser than the denser one of its neighbours by this factor is a frequent value, not a
part of the density around it."""

_HALVINGS = 50


def joined(
    bins: Bins, counts: NDArray[np.float64], scale: Scale | None = None, unit: Fraction | None = None
) -> Parts:
    """Cut bins into parts whose counts join those of the neighbours, with the count of each bin kept.

    Within a bin the density is exponential on the scale. At an edge between two bins it is their mean, weighted so that
    the edge of a wide bin is nearer to the density of a narrow neighbour; the slope is that from edge to edge. The
    outermost bins with records decline from their inner edge by as much as their counts require, and in the values
    themselves, so that a wide bin up to a far bound holds little near that bound. A frequent value between two bins is
    passed over. Where a bin stands alone, or the slope is small, it is not cut, except on a logarithmic scale.

    Args:
        bins: The bins.
        counts: Expected number of records in each [bins].
        scale: The scale on which densities are compared; None for the values themselves.
        unit: All values are multiples of this number, and so are the cuts; None if there is none.

    Returns:
        The parts, spread evenly within.
    """
    ends = np.array([float(e) for e in bins.edges])
    with np.errstate(over="ignore"):
        widths = np.diff(ends if scale is None else scale.at(ends))
    held = np.maximum(counts, 0.0)
    total, length = held.sum(), widths.sum()
    if not (0 < total < math.inf and 0 < length < math.inf):
        return Parts(bins, None, np.arange(bins.size), np.ones(bins.size))
    # Fractions of all, as densities of other units could overflow.
    held, widths = held / total, widths / length
    held[held < LEAST_SHARE] = 0.0
    with np.errstate(over="ignore"):  # a bin of one value may be as narrow as floats are
        heights = np.divide(held, widths, out=np.zeros(bins.size), where=widths > 0)
    smooth = np.flatnonzero(~_spikes(bins, heights, unit))
    occupied = np.flatnonzero(held)

    def alone_at_end(code: int, sides: tuple[float, float]) -> bool:
        apart = scale is not None and not any(sides) and not ends[code] < scale.centre < ends[code + 1]
        return apart and occupied.size > 1 and code in (occupied[0], occupied[-1])

    edges: list[int | float] = [bins.edges[0]]
    whole: list[int] = []
    shares: list[float] = []
    for code in range(bins.size):
        low, high = ends[code], ends[code + 1]
        sides = _sides(heights, widths, smooth, code)
        outer = sum(map(bool, sides)) == 1
        within = None if outer else scale
        if outer and scale is not None:
            # Densities of the values, not of the scale.
            sides = (sides[0] * scale.steepness(low), sides[1] * scale.steepness(high))
            mean = held[code] / (high - low) * length
        else:
            mean = heights[code]
        slope = _slope(sides, mean)
        if alone_at_end(code, sides):
            # Nothing beside it says how values lie: as far beyond the inner end as that is from the centre.
            assert scale is not None
            inner = low if low >= scale.centre else high
            slope = (high - low) / max(abs(inner - scale.centre), scale.half) * (-1 if inner == low else 1)
            within = None
        bent = within is not None and max(within.steepness(low), within.steepness(high)) * (high - low) > BENT
        ranks = _ranks(slope) if held[code] > 0 and (abs(slope) >= LEAST_SLOPE or bent) else np.zeros(0)
        parts = parts_of(bins, code, ranks, within, unit)
        portions = np.ones(1)
        if len(parts) > 2:
            places = np.array([float(p) for p in parts])
            places = places if within is None else within.at(places)
            portions = np.diff(_cumulative(slope, (places - places[0]) / (places[-1] - places[0])))
        if portions.size == MOST_PARTS:
            portions[-1 if slope < 0 else 0] = 0.0
        edges += parts[1:]
        whole += [code] * portions.size
        shares += (portions / portions.sum()).tolist()
    finer = Bins(tuple(edges), integer=bins.integer)
    return Parts(finer, None, np.array(whole, dtype=np.intp), np.array(shares))


def _spikes(bins: Bins, heights: NDArray[np.float64], unit: Fraction | None) -> NDArray[np.bool_]:
    """Return which bins hold one frequent value."""
    if bins.integer or unit is not None:
        # The bin of a value at no multiple reaches up to the next one.
        least = 1 if unit is None else float(unit)
        alone = np.array([float(b - a) <= least * (1 + 1e-9) for a, b in pairwise(bins.edges)])
    else:
        alone = np.array([math.nextafter(a, math.inf) >= b for a, b in pairwise(bins.edges)])
    around = np.maximum(np.append(heights[1:], 0.0), np.append(0.0, heights[:-1]))
    spikes: NDArray[np.bool_] = alone & (heights > SPIKE * around)
    return spikes


def _sides(
    heights: NDArray[np.float64], widths: NDArray[np.float64], smooth: NDArray[np.intp], code: int
) -> tuple[float, float]:
    """Return the density at both edges of a bin; 0 where no bin with records is beside it.

    Args:
        heights: Density of each bin [bins].
        widths: Width of each [bins].
        smooth: The bins that are no frequent value, in order.
        code: The bin.
    """
    place = int(np.searchsorted(smooth, code))
    if heights[code] <= 0 or place == smooth.size or smooth[place] != code:
        return 0.0, 0.0
    before = _edge(heights, widths, code, int(smooth[place - 1])) if place else 0.0
    after = _edge(heights, widths, code, int(smooth[place + 1])) if place + 1 < smooth.size else 0.0
    return before, after


def _slope(sides: tuple[float, float], mean: float) -> float:
    """Return the change of the log density across a bin, from the density at its edges and its mean."""
    left, right = sides
    if left and right:
        return math.log(right / left)
    if left:
        return -_decline(left / mean)
    return _decline(right / mean) if right else 0.0


def _edge(heights: NDArray[np.float64], widths: NDArray[np.float64], code: int, other: int) -> float:
    """Return the density between two bins; 0 if the other one is empty."""
    if heights[other] <= 0:
        return 0.0
    near, far = widths[code], widths[other]
    return float((heights[code] * far + heights[other] * near) / (near + far))


def _decline(ratio: float) -> float:
    """Return the rate of an exponential density on [0, 1] that begins at `ratio` times its mean; 0 up to 1."""
    if ratio <= 1:
        return 0.0
    # The rate lies below twice the ratio, and above it only little.
    low, high = 0.0, 2 * ratio
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle / -math.expm1(-middle) < ratio else (low, middle)
    return high


def _ranks(slope: float) -> NDArray[np.float64]:
    """Return where to cut a bin with a slope, from 0 to 1, both excluded."""
    step = min(1 / PARTS, 0.5 / max(abs(slope), 1e-9))
    ranks: NDArray[np.float64] = np.arange(1.0, min(MOST_PARTS, math.ceil(1 / step))) * step
    return ranks if slope < 0 else 1 - ranks[::-1]


def _cumulative(slope: float, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distribution function of a density proportional to exp(slope * rank)."""
    if abs(slope) < 1e-9:
        return ranks
    # From the denser end, so that nothing overflows.
    dense = ranks if slope < 0 else 1 - ranks
    found: NDArray[np.float64] = np.expm1(-abs(slope) * dense) / math.expm1(-abs(slope))
    return found if slope < 0 else 1 - found


def with_joined_bins(codec: Codec, model: Model) -> tuple[Codec, Model]:
    """Cut bins into parts that hold records as their neighbours suggest; the model's counts of bins stay the same.

    Args:
        codec: How the table was encoded; columns with a spread of their own are left as they are.
        model: The model of its codes. If it knows no marginals, nothing is cut.

    Returns:
        A codec with the parts as bins, and the model of these.
    """
    names = [name for name in codec.bins if _can_be_cut(codec, name)]
    marginals = one_way_of(model, names) if names else None
    if marginals is None:
        return codec, model
    found: dict[str, Parts] = {}
    for name, counts in zip(names, marginals, strict=True):
        column, bins = codec.schema[name], codec.bins[name]
        assert isinstance(column, Ordered)
        roundness = codec.roundness.get(name)
        unit = None if roundness is None else roundness.unit
        parts = joined(bins, counts[: bins.size], column.scale(), unit)
        if name in codec.rhythms:
            # The density that is joined is that over whole weeks.
            parts = replace(parts, shares=codec.in_rhythm(name).weighted(parts))
        if parts.bins.size > bins.size:
            found[name] = parts
    if not found:
        return codec, model
    finer, maps, shares = finer_codes(codec, found, told=False)
    recoding = Recoding(finer.domain, maps, shares)
    if isinstance(model, RecodedModel):
        return finer, RecodedModel(model.inner, recoding.then(model.recoding))
    return finer, RecodedModel(model, recoding)


def _can_be_cut(codec: Codec, name: str) -> bool:
    roundness = codec.roundness.get(name)
    # Where each bin holds a single value, there is nothing to join.
    single = roundness is not None and not roundness.steps
    known = name in codec.domain and name not in codec.spreads
    return known and not single and isinstance(codec.schema[name], Ordered)


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
