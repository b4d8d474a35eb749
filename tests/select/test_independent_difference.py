"""PrivSyn's selection: which pairs are worth their noise, and how they are merged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable, contains
from syntabula.marginals.measurement import Measurement
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.independent_difference import (
    CHOSEN,
    DEPENDENCE,
    ONE_WAY,
    IndependentDifference,
    combined,
)

DOMAIN = Domain.from_sizes({"a": 4, "b": 4, "c": 4, "d": 3, "e": 2})
PAIRS = list(combinations(DOMAIN.columns, 2))
RHO = 0.9


def rows(n: int = 5000, seed: int = 0) -> EncodedTable:
    """Draw rows where b follows a, and c follows b; d and e stand alone."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 4, n))
    return EncodedTable(DOMAIN, (a, b, c, rng.integers(0, 3, n), rng.integers(0, 2, n)))


def curator(budget: Budget, table: EncodedTable | None = None, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(table or rows()), Ledger(budget), SeededNoise(seed))


class Noting:
    """A model that notes what it is fitted to."""

    def __init__(self, mb: float = 0.0, mb_per_pair: float = 0.0) -> None:
        self.mb, self.mb_per_pair = mb, mb_per_pair
        self.measured: list[Measurement] = []
        self.possible: dict[Clique, np.ndarray] = {}

    def with_possible(self, possible: object) -> Noting:
        return self

    def over(self, domain: Domain) -> Noting:
        self.domain = domain
        return self

    def memory_mb(self, cliques: Sequence[Clique]) -> float:
        return self.mb + self.mb_per_pair * sum(len(c) > 1 for c in cliques)

    def fit(self, measurements: list[Measurement]) -> Noting:
        self.measured = list(measurements)
        return self

    def wide(self) -> list[tuple[str, ...]]:
        return [m.clique for m in self.measured if len(m.clique) > 1]


class TestBudget:
    def test_a_tenth_a_tenth_and_the_rest_are_spent_and_never_more(self) -> None:
        for budget in [Budget(epsilon=0.5, delta=1e-6), Budget.zcdp(RHO, 1e-6), Budget.pure(3.0)]:
            for n in [5000, 20]:
                asked = curator(budget, rows(n))

                IndependentDifference(records_per_noise=None).select(asked, Noting())

                assert asked.ledger.spent <= budget.total
                spent = {step: part for step, _, part in asked.ledger.by_step()}
                assert spent == {
                    ONE_WAY: pytest.approx(0.1, abs=1e-9),
                    DEPENDENCE: pytest.approx(0.1, abs=1e-9),
                    CHOSEN: pytest.approx(0.8, abs=1e-9),
                }

    def test_noise_is_that_of_the_paper(self) -> None:
        asked = curator(Budget.zcdp(RHO, 1e-6))

        IndependentDifference(max_merged_cells=0).select(asked, model := Noting())

        one_way, dependence, *chosen = (entry.event for entry in asked.ledger.entries)
        assert isinstance(dependence, GaussianEvent)
        # Steps of 1 / 1024 record, and two of them for rounding.
        assert dependence.sigma / 1024 == pytest.approx(np.sqrt(8 * len(PAIRS) / (0.1 * RHO)), rel=1e-3)
        assert isinstance(one_way, GaussianEvent)
        assert one_way.sigma == pytest.approx(np.sqrt(5 / (2 * 0.1 * RHO)))
        cells = np.array([DOMAIN.cells(c) for c in model.wide()]) ** (2 / 3)
        expected = np.sqrt(1 / (2 * 0.8 * RHO * cells / cells.sum()))
        assert [e.sigma for e in chosen] == pytest.approx(expected, rel=1e-4)

    def test_a_pure_budget_draws_laplace_noise_alone(self) -> None:
        asked = curator(Budget.pure(3.0))

        IndependentDifference().select(asked, Noting())

        assert {type(entry.event) for entry in asked.ledger.entries} == {LaplaceEvent}

    def test_a_share_of_the_budget_is_kept_to(self) -> None:
        asked = curator(Budget.zcdp(RHO, 1e-6))

        IndependentDifference().select(asked, Noting(), share=Fraction(1, 4))

        assert asked.ledger.spent <= Fraction(9, 40)
        assert float(asked.ledger.spent) == pytest.approx(0.225)

    def test_the_plan_is_what_is_spent(self) -> None:
        for sizes in [{"a": 3}, {"a": 3, "b": 2}, dict(zip("abcdef", [1, 2, 3, 4, 5, 6], strict=True))]:
            domain = Domain.from_sizes(sizes)
            rng = np.random.default_rng(0)
            asked = curator(
                Budget.zcdp(RHO, 1e-6),
                EncodedTable(domain, tuple(rng.integers(0, n, 300) for n in domain.sizes)),
            )

            IndependentDifference().select(asked, Noting())

            planned = {step.name: float(step.share) for step in IndependentDifference().plan(domain)}
            assert {step: part for step, _, part in asked.ledger.by_step()} == pytest.approx(planned)


