"""The adaptive selector: what it may choose, what it spends, and that it learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable, Workload, code_dtype
from syntabula.marginals.measurement import Measurement
from syntabula.models.junction_tree.tree import junction_tree_memory_mb
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.adaptive import CHOOSE, MEASURE, ONE_WAY, Adaptive, informative
from syntabula.select.exact_rounds import sampling_error

DOMAIN = Domain.from_sizes({"a": 4, "b": 4, "c": 4, "d": 3, "e": 2})
PAIRS = list(combinations(DOMAIN.columns, 2))


def rows(n: int = 5000, seed: int = 0) -> EncodedTable:
    """Draw rows where b follows a, and c follows b; d and e stand alone."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 4, n))
    columns = (a, b, c, rng.integers(0, 3, n), rng.integers(0, 2, n))
    return EncodedTable(
        DOMAIN, tuple(x.astype(code_dtype(s)) for x, s in zip(columns, DOMAIN.sizes, strict=True))
    )


def curator(budget: Budget, table: EncodedTable | None = None, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(table or rows()), Ledger(budget), SeededNoise(seed))


class OneByOne(PGM):
    """Finds the size of each tree on its own."""

    def memory_with_each_mb(self, cliques: Sequence[Clique], candidates: Sequence[Clique]) -> list[float]:
        return [self.memory_mb([*cliques, candidate]) for candidate in candidates]


