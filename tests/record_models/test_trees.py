"""Trees: the leaves of scikit-learn's own, donors by brute force, and arrays that are no tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.marginals.splits import node_of
from syntabula.record_models.trees import MOST_CLASSES, Tree, grow

pytest.importorskip("sklearn")

SIZES = (9, 30)
OPTIONS: dict[str, Any] = {"least_leaf": 5, "least_split": 15, "complexity": 1e-8, "seed": 0}


def records(n: int = 2_000) -> tuple[list[np.ndarray], np.ndarray]:
    """A predictor without an order, one with, and a column near 2 b for some codes of a, and near 60 - 2 b for others."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, n), rng.integers(0, 30, n)
    target = np.where(np.isin(a, (1, 4, 7)), 2 * b, 60 - 2 * b) + rng.integers(0, 3, n)
    return [a.astype(np.uint8), b.astype(np.uint8)], target.astype(np.uint8)


def grown(*, ordered: bool, **options: Any) -> Tree:
    predictors, target = records()
    return grow(
        target,
        63,
        predictors,
        SIZES,
        ordered=ordered,
        ordered_predictors=(False, True),
        **(OPTIONS | options),
    )


class TestLeaves:
    def test_they_hold_no_fewer_records_than_asked_for_and_all_together(self) -> None:
        for least in (5, 40):
            tree = grown(ordered=True, least_leaf=least, least_split=3 * least)
            leaves = tree.nodes[tree.nodes[:, 0] == -1]

            held = [tree.counts[first:last].sum() for first, last in leaves[:, 2:]]

            assert min(held) >= least
            assert sum(held) == 2_000

    def test_they_are_those_of_scikit_learn_on_the_same_ranks_and_their_squares(self) -> None:
        from sklearn.tree import DecisionTreeRegressor

        predictors, target = records()
        tree = grown(ordered=True)
        seen = np.stack([tree.ranks[:9][predictors[0]], tree.ranks[9:][predictors[1]]], 1)
        shares = np.bincount(target, minlength=63) / 2_000
        ranks = (np.cumsum(shares) - shares / 2)[target]
        # Both have a variance of one where ranks are even; a spread counts as half.
        told = np.stack([(ranks - 0.5) * 12**0.5, ((ranks - 0.5) ** 2 - 1 / 12) * 180**0.5 * 0.5**0.5], 1)
        other = DecisionTreeRegressor(
            min_samples_leaf=5,
            min_samples_split=15,
            min_impurity_decrease=1e-8 * told.var(0).mean(),
            random_state=0,
        ).fit(seen, told)

        assert (node_of(tree.nodes, tree.ranks, predictors, SIZES, 2_000) == other.apply(seen)).all()

    def test_a_split_tells_wide_from_narrow_where_means_are_the_same(self) -> None:
        a = np.repeat([0, 1], 20).astype(np.uint8)
        target = np.r_[20:40, 0:10, 50:60].astype(np.uint8)

        tree = grow(target, 60, [a], [2], ordered=True, ordered_predictors=[True], **OPTIONS)

        drawn = tree.draw([np.zeros(100, np.uint8)], [2], 100, np.random.default_rng(0))
        assert len(tree.nodes) == 3
        assert 20 <= drawn.min() <= drawn.max() < 40

    def test_a_predictor_without_an_order_is_split_by_what_it_says_of_the_column(self) -> None:
        rng = np.random.default_rng(0)
        a = rng.integers(0, 9, 2_000).astype(np.uint8)
        target = np.isin(a, (1, 4, 7)).astype(np.uint8)

        tree = grow(target, 2, [a], [9], ordered=False, ordered_predictors=[False], **OPTIONS)

        assert len(tree.nodes) == 3
        assert {*np.argsort(tree.ranks)[-3:]} == {1, 4, 7}

    def test_rare_codes_of_many_are_drawn_though_no_split_tells_them_apart(self) -> None:
        rng = np.random.default_rng(0)
        a = rng.integers(0, 2, 4_000).astype(np.uint8)
        target = (a * np.uint16(500) + rng.integers(0, 300, 4_000)).astype(np.uint16)

        tree = grow(target, 1_000, [a], [2], ordered=False, ordered_predictors=[False], **OPTIONS)
        drawn = tree.draw([a], [2], 4_000, rng)

        assert {*drawn.tolist()} <= {*target.tolist()}
        assert np.unique(drawn).size > 4 * MOST_CLASSES
        assert np.mean(drawn // 500 == a) > 0.9

    def test_one_code_or_no_predictor_gives_a_single_leaf(self) -> None:
        predictors, target = records()
        same = grow(
            0 * target, 63, predictors, SIZES, ordered=True, ordered_predictors=(False, True), **OPTIONS
        )
        alone = grow(target, 63, [], [], ordered=True, ordered_predictors=[], **OPTIONS)

        assert len(same.nodes) == len(alone.nodes) == 1
        assert (alone.counts == np.bincount(target)[np.unique(target)]).all()


def in_all_as(held: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the distributions of leaves [leaves, codes], of which all together have the codes that records have."""
    sizes, codes = held.sum(1, keepdims=True), np.bincount(target, minlength=held.shape[1])
    for _ in range(1_000):
        held = held * codes / np.maximum(held.sum(0), 1e-300)
        held = held * sizes / held.sum(1, keepdims=True)
    return held / sizes


class TestRareCodes:
    def test_they_share_their_part_of_a_leaf_as_in_the_node_above(self) -> None:
        # Of a's two values the first has one record of code 2, and none of code 3.
        a = np.repeat([0, 1], [10, 40]).astype(np.uint8)
        target = np.repeat([0, 1, 2, 1, 2, 3], [6, 3, 1, 20, 5, 15]).astype(np.uint8)
        options = OPTIONS | {"least_leaf": 10, "least_split": 50}

        tree = grow(target, 4, [a], [2], ordered=False, ordered_predictors=[True], least_code=2, **options)

        every = np.arange(4)
        first, second = (tree.shares([np.full(4, value, np.uint8)], [2], every, every) for value in (0, 1))
        assert len(tree.nodes) == 3
        wanted = np.array([[6, 3, 6 / 21, 15 / 21], [0, 20, 5, 15]])
        np.testing.assert_allclose(np.stack([first, second]), in_all_as(wanted, target), atol=1e-3)
        # Raking moves little: what the back-off gave to code 3 it takes from the leaf that had it.
        np.testing.assert_allclose(first, [0.6, 0.3, 0.1 * 6 / 21, 0.1 * 15 / 21], atol=0.01)

    def test_each_code_is_as_frequent_as_among_the_records(self) -> None:
        # Of ten codes the first has four records of five, so that others are rare in nearly all leaves.
        rng = np.random.default_rng(0)
        predictors = [rng.integers(0, 30, 3_000).astype(np.uint8) for _ in range(3)]
        target = np.where(rng.random(3_000) < 0.8, 0, rng.integers(1, 10, 3_000)).astype(np.uint8)
        options = OPTIONS | {"least_leaf": 2, "least_split": 4}

        tree = grow(
            target,
            10,
            predictors,
            [30] * 3,
            ordered=False,
            ordered_predictors=[True] * 3,
            least_code=3,
            **options,
        )

        chances = [
            tree.shares(predictors, [30] * 3, np.full(3_000, code), np.full(3_000, code)).mean()
            for code in range(10)
        ]
        np.testing.assert_allclose(chances, np.bincount(target) / 3_000, atol=0.002)

    def test_what_a_leaf_draws_is_that_of_brute_force(self) -> None:
        predictors, target = records()
        target = (target % 9).astype(np.uint8)
        arguments: dict[str, Any] = {"ordered": False, "ordered_predictors": (False, True), **OPTIONS}
        plain = grow(target, 9, predictors, SIZES, **arguments)
        tree = grow(target, 9, predictors, SIZES, least_code=3, **arguments)
        leaves = node_of(tree.nodes, tree.ranks, predictors, SIZES, 2_000)

        def shared(node: int, path: list[int]) -> np.ndarray:
            inside = np.isin(leaves, under(node))
            held = np.bincount(target[inside], minlength=9).astype(float)
            if path:
                above, rare = shared(path[-1], path[:-1]), held < 3
                held[rare] = held[rare].sum() * above[rare] / max(above[rare].sum(), 1e-300)
            return held

        def under(node: int) -> list[int]:
            below = tree.nodes[node]
            return [node] if below[0] < 0 else under(int(below[2])) + under(int(below[3]))

        def paths(node: int, path: list[int]) -> list[list[int]]:
            predictor, _, below, above = tree.nodes[node].tolist()
            if predictor < 0:
                return [[*path, node]]
            return paths(below, [*path, node]) + paths(above, [*path, node])

        every = paths(0, [])
        found = np.zeros((len(every), 9))
        for row, path in enumerate(every):
            first, last = tree.nodes[path[-1], 2:]
            found[row, tree.donors[first:last]] = tree.counts[first:last]
        wanted = np.stack([shared(path[-1], path[:-1]) for path in every])
        assert (tree.nodes[:, :2] == plain.nodes[:, :2]).all()
        assert len(every) > 20
        np.testing.assert_allclose(found / found.sum(1, keepdims=True), in_all_as(wanted, target), atol=1e-3)
        tree.check(list(SIZES), 9)

    def test_a_number_that_few_records_have_is_drawn_among_its_neighbours(self) -> None:
        # Each code of a leaf has ten records, but for one of code 5, far above the others of its leaf, and one of code 4.
        a = np.repeat([0, 1], [22, 20]).astype(np.uint8)
        target = np.repeat([0, 1, 4, 5, 2, 3], [10, 10, 1, 1, 10, 10]).astype(np.uint8)
        options = OPTIONS | {"least_leaf": 10, "least_split": 40}

        tree = grow(target, 7, [a], [2], ordered=True, ordered_predictors=[True], least_code=3, **options)

        every = np.arange(7)
        below, above = (tree.shares([np.full(7, value, np.uint8)], [2], every, every) for value in (0, 1))
        assert len(tree.nodes) == 3
        # Codes 3, 4 and 5 have twelve records, of which two are in the first leaf and ten in the second.
        np.testing.assert_allclose(
            below, np.array([10, 10, 0, 2 * 10 / 12, 2 / 12, 2 / 12, 0]) / 22, atol=1e-3
        )
        np.testing.assert_allclose(
            above, np.array([0, 0, 10, 10 * 10 / 12, 10 / 12, 10 / 12, 0]) / 20, atol=1e-3
        )
        tree.check([2], 7)

    def test_frequent_numbers_and_columns_of_many_codes_stay_as_they_are(self) -> None:
        for n_codes, ordered in ((63, True), (MOST_CLASSES + 1, False)):
            target = np.minimum(records()[1], n_codes - 1)
            trees = [
                grow(
                    target,
                    n_codes,
                    records()[0],
                    SIZES,
                    ordered=ordered,
                    ordered_predictors=(False, True),
                    least_code=least,
                    **OPTIONS,
                )
                for least in (1, 3)
            ]

            assert (trees[0].counts == trees[1].counts).all()


@pytest.mark.parametrize("ordered", [True, False])
class TestDraws:
    def test_they_follow_the_leaf(self, ordered: bool) -> None:
        predictors, target = records()
        tree = grown(ordered=ordered)
        leaves = node_of(tree.nodes, tree.ranks, predictors, SIZES, 2_000)
        busiest = np.bincount(leaves).argmax()
        same = [np.full(60_000, c[leaves == busiest][0]) for c in predictors]

        drawn = tree.draw(same, SIZES, 60_000, np.random.default_rng(0))

        wanted = np.bincount(target[leaves == busiest], minlength=63) / (leaves == busiest).sum()
        # Some standard deviations of .002 each; one in a million is 4.9 of them.
        assert np.abs(np.bincount(drawn, minlength=63) / 60_000 - wanted).max() < 0.0105

    def test_rows_of_a_leaf_share_its_donors_out(self, ordered: bool) -> None:
        predictors, target = records()
        tree = grown(ordered=ordered)
        leaves = node_of(tree.nodes, tree.ranks, predictors, SIZES, 2_000)

        drawn = tree.draw(predictors, SIZES, 2_000, np.random.default_rng(0))

        # As many rows as records are in each leaf, so that each donor's share is its count.
        for leaf in np.unique(leaves):
            assert sorted(drawn[leaves == leaf]) == sorted(target[leaves == leaf])

    def test_columns_do_not_depend_on_each_other_by_the_order_of_rows(self, ordered: bool) -> None:
        tree = grow(records()[1], 63, [], [], ordered=ordered, ordered_predictors=[], **OPTIONS)
        rng = np.random.default_rng(0)

        first, second = (tree.draw([], [], 10_000, rng) for _ in range(2))

        # A correlation of chance has a standard deviation of .01; one in a million is 4.9 of them.
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.049

    def test_shares_are_those_of_records_between_two_codes(self, ordered: bool) -> None:
        predictors, target = records()
        tree = grown(ordered=ordered)
        leaves = node_of(tree.nodes, tree.ranks, predictors, SIZES, 2_000)
        low = np.random.default_rng(1).integers(0, 63, 2_000)
        high = np.minimum(low + 9, 62)

        found = tree.shares(predictors, SIZES, low, high)

        wanted = [
            np.mean((target[leaves == leaf] >= one) & (target[leaves == leaf] <= other))
            for leaf, one, other in zip(leaves, low, high, strict=True)
        ]
        np.testing.assert_allclose(found, wanted)


class TestStoredArrays:
    def test_a_tree_is_accepted(self) -> None:
        grown(ordered=True).check(SIZES, 63)

    def test_others_are_refused(self) -> None:
        for spoil in [
            lambda t: {"nodes": t.nodes[:, :3]},
            lambda t: {"nodes": t.nodes[:0]},
            lambda t: {"nodes": _set(t.nodes, (0, 0), 2)},
            lambda t: {"nodes": _set(t.nodes, (0, 2), 0)},
            lambda t: {"nodes": _set(t.nodes, (0, 3), 10**6)},
            lambda t: {"nodes": _set(t.nodes, (-1, 3), 10**6)},
            lambda t: {"nodes": _set(t.nodes, (-1, 2), 0)},
            lambda t: {"ranks": t.ranks[1:]},
            lambda t: {"donors": t.donors[1:]},
            lambda t: {"donors": t.donors[::-1].copy()},
            lambda t: {"donors": _set(t.donors, -1, 63)},
            lambda t: {"counts": _set(t.counts, 0, 0)},
        ]:
            tree = grown(ordered=True)

            with pytest.raises(ValueError):
                replace(tree, **spoil(tree)).check(SIZES, 63)


def _set(array: np.ndarray, place: Any, value: int) -> np.ndarray:
    changed = array.copy()
    changed[place] = value
    return changed


def test_a_predictor_of_weekdays_is_seen_among_many_that_say_nothing() -> None:
    rng = np.random.default_rng(0)
    n, days = 4_000, 294
    urgent = rng.random(n) < 0.5
    day = np.where(
        urgent, rng.integers(0, days, n), rng.integers(0, days // 7, n) * 7 + rng.integers(0, 5, n)
    )
    others = [rng.integers(0, 50, n).astype(np.uint8) for _ in range(9)]
    predictors, sizes = [urgent.astype(np.uint8), *others], [2, *[50] * 9]
    weekdays = np.eye(7)[np.arange(days) % 7]

    def at_weekends(told: np.ndarray | None) -> float:
        tree = grow(
            day.astype(np.uint16),
            days,
            predictors,
            sizes,
            ordered=True,
            ordered_predictors=(False, *[True] * 9),
            weekdays=told,
            **(OPTIONS | {"least_leaf": 2, "least_split": 4}),
        )
        anew = [predictors[0], *(rng.permutation(other) for other in others)]
        drawn = tree.draw(anew, sizes, n, rng)[~urgent]
        return float(np.mean(drawn % 7 >= 5))

    assert at_weekends(weekdays) < 0.01
    # As the ranks of days alone leave the predictor out.
    assert at_weekends(None) > 0.03
