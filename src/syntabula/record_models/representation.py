"""Lookup tables of codes, made of one-way marginals: all that a network knows of a table before it is trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ConditionWarning, warn_caller
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import FloatArray, Measurement

FloatTable = NDArray[np.float32]
Places = NDArray[np.intp]
"""Positions of codes among those of their column that have records; their number for a code without."""

_USUAL_BINS = 300
_SPREAD_OVER_COLUMN = 1.0
"""Records that are added to a column, in equal parts to its codes, so that none has probability 0."""


@dataclass(frozen=True, eq=False)
class ColumnLookup:
    """What is known of one column by its one-way marginal. Codes without records are left out of the network.

    Attributes:
        codes: The k codes that have records, ascending.
        places: For each code of the domain, its position among those; of an ordered column that of the nearest one,
            else k for a code without records.
        log_shares: Logarithm of each code's part of the records [k].
        waves: For an ordered column cos(pi i r) for i = 1, 2, .. [k, waves], where r is the middle of the code's step
            in the cumulative marginal: nearby codes look alike. None for others.
    """

    codes: NDArray[np.intp]
    places: NDArray[np.intp]
    log_shares: FloatTable
    waves: FloatTable | None

    @property
    def size(self) -> int:
        """Number of codes that have records."""
        return int(self.codes.size)

    @property
    def frequent_places(self) -> NDArray[np.intp]:
        """The places, where a code whose noisy count is none takes that of the most frequent code."""
        missing = self.places == self.size
        found: NDArray[np.intp] = np.where(missing, int(np.argmax(self.log_shares)), self.places)
        return found


def column_lookup(counts: FloatArray, *, waves: int | None) -> ColumnLookup:
    """Return the lookup of a column.

    Args:
        counts: One-way marginal [codes]; where no count is above 0, all codes are taken to be as frequent.
        waves: How many cosines describe an ordered column; None for one without an order.
    """
    held = np.maximum(counts, 0.0) if (counts > 0).any() else np.ones(counts.size)
    codes = np.flatnonzero(held)
    amounts = held[codes] + _SPREAD_OVER_COLUMN / codes.size
    shares = amounts / amounts.sum()
    missing = codes.size if waves is None else 0
    places = np.full(counts.size, missing, dtype=np.intp)
    places[codes] = np.arange(codes.size)
    if waves is None:
        return ColumnLookup(codes, places, np.log(shares).astype(np.float32), None)
    middles = (codes[1:] + codes[:-1]) / 2
    places = np.searchsorted(middles, np.arange(counts.size), side="left")
    ranks = np.cumsum(shares) - shares / 2
    # Of variance one, as numbers that a layer reads should be.
    table = np.sqrt(2) * np.cos(np.pi * np.outer(ranks, np.arange(1, waves + 1)))
    return ColumnLookup(codes, places, np.log(shares).astype(np.float32), table.astype(np.float32))


def column_lookups(domain: Domain, counts: Mapping[str, FloatArray], *, waves: int) -> list[ColumnLookup]:
    """Return the lookups of all columns, by their one-way marginals."""
    return [column_lookup(counts[c], waves=waves if c in domain.ordered else None) for c in domain]


def usual_sizes(domain: Domain, labels: float = math.inf) -> tuple[int, ...]:
    """Return how many codes of each column a table usually has, to time a step on made-up records.

    Bins may be a thousand, but are few more than 300 unless most values are frequent ones.

    Args:
        domain: The columns.
        labels: Most codes of a column without an order.
    """
    most = [_USUAL_BINS if column in domain.ordered else labels for column in domain]
    return tuple(int(min(pair)) for pair in zip(domain.sizes, most, strict=True))


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The part of a normal distribution that stands for each code of an ordered column, by its rank among records.

    Attributes:
        starts: Rank at which the step of each of the k codes with records begins, in [0, 1) [k].
        widths: Width of each step [k].
        scores: Normal quantile of the middle of each step [k].
        cuts: Normal quantile of the ranks between the steps [k - 1].
    """

    starts: FloatTable
    widths: FloatTable
    scores: FloatTable
    cuts: FloatTable


def normal_scores(lookup: ColumnLookup) -> NormalScores:
    """Return the normal scores of a column: steps of its cumulative marginal, and their normal quantiles."""
    shares = np.exp(lookup.log_shares.astype(np.float64))
    shares /= shares.sum()
    ends = np.cumsum(shares)
    inside = np.clip(np.concatenate([ends - shares / 2, ends[:-1]]), 1e-12, 1 - 1e-12)
    quantiles = np.array([NormalDist().inv_cdf(rank) for rank in inside], dtype=np.float32)
    scores, cuts = np.split(quantiles, [ends.size])
    return NormalScores((ends - shares).astype(np.float32), shares.astype(np.float32), scores, cuts)


def one_way_counts(measured: Sequence[Measurement]) -> dict[str, FloatArray]:
    """Return the counts of one-way marginals by column."""
    return {m.clique[0]: m.values for m in measured}


def warn_of_unseen(columns: Sequence[str]) -> None:
    """Say that codes are given of these columns, if there are any, which no record had."""
    if columns:
        warn_caller(
            ConditionWarning(
                f"no record had some of the codes that are given of {', '.join(map(repr, columns))}; other columns are "
                "drawn there as if these were not given"
            )
        )
