"""Fits how starts and ends of distances between times lie within bins, once a model is fitted.

Among the pairs of a start and an end that the bins of a row leave open, each is as likely as the product of a factor of
the start's weekday and time of day and one of the end's. Factors are scaled in turn, as in iterative proportional fitting
(Deming and Stephan, 1940), until ends lie as they were counted, and starts as they did. Where ends follow from starts and
distances already, as those of parked cars do, nothing is drawn again. Only released values are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.ends import EndTimes, kind_sizes, rhythm_of, time_kinds
from syntabula.bins.rhythm import HOURS, Days, Rhythm, RhythmOfDays, proportions
from syntabula.models.recoded import RecodedModel
from syntabula.synthesizers.drawn_ends import DrawnEnds
from syntabula.synthesizers.timed_gaps import TimedGap, in_microseconds, leading
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Date, Datetime

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.prepare.ends import EndCounts
    from syntabula.table.coding.codec import Codec
    from syntabula.table.raw import RawColumn
    from syntabula.table.rules.row_rules import RowRules

_DRAWN, _DRAWN_SLOWLY = 3_000, 1_000
"""Rows on which factors are fitted; some models draw a hundred in a second."""
_STARTS, _ENDS = 12, 16
"""Starts of each row's bin that are tried, and ends for each of them."""
_ROUNDS = 40
_NEAR = 2e-3
"""Largest distance of distributions at which factors are good enough."""
_STEADY = 0.1
"""What is added to shares, in parts of an even one, as few pairs hold the smallest."""
_LEAST, _MOST = 0.2, 5.0
"""Least and largest factor, beside the shares that were counted, as noise on rare kinds of time asks for any."""

Shares = dict[str, NDArray[np.float64]]


def with_ends(codec: Codec, model: Model, rules: RowRules, counts: Mapping[str, EndCounts]) -> Codec:
    """Return a codec with the days and times of the ends that were counted.

    Args:
        codec: The codec, with all that was found.
        model: The model of its codes.
        rules: The rules, which say what distances count from.
        counts: Noisy counts of ends by column.
    """
    names = [name for name in rules.compiled.distances if name in counts]
    if not names:
        return codec
    rng = np.random.default_rng(0)
    rows = model.sample(_DRAWN_SLOWLY if model.draws_slowly else _DRAWN, rng)
    cells = codec.decode(rows, rng, drawn_apart=model.drawn_apart)
    for name in names:
        drawn = DrawnEnds(rules, codec)
        # As the ends that this one counts from will be drawn.
        parts = _parts(codec, model, name)
        gap = TimedGap.of(name, rules, codec, *parts)
        found = _fitted(gap, drawn, drawn(cells, rng), counts[name], rng)
        if found is not None:
            codec = replace(codec, ends={**codec.ends, name: EndTimes(*found, *parts)})
    return codec


