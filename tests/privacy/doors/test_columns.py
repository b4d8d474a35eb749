"""The door to a raw ordered column: exact answers without privacy, paid and noisy ones with it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from syntabula.bins.uniform import UniformBins
from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.mechanisms import Node
from syntabula.privacy.noise import SeededNoise

WHOLE = Fraction(1)
BOTH = [Budget(epsilon=1.0, delta=1e-5, accounting=accounting) for accounting in ("zcdp", "gdp")]


def curator(points, budget=None, *, n_missing: int = 0, seed: int = 0) -> tuple[ColumnCurator, Ledger]:
    ledger = Ledger(budget or Budget.none())
    column = ColumnCurator(np.asarray(points), ledger, SeededNoise(seed), n_missing=n_missing)
    return column, ledger


class TestExactAnswers:
    def test_cells_are_closed_on_the_left_and_the_outer_ones_hold_what_lies_outside(self):
        column, _ = curator([-5.0, 0.0, 0.5, 1.0, 2.0, 9.0])

        answer = column.histogram([0.0, 1.0, 2.0, 3.0], share=WHOLE, step="s")

        assert answer.values.tolist() == [3, 1, 2]

    def test_missing_values_are_one_more_cell(self):
        column, _ = curator([1, 2], n_missing=7)

        assert column.histogram([0, 5], share=WHOLE, step="s", count_missing=True).values.tolist() == [2, 7]

    def test_integers_are_exact_at_the_ends_of_64_bits(self):
        for points in [
            np.array([2**64 - 1, 2**63, 5], dtype=np.uint64),
            np.array([-(2**63), 2**63 - 1, 0], dtype=np.int64),
        ]:
            column, _ = curator(points)
            edges = [-(2**63), -1, 6, 2**63 - 1, 2**63 + 1, 2**64 - 1, 2**64]

            counts = column.histogram(edges, share=WHOLE, step="s").values

            exact = [int(p) for p in points]
            assert counts.tolist() == [sum(a <= x < b for x in exact) for a, b in itertools.pairwise(edges)]

    def test_sums_of_places_are_those_of_the_cell_or_of_the_column(self):
        column, _ = curator([0.0, 0.5, 1.0, 1.5])

        of_cell = column.sums([0.0, 1.0, 2.0], power=1, of="cell", share=WHOLE, step="s").values
        of_column = column.sums([0.0, 1.0, 2.0], power=1, of="column", share=WHOLE, step="s").values
        squares = column.sums([0.0, 1.0, 2.0], power=2, of="cell", share=WHOLE, step="s").values

        assert of_cell.tolist() == [0.5, 0.5]
        assert of_column.tolist() == [0.25, 1.25]
        assert squares.tolist() == [0.25, 0.25]

    @pytest.mark.parametrize(("of", "power"), [("cell", 1), ("column", 1), ("column", 2)])
    @pytest.mark.parametrize("ends", [(-1.7e308, 1.7e308), (0.0, 5e-324), (-1e-320, 1e-320), (1.0, 1e300)])
    def test_no_value_adds_more_than_one_to_a_sum_however_wide_or_narrow_the_bounds(self, ends, power, of):
        low, high = ends
        edges = UniformBins(4).bins(low, high, integer=False).edges
        others = [low, low, high / 3]

        def sums(points: list[float]) -> np.ndarray:
            return curator(points)[0].sums(edges, power=power, of=of, share=WHOLE, step="s").values

        without = sums(others)
        for value in (low, low / 2 + high / 2, high, math.inf, -math.inf):
            added = sums([*others, value]) - without
            assert (added >= 0).all()
            assert added.sum() <= 1
        assert (sums([*others, high]) - without).sum() == 1

    def test_edges_that_do_not_ascend_are_refused_as_a_value_would_count_in_several_cells(self):
        for edges in ([0, 5, 3, 8], [5.0, 0.0], [0.0, math.nan, 1.0], [1]):
            column, _ = curator([4])
            with pytest.raises(ArgumentError, match="ascending"):
                column.histogram(edges, share=WHOLE, step="s")

    def test_other_sums_are_refused_as_a_value_could_add_more_than_one(self):
        for power, of in [(-1, "cell"), (0.5, "cell"), (1, "bin")]:
            column, _ = curator([0.5])

            with pytest.raises(ArgumentError, match="power must be"):
                column.sums([0.0, 1.0], power=power, of=of, share=WHOLE, step="s")

    def test_a_cell_without_a_width_has_no_places(self):
        column, _ = curator([1.0])

        with pytest.raises(ArgumentError, match="width"):
            column.sums([1.0, 1.0], power=1, of="cell", share=WHOLE, step="s")

    def test_quantiles_without_privacy_are_those_of_the_values(self):
        column, _ = curator(np.arange(1000))
        edges = list(range(1001))

        chosen = column.quantiles(edges, [Fraction(1, 4), Fraction(1, 2)], share=WHOLE, step="s")

        assert chosen == [250, 500]

    def test_quantiles_ascend_however_much_noise_there_is(self):
        column, _ = curator(np.arange(50), Budget.pure(0.01))
        fractions = [Fraction(i, 20) for i in range(1, 20)]

        chosen = column.quantiles(list(range(0, 1001, 5)), fractions, share=WHOLE, step="s")

        assert chosen == sorted(chosen)
        assert 0 <= chosen[0] < chosen[-1] < 200

    def test_fractions_that_do_not_ascend_are_refused_and_cost_nothing(self):
        column, ledger = curator(np.arange(50), Budget.pure(1.0))

        with pytest.raises(ArgumentError, match="ascend"):
            column.quantiles([0, 50], [Fraction(1, 2), Fraction(1, 4)], share=WHOLE, step="s")

        assert not ledger.entries

    def test_the_window_without_privacy_is_the_one_that_lacks_least_for_its_merit(self):
        column, _ = curator([*range(10), 50])
        windows = [(0, 100), (0, 50), (0, 10), (10, 20)]

        merits = [0.0, 1.0, 2.0, 2.0]
        chosen = column.window(
            windows, enough=11, merits=merits, log_weights=[0.0] * 4, share=WHOLE, step="s"
        )

        assert windows[chosen] == (0, 10)

    def test_a_tree_without_privacy_splits_where_more_than_the_threshold_lies(self):
        column, _ = curator([0, 0, 0, 1, 7])

        leaves = column.tree(Node(0, 8), threshold=2, most_leaves=8, share=WHOLE, step="s")

        assert [(n.low, n.high) for n in leaves] == [(0, 1), (1, 2), (2, 4), (4, 8)]


class TestPayment:
    def test_each_answer_costs_its_share_and_no_more(self):
        for budget in [*BOTH, Budget.pure(1.0)]:
            column, ledger = curator(np.arange(500.0), budget)
            share = Fraction(1, 5)
            edges = np.linspace(0, 500, 11).tolist()

            column.histogram(edges, share=share, step="a")
            column.sums(edges, power=1, of="cell", share=share, step="b")
            column.quantiles(edges, [Fraction(1, 3), Fraction(2, 3)], share=share, step="c")
            column.tree(Node(0.0, 500.0), threshold=10, most_leaves=20, share=share, step="d")
            halves = [(0.0, 250.0), (250.0, 500.0)]
            column.window(halves, enough=9, merits=[0.0, 0.0], log_weights=[0.0, 0.0], share=share, step="e")

            spent = [part for _, _, part in ledger.by_step()]
            assert [step for step, _, _ in ledger.by_step()] == ["a", "b", "c", "d", "e"]
            assert all(float(share) * 0.999 < part <= float(share) for part in spent)

    def test_nothing_is_answered_beyond_the_budget(self):
        column, _ = curator([1.0, 2.0], Budget.pure(1.0))
        column.histogram([0.0, 3.0], share=WHOLE, step="a")

        with pytest.raises(BudgetExceededError):
            column.histogram([0.0, 3.0], share=Fraction(1, 100), step="b")

    def test_a_split_share_keeps_the_ratio_of_the_epsilons(self):
        column, _ = curator([1.0], BOTH[0])

        parts = column.split(Fraction(1, 2), (1.0, 0.5))

        assert sum(parts) == Fraction(1, 2)
        assert column.pure_epsilon(parts[0]) / column.pure_epsilon(parts[1]) == pytest.approx(2.0)


class TestSecrecy:
    def test_its_repr_shows_nothing(self):
        column, _ = curator([1, 2, 3])

        assert repr(column) == "ColumnCurator()"
        assert all("3" not in repr(part) for part in vars(column).values() if "Sensitive" in repr(part))

    def test_other_types_are_refused(self):
        with pytest.raises(ArgumentError, match="float64"):
            curator(np.array(["a"], dtype=object))


class TestPrivateTree:
    def test_a_tree_costs_the_same_whatever_its_depth(self):
        # One value a million times: the path to it is as deep as it gets.
        column, ledger = curator(np.zeros(1_000_000), Budget.pure(1.0))

        leaves = column.tree(Node(0.0, 1.0), threshold=0, most_leaves=100, share=WHOLE, step="s")

        assert max(n.depth for n in leaves) == 24
        assert float(ledger.spent) == pytest.approx(1.0)

    def test_there_are_never_more_leaves_than_allowed(self):
        column, _ = curator(np.random.default_rng(0).random(100_000), Budget.pure(1.0))

        for most in (1, 2, 7, 50):
            leaves = column.tree(
                Node(0.0, 1.0), threshold=0, most_leaves=most, share=Fraction(1, 8), step="s"
            )
            assert len(leaves) <= most
            assert [n.low for n in leaves[1:]] == [n.high for n in leaves[:-1]]


class TestFrequent:
    BUDGET = Budget.zcdp(1.0, 1e-5).with_failure_delta(Fraction(1, 10**6))

    def released(self, points: Any, most: int, journal: Any = None, budget: Any = None) -> Any:
        column = ColumnCurator(np.array(points), Ledger(budget or self.BUDGET, journal), SeededNoise(0))
        return column.frequent(most, share=1, delta=Fraction(1, 10**6), step="s")

    def test_frequent_values_ascend_with_their_counts(self) -> None:
        for points in ([7.5] * 300 + [-1.0] * 500 + [2.0], [7] * 300 + [-1] * 500 + [2]):
            values, counts = self.released(points, 10)

            assert values == [-1, type(points[0])(7.5)]
            # Noise of standard deviation .71; 6 of them are below 1e-6.
            assert np.allclose(counts, [500, 300], atol=6)

    def test_the_largest_are_taken_if_there_are_more(self) -> None:
        values, _ = self.released([1.0] * 100 + [2.0] * 300 + [3.0] * 200, 2)

        assert values == [2.0, 3.0]

    def test_values_of_fewer_records_than_the_least_draw_no_noise_and_need_more_to_pass(self) -> None:
        def found(*counts: int, least: int) -> list[float]:
            points = np.repeat(np.arange(float(len(counts))), counts)
            noise = SeededNoise(0)
            column = ColumnCurator(points, Ledger(self.BUDGET), noise)
            return column.frequent(9, share=1, delta=Fraction(1, 10**6), step="s", least=least)

        # The threshold is 1 + .71 sqrt(2 ln 10^6) = 4.7 above what is taken off; noise beyond 4.3 is below 1e-6.
        assert found(12, 300, least=1)[0] == [0.0, 1.0]
        assert found(12, 300, least=12)[0] == [1.0]
        alone, others = found(300, least=100), found(300, *[99] * 50, least=100)
        assert alone[1].tolist() == others[1].tolist()
        assert np.allclose(alone[1], 300, atol=6)

    def test_public_values_are_released_too_in_order(self) -> None:
        for points in ([7.5] * 300 + [-1.0] * 500 + [2.0], [7] * 300 + [-1] * 500 + [2]):
            column = ColumnCurator(np.array(points), Ledger(self.BUDGET), SeededNoise(0))
            ask = partial(column.frequent, share=1, delta=Fraction(1, 10**6), step="s", least=3)
            values, counts = ask(1, public=[-1, 0, 2])

            # Of the others one is taken. Values below the least have their noisy counts if they are public.
            assert values == [-1, 0, 2, type(points[0])(7.5)]
            assert np.allclose(counts, [500, 0, 1, 300], atol=6)

    def test_a_resumed_run_gets_the_same_values(self) -> None:
        journal = MemoryJournal()
        first = self.released([0.0] * 100 + [2.5] * 300, 5, journal)
        again = Ledger(self.BUDGET, journal, replay_from=0)
        column = ColumnCurator(np.array([1.0] * 900), again, SeededNoise(1))

        values, counts = column.frequent(5, share=1, delta=Fraction(1, 10**6), step="s")

        assert (values, counts.tolist()) == (first[0], first[1].tolist())

    def test_without_privacy_counts_are_exact(self) -> None:
        values, counts = self.released([0.0] * 3 + [2.5] * 2 + [9.0], 5, budget=Budget.none())

        assert (values, counts.tolist()) == ([0.0, 2.5], [3, 2])
