"""What parts of bins that are known of rows tell of their other columns, beyond what the bins do.

A model knows bins. What lies within follows other columns in two ways, once rows are decoded: numbers that rise together
do so within bins too (`table.coding.following`), and hours and weekdays are as frequent beside other codes as lifts say
(`bins.known_times`). Both say how much more likely a row's codes make the part of a bin that a condition or a given value
tells. So several rows are drawn, and chosen among by these weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.known_times import KnownTimes, edges_around
from syntabula.bins.rhythm import RhythmOfDays
from syntabula.bins.uniform import Parts, Spread, cut
from syntabula.marginals.domain import EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model
from syntabula.synthesizers.joining import finer_codes
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import encode_column, ordered_points
from syntabula.table.coding.following import Followers, Following
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Ordered

TRIED = 5_000
_PARTS = 8
"""Parts of a bin that are told apart for given values, where numbers follow each other."""


@dataclass(frozen=True, eq=False)
class KnownParts:
    """What is known of rows within the bins of some columns.

    Attributes:
        codec: The release's codec with the bins of these columns cut.
        following: How other columns follow them within bins; None if none does.
        times: Those of these columns that have lifts.
        drawn_apart: Of the release's model.
    """

    codec: Codec
    following: Following | None
    times: Mapping[str, KnownTimes]
    drawn_apart: Mapping[str, NDArray[np.intp]]

    @classmethod
    def of(
        cls, codec: Codec, model: Model, finer: Codec, cuts: Mapping[str, Parts], followers: Followers | None
    ) -> Self | None:
        """Prepare it; None if the parts tell nothing of other columns.

        Args:
            codec: The release's codec.
            model: The release's model.
            finer: The codec with the parts as bins.
            cuts: The parts of the bins of some of its columns, by name.
            followers: See `followers_of`.
        """
        places = {name: place for place, name in enumerate(codec.bins)}
        following = None
        if followers is not None:
            known = {places[n]: p for n, p in cuts.items() if followers.follows(places[n])}
            if known:
                following = Following.of(followers, known, np.random.default_rng(0))
        times = {}
        for name in cuts.keys() & codec.lifts.keys():
            within = finer.within(name)
            assert isinstance(within, RhythmOfDays)
            # Shares of the model's bins, as if nothing more were known.
            shares = codec.lifts[name].finer(cuts[name], told=False).shares
            lifts = replace(finer.lifts[name], shares=shares)
            times[name] = KnownTimes.of(lifts, finer.bins[name], within)
        if following is None and not times:
            return None
        return cls(finer, following, times, model.drawn_apart)

    def weights(self, table: EncodedTable, rng: np.random.Generator) -> FloatArray:
        """Return how much more likely the codes of rows make their parts than the bins alone do [n], 1 on average.

        Args:
            table: Rows of the finer codes.
            rng: Source of ordinary randomness.
        """
        found = np.ones(table.n_rows)
        if self.following is not None:
            columns = self.codec.in_bins(table, self._apart)
            found *= self.following.weights([*columns.values()], rng)
        for name, times in self.times.items():
            bins, codes = self.codec.bins[name], table.column(name)
            present = np.flatnonzero(codes < bins.size)
            others = [table.column(lift.column)[present] for lift in times.lifts.lifts]
            found[present] *= times.weights(codes[present].astype(np.intp), others)
        return found

    def decode(
        self, table: EncodedTable, rng: np.random.Generator, *, first_row: int
    ) -> dict[str, RawColumn]:
        """Turn finer codes into values, which follow the parts that are known."""
        return self.codec.decode(
            table, rng, first_row=first_row, drawn_apart=self._apart, deal=self.following
        )

    def of_given(self, names: Iterable[str]) -> Self:
        """Return the same where the values of these columns are given, so that none need be found to follow others."""
        following = None if self.following is None else replace(self.following, is_given=True)
        lifts = {name: lifts for name, lifts in self.codec.lifts.items() if name not in names}
        return replace(self, codec=replace(self.codec, lifts=lifts), following=following)

    @property
    def _apart(self) -> dict[str, NDArray[np.intp]]:
        """Groups of the codes of columns that were not cut."""
        size = self.codec.domain.size
        return {name: codes for name, codes in self.drawn_apart.items() if size(name) == codes.size}


@dataclass(frozen=True, eq=False)
class GivenParts:
    """The parts of bins in which given values lie.

    Attributes:
        known: What they tell.
        codes: Finer codes of the given columns that were cut, by name.
    """

    known: KnownParts
    codes: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, codec: Codec, model: Model, given: Mapping[str, RawColumn]) -> Self | None:
        """Prepare it for the columns of a given table; None if its values tell nothing that bins do not.

        Rows that take long are drawn once each, so that there is nothing to choose among.
        """
        if model.draws_slowly:
            return None
        names = [name for name in given if name in codec.bins and given[name].missing.size]
        followers = followers_of(codec, model) if names else None
        places = {name: place for place, name in enumerate(codec.bins)}
        cuts = {}
        for name in names:
            ends: list[int | float] = []
            column = codec.schema[name]
            assert isinstance(column, Ordered)
            points, _ = ordered_points(column, given[name])
            if followers is not None and followers.follows(places[name]):
                ends += _ends_within(codec, name, points)
            if name in codec.lifts:
                ends += edges_around(points, codec.lifts[name], codec.in_rhythm(name).days)
            if ends:
                cuts[name] = cut_at(codec, name, ends)
        if not cuts:
            return None
        finer, _, _ = finer_codes(codec, cuts, told=True)
        known = KnownParts.of(codec, model, finer, cuts, followers)
        if known is None:
            return None
        codes = {
            name: encode_column(codec.schema[name], given[name], finer.bins[name]).codes for name in cuts
        }
        return cls(known.of_given(cuts), codes)

    def alike(self, given: EncodedTable, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return a number for each of some given rows [n], the same for those of the same finer codes."""
        found = np.zeros(rows.size, np.intp)
        for name, codes in zip(given.domain.columns, given.codes, strict=True):
            own = self.codes[name][rows] if name in self.codes else codes
            pairs = found * (int(own.max(initial=0)) + 1) + own
            found = np.unique(pairs, return_inverse=True)[1].reshape(-1)
        return found

    def finer(self, table: EncodedTable, rows: NDArray[np.intp]) -> EncodedTable:
        """Return drawn rows in the finer codes, by the position of the given row of each [n]."""
        domain = self.known.codec.domain
        return EncodedTable.from_mapping(
            domain,
            {
                name: self.codes[name][rows].astype(code_dtype(domain.size(name)))
                if name in self.codes
                else table.column(name)
                for name in domain.columns
            },
        )


