"""Lets the rhythms of days and times say only what bins do not, once a model knows how many records each bin holds.

Days are not even over a domain: half of all may lie in two weeks of one March, or on one day that stands for none. Bins
know that, so that weekdays, days of the month and times of day that they hold more of are not more frequent elsewhere.
Only what was released is used, so this costs no budget.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import HOURS, MONTH_DAYS, WEEKDAYS, Days, Rhythm, RhythmOfDays
from syntabula.bins.uniform import Bins
from syntabula.models.base import Model
from syntabula.models.recoded import one_way_of
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Ordered

_DRAWN = 2_000
"""Rows by which bins are counted if a model knows no marginals; some draw a hundred in a second."""
_ROUNDS = 60
_NEAR = 1e-4
"""Largest error of a share at which factors are good enough."""
_MOST = 200.0
"""Largest factor: where bins leave a kind of days nearly no room, noise would ask for any."""
_WORTH = 0.01
"""Part of the rows that must lie in bins of a day or less for times of day to be told apart from theirs."""


def with_fitted_rhythms(codec: Codec, model: Model) -> Codec:
    """Return a codec whose rhythms give the weekdays, days of the month and times of day that were counted.

    Args:
        codec: How the table was encoded; its rhythms are those of rows that are even over the domain.
        model: The model of its codes.
    """
    names = [name for name in codec.rhythms if name in codec.domain]
    if not names:
        return codec
    counts = one_way_of(model, names)
    if counts is None:
        drawn = model.sample(_DRAWN, np.random.default_rng(0))
        counts = [
            np.bincount(drawn.column(n), minlength=codec.domain.size(n)).astype(np.float64) for n in names
        ]
    found = dict(codec.rhythms)
    for name, of_codes in zip(names, counts, strict=True):
        column, bins = codec.schema[name], codec.bins[name]
        assert isinstance(column, Ordered)
        found[name] = fitted(found[name], days_of(column), bins, np.maximum(of_codes[: bins.size], 0.0))
    return replace(codec, rhythms=found)


def fitted(rhythm: Rhythm, days: Days, bins: Bins, counts: NDArray[np.float64]) -> Rhythm:
    """Return the rhythm by which rows of these bins have the shares of kinds of days that even rows have by another.

    Factors are scaled in turn, as in iterative proportional fitting (Deming and Stephan, 1940).

    Args:
        rhythm: Factors as they are if rows are even over the days.
        days: The days of the domain.
        bins: Bins of the domain.
        counts: Number of rows of each [bins].
    """
    total = float(counts.sum())
    if not total > 0:
        return rhythm
    held = np.concatenate([[0.0], np.cumsum(counts / total)])
    edges = np.array(bins.edges, dtype=np.int64)
    kinds = ((days.weekdays, WEEKDAYS), (days.month_days, MONTH_DAYS))
    factors = [np.array(rhythm.weekdays), np.array(rhythm.month_days)]
    targets = [
        _shares(f * np.bincount(kind, minlength=n)) for f, (kind, n) in zip(factors, kinds, strict=True)
    ]
    for _ in range(_ROUNDS):
        farthest = 0.0
        for turn, (kind, size) in enumerate(kinds):
            of_days = _of_days(_with_factors(rhythm, factors), days, edges, held)
            shares = np.bincount(kind, of_days, minlength=size)
            farthest = max(farthest, float(np.abs(shares - targets[turn]).max()))
            scale = np.divide(targets[turn], shares, out=np.ones(size), where=shares > 0)
            factors[turn] = np.clip(factors[turn] * scale, 0.0, _MOST)
        if farthest < _NEAR:
            break
    return _with_clock(_with_factors(rhythm, factors), days, bins, counts / total)


def _of_days(
    rhythm: Rhythm, days: Days, edges: NDArray[np.int64], held: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each day in all rows [days], of which bins hold these shares up to each edge [bins + 1]."""
    made = RhythmOfDays(rhythm, days, None)
    return np.diff(np.interp(made.before_days, made.below(edges), held))


def _with_clock(rhythm: Rhythm, days: Days, bins: Bins, shares: NDArray[np.float64]) -> Rhythm:
    """Return a rhythm whose times of day are those of rows outside bins of a day or less, whose times bins tell."""
    edges = np.array(bins.edges, dtype=np.int64)
    narrow = np.flatnonzero((np.diff(edges) <= days.cells * days.length) & (shares > 0))
    if not rhythm.hours or shares[narrow].sum() < _WORTH:
        return rhythm
    clock = rhythm.of_clock()
    hours = np.array(rhythm.hours).reshape(WEEKDAYS, HOURS)
    rest = clock * _shares(hours.sum(axis=1))[:, None]
    likely = rhythm.of_days(days)
    for code in narrow.tolist():
        first, last = (int(d) for d in days.places(edges[code : code + 2] - [0, 1])[0])
        inside = np.zeros_like(rest)
        for day in range(first, last + 1):
            ends = days.starts[day] + np.arange(days.cells + 1) * days.length
            overlap = np.diff(np.clip(ends, edges[code], edges[code + 1])) / days.length
            inside[days.weekdays[day]] += likely[day] * clock[days.weekdays[day]] * overlap
        if inside.sum() > 0:
            rest -= shares[code] * inside / inside.sum()
    rest = np.maximum(rest, 0.0).reshape(WEEKDAYS, HOURS, -1)
    of_hours, of_minutes = rest.sum(axis=2), rest.sum(axis=0)
    known = of_hours.sum(axis=1, keepdims=True) > 0
    return replace(
        rhythm,
        hours=tuple(np.where(known, of_hours, hours).ravel().tolist()),
        minutes=tuple(of_minutes.ravel().tolist()) if rhythm.minutes else (),
    )


def _with_factors(rhythm: Rhythm, factors: list[NDArray[np.float64]]) -> Rhythm:
    weekdays, month_days = (tuple(f.tolist()) for f in factors)
    return replace(rhythm, weekdays=weekdays, month_days=month_days)


def _shares(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = numbers / max(float(numbers.sum()), 1e-300)
    return found
