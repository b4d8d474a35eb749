"""Points that are not held give the same answers as those that are, in passes or without one."""

from __future__ import annotations

import itertools

import numpy as np

from syntabula.marginals.asked_points import AskedPoints, KnownRanks
from syntabula.marginals.parts import Fold, State
from syntabula.marginals.point_folds import BUCKETS, BoundedFold, CutFold, DistinctFold, bucket_of
from syntabula.marginals.sorted_points import CodeFold, CountedPoints, SortedPoints, as_cuts, halving_cuts
from syntabula.privacy.mechanisms import Node

KINDS = (np.int64, np.uint64, np.float64)


def values_of(kind: type) -> np.ndarray:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 60, 900).astype(kind) * kind(3)
    if kind is np.uint64:
        values[:5] = np.iinfo(np.uint64).max
    elif kind is np.int64:
        values[:5] = [np.iinfo(np.int64).min, np.iinfo(np.int64).max, -1, -1, -9]
    else:
        values[:5] = [-0.0, 0.0, -1e300, 1e300, 0.5]
    return values


class Column:
    """Parts in memory; counts the passes."""

    def __init__(self, values: np.ndarray) -> None:
        self.parts = [CountedPoints.of(part) for part in np.array_split(values, 4)]
        self.passes = 0

    def fold(self, fold: Fold[CountedPoints]) -> State:
        self.passes += 1
        states = []
        for some in (self.parts[:1], self.parts[1:]):
            state = fold.start()
            for part in some:
                fold.add(state, part)
            states.append(state)
        fold.merge(*states)
        return states[0]

    def shared(self, least: int) -> CountedPoints:
        fold = DistinctFold(self.parts[0].values.dtype)
        every = fold.points(self.fold(fold))
        return every.where(every.counts >= least)


def asked(values: np.ndarray) -> AskedPoints:
    none = KnownRanks(np.zeros(0, values.dtype), np.zeros(0, np.int64))
    return AskedPoints(Column(values), values.dtype, values.size, none)


class TestAskedPoints:
    def test_give_the_same_answers_as_held_ones(self) -> None:
        for kind in KINDS:
            for without in [(), (3, 6, 177)]:
                values = values_of(kind)
                few, right = asked(values), SortedPoints(values[~np.isin(values, without)])
                few = few.without(without) if without else few
                edges = [0, 9, 10, 100, 178] if kind is not np.float64 else [0.0, 9.0, 10.5, 100.0, 178.0]

                assert (few.size, few.integer, few.kind) == (right.size, right.integer, right.kind)
                for cuts in ([-1, 3, 4, 10**30], [4, 4, 3], [-(10**30), 2**63, 2**64, 0]):
                    assert (few.ranks(cuts) == right.ranks(cuts)).all()
                assert (few.starts(edges) == right.starts(edges)).all()
                for power, of in itertools.product((1, 2), ("cell", "column")):
                    assert (few.sums(edges, power, of) == right.sums(edges, power, of)).all()
                assert (few.fine_cuts(20) == right.fine_cuts(20)).all()
                for least in (1, 15):
                    assert (few.shared(least).values == right.shared(least).values).all()
                    assert (few.shared(least).counts == right.shared(least).counts).all()

    def test_count_codes_without_what_is_removed(self) -> None:
        values = values_of(np.float64)
        code = CodeFold(lambda points: np.minimum(np.abs(points), 1e9).astype(np.int64) % 7, 7)

        found = asked(values).without([3.0, 6.0]).coded("sevenths", code)

        rest = code.code(values[~np.isin(values, [3, 6])])
        assert (found.values == np.unique(rest)).all()
        assert (found.counts == np.unique(rest, return_counts=True)[1]).all()

    def test_take_one_pass_for_a_tree_whose_cuts_were_foreseen(self) -> None:
        points = asked(values_of(np.float64))

        points.ranks([-60.0, 0.0, 60.0], lambda: halving_cuts([(-60.0, 60.0)], 2**7, integer=False))
        points.ranks([-60.0, -30.0, -28.125, 60.0])

        assert isinstance(points.column, Column)
        assert points.column.passes == 1


class TestBoundedFold:
    def folds(self, most: int) -> BoundedFold:
        cuts = CutFold(as_cuts([0.0, 30.0], np.dtype(np.float64)))
        return BoundedFold(DistinctFold(np.dtype(np.float64)), {"cuts": cuts}, most)

    def test_holds_few_values_and_asks_of_many_however_states_are_merged(self) -> None:
        for order in [(0, 1), (1, 0)]:
            values = values_of(np.float64)
            few, many = CountedPoints.of(values[5:20]), CountedPoints.of(values)
            parts = [[few], [many, few]]
            fold = self.folds(most=16)
            states = []
            for parted in (parts[i] for i in order):
                state = fold.start()
                for part in parted:
                    fold.add(state, part)
                states.append(state)

            held = fold.holds(states[order[0]])
            fold.merge(*states)

            assert held
            assert not fold.holds(states[0])
            counts = CutFold(as_cuts([0.0, 30.0], np.dtype(np.float64))).ranks(fold.answer(states[0], "cuts"))
            every = np.concatenate([values, values[5:20], values[5:20]])
            assert counts.tolist() == [(every < 0).sum(), (every < 30).sum(), every.size]

    def test_without_anything_to_ask_knows_that_there_were_too_many(self) -> None:
        fold = BoundedFold(DistinctFold(np.dtype(np.float64)), {}, most=3)
        state, other = fold.start(), fold.start()

        for _ in range(3):
            fold.add(state, CountedPoints.of(np.arange(9.0)))
        fold.add(other, CountedPoints.of(np.arange(2.0)))
        held = fold.holds(other)
        fold.merge(other, state)

        assert held
        assert not fold.holds(state)
        assert not fold.holds(other)

    def test_lets_go_of_no_value_that_occurs_in_many_parts(self) -> None:
        values = np.arange(10.0)
        fold = self.folds(most=10)
        state = fold.start()

        for _ in range(9):
            fold.add(state, CountedPoints.of(values))

        assert fold.holds(state)
        assert (fold.points(state).values == values).all()
        assert (fold.points(state).counts == 9).all()


class TestCuts:
    def test_of_halving_are_those_of_a_tree(self) -> None:
        for ends in [(-7, 41), (0, 2**64), (-(2**63), 2**63), (-0.1, 93.7), (-1e308, 1e308)]:
            level = [Node(*ends)]
            for _ in range(6):
                level = [half for node in level for half in (node.halves() or (node,))]

            found = halving_cuts([ends], 2**7, integer=isinstance(ends[0], int))

            assert set(found) == {end for node in level for end in (node.low, node.high)}


class TestBuckets:
    def test_are_spread_evenly_and_the_same_for_equal_values(self) -> None:
        for kind in KINDS:
            values = np.arange(200_000).astype(kind)

            buckets = bucket_of(values)

            assert buckets.min() >= 0
            assert buckets.max() < BUCKETS
            # 200,000 draws from 2^20 buckets: 12 in one has a chance below 1e-12.
            assert np.bincount(buckets).max() < 12
            if kind is np.float64:
                assert (bucket_of(np.array([0.0])) == bucket_of(np.array([-0.0]))).all()
