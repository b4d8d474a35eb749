"""The noisy spanning tree: what it costs, what it chooses, and what the model learns from it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import tables
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.spanning_tree import ONE_WAY, PAIRS, TREE, SpanningTree

DOMAIN = Domain.from_sizes({"a": 4, "b": 4, "c": 4, "d": 3, "e": 2})
STRONG = {("a", "b"), ("b", "c")}


def rows(n: int = 5_000, seed: int = 0) -> EncodedTable:
    """Draw rows where b follows a, and c follows b; d and e stand alone."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 4, n))
    return EncodedTable(DOMAIN, (a, b, c, rng.integers(0, 3, n), rng.integers(0, 2, n)))


def curator(budget: Budget, table: EncodedTable | None = None, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(table or rows()), Ledger(budget), SeededNoise(seed))


def tree_of(model: RecodedModel) -> list[Clique]:
    facts, _ = model.inner.state()
    return [tuple(c) for c in facts["cliques"] if len(c) == 2]


def is_spanning_tree(edges: list[Clique], columns: tuple[str, ...]) -> bool:
    groups = {c: {c} for c in columns}
    for one, other in edges:
        joined = groups[one] | groups[other]
        for c in joined:
            groups[c] = joined
    return len(edges) == len(columns) - 1 and len(groups[columns[0]]) == len(columns)


class TestBudget:
    def test_it_is_spent_in_thirds(self) -> None:
        for budget in [Budget(epsilon=0.5, delta=1e-6), Budget.zcdp(0.9, 1e-6), Budget.pure(3.0)]:
            asked = curator(budget)

            SpanningTree().select(asked, PGM())

            assert asked.ledger.spent <= budget.total
            spent = {step: share for step, _, share in asked.ledger.by_step()}
            assert spent == {step: pytest.approx(1 / 3, abs=1e-9) for step in (ONE_WAY, TREE, PAIRS)}

    def test_noise_and_choices_are_those_of_the_paper(self) -> None:
        rho = 0.9
        asked = curator(Budget.zcdp(rho, 1e-6))

        SpanningTree().select(asked, PGM())

        one_way, *choices, pairs = (entry.event for entry in asked.ledger.entries)
        assert isinstance(one_way, GaussianEvent)
        assert one_way.sigma == pytest.approx(np.sqrt(3 * 5 / (2 * rho)))
        assert one_way.l2_sensitivity_squared == 5
        assert isinstance(pairs, GaussianEvent)
        assert pairs.sigma == pytest.approx(np.sqrt(3 * 4 / (2 * rho)))
        assert pairs.l2_sensitivity_squared == 4
        assert len(choices) == 4
        for choice in choices:
            assert isinstance(choice, ExponentialEvent)
            assert choice.epsilon == pytest.approx(np.sqrt(8 * rho / (3 * 4)))

    def test_a_pure_budget_draws_laplace_noise_alone(self) -> None:
        asked = curator(Budget.pure(3.0))

        SpanningTree().select(asked, PGM())

        kinds = Counter(type(entry.event) for entry in asked.ledger.entries)
        assert kinds == {LaplaceEvent: 2, ExponentialEvent: 4}

    def test_a_share_of_the_budget_is_kept_to(self) -> None:
        asked = curator(Budget.zcdp(0.9, 1e-6))

        SpanningTree().select(asked, PGM(), share=Fraction(1, 4))

        assert asked.ledger.spent <= Fraction(9, 40)
        assert float(asked.ledger.spent) == pytest.approx(0.225)

    def test_the_plan_is_what_is_spent(self) -> None:
        for sizes in [{"a": 3}, {"a": 3, "b": 2}, dict(zip("abcdef", [1, 2, 3, 4, 5, 6], strict=True))]:
            domain = Domain.from_sizes(sizes)
            rng = np.random.default_rng(0)
            table = EncodedTable(domain, tuple(rng.integers(0, n, 300) for n in domain.sizes))
            asked = curator(Budget.zcdp(0.9, 1e-6), table)

            SpanningTree().select(asked, PGM())

            planned = {step.name: float(step.share) for step in SpanningTree().plan(domain)}
            assert {step: share for step, _, share in asked.ledger.by_step()} == pytest.approx(planned)

    def test_the_plan_bounds_the_cells(self) -> None:
        one_way, tree, pairs = SpanningTree().plan(DOMAIN)

        assert one_way.cells == 4 + 4 + 4 + 3 + 2
        assert (
            tree.cells
            == sum(DOMAIN.cells(p) for p in (("a", "b"), ("a", "c"), ("b", "c"))) + 3 * 12 + 3 * 8 + 6
        )
        assert pairs.cells == pairs.noisy_cells == 16 + 16 + 16 + 12


