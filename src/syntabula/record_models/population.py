"""Rows that evolve: what records said of earlier rows in votes, weights that agree with it, and variations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.nearness import Nearness
from syntabula.models.row_set import RowSet
from syntabula.record_models.generated_rows import places_again, raked_to, rows_at


@dataclass(frozen=True, kw_only=True, eq=False)
class EvolvedRows(RowSet):
    """A set of synthetic records, that `record_models.evolution` or `record_models.noisy_critic` makes."""

    kind: ClassVar[str] = "evolved_rows"

    @classmethod
    def of(cls, rows: EncodedTable, total: float) -> Self:
        """Return the set of some rows, which stand for an estimated number of records."""
        codes = np.stack(rows.codes, axis=1)
        return replace(cls(), _domain=rows.domain, _total=total, _rows=codes)


Shares = Mapping[str, FloatArray]
_RAKINGS = 5
_UNLIKE = 1 / 3
_LEAST_KEPT = 0.05
_MOST_KEYS = 2**62


def nearness_of(domain: Domain, shares: Shares, columns: Sequence[str]) -> Nearness:
    """Return how near rows are in some columns: numbers by rank, others by whether their codes are equal.

    Tran et al. (2026) scale numbers between their bounds; ranks follow from the one-way marginals and need none. As
    there, an unlike code counts as two thirds of the largest difference of numbers, squared.

    Args:
        domain: All columns.
        shares: Probability of each code of each column.
        columns: Those that are compared.
    """
    tables = []
    for column, size in zip(domain.columns, domain.sizes, strict=True):
        if column not in columns:
            tables.append(np.zeros((size, 0)))
        elif column in domain.ordered:
            tables.append((np.cumsum(shares[column]) - shares[column] / 2)[:, None])
        else:
            tables.append(np.eye(size) * _UNLIKE)
    return Nearness(tables)


class ComparedColumns:
    """Says which columns a round compares: those of which fewest pairs were compared in earlier rounds, else by chance.

    Args:
        domain: All columns.
        rng: Of all draws.
    """

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        self._columns, self._rng = domain.columns, rng
        self._times = np.zeros((len(domain), len(domain)))

    def next(self, n: int | None) -> list[str]:
        """Return n columns, or all if there are no more or n is None."""
        size = len(self._columns)
        chosen = np.zeros(size, dtype=np.bool_)
        # The first has been compared least with all others.
        cost = self._times.sum(1)
        for _ in range(min(n or size, size)):
            chosen[np.argmin(np.where(chosen, np.inf, cost + self._rng.random(size) / 2))] = True
            cost = self._times[:, chosen].sum(1)
        self._times[np.ix_(chosen, chosen)] += 1
        return [c for c, is_chosen in zip(self._columns, chosen, strict=True) if is_chosen]


def varied(rows: EncodedTable, change: float, shares: Shares, rng: np.random.Generator) -> EncodedTable:
    """Return variations of rows: some codes drawn anew by their marginal, numbers moved by some of their rank.

    Args:
        rows: At least one.
        change: Chance of another code, and how far a rank moves at most; a rank that would leave 0 .. 1 turns back.
        shares: Probability of each code of each column.
        rng: Of all draws.
    """
    found = []
    for column, codes in zip(rows.domain, rows.codes, strict=True):
        share, n = shares[column], rows.n_rows
        ends = np.cumsum(share)
        if column in rows.domain.ordered:
            within = ends[codes] - share[codes] * rng.random(n)
            moved = np.abs(within + rng.uniform(-change, change, n))
            places = np.searchsorted(ends, np.where(moved > 1, 2 - moved, moved))
            new = np.minimum(places, share.size - 1)
        else:
            new = np.where(rng.random(n) < change, rng.choice(share.size, n, p=share), codes)
        found.append(new.astype(np.uint64))
    return EncodedTable(rows.domain, tuple(found))


@dataclass(frozen=True, eq=False)
class Ballot:
    """What the records said in one vote.

    Attributes:
        nearness: How rows were compared.
        asked: The rows that were voted for.
        shares: Part of the records that are taken to be nearest to each [asked].
    """

    nearness: Nearness
    asked: EncodedTable
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class Population:
    """Rows of equal weight, and for whom they would vote.

    Attributes:
        rows: At least one.
        choices: For each earlier ballot, the row asked that is nearest to each of these [ballots, rows].
    """

    rows: EncodedTable
    choices: NDArray[np.int32]

    @classmethod
    def of(cls, rows: EncodedTable) -> Population:
        """Return a population before the first vote."""
        return cls(rows, np.zeros((0, rows.n_rows), dtype=np.int32))

    def asked(self, columns: Sequence[str], most: int, rng: np.random.Generator) -> EncodedTable:
        """Return some of the rows, in random order, no two of which are alike in all of some columns."""
        mixed = rows_at(self.rows, rng.permutation(self.rows.n_rows))
        keys = row_keys([mixed.column(c) for c in columns], [mixed.domain.size(c) for c in columns])
        firsts = np.unique(keys, return_index=True)[1]
        return rows_at(mixed, np.sort(firsts)[:most])

    def told(
        self, nearness: Nearness, asked: EncodedTable, votes: FloatArray, deviation: float
    ) -> tuple[Population, Ballot]:
        """Return the population with its own choices, and the ballot that it learned from a vote.

        Args:
            nearness: How rows were compared.
            asked: The rows that were voted for.
            votes: Their noisy parts of all votes [asked].
            deviation: Standard deviation of the noise on each part.
        """
        choices = nearness.nearest(self.rows, asked).astype(np.int32)
        expected = np.bincount(choices, minlength=asked.n_rows) / self.rows.n_rows
        shares = believed(expected, votes, deviation)
        return Population(self.rows, np.vstack([self.choices, choices])), Ballot(nearness, asked, shares)

    def next(
        self, ballots: Sequence[Ballot], shares: Shares, n: int, change: float, rng: np.random.Generator
    ) -> Population:
        """Return n rows out of these and as many variations of them, by weights that agree with all ballots."""
        half = self.rows.n_rows // 2
        kept, parents = (
            places_again(self._weights(ballots, shares), k, rng) for k in (self.rows.n_rows - half, half)
        )
        new = (
            varied(rows_at(self.rows, parents), change, shares, rng) if half else rows_at(self.rows, parents)
        )
        theirs = [b.nearness.nearest(new, b.asked).astype(np.int32) for b in ballots]
        old = rows_at(self.rows, kept)
        codes = tuple(np.concatenate(pair) for pair in zip(old.codes, new.codes, strict=True))
        both = Population(
            EncodedTable(self.rows.domain, codes), np.hstack([self.choices[:, kept], np.stack(theirs)])
        )
        places = places_again(both._weights(ballots, shares), n, rng)
        return Population(rows_at(both.rows, places), both.choices[:, places])

    def _weights(self, ballots: Sequence[Ballot], shares: Shares) -> FloatArray:
        """Return weights with which rows vote as the records did, the latest first, and have their marginals."""
        votes = [(own, b.shares) for own, b in zip(self.choices, ballots, strict=True)]
        columns = [(codes, shares[c]) for c, codes in zip(self.rows.domain, self.rows.codes, strict=True)]
        even = np.full(self.rows.n_rows, 1 / self.rows.n_rows)
        return raked_to(even, [*votes[::-1], *columns[::-1]], times=_RAKINGS)


def row_keys(codes: Sequence[Codes], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers [n] that are equal for rows alike in all columns, and for no others.

    Args:
        codes: Of each column [n], at least one.
        sizes: Number of codes of each.
    """
    keys, cells = codes[0].astype(np.int64), sizes[0]
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if cells * size > _MOST_KEYS:
            # Numbered anew, as there are no more of them than rows.
            found, keys = np.unique(keys, return_inverse=True)
            cells = found.size
        keys, cells = keys * size + column.astype(np.int64), cells * size
    return keys


def believed(expected: FloatArray, votes: FloatArray, deviation: float | FloatArray) -> FloatArray:
    """Return what to make of noisy votes where other parts were expected [..., asked].

    A part is taken to lie about the expected one with a standard deviation in proportion to it. How wide follows from the
    votes, as their variance less that of the noise (an empirical Bayes estimate: Efron and Morris 1973). So votes
    move what was expected by more, the less noise there is.

    Args:
        expected: Parts that the rows so far have; they add up to 1.
        votes: Noisy parts of the records.
        deviation: Standard deviation of the noise, one or [..., 1]; 0 without privacy.
    """
    if not np.any(deviation):
        sums = votes.sum(-1, keepdims=True)
        return np.where(sums > 0, votes / np.where(sums > 0, sums, 1.0), expected)
    noise = np.square(deviation)
    away = votes - expected
    unlike = np.square(away).sum(-1, keepdims=True) - away.shape[-1] * noise
    squares = np.square(expected)
    spread = np.maximum(unlike / squares.sum(-1, keepdims=True), 1e-6) * squares
    found = expected + spread / (spread + noise) * away
    found = np.maximum(found, _LEAST_KEPT * expected)
    shares: FloatArray = found / found.sum(-1, keepdims=True)
    return shares
