"""Lets the rhythms of days and times say only what bins do not, once a model knows how many records each bin holds.

Days are not even over a domain: half of all may lie in two weeks of one March, or on one day that stands for none. Bins
know that, so that weekdays, days of the month and times of day that they hold more of are not more frequent elsewhere.
Only what was released is used, so this costs no budget.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.lift import KINDS, Calendar
from syntabula.bins.rhythm import HOURS, MONTH_DAYS, WEEKDAYS, Days, Rhythm, RhythmOfDays, proportions
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
_SETTLED = 0.98
"""A round that leaves more of the error than this part is the last."""
_FARTHEST = (0.01, 100.0)
"""Least and largest factor of a round."""
_OF_HOURS = 2
"""Place of the factors of hours among all."""
_EVEN = 1e-6
"""Part of an even clock where bins are compared."""


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

    Factors are scaled in turn, as in iterative proportional fitting (Deming and Stephan, 1940): those of weekdays, of
    days of the month, and of the hours of each weekday.

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
    kinds = [(days.weekdays, WEEKDAYS), (days.month_days, MONTH_DAYS)]
    factors = [np.array(rhythm.weekdays), np.array(rhythm.month_days)]
    targets = [
        proportions(f * np.bincount(kind, minlength=n)) for f, (kind, n) in zip(factors, kinds, strict=True)
    ]
    if rhythm.hours:
        kinds.append(((days.weekdays[:, None] * HOURS + np.arange(HOURS)).ravel(), WEEKDAYS * HOURS))
        factors.append(np.array(rhythm.hours))
        targets.append(proportions(factors[-1]))
    farthest = math.inf
    for _ in range(_ROUNDS):
        before, farthest = farthest, 0.0
        for turn, (kind, size) in enumerate(kinds):
            now = _with_factors(rhythm, factors)
            of_parts = _of_parts(now, days, edges, held, HOURS if turn == _OF_HOURS else 1)
            shares = np.bincount(kind, of_parts, minlength=size)
            farthest = max(farthest, float(np.abs(shares - targets[turn]).max()))
            scale = np.divide(targets[turn], shares, out=np.ones(size), where=shares > 0)
            factors[turn] = np.clip(factors[turn] * np.clip(scale, *_FARTHEST), 0.0, _MOST)
        if farthest < _NEAR or farthest > _SETTLED * before:
            break
    return _with_factors(rhythm, factors).rounded()


def shares_of_kinds(
    codec: Codec, name: str, calendar: Calendar, counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each weekday or hour in rows of a column's bins, as its rhythm makes it [7 or 24].

    Args:
        codec: Has the column, its bins and its rhythm.
        name: The column.
        calendar: Whether weekdays or hours are asked for.
        counts: Number of rows of each bin [bins]; even over the domain if there are none.
    """
    column, bins = codec.schema[name], codec.bins[name]
    assert isinstance(column, Ordered)
    days, edges = days_of(column), np.array(bins.edges, dtype=np.int64)
    counts = counts if counts.sum() > 0 else np.diff(edges).astype(np.float64)
    held = np.concatenate([[0.0], np.cumsum(counts / counts.sum())])
    parts = HOURS if calendar == "hour" else 1
    of_parts = _of_parts(codec.rhythms[name], days, edges, held, parts)
    kinds = np.tile(np.arange(HOURS), days.size) if calendar == "hour" else days.weekdays
    shares = np.bincount(kinds, np.maximum(of_parts, 0.0), minlength=KINDS[calendar])
    return shares.astype(np.float64)


def _of_parts(
    rhythm: Rhythm, days: Days, edges: NDArray[np.int64], held: NDArray[np.float64], parts: int
) -> NDArray[np.float64]:
    """Return the share of each of some equal parts of each day in all rows [days * parts].

    Args:
        rhythm: How rows lie within bins.
        days: The days.
        edges: Edges of the bins [bins + 1].
        held: Share of the rows before each [bins + 1].
        parts: 1 for whole days, or 24 for hours.
    """
    # Where no value lies, a little of an even clock tells on which side a bin begins.
    made = RhythmOfDays(_partly_even(rhythm), days, None)
    starts = days.starts[:-1, None] + np.arange(parts) * (days.cells // parts * days.length)
    below = np.append(made.below(starts.ravel()), made.before_days[-1])
    return np.diff(np.interp(below, made.below(edges), held))


def _partly_even(rhythm: Rhythm) -> Rhythm:
    def mixed(numbers: tuple[float, ...], size: int) -> tuple[float, ...]:
        rows = np.array(numbers).reshape(-1, size)
        return tuple((rows + _EVEN * (rows.mean(axis=1, keepdims=True) + 1e-300)).ravel().tolist())

    return replace(rhythm, hours=mixed(rhythm.hours, HOURS), minutes=mixed(rhythm.minutes, 60))


def _with_factors(rhythm: Rhythm, factors: list[NDArray[np.float64]]) -> Rhythm:
    weekdays, month_days, *hours = (tuple(f.tolist()) for f in factors)
    return replace(rhythm, weekdays=weekdays, month_days=month_days, hours=hours[0] if hours else ())