class TestChoice:
    def test_it_is_a_tree_over_all_columns(self) -> None:
        # At this budget choices are nearly blind, so that all kinds of trees come up.
        for seed in range(10):
            model = SpanningTree(records_per_noise=None, compress_sigmas=0).select(
                curator(Budget.zcdp(1e-3, 1e-6), seed=seed), PGM()
            )

            assert is_spanning_tree(tree_of(model), DOMAIN.columns), seed

    def test_what_hangs_together_most_is_joined(self) -> None:
        # The pair (a, b) lies 6,000 from independence and (a, c) 4,800, at a choice's epsilon of 0.77: a miss
        # has odds below exp(-400).
        for seed in range(5):
            model = SpanningTree().select(curator(Budget.zcdp(0.9, 1e-6), seed=seed), PGM())

            assert set(tree_of(model)) >= STRONG, seed

    def test_pairs_are_weighed_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        weighed: list[int] = []
        right = tables.distances
        monkeypatch.setattr(tables, "distances", lambda c, e: weighed.append(len(c)) or right(c, e))

        SpanningTree().select(curator(Budget.zcdp(0.9, 1e-6)), PGM())

        assert weighed == [10]

    @pytest.mark.thorough
    def test_choices_are_blind_where_nothing_hangs_together(self) -> None:
        # Independent columns differ from independence by chance alone, far less than a choice's noise. All 10
        # pairs are then about as likely, each in 4 of 10 trees: one in no tree of 60, or in 50 of them, has
        # probability below 10 * (0.6^60 + 1e-10) = 2e-9.
        rng = np.random.default_rng(0)
        table = EncodedTable(DOMAIN, tuple(rng.integers(0, n, 40) for n in DOMAIN.sizes))
        seen: Counter[Clique] = Counter()

        for seed in range(60):
            asked = curator(Budget.zcdp(1e-4, 1e-6), table, seed)
            seen.update(tree_of(SpanningTree(records_per_noise=None, compress_sigmas=0).select(asked, PGM())))

        assert len(seen) == 10
        assert max(seen.values()) < 50


class TestModel:
    def test_without_noise_the_tree_is_learned_exactly(self) -> None:
        table = rows()

        model = SpanningTree().select(curator(Budget.none(), table), PGM())

        pairs = tree_of(model)
        for exact, learned in zip(MemoryEngine(table).counts(pairs), model.marginals(pairs), strict=True):
            assert np.abs(exact - learned).sum() / 2 / table.n_rows < 0.005

    def test_the_papers_way_merges_all_codes_that_noise_drowns(self) -> None:
        # A third of the codes of column a are held by nobody, at a noise of 20 records.
        domain = Domain.from_sizes({"a": 30, "b": 2})
        rng = np.random.default_rng(1)
        table = EncodedTable(domain, (rng.integers(0, 10, 5_000), rng.integers(0, 2, 5_000)))

        model = SpanningTree(records_per_noise=None).select(curator(Budget.zcdp(0.0075, 1e-6), table), PGM())

        assert 10 <= model.inner.domain.size("a") <= 12
        assert model.domain == domain
        (learned,) = model.marginals([("a",)])
        assert learned.shape == (30,)
        np.testing.assert_allclose(learned[10:], learned[10])  # divided equally
        assert learned[:10].min() > learned[10:].max()

    def test_merged_codes_come_back_next_to_where_they_were(self) -> None:
        # The first codes hold all records, so that what is merged of the others has few.
        domain = Domain.from_sizes({"a": 30, "b": 2})
        rng = np.random.default_rng(1)
        table = EncodedTable(domain, (rng.integers(0, 10, 5_000), rng.integers(0, 2, 5_000)))

        model = SpanningTree().select(curator(Budget.zcdp(0.0075, 1e-6), table), PGM())

        assert model.inner.domain.size("a") < 30
        (learned,) = model.marginals([("a",)])
        assert learned.shape == (30,)
        assert learned[:10].sum() > 0.9 * learned.sum()

    def test_nothing_is_merged_if_switched_off(self) -> None:
        model = SpanningTree(records_per_noise=None, compress_sigmas=0).select(
            curator(Budget.zcdp(0.001, 1e-6)), PGM()
        )

        assert model.inner.domain == DOMAIN

    def test_one_column_gets_the_whole_budget(self) -> None:
        table = EncodedTable(Domain.from_sizes({"a": 3}), (np.array([0, 1, 1, 2] * 50),))
        asked = curator(Budget.zcdp(0.9, 1e-6), table)

        SpanningTree().select(asked, PGM())

        assert [entry.step for entry in asked.ledger.entries] == [ONE_WAY]
        assert float(asked.ledger.spent) == pytest.approx(0.9)

    def test_two_columns_have_one_possible_tree_which_is_paid_for_all_the_same(self) -> None:
        # Whether a choice is paid for may not depend on anything but the plan.
        domain = Domain.from_sizes({"a": 3, "b": 2})
        rng = np.random.default_rng(0)
        table = EncodedTable(domain, tuple(rng.integers(0, n, 300) for n in domain.sizes))
        asked = curator(Budget.zcdp(0.9, 1e-6), table)

        model = SpanningTree().select(asked, PGM())

        assert tree_of(model) == [("a", "b")]
        assert [entry.step for entry in asked.ledger.entries] == [ONE_WAY, TREE, PAIRS]

    def test_the_steps_are_reported_to_the_end(self) -> None:
        seen: list[tuple[str, float]] = []

        SpanningTree().select(
            curator(Budget.zcdp(0.9, 1e-6)), PGM(), progress=lambda step, done: seen.append((step, done))
        )

        parts = [done for _, done in seen]
        assert parts == sorted(parts)
        assert parts[-1] == 1.0
        assert {ONE_WAY, TREE, PAIRS} <= {step for step, _ in seen}


def test_a_senseless_threshold_is_refused_before_anything_is_spent() -> None:
    for value in ["many", -1, float("nan"), None]:
        with pytest.raises(ArgumentError, match="compress_sigmas"):
            SpanningTree(compress_sigmas=value)
