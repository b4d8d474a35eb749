"""The learner of dp-synthpop: its spends, neighbours, and planted bugs that a replay on these must find."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.training import counts
from syntabula.record_models import noisy_trees
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.generated_rows import RakedRows
from syntabula.record_models.noisy_trees import NoisyTree
from syntabula.record_models.tree_learner import NoisyGrowth, NoisyTreeLearner
from syntabula.testing.replay import check_alike, recorded

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))
BUDGET = Budget(3.0, 1e-5)


def records(n: int = 400, seed: int = 0) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a and b are both odd."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    return EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, (a % 2) * (b % 2))))


def learned(
    table: EncodedTable, noise: NoiseSource | None = None, ledger: Ledger | None = None, **growth: Any
) -> Any:
    paid = Ledger(BUDGET) if ledger is None else ledger
    doors = Doors(Curator(MemoryEngine(table), paid, noise or SeededNoise(3)))
    learner = NoisyTreeLearner(growth=NoisyGrowth(**growth))
    return learner.learn(doors, share=Fraction(1), progress=lambda step, done: None)[0]


def replay_on_neighbours() -> None:
    """Learn a table, and replay its answers on tables with a record fewer: only the inputs of noise may differ."""
    table = records()

    def work(table: EncodedTable, noise: NoiseSource) -> list[Any]:
        model = learned(table, noise)
        facts, arrays = model.state()
        drawn = model.sample(50, np.random.default_rng(0))
        return [facts, {k: v.tolist() for k, v in arrays.items()}, [c.tolist() for c in drawn.codes]]

    first = recorded(lambda noise: work(table, noise))
    for gone in (0, 7, 211, 399):
        some = np.delete(np.arange(table.n_rows), gone)
        fewer = EncodedTable(DOMAIN, tuple(codes[some] for codes in table.codes))
        check_alike(first, recorded(lambda noise, fewer=fewer: work(fewer, noise), first.calls))


class TestLearn:
    @pytest.mark.thorough
    def test_only_the_inputs_of_noise_differ_on_neighbours(self) -> None:
        replay_on_neighbours()

    def test_it_spends_what_it_plans(self) -> None:
        ledger, learner = Ledger(BUDGET), NoisyTreeLearner()

        learned(records(), ledger=ledger)

        spent: dict[str, float] = {}
        for entry in ledger.entries:
            spent[entry.step] = spent.get(entry.step, 0.0) + float(entry.cost / ledger.budget.total)
        planned = {step.name: float(step.share) for step in learner.plan(DOMAIN, 400)}
        assert spent == pytest.approx(planned, rel=1e-6)
        assert sum(planned.values()) == pytest.approx(1)
        assert [e.step for e in ledger.entries].count("grow the tree of 'c'") == 2

    def test_one_column_takes_all_for_its_marginal(self) -> None:
        domain = Domain(("a",), (4,))
        (step,) = NoisyTreeLearner().plan(domain, 10)
        table = EncodedTable(domain, (records().column("a"),))
        doors = Doors(Curator(MemoryEngine(table), Ledger(BUDGET), SeededNoise(0)))

        model, _ = NoisyTreeLearner().learn(doors, share=Fraction(1), progress=lambda step, done: None)

        assert step.share == 1
        assert model.sample(10, np.random.default_rng(0)).n_rows == 10

    def test_rows_keep_what_columns_tell_of_each_other(self) -> None:
        made = learned(records(20_000)).sample(5_000, np.random.default_rng(0))

        a, b, c = (made.column(x).astype(int) for x in "abc")
        assert np.mean(b // 7 == np.minimum(a, 4)) > 0.85
        assert np.mean(c[(a % 2 == 0)] == 0) > 0.95

    def test_columns_named_first_are_drawn_first(self) -> None:
        learner = NoisyTreeLearner(model=ColumnTrees(first=("c",)))
        doors = Doors(Curator(MemoryEngine(records(3_000)), Ledger(BUDGET), SeededNoise(3)))

        model: Any = learner.learn(doors, share=Fraction(1), progress=lambda step, done: None)[0]

        while isinstance(model, RecodedModel | RakedRows):
            model = model.inner
        assert model._trees[0].ranks.size == 0
        assert [s.name for s in learner.plan(DOMAIN, 10)][2:] == [
            "grow the tree of 'a'",
            "grow the tree of 'b'",
        ]
        with pytest.raises(ArgumentError, match="first names column 'z'"):
            NoisyTreeLearner(model=ColumnTrees(first=("z",))).plan(DOMAIN, 10)

    def test_time_is_that_of_levels_and_of_cells_that_columns_have(self) -> None:
        learner = NoisyTreeLearner(budget=Budget(10.0, 1e-5))
        domains = [Domain.from_sizes(dict.fromkeys("abcdef", size)) for size in (2, 60)]

        few, many = (sum(step.seconds for step in learner.plan(domain, 10**6)) for domain in domains)
        short = sum(step.seconds for step in learner.plan(domains[0], 10))

        # 14 levels of five trees; cells beyond two codes a column are none.
        assert short > 14 * 1e-3
        assert few < 0.3 < many

    def test_wrong_parts_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="growth must be"):
            NoisyTreeLearner(growth="fast")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="model must be"):
            NoisyTreeLearner(model="fast")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="levels must be"):
            NoisyGrowth(levels=0)
        with pytest.raises(ArgumentError, match="crowd must be"):
            NoisyGrowth(crowd=0.0)


class TestPlantedBugs:
    def test_a_leaf_released_without_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = counts.noisy_counts

        def bare(token, noise, counts):
            noisy = right(token, noise, counts)
            noisy[:2] = counts.reveal_inside_privacy()[:2]
            return noisy

        monkeypatch.setattr(counts, "noisy_counts", bare)

        with pytest.raises(AssertionError, match=r"depends on the records|stated sensitivity"):
            replay_on_neighbours()

    def test_splits_chosen_from_exact_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[np.ndarray] = []
        right_counts, right_joined = counts._exact, noisy_trees.joined_groups

        def remembered(*asked):
            seen[:] = [right_counts(*asked)]
            return seen[0]

        def joined(tables, sigma):
            # As if leaves were split where the exact number of records is even.
            parts = [[1, tables.shape[1] - 1]] * len(tables)
            return parts if seen[0].sum() % 2 else right_joined(tables, sigma)

        monkeypatch.setattr(counts, "_exact", remembered)
        monkeypatch.setattr(noisy_trees, "joined_groups", joined)

        with pytest.raises(AssertionError, match=r"depends? on the records"):
            replay_on_neighbours()

    def test_a_column_that_is_not_charged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = NoisyTree.grow

        def grown(tree, predictor, level, ask):
            counts: list[Any] = []

            def once(splits, groups):
                # The last column's counts are taken from the table past the door.
                if tree._column != "c":
                    return ask(splits, groups)
                counts.append(splits.leaves(TABLE[0], 2) + groups[TABLE[0].column("c")])
                return np.bincount(counts[-1], minlength=splits.n_leaves * (int(groups.max()) + 1)).astype(
                    float
                )

            right(tree, predictor, level, once)

        monkeypatch.setattr(NoisyTree, "grow", grown)
        # So many that no code joins another.
        TABLE = [records(20_000)]
        ledger = Ledger(BUDGET)

        learned(TABLE[0], ledger=ledger)

        # The sum of spends shows it, which the test of the plan compares for each column.
        planned = {step.name for step in NoisyTreeLearner().plan(DOMAIN, 400)}
        assert planned - {e.step for e in ledger.entries} == {"grow the tree of 'c'"}

    def test_levels_that_each_take_the_share_of_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = NoisyTreeLearner._shares

        def greedy(self, n_columns):
            found = right(self, n_columns)
            return type(found)(found.one_way, found.dependence, found.level * 2)

        monkeypatch.setattr(NoisyTreeLearner, "_shares", greedy)

        with pytest.raises(BudgetExceededError):
            learned(records())