def _parts(codec: Codec, model: Model, name: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the inner edges of the bins of a column that the model knows, and the shares of the codec's bins in them."""
    bins = codec.bins[name]
    if not isinstance(model, RecodedModel) or name not in model.recoding.maps:
        return tuple(map(int, bins.cuts)), (1.0,) * bins.size
    whole = model.recoding.maps[name][: bins.size]
    shares = np.array([float(f"{x:.6g}") for x in model.recoding.shares[name][: bins.size]])
    cuts = np.array(bins.cuts, dtype=np.int64)[np.diff(whole) != 0]
    return tuple(cuts.tolist()), tuple(np.minimum(shares, 1.0).tolist())


def _fitted(
    gap: TimedGap, drawn: DrawnEnds, cells: dict[str, RawColumn], counts: EndCounts, rng: np.random.Generator
) -> tuple[Rhythm, Rhythm | None] | None:
    """Return the factors of a distance's ends and starts; None if they change little."""
    rules, codec, raw = drawn.rules, drawn.codec, cells[gap.name]
    start, whole = leading(gap.name, rules, codec.ends), drawn.completed(cells)
    column = rules.schema[start]
    assert isinstance(column, Date | Datetime)
    rows = np.flatnonzero(~raw.missing & ~whole[start].missing)
    if not rows.size:
        return None
    moves = start in codec.rhythms and start not in rules.compiled.distances
    bases = drawn.bases(gap.name, whole)[rows]
    if moves:
        starts = drawn.tried(start, cells, rows, _STARTS, rng)
        offsets = bases - rules.numbers(start, whole[start])[0][rows]
        bases = (in_microseconds(column, starts) + offsets) // gap.unit
    else:
        bases = bases[None] // gap.unit
    codes = gap.others(gap.codes(raw.values[rows]), _STARTS, rng)
    bases = np.broadcast_to(bases, codes.shape)
    first, last = gap.windows(bases, codes)
    sizes = kind_sizes(gap.days)
    width = last - first
    # Windows beyond the bounds of the end are empty; what is drawn of them has no weight.
    lower, upper, _ = gap.end.span()
    places = first + np.minimum((rng.random((_ENDS, *first.shape)) * width).astype(np.int64), width - 1)
    places = np.clip(places, lower, upper)
    even = np.broadcast_to((width > 0) / 1.0, places.shape)
    expected = {k: _shares(c, sizes[k], even) for k, c in _kinds(gap.days, places).items()}
    wanted = counts.shares(expected)
    if wanted is None:
        return None
    # Nearly as ends lie where bins are wide; so factors are told by few ends of each row.
    first_guess = {**wanted, "month_days": _ratio(wanted["month_days"], expected["month_days"])}
    if "minutes" in wanted:
        of_hours = wanted["minutes"].reshape(HOURS, -1)
        first_guess["minutes"] = proportions(of_hours).ravel()
    within = RhythmOfDays(rhythm_of(first_guess), gap.days, None)
    low, high = within.below(first.ravel()), within.below(last.ravel())
    ends = within.at((low + (high - low) * rng.random((_ENDS, low.size))).ravel(), rng)
    ends = np.clip(np.clip(ends.reshape(_ENDS, *first.shape), first, last - 1), lower, upper)
    weights = np.broadcast_to(gap.densities(within, bases, codes), ends.shape)
    weights = weights * _ratio(np.ones(rows.size), weights.sum(axis=(0, 1)))
    kinds, targets = [_kinds(gap.days, ends)], [wanted]
    if moves:
        days = days_of(column)
        own_kinds = _kinds(days, starts)
        every = np.full(starts.shape, 1.0)
        kinds.append({k: np.broadcast_to(c, ends.shape) for k, c in own_kinds.items()})
        targets.append({k: _shares(c, kind_sizes(days)[k], every) for k, c in own_kinds.items()})
    factors = _raked(kinds, targets, weights)
    factors[0] = {k: f * first_guess[k] for k, f in factors[0].items()}
    own, *of_starts = (rhythm_of(one).rounded() for one in factors)
    return own, of_starts[0] if of_starts else None


def _ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quotients; 0 where one cannot divide."""
    return np.divide(one, other, out=np.zeros(one.shape), where=other > 0)


def _kinds(days: Days, points: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    return {k: c.reshape(points.shape) for k, c in time_kinds(days, points.ravel()).items()}


def _shares(codes: NDArray[np.int64], size: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    held = np.bincount(codes.ravel(), weights.ravel(), minlength=size)
    found: NDArray[np.float64] = held / max(float(held.sum()), 1e-300)
    return found


def _raked(
    codes: Sequence[dict[str, NDArray[np.int64]]], wanted: Sequence[Shares], weights: NDArray[np.float64]
) -> list[Shares]:
    """Return factors of the kinds of time of ends, and of starts, by which these have the wanted shares.

    Args:
        codes: Kinds of time of the ends, and of the starts, of each row's pairs [ends, starts, rows].
        wanted: Share of each kind of time.
        weights: Weight of each pair; those of a row sum to one, or to zero.
    """
    factors = [{k: np.ones(s.size) for k, s in one.items()} for one in wanted]
    now = weights
    for _ in range(_ROUNDS):
        farthest = 0.0
        for own, of_pairs, targets in zip(factors, codes, wanted, strict=True):
            for kind, target in targets.items():
                held, steady = _shares(of_pairs[kind], target.size, now), _STEADY / target.size
                farthest = max(farthest, float(np.abs(held - target).sum() / 2))
                scale = np.where(held > 0, (target + steady) / (held + steady), 1.0)
                changed = np.clip(own[kind] * scale, _LEAST, _MOST)
                now = now * (changed / own[kind])[of_pairs[kind]]
                now *= _ratio(np.ones(now.shape[-1]), now.sum(axis=(0, 1)))
                own[kind] = changed
        if farthest < _NEAR:
            break
    return factors
