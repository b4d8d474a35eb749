"""The genetic algorithm: its bookkeeping is exact, its error never rises, and it reaches its goals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.genetic import Evolution, Genetic, WantedCounts

DOMAIN = Domain.from_sizes({"a": 6, "b": 5, "c": 4, "d": 3, "e": 1})
PAIRS: list[Clique] = list(combinations(DOMAIN.columns, 2))
MIXED: list[Clique] = [("a",), ("a", "b", "c"), ("d", "a"), ("b", "e")]
N = 20_000


def joint(seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(360, 0.1)).reshape(DOMAIN.sizes) * N


def onto(table: FloatArray, wanted: Clique) -> FloatArray:
    summed = table.sum(axis=tuple(i for i, c in enumerate(DOMAIN.columns) if c not in wanted))
    kept = [c for c in DOMAIN.columns if c in wanted]
    return summed.transpose([kept.index(c) for c in wanted])


def measured(cliques: list[Clique], sigma: float = 0.0, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    exact = [onto(joint(), c) for c in cliques]
    return [
        Measurement(c, e + sigma * rng.normal(size=e.shape), sigma)
        for c, e in zip(cliques, exact, strict=True)
    ]


def evolution(cliques: list[Clique], n: int = 2000, seed: int = 0) -> Evolution:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, size, n) for size in DOMAIN.sizes], axis=1).astype(np.uint8)
    goals = [
        WantedCounts(
            tuple(DOMAIN.index(c) for c in clique),
            np.ascontiguousarray(onto(joint(), clique)) * n / N,
            weight,
        )
        for clique, weight in zip(cliques, np.linspace(1.0, 0.2, len(cliques)), strict=True)
    ]
    return Evolution(rows, DOMAIN.sizes, goals)


@pytest.mark.parametrize("cliques", [PAIRS, MIXED], ids=["pairs", "mixed"])
class TestEvolution:
    def test_the_fitness_that_is_kept_up_is_the_one_of_the_rows(self, cliques: list[Clique]) -> None:
        evolved, rng = evolution(cliques), np.random.default_rng(1)

        for _ in range(200):
            evolved.generation(30, 30, rng)

            assert evolved.fitness == pytest.approx(evolved.recomputed_fitness(), rel=1e-9)

    def test_it_never_rises_and_falls_in_the_end(self, cliques: list[Clique]) -> None:
        evolved, rng = evolution(cliques), np.random.default_rng(1)
        seen = [evolved.fitness]

        for _ in range(300):
            evolved.generation(50, 50, rng)
            seen.append(evolved.fitness)

        assert seen == sorted(seen, reverse=True)
        assert seen[-1] < 0.01 * seen[0]

    def test_each_change_that_is_kept_lowers_the_error_alone(self, cliques: list[Clique]) -> None:
        evolved, rng = evolution(cliques, n=300), np.random.default_rng(1)
        changes = 0

        for _ in range(15):
            before, fitness = evolved.rows.copy(), evolved.fitness
            evolved.generation(30, 30, rng)
            for row in np.flatnonzero((evolved.rows != before).any(axis=1)):
                alone = before.copy()
                alone[row] = evolved.rows[row]
                assert Evolution(alone, DOMAIN.sizes, evolved.goals).fitness < fitness * (1 + 1e-9)
                changes += 1

        assert changes > 50

    def test_a_generation_changes_one_column(self, cliques: list[Clique]) -> None:
        evolved, rng = evolution(cliques), np.random.default_rng(1)

        for _ in range(20):
            before = evolved.rows.copy()
            evolved.generation(30, 30, rng)
            assert (evolved.rows != before).any(axis=0).sum() <= 1

    @pytest.mark.parametrize(("mutations", "crossovers"), [(1, 0), (0, 1), (5000, 5000)])
    def test_few_or_more_candidates_than_rows_will_do(
        self, cliques: list[Clique], mutations: int, crossovers: int
    ) -> None:
        evolved, rng = evolution(cliques, n=500), np.random.default_rng(1)
        before = evolved.fitness

        for _ in range(100):
            evolved.generation(mutations, crossovers, rng)

        assert evolved.fitness < before
        assert evolved.fitness == pytest.approx(evolved.recomputed_fitness(), rel=1e-9)


class TestMoves:
    def test_crossovers_bring_no_code_that_is_not_there(self) -> None:
        evolved, rng = evolution(PAIRS), np.random.default_rng(1)
        evolved.rows[:, 0] %= 3
        evolved = Evolution(evolved.rows, DOMAIN.sizes, evolved.goals)

        for _ in range(100):
            evolved.generation(0, 50, rng)

        assert evolved.rows[:, 0].max() == 2

    def test_codes_stay_within_their_column(self) -> None:
        evolved, rng = evolution(PAIRS), np.random.default_rng(1)

        for _ in range(100):
            evolved.generation(50, 50, rng)

        assert (evolved.rows.max(axis=0) < np.array(DOMAIN.sizes)).all()

    def test_what_lies_at_the_goal_is_left_alone(self) -> None:
        rows = evolution(PAIRS).rows
        counts = np.zeros((6, 5))
        np.add.at(counts, (rows[:, 0], rows[:, 1]), 1)
        evolved = Evolution(rows.copy(), DOMAIN.sizes, [WantedCounts((0, 1), counts, 1.0)])

        for _ in range(50):
            evolved.generation(50, 50, np.random.default_rng(2))

        assert (evolved.rows == rows).all()

    def test_columns_without_a_goal_or_a_choice_are_settled(self) -> None:
        lone = Evolution(evolution(PAIRS).rows, DOMAIN.sizes, [WantedCounts((4,), np.array([2000.0]), 1.0)])

        assert lone.is_settled
        assert not evolution(PAIRS).is_settled


class TestFit:
    @pytest.mark.thorough
    @pytest.mark.parametrize("cliques", [PAIRS, MIXED], ids=["pairs", "mixed"])
    def test_exact_marginals_are_met_within_two_parts_in_a_hundred(self, cliques: list[Clique]) -> None:
        wanted = measured(cliques)
        alone = Genetic().over(DOMAIN).fit(measured([(c,) for c in DOMAIN.columns]))

        model = Genetic().over(DOMAIN).fit(wanted)

        def distance(model: Genetic) -> float:
            found = model.marginals(cliques)
            return float(
                np.mean([np.abs(f - m.values).sum() / 2 / N for f, m in zip(found, wanted, strict=True)])
            )

        assert distance(model) < 0.02
        assert distance(alone) > 0.1

    @pytest.mark.thorough
    def test_it_stops_at_the_error_that_noise_explains(self) -> None:
        noisy = measured(PAIRS, sigma=100.0)

        def error(model: Genetic) -> float:
            found = model.marginals(PAIRS)
            return float(sum(np.square(f - m.values).sum() for f, m in zip(found, noisy, strict=True)))

        explained = sum(m.values.size for m in noisy) * 100.0**2
        stopped, went_on = (Genetic(stop_at_noise=s).over(DOMAIN).fit(noisy) for s in (True, False))
        assert 0.8 * explained < error(stopped) <= explained * (1 + 1e-9)
        assert error(went_on) < error(stopped)

    @pytest.mark.thorough
    def test_it_goes_on_where_noise_moves_few_of_the_records(self) -> None:
        # A pair has 14 cells on average: noise of 100 moves 3 % of its 20,000 records, noise of 2,000 half of them.
        def rows(sigma: float, stop_at_noise: bool | None) -> np.ndarray:
            model = Genetic(max_rows=2000, stop_at_noise=stop_at_noise).over(DOMAIN)
            found: np.ndarray = model.fit(measured(PAIRS, sigma=sigma)).state()[1]["rows"]
            return found

        for sigma, stops in [(100.0, False), (2000.0, True)]:
            assert np.array_equal(rows(sigma, None), rows(sigma, stops))
            assert not np.array_equal(rows(sigma, None), rows(sigma, not stops))

    @pytest.mark.thorough
    def test_less_noise_weighs_more(self) -> None:
        good, bad = np.array([15_000.0, 5_000.0]), np.array([5_000.0, 15_000.0])
        domain = Domain.from_sizes({"a": 2})

        model = (
            Genetic(stop_at_noise=False)
            .over(domain)
            .fit([Measurement(("a",), good, 10.0), Measurement(("a",), bad, 1000.0)])
        )

        np.testing.assert_allclose(model.marginals([("a",)])[0], good, atol=20)

    @pytest.mark.thorough
    def test_a_fit_starts_from_the_records_of_the_last_one(self) -> None:
        first = Genetic().over(DOMAIN).fit(measured(PAIRS, sigma=5.0))

        again = first.fit(measured(PAIRS, sigma=5.0))

        assert (np.sort(again.state()[1]["rows"], axis=0) == np.sort(first.state()[1]["rows"], axis=0)).all()

    @pytest.mark.thorough
    def test_another_number_of_records_is_made_of_those_that_are_there(self) -> None:
        few = [Measurement(m.clique, m.values / 10, 0.1) for m in measured(PAIRS)]
        first = Genetic(max_rows=10_000).over(DOMAIN).fit(few)

        later = first.fit(measured(PAIRS, sigma=5.0))

        assert (len(first.state()[1]["rows"]), len(later.state()[1]["rows"])) == (2000, 10_000)
        assert later.total == pytest.approx(N, rel=0.01)

    @pytest.mark.thorough
    def test_columns_that_nothing_measures_come_out_evenly(self) -> None:
        # 10,000 rows at chance 1 / 4: six standard deviations are 260 rows; false alarm below 1e-8.
        (counts,) = Genetic().over(DOMAIN).fit(measured([("a", "b")])).marginals([("c",)])

        assert np.abs(counts / counts.sum() - 1 / 4).max() < 0.026

    @pytest.mark.thorough
    def test_there_are_at_least_a_thousand_records_and_never_more_than_allowed(self) -> None:
        few = [Measurement(m.clique, m.values * 7 / N, 0.0) for m in measured(PAIRS)]

        small, large = (
            Genetic().over(DOMAIN).fit(few),
            Genetic(max_rows=3000).over(DOMAIN).fit(measured(PAIRS)),
        )

        assert (len(small.state()[1]["rows"]), len(large.state()[1]["rows"])) == (1000, 3000)
        assert small.total == pytest.approx(7)

    def test_a_limit_on_generations_is_kept_to(self) -> None:
        once, more = (Genetic(generations=g).over(DOMAIN).fit(measured(PAIRS)) for g in (1, 100))

        def error(model: Genetic) -> float:
            return sum(
                float(np.abs(f - m.values).sum())
                for f, m in zip(model.marginals(PAIRS), measured(PAIRS), strict=True)
            )

        assert error(more) < 0.5 * error(once)

    def test_options_out_of_range_are_refused(self) -> None:
        for options in [
            {"mutations": 0},
            {"crossovers": -1},
            {"generations": 0},
            {"tolerance": 1.0},
            {"stop_at_noise": 1},
        ]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                Genetic(**options)
