"""Rows that evolve: variations, choices, what votes are taken to say, and weights that agree with them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.generated_rows import independent_rows, rows_at
from syntabula.record_models.population import (
    ComparedColumns,
    Population,
    believed,
    nearness_of,
    row_keys,
    varied,
)

DOMAIN = Domain(("a", "b", "c"), (10, 3, 2), frozenset({"a"}))
SHARES = {"a": np.arange(1, 11) / 55, "b": np.array([0.7, 0.2, 0.1]), "c": np.array([0.4, 0.6])}


def drawn(n: int = 4000) -> EncodedTable:
    return independent_rows(SHARES, DOMAIN, n, seed=0)


class TestVariations:
    def test_little_change_keeps_most_codes_and_moves_numbers_to_near_ones(self) -> None:
        rows = drawn()

        new = varied(rows, 0.02, SHARES, np.random.default_rng(0))

        assert np.abs(new.column("a").astype(int) - rows.column("a")).max() <= 2
        # About .02 (1 - .54) of 4,000 are expected to change; 100 would be ten standard deviations off.
        assert 0 < (new.column("b") != rows.column("b")).sum() < 100

    def test_columns_keep_their_shares(self) -> None:
        new = varied(drawn(40_000), 0.5, SHARES, np.random.default_rng(0))

        for column, share in SHARES.items():
            found = np.bincount(new.column(column), minlength=share.size) / new.n_rows
            # A tenth of a percent is four standard deviations of the rarest code's; .02 is six of any.
            assert np.abs(found - share).max() < 0.02


class TestChoices:
    def test_rows_that_are_asked_about_differ_in_the_columns_that_are_compared(self) -> None:
        population = Population.of(drawn())

        asked = population.asked(["b", "c"], 100, np.random.default_rng(0))

        assert asked.n_rows == 6
        assert len({*zip(asked.column("b"), asked.column("c"), strict=True)}) == 6
        assert population.asked(["a", "b", "c"], 20, np.random.default_rng(0)).n_rows == 20

    def test_the_next_rows_vote_as_the_records_did_and_have_their_marginals(self) -> None:
        rng = np.random.default_rng(0)
        # Records in which c follows from a, as no first row knows.
        a = rng.choice(10, 6000, p=SHARES["a"])
        records = EncodedTable(
            DOMAIN, (a.astype(np.uint8), rng.choice(3, 6000, p=SHARES["b"]), (a < 6).astype(np.uint8))
        )
        shares = SHARES | {"c": np.bincount(records.column("c")) / 6000}
        population = Population.of(independent_rows(shares, DOMAIN, 4000, seed=0))
        nearness = nearness_of(DOMAIN, shares, ["a", "c"])
        asked = population.asked(["a", "c"], 100, rng)
        votes = np.bincount(nearness.nearest(records, asked), minlength=asked.n_rows) / 6000

        population, ballot = population.told(nearness, asked, votes, 0.0)
        after = population.next([ballot], shares, 4000, 0.01, rng).rows

        assert np.mean((after.column("a") < 6) == after.column("c")) > 0.99
        for column, share in shares.items():
            held = np.bincount(after.column(column), minlength=share.size) / after.n_rows
            assert held == pytest.approx(share, abs=0.01)

    def test_choices_of_the_next_rows_are_those_that_they_would_make(self) -> None:
        rng = np.random.default_rng(0)
        population, ballots = Population.of(drawn(500)), []
        for columns in (["a", "b"], ["b", "c"], ["a", "b", "c"]):
            nearness = nearness_of(DOMAIN, SHARES, columns)
            asked = population.asked(columns, 9, rng)
            population, ballot = population.told(nearness, asked, np.full(asked.n_rows, 1 / 9), 0.01)
            ballots.append(ballot)
            population = population.next(ballots, SHARES, 300, 0.3, rng)

        for choices, ballot in zip(population.choices, ballots, strict=True):
            assert np.array_equal(choices, ballot.nearness.nearest(population.rows, ballot.asked))

    def test_all_pairs_of_columns_are_compared_about_as_often(self) -> None:
        many = Domain(tuple("abcdefghijkl"), (2,) * 12)
        compared, times = (
            ComparedColumns(many, np.random.default_rng(0)),
            dict.fromkeys(combinations(many.columns, 2), 0),
        )

        for _ in range(44):
            for pair in combinations(compared.next(4), 2):
                times[pair] += 1

        # Four times each on average.
        assert min(times.values()) >= 2
        assert max(times.values()) <= 6
        assert compared.next(None) == list(many.columns)
        assert len(compared.next(99)) == 12


class TestBelieved:
    def test_noise_alone_moves_little_and_clear_votes_all(self) -> None:
        rng = np.random.default_rng(0)
        expected = np.full(200, 1 / 200)
        truth = rng.dirichlet(np.full(200, 0.5))
        noise = rng.normal(0, 1, 200)

        of_noise = believed(expected, expected + 0.004 * noise, 0.004)
        clear = believed(expected, truth + 1e-6 * noise, 1e-6)

        # The noise has a standard deviation of .8 of what is expected.
        assert np.abs(of_noise - expected).mean() < 0.2 * expected[0]
        assert np.abs(clear - truth).sum() < 0.06
        assert [of_noise.sum(), clear.sum()] == pytest.approx([1, 1])

    def test_it_is_nearer_to_the_truth_than_votes_or_expectation(self) -> None:
        rng = np.random.default_rng(1)
        expected = rng.dirichlet(np.full(200, 5.0))
        truth = expected * rng.gamma(2, 0.5, 200)
        truth /= truth.sum()
        votes = truth + rng.normal(0, 0.003, 200)

        found = believed(expected, votes, 0.003)

        away = [np.square(some - truth).sum() for some in (found, votes, expected)]
        assert away[0] < 0.9 * min(away[1:])

    def test_without_noise_votes_are_taken_as_they_are(self) -> None:
        assert believed(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 0.0).tolist() == [1, 0]
        assert believed(np.array([0.5, 0.5]), np.zeros(2), 0.0).tolist() == [0.5, 0.5]


def test_rows_are_near_by_rank_and_by_equal_codes() -> None:
    near = nearness_of(DOMAIN, SHARES, ["a", "b"])
    asked = EncodedTable(DOMAIN, tuple(np.array(c, np.uint8) for c in ([0, 9, 9], [0, 0, 1], [0, 0, 0])))
    rows = EncodedTable(
        DOMAIN, tuple(np.array(c, np.uint8) for c in ([1, 8, 8, 0], [0, 0, 1, 1], [1, 1, 1, 1]))
    )

    assert near.nearest(rows, asked).tolist() == [0, 1, 2, 0]
    assert rows_at(rows, near.nearest(rows, asked)).n_rows == 4


class TestRowKeys:
    def test_are_equal_for_equal_rows_alone_however_many_cells_there_are(self) -> None:
        rng = np.random.default_rng(0)
        sizes = (3, 2**31, 5, 2**31, 7, 2**20)
        # Few of the codes are drawn, so that many rows are alike.
        codes = [rng.choice([0, 1, size - 1], 400).astype(np.uint32) for size in sizes]

        keys = row_keys(codes, sizes)

        rows = np.unique(np.stack(codes, 1), axis=0, return_inverse=True)[1].ravel()
        assert np.array_equal(keys[:, None] == keys, rows[:, None] == rows)
        assert keys.min() >= 0