class TestChoice:
    def test_dependent_pairs_are_taken_and_merged(self) -> None:
        # The three dependent pairs are at least 3,800 records from independence; noise has a standard
        # deviation of 283, and measuring all pairs would add 1,100 records: nine deviations to a miss.
        for seed in range(5):
            IndependentDifference().select(curator(Budget.zcdp(0.01, 1e-6), seed=seed), model := Noting())

            assert any({"a", "b", "c"} <= set(c) for c in model.wide()), seed

    def test_pairs_whose_noise_outweighs_their_dependence_are_left_out(self) -> None:
        # A pair of 400 cells adds 25,000 records of noise. Its dependence is at most 200 records, with a noise
        # of 2,800: nine standard deviations.
        for seed in range(5):
            domain = Domain.from_sizes(dict.fromkeys("abcde", 20))
            rng = np.random.default_rng(seed)
            table = EncodedTable(domain, tuple(rng.integers(0, 20, 100) for _ in domain))

            whole = IndependentDifference(records_per_noise=None)
            whole.select(curator(Budget.zcdp(1e-4, 1e-6), table, seed), model := Noting())

            assert model.wide() == [], seed

    def test_pairs_are_taken_as_the_rule_says(self) -> None:
        # By hand: unit noise 1, power 1/2. A pair of 16 cells alone adds 16, the second one 64 - 16 = 48.
        domain = Domain.from_sizes(dict.fromkeys("abcd", 4))
        pairs = list(combinations(domain.columns, 2))
        dependences = np.array([100.0, 15.0, 50.0, 47.0, -3.0, 0.0])

        chosen = IndependentDifference()._chosen(pairs, dependences, Noting().over(domain), 1.0, 0.5)

        assert chosen == [pairs[0], pairs[2]]  # the third would add 144 - 64 = 80 for 47

    def test_every_step_takes_the_pair_that_lowers_the_error_most_of_all(self) -> None:
        for seed in range(20):
            for unit, limit in [(0.0, 30), (0.01, 30), (0.01, 5), (0.05, 30)]:
                rng = np.random.default_rng(seed)
                domain = Domain.from_sizes({f"c{i}": int(rng.integers(2, 5)) for i in range(9)})
                pairs = list(combinations(domain.columns, 2))
                lost = np.round(rng.exponential(1.0, len(pairs)) - 0.3, 1)  # some are alike, and some below 0
                model, selector = (
                    Noting(mb_per_pair=1.0).over(domain),
                    IndependentDifference(max_model_mb=limit),
                )

                found = selector._chosen(pairs, lost, model, unit, 2 / 3)

                weight = np.array([float(domain.cells(p)) for p in pairs]) ** (2 / 3)
                wanted: list[Clique] = []
                left, total = list(range(len(pairs))), 0.0
                while left:
                    gains = [max(lost[i], 0) - unit * ((total + weight[i]) ** 1.5 - total**1.5) for i in left]
                    if max(gains) <= 0:
                        break
                    best = left.pop(int(np.argmax(gains)))
                    if len(wanted) < limit:
                        wanted.append(pairs[best])
                        total += weight[best]
                assert found == wanted

    def test_more_budget_takes_more_pairs(self) -> None:
        taken = []
        for rho in (1e-4, 1e-2, 1.0):
            IndependentDifference(max_merged_cells=0).select(
                curator(Budget.zcdp(rho, 1e-6)), model := Noting()
            )
            taken.append(len(model.wide()))

        assert taken[0] < taken[1] < taken[2]

    def test_without_noise_every_dependence_is_worth_it(self) -> None:
        IndependentDifference(max_merged_cells=0).select(curator(Budget.none()), model := Noting())

        assert sorted(model.wide()) == PAIRS

    def test_where_no_pair_is_worth_it_columns_are_measured_again(self) -> None:
        # The pair adds 100,000 records of noise; its dependence is at most 20 records, with a noise of 900.
        domain = Domain.from_sizes({"a": 40, "b": 40})
        table = EncodedTable(domain, (np.zeros(10, np.uint8), np.zeros(10, np.uint8)))
        asked = curator(Budget.zcdp(1e-4, 1e-6), table)

        IndependentDifference(records_per_noise=None).select(asked, model := Noting())

        assert [m.clique for m in model.measured] == [("a",), ("b",)] * 2
        assert float(asked.ledger.spent) == pytest.approx(1e-4)

    def test_pairs_that_the_model_cannot_hold_are_left_out(self) -> None:
        IndependentDifference(max_model_mb=5, max_merged_cells=0).select(
            curator(Budget.none()), model := Noting(mb_per_pair=2.0)
        )

        assert len(model.wide()) == 2

    def test_a_large_model_that_pairs_do_not_enlarge_takes_them_all(self) -> None:
        asked = [Noting(mb=mb) for mb in (0.0, 6.0)]

        for model in asked:
            IndependentDifference(max_model_mb=5).select(curator(Budget.none()), model)

        assert asked[0].wide() == asked[1].wide() != []

    def test_a_model_without_room_for_one_pair_is_refused_before_anything_is_spent(self) -> None:
        private = curator(Budget.zcdp(RHO, 1e-6))

        with pytest.raises(ResourceError, match=r"smallest pair.*max_model_mb"):
            IndependentDifference(max_model_mb=5).select(private, Noting(mb_per_pair=6.0))

        assert private.ledger.spent == 0

    def test_a_graphical_model_grows_by_no_more_than_its_limit(self) -> None:
        fitted = IndependentDifference(max_model_mb=1e-3).select(curator(Budget.none()), PGM())

        size = fitted.memory_mb([tuple(c) for c in fitted.state()[0]["cliques"]])
        assert size <= PGM().over(DOMAIN).memory_mb([]) + 1e-3

    def test_pairs_of_too_many_cells_are_no_candidates(self) -> None:
        asked = curator(Budget.zcdp(RHO, 1e-6))

        IndependentDifference(max_cells=8).select(asked, model := Noting())

        assert all(DOMAIN.cells(c) <= 8 for c in model.wide())
        assert asked.ledger.entries[1].event.cells == 4  # the pairs of e with a, b and c, and of d with e

    def test_without_pairs_columns_get_the_whole_budget(self) -> None:
        for options in [{"max_cells": 1}, {}]:
            domain = Domain.from_sizes({"a": 3, "b": 2}) if options else Domain.from_sizes({"a": 3})
            table = EncodedTable(domain, tuple(np.zeros(9, np.uint8) for _ in domain))
            asked = curator(Budget.zcdp(RHO, 1e-6), table)

            IndependentDifference(**options).select(asked, Noting())

            assert [(step, part) for step, _, part in asked.ledger.by_step()] == [
                (CHOSEN, pytest.approx(1.0))
            ]

    def test_the_steps_are_reported_to_the_end(self) -> None:
        seen: list[float] = []

        IndependentDifference().select(
            curator(Budget.zcdp(RHO, 1e-6)), GUM(passes=1), progress=lambda _, done: seen.append(done)
        )

        assert seen == sorted(seen)
        assert seen[-1] == 1.0