class TestBudget:
    @pytest.mark.thorough
    def test_all_of_it_is_spent_and_no_more(self) -> None:
        for budget in [Budget(epsilon=0.1, delta=1e-6), Budget.zcdp(1.0, 1e-6), Budget.pure(3.0)]:
            for options in [{}, {"max_rounds": 3}, {"one_way_share": 0.3}, {"rounds_per_column": 2}]:
                asked = curator(budget)

                Adaptive(**options).select(asked, PGM())

                spent = asked.ledger.spent
                assert spent <= budget.total
                assert float(spent / budget.total) == pytest.approx(1.0, abs=1e-9)

    def test_a_share_of_the_budget_is_kept_to(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        Adaptive().select(asked, PGM(), share=Fraction(1, 4))

        assert float(asked.ledger.spent) == pytest.approx(0.25, abs=1e-9)

    def test_the_first_round_has_the_noise_of_the_paper(self) -> None:
        # Five columns: T = 80, sigma_0 = sqrt(80 / (2 * 0.9 * rho)), eps_0 = sqrt(8 * 0.1 * rho / 80).
        asked = curator(Budget.zcdp(1.2, 1e-6))

        Adaptive(records_per_noise=None).select(asked, PGM())

        one_way, choice, measurement = (entry.event for entry in asked.ledger.entries[:3])
        assert isinstance(one_way, GaussianEvent)
        assert isinstance(choice, ExponentialEvent)
        assert isinstance(measurement, GaussianEvent)
        assert one_way.sigma == pytest.approx(np.sqrt(80 / (2 * 0.9 * 1.2)))
        assert one_way.l2_sensitivity_squared == 5
        assert choice.epsilon == pytest.approx(np.sqrt(8 * 0.1 * 1.2 / 80))
        assert measurement.sigma == pytest.approx(one_way.sigma)

    def test_annealing_halves_the_noise_for_four_times_the_cost(self) -> None:
        asked = curator(Budget.zcdp(1.2, 1e-6))

        Adaptive().select(asked, PGM())

        # The last round spends what is left, so its noise is no power of two.
        sigmas = [e.event.sigma for e in asked.ledger.entries if e.step == MEASURE][:-1]
        ratios = np.divide(sigmas[:-1], sigmas[1:])
        assert set(np.round(ratios, 6)) <= {1.0, 2.0}
        assert 2.0 in np.round(ratios, 6)

    def test_a_round_that_finds_more_than_noise_leaves_the_noise_as_it_is(self) -> None:
        # The first pair is thousands of records from independence, and its 16 cells have noise of about 6 each.
        asked = curator(Budget.zcdp(1.2, 1e-6))

        Adaptive(max_rounds=3).select(asked, PGM())

        first, second, _ = (e.event.sigma for e in asked.ledger.entries if e.step == MEASURE)
        assert second == first

    def test_pure_budgets_anneal_too(self) -> None:
        asked = curator(Budget.pure(10.0))

        Adaptive().select(asked, PGM())

        scales = [e.event.scale for e in asked.ledger.entries if isinstance(e.event, LaplaceEvent)][1:-1]
        assert set(np.round(np.divide(scales[:-1], scales[1:]), 6)) <= {1.0, 2.0}

    def test_the_number_of_rounds_can_be_held(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        Adaptive(max_rounds=4).select(asked, PGM())

        assert Counter(e.step for e in asked.ledger.entries) == {ONE_WAY: 1, CHOOSE: 4, MEASURE: 4}

    def test_the_plan_is_what_is_spent(self) -> None:
        asked = curator(Budget.zcdp(1.0, 1e-6))

        Adaptive().select(asked, PGM())

        planned = {step.name: float(step.share) for step in Adaptive().plan(DOMAIN)}
        spent = {step: share for step, _, share in asked.ledger.by_step()}
        assert planned.keys() == spent.keys()
        for step, share in planned.items():
            assert spent[step] == pytest.approx(share, abs=1e-9)


class TestChoice:
    def test_the_strong_pairs_are_found(self) -> None:
        asked = curator(Budget.zcdp(1.2, 1e-6))

        model = Adaptive().select(asked, PGM())

        held = set(model.cliques)
        assert any({"a", "b"} <= set(c) for c in held)
        assert any({"b", "c"} <= set(c) for c in held)

    def test_the_model_stays_within_its_size(self) -> None:
        limit = junction_tree_memory_mb(DOMAIN, [("a", "b"), ("c",)])

        model = Adaptive(max_model_mb=limit).select(curator(Budget.zcdp(1.2, 1e-6)), PGM())

        assert junction_tree_memory_mb(DOMAIN, model.cliques) <= limit

    @pytest.mark.thorough
    def test_sizes_found_together_make_the_same_choices_as_sizes_found_one_by_one(self) -> None:
        limit = 3 * junction_tree_memory_mb(DOMAIN, [("a", "b"), ("c",)])  # so small that it rules some out
        together, one_by_one = curator(Budget.zcdp(1.2, 1e-6)), curator(Budget.zcdp(1.2, 1e-6))

        model = Adaptive(max_model_mb=limit).select(together, PGM())
        other = Adaptive(max_model_mb=limit).select(one_by_one, OneByOne())

        assert together.ledger.entries == one_by_one.ledger.entries
        for found, expected in zip(model.marginals(PAIRS), other.marginals(PAIRS), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_laplace_noise_is_deducted_with_its_mean(self, monkeypatch: pytest.MonkeyPatch) -> None:
        deducted: list[Sequence[float]] = []
        asked_of: list[Sequence[Clique]] = []
        choose = Curator.choose

        def watched(self: Curator, candidates: Sequence[Clique], *args: Any, **options: Any) -> int:
            asked_of.append(candidates)
            deducted.append(options["penalties"])
            return choose(self, candidates, *args, **options)

        monkeypatch.setattr(Curator, "choose", watched)
        asked = curator(Budget.pure(3.0))

        Adaptive(records_per_noise=None).select(asked, PGM())

        # The mean size of Laplace noise is its scale; that of normal noise of the same variance is 1.13 times that.
        scale = next(e.event.scale for e in asked.ledger.entries if e.step == MEASURE)
        assert deducted[0] == pytest.approx([scale * DOMAIN.cells(c) for c in asked_of[0]], rel=0.01)

    def test_a_candidate_weighs_what_the_workload_gains_from_its_columns(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        weighed: list[dict[Clique, float]] = []
        choose = Curator.choose

        def watched(self: Curator, candidates: Sequence[Clique], *args: Any, **options: Any) -> int:
            weighed.append(dict(zip(candidates, options["weights"], strict=True)))
            return choose(self, candidates, *args, **options)

        monkeypatch.setattr(Curator, "choose", watched)
        workload = Workload((("a", "d"), ("a", "e")), (1.0, 5.0))

        Adaptive(workload=workload, max_rounds=1).select(curator(Budget.zcdp(1.2, 1e-6)), PGM())

        assert weighed == [{("a",): 6, ("d",): 1, ("e",): 5, ("a", "d"): 7, ("a", "e"): 11}]

    def test_marginals_with_too_many_cells_are_no_candidates(self) -> None:
        model = Adaptive(max_cells=12).select(curator(Budget.zcdp(1.2, 1e-6)), PGM())

        assert all(
            DOMAIN.cells(pair) <= 12 or pair not in measured_pairs(model) for pair in combinations("abcde", 2)
        )

    def test_a_workload_says_what_may_be_measured(self) -> None:
        workload = Workload((("a", "d"), ("a", "e")), (1.0, 5.0))

        model = Adaptive(workload=workload).select(curator(Budget.zcdp(1.2, 1e-6)), PGM())

        assert measured_pairs(model) <= {("a", "d"), ("a", "e")}

    def test_a_triple_can_be_measured(self) -> None:
        table = rows()
        parity = (table.codes[3] + table.codes[4]) % 2
        xor = EncodedTable(DOMAIN, (*table.codes[:2], parity.astype(table.codes[2].dtype), *table.codes[3:]))

        model = Adaptive(workload=3, records_per_noise=None).select(
            curator(Budget.zcdp(1.2, 1e-6), xor), PGM()
        )

        assert any({"c", "d", "e"} <= set(c) for c in model.cliques)


class TestWhatSingleColumnsTell:
    ONE_WAY = (
        Measurement(("a",), np.array([400.0, 300.0, 300.0]), 5.0),
        Measurement(("constant",), np.array([1000.0]), 5.0),
        Measurement(("nearly",), np.array([988.0, 12.0]), 5.0),
        Measurement(("noise",), np.array([988.0, 9.0, -4.0, 6.0]), 5.0),
        Measurement(("rare",), np.array([900.0, 100.0]), 5.0),
    )
    SIZES = Domain.from_sizes({"a": 3, "constant": 1, "nearly": 2, "noise": 4, "rare": 2})

    def test_constant_columns_are_measured_alone(self) -> None:
        cliques = [("a",), ("constant",), ("a", "constant"), ("a", "noise"), ("a", "rare")]

        found = informative(cliques, self.ONE_WAY, 0.0, self.SIZES)

        assert found == [("a",), ("constant",), ("a", "rare")]

    def test_nearly_constant_columns_wait_until_noise_is_below_what_they_may_hide(self) -> None:
        pairs = [("a", "nearly"), ("a", "rare")]

        # Twelve records and 10 of noise elsewhere may make a distance of 88, against 6 cells.
        assert informative(pairs, self.ONE_WAY, 15.0, self.SIZES) == pairs[1:]
        assert informative(pairs, self.ONE_WAY, 14.0, self.SIZES) == pairs

    def test_a_constant_column_is_never_measured_with_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(0)
        sizes = {"a": 4, "b": 4, "one": 1, "zero": 3}
        codes = (rng.integers(0, 4, 2000), rng.integers(0, 4, 2000), np.zeros(2000, int), np.zeros(2000, int))
        domain = Domain.from_sizes(sizes)
        table = EncodedTable(domain, tuple(c.astype(code_dtype(4)) for c in codes))
        asked: list[Clique] = []
        measure = Curator.measure

        def watched(self: Curator, cliques: Sequence[Clique], **how: Any) -> list[Measurement]:
            asked.extend(cliques)
            return measure(self, cliques, **how)

        monkeypatch.setattr(Curator, "measure", watched)

        for seed in range(5):
            Adaptive().select(curator(Budget(epsilon=1.0, delta=1e-6), table, seed), PGM())

        assert [c for c in asked if len(c) > 1]
        assert not [c for c in asked if len(c) > 1 and {"one", "zero"} & set(c)]


class TestSizeLimit:
    def test_a_strong_pair_is_not_shut_out_by_the_limit_of_early_rounds(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Two columns of 40 codes that are equal, and two that hold nothing: the pair takes 13 kB, and an early round
        # allows a small part of 20 kB. Learning nothing in small pairs must not use up the budget by precise rounds.
        rng = np.random.default_rng(0)
        x = rng.integers(0, 40, 50_000)
        codes = (x, x, rng.integers(0, 2, 50_000), rng.integers(0, 2, 50_000))
        domain = Domain.from_sizes({"x": 40, "y": 40, "u": 2, "v": 2})
        table = EncodedTable(domain, tuple(c.astype(code_dtype(40)) for c in codes))
        found: dict[Clique, float] = {}
        measure = Curator.measure

        def watched(self: Curator, cliques: Sequence[Clique], **how: Any) -> list[Measurement]:
            answers = measure(self, cliques, **how)
            for answer in answers:
                found.setdefault(answer.clique, float(np.max(answer.sigma)))
            return answers

        monkeypatch.setattr(Curator, "measure", watched)

        asked = curator(Budget(epsilon=1.0, delta=1e-6), table)
        Adaptive(max_model_mb=0.02, records_per_noise=None).select(asked, PGM())

        first = next(e.event for e in asked.ledger.entries if e.step == MEASURE)
        assert isinstance(first, GaussianEvent)
        assert found["x", "y"] == pytest.approx(first.sigma)


class TestMerging:
    WIDE = Domain.from_sizes({"a": 60, "b": 60})

    def related(self) -> EncodedTable:
        """Two columns of 60 codes, bins of normal numbers with correlation 0.9."""
        rng = np.random.default_rng(0)
        first, second = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 4000).T
        codes = (np.clip((x + 4) * 60 / 8, 0, 59).astype(np.uint8) for x in (first, second))
        return EncodedTable(self.WIDE, tuple(codes))

    @pytest.mark.thorough
    def test_a_pair_that_noise_would_drown_is_learned_from_merged_codes(self) -> None:
        # Without merging the pair's 3,600 cells are not worth their noise; five seeds, and the distances are
        # 0.3 and 0.6, many times their spread.
        table = self.related()
        (exact,) = MemoryEngine(table).counts([("a", "b")])
        distances = {}
        for least in (None, 4.0):
            models = [
                Adaptive(records_per_noise=least).select(curator(Budget.zcdp(0.02, 1e-6), table, seed), PGM())
                for seed in range(5)
            ]
            distances[least] = [
                np.abs(m.marginals([("a", "b")])[0] - exact).sum() / 2 / table.n_rows for m in models
            ]

        assert max(distances[4.0]) < 0.8 * min(distances[None])

    def test_merged_codes_come_back_in_the_rows(self) -> None:
        table = self.related()

        model = Adaptive().select(curator(Budget.zcdp(0.02, 1e-6), table), PGM())
        sampled = model.sample(4000, np.random.default_rng(0))

        assert isinstance(model, RecodedModel)
        assert sampled.domain == self.WIDE
        assert np.unique(sampled.column("a")).size > model.inner.domain.size("a")

    def test_columns_are_counted_again_where_much_is_merged(self) -> None:
        asked = curator(Budget.zcdp(0.02, 1e-6), self.related())

        Adaptive().select(asked, PGM())

        spent = sum(e.cost for e in asked.ledger.entries if e.step == ONE_WAY)
        assert asked.ledger.allowance is not None
        assert float(spent / asked.ledger.allowance) == pytest.approx(3 / 10)

    def test_columns_that_had_as_much_are_counted_once(self) -> None:
        for rounds_per_column in [2, 3]:
            asked = curator(Budget.zcdp(0.02, 1e-6), self.related())

            Adaptive(rounds_per_column=rounds_per_column).select(asked, PGM())

            assert [e.step for e in asked.ledger.entries].count(ONE_WAY) == 1

    def test_columns_asked_for_alone_keep_their_codes(self) -> None:
        model = Adaptive(workload=1).select(curator(Budget.zcdp(0.02, 1e-6), self.related()), PGM())

        assert isinstance(model, PGM)


class TestAccuracy:
    @pytest.mark.thorough
    def test_without_noise_all_pairs_are_learned(self) -> None:
        table = rows()

        model = Adaptive().select(curator(Budget.none(), table), PGM())

        pairs = list(combinations(DOMAIN.columns, 2))
        for exact, learned in zip(MemoryEngine(table).counts(pairs), model.marginals(pairs), strict=True):
            # What is left is within the error that a sample of as many records would have.
            assert np.abs(exact - learned).sum() < 1.01 * sampling_error(learned)

    def test_it_beats_independence_where_columns_hang_together(self) -> None:
        # The pair (a, b) differs from independence by a TVD of 0.6; noise of sigma below 10 on 5,000 rows
        # cannot hide that: a wrong outcome is a many-sigma event, far below 1e-6.
        table = rows()

        model = Adaptive().select(curator(Budget.zcdp(1.0, 1e-6), table), PGM())

        (exact,), (learned,) = MemoryEngine(table).counts([("a", "b")]), model.marginals([("a", "b")])
        assert np.abs(exact - learned).sum() / 2 / table.n_rows < 0.1

    def test_one_column_gets_the_whole_budget(self) -> None:
        domain = Domain.from_sizes({"a": 3})
        table = EncodedTable(domain, (np.array([0, 1, 1, 2] * 50, dtype=np.uint8),))
        asked = curator(Budget.zcdp(1.0, 1e-6), table)

        Adaptive().select(asked, PGM())

        assert [e.step for e in asked.ledger.entries] == [ONE_WAY]
        assert float(asked.ledger.spent) == pytest.approx(1.0, abs=1e-9)


class TestArguments:
    def test_senseless_options_are_refused(self) -> None:
        cases = [
            {"workload": 0},
            {"workload": "pairs"},
            {"max_model_mb": 0},
            {"max_cells": 0},
            {"rounds_per_column": 0},
            {"max_rounds": 0},
            {"measure_share": 1},
            {"one_way_share": 0.0},
        ]
        for options in cases:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                Adaptive(**options)  # type: ignore[arg-type]

    def test_the_steps_are_reported(self) -> None:
        seen: list[tuple[str, float]] = []

        Adaptive(max_rounds=2).select(
            curator(Budget.zcdp(1.0, 1e-6)), PGM(), progress=lambda step, done: seen.append((step, done))
        )

        parts = [done for _, done in seen]
        assert parts == sorted(parts)
        assert parts[-1] == 1.0


def measured_pairs(model: PGM) -> set[tuple[str, ...]]:
    facts, _ = model.state()
    return {tuple(c) for c in facts["cliques"] if len(c) == 2}