class _LastFollowers:
    """What was learned of the release that was asked last, as one release is often asked many times."""

    def __init__(self) -> None:
        self._last: tuple[ref[Codec], ref[Model], dict[int, Followers | None]] | None = None

    def __call__(self, codec: Codec, model: Model, n_tried: int = TRIED) -> Followers | None:
        """Learn how columns follow each other within bins; None if none does, or rows take too long to draw.

        Args:
            codec: The release's codec.
            model: The release's model.
            n_tried: Rows to learn it of. What is learned of so many is the same whatever else was asked.
        """
        if len(codec.bins) < 2 or model.draws_slowly:
            return None
        last = self._last
        if last is None or last[0]() is not codec or last[1]() is not model:
            last = self._last = ref(codec), ref(model), {}
        learned = last[2]
        if n_tried not in learned:
            tried = model.sample(n_tried, np.random.default_rng(0))
            learned[n_tried] = Followers.of([*codec.in_bins(tried, model.drawn_apart).values()])
        return learned[n_tried]


followers_of = _LastFollowers()


def cut_at(codec: Codec, name: str, ends: Iterable[int | float]) -> Parts:
    """Cut the bins of a column, with the share of each part as values lie within them."""
    bins = codec.bins[name]
    first, last = bins.edges[0], bins.edges[-1]
    parts = cut(bins, codec.spreads.get(name), [end for end in ends if first < end < last])
    within = codec.within(name)
    if within is None or isinstance(within, Spread):
        return parts
    return replace(parts, shares=within.shares_of(parts.bins, parts.whole))


def _ends_within(codec: Codec, name: str, points: NDArray[Any]) -> list[int | float]:
    """Return where to cut the bins in which points lie."""
    bins = codec.bins[name]
    found: list[int | float] = []
    for code in np.unique(bins.codes(points)).tolist():
        low, high = bins.edges[code], bins.edges[code + 1]
        if bins.integer:
            found += [int(low) + (int(high) - int(low)) * k // _PARTS for k in range(1, _PARTS)]
        else:
            found += [low + (high - low) * (k / _PARTS) for k in range(1, _PARTS)]
    return found