class TestMerging:
    WIDE = Domain.from_sizes({"a": 60, "b": 60, "c": 2})

    def related(self, n: int = 4000) -> EncodedTable:
        rng = np.random.default_rng(0)
        a, b = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], n).T
        codes = (np.clip((x + 4) * 60 / 8, 0, 59).astype(np.uint8) for x in (a, b))
        return EncodedTable(self.WIDE, (*codes, rng.integers(0, 2, n)))

    @pytest.mark.thorough
    def test_a_pair_that_noise_would_drown_is_learned_from_merged_codes(self) -> None:
        # Without merging the pair's 3,600 cells are not worth their noise; five seeds, and the distances, 0.4 and 0.6,
        # differ by many times their spread.
        table = self.related()
        (exact,) = MemoryEngine(table).counts([("a", "b")])
        distances = {}
        for least in (None, 4.0):
            selector = IndependentDifference(records_per_noise=least)
            asked = [curator(Budget.zcdp(0.02, 1e-6), table, seed) for seed in range(5)]
            found = [selector.select(a, PGM()).marginals([("a", "b")])[0] for a in asked]
            distances[least] = [np.abs(f - exact).sum() / 2 / table.n_rows for f in found]

        assert max(distances[4.0]) < 0.8 * min(distances[None])

    def test_columns_of_many_codes_take_three_tenths_and_dependence_is_that_of_merged_codes(self) -> None:
        asked = curator(Budget.zcdp(0.02, 1e-6), self.related())

        model = IndependentDifference().select(asked, PGM())

        spent = {step: part for step, _, part in asked.ledger.by_step()}
        assert spent == pytest.approx({ONE_WAY: 0.3, DEPENDENCE: 0.1, CHOSEN: 0.6})
        assert model.domain == self.WIDE
        assert model.sample(100, np.random.default_rng(0)).domain == self.WIDE


class TestArguments:
    def test_options_out_of_range_are_refused(self) -> None:
        for options in [
            {"dependence_share": 0},
            {"one_way_share": 1.0},
            {"dependence_share": 0.5, "one_way_share": 0.5},
            {"max_merged_cells": -1},
            {"max_cells": 0},
            {"max_model_mb": 0},
            {"records_per_noise": -1},
        ]:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                IndependentDifference(**options)


FIVE = Domain.from_sizes(dict.fromkeys("abcde", 3))


def pairs_of(columns: str) -> list[Clique]:
    return list(combinations(columns, 2))


class TestRules:
    def test_a_triangle_becomes_one_marginal_and_other_pairs_stay(self) -> None:
        assert combined([*pairs_of("abc"), ("c", "d")], FIVE, max_cells=5000) == [("a", "b", "c"), ("c", "d")]

    def test_the_largest_clique_comes_first(self) -> None:
        assert combined(pairs_of("abcde"), FIVE, max_cells=5000) == [("a", "b", "c", "d", "e")]

    def test_a_marginal_of_too_many_cells_is_not_made(self) -> None:
        found = combined(pairs_of("abcde"), FIVE, max_cells=243)

        assert max(FIVE.cells(c) for c in found) == 81

    def test_no_cells_allowed_merges_nothing(self) -> None:
        assert combined(pairs_of("abc"), FIVE, max_cells=0) == pairs_of("abc")

    def test_two_merged_marginals_share_at_most_two_columns(self) -> None:
        # (b, c, d, e) is a clique as well, but shares three columns with the first one.
        edges = [p for p in pairs_of("abcde") if p != ("a", "e")]

        found = combined(edges, FIVE, max_cells=5000)

        assert found == [("a", "b", "c", "d"), ("b", "c", "e"), ("d", "e")]

    def test_a_second_marginal_may_take_two_columns_of_the_first(self) -> None:
        assert combined([*pairs_of("abc"), *pairs_of("bcd")], FIVE, max_cells=5000) == [
            ("a", "b", "c"),
            ("b", "c", "d"),
        ]

    def test_nothing_chosen_is_nothing_merged(self) -> None:
        assert combined([], FIVE, max_cells=5000) == []

    def test_every_pair_is_held_and_every_marginal_is_a_clique_of_pairs(self) -> None:
        for seed in range(20):
            rng = np.random.default_rng(seed)
            domain = Domain.from_sizes({f"c{i}": int(rng.integers(2, 12)) for i in range(9)})
            pairs = [p for p in combinations(domain.columns, 2) if rng.random() < 0.6]

            found = combined(pairs, domain, max_cells=600)

            assert all(any(contains(c, p) for c in found) for p in pairs), seed
            assert all(p in pairs for c in found for p in combinations(c, 2)), seed
            wide = [c for c in found if len(c) > 2]
            assert all(domain.cells(c) < 600 for c in wide), seed
            covered: set[str] = set()
            for clique in wide:
                assert len(covered & set(clique)) <= 2, seed
                covered |= set(clique)
            assert [len(c) for c in wide] == sorted((len(c) for c in wide), reverse=True), seed

    @pytest.mark.thorough
    def test_dense_pairs_of_many_columns_are_merged_without_listing_all_cliques(self) -> None:
        # There are more than 10^13 cliques of twelve columns here.
        domain = Domain.from_sizes({f"c{i}": 2 for i in range(60)})

        found = combined(list(combinations(domain.columns, 2)), domain, max_cells=5000)

        assert len(found[0]) == 12
        assert all(domain.cells(c) < 5000 for c in found)
