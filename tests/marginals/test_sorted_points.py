"""Values of one column, counted or in order: ranks, sums and cuts are exact."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.sorted_points import LEAST_RECORDS, CountedPoints, SortedPoints


def as_dict(points: CountedPoints) -> dict[float, int]:
    assert len(set(points.values.tolist())) == points.values.size
    return dict(zip(points.values.tolist(), points.counts.tolist(), strict=True))


class TestCountedPoints:
    def test_of_two_parts_are_those_of_their_records(self):
        rng = np.random.default_rng(0)
        first, second = rng.integers(0, 20, 50), rng.integers(10, 40, 70)

        joined = CountedPoints.of(first).joined(CountedPoints.of(second))

        assert as_dict(joined) == as_dict(CountedPoints.of(np.concatenate([first, second])))
        assert (np.diff(joined.values) > 0).all()

    def test_mapped_to_the_same_value_are_joined_when_they_are_ordered(self):
        points = CountedPoints.of(np.array([3, 4, 4, 5, 9])).mapped(lambda values: values % 2)

        assert as_dict(points.ascending()) == {0: 2, 1: 3}

    def test_under_a_mask_keep_their_counts(self):
        points = CountedPoints.of(np.array([1.5, 1.5, 2.5]))

        assert as_dict(points.where(points.values < 2)) == {1.5: 2}

    def test_of_no_records_are_none(self):
        none = CountedPoints.of(np.zeros(0))

        assert none.joined(none).values.size == 0
        assert as_dict(none.joined(CountedPoints.of(np.ones(2)))) == {1.0: 2}


def counted(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)


class TestFewValues:
    def test_each_has_a_bin_of_its_own(self) -> None:
        values = np.repeat([0.5, 2.0, 7.25], [3, 1, 40])

        cuts = SortedPoints(values).fine_cuts(100)

        assert set(cuts) == {0.5, 2.0, 7.25, *np.nextafter([0.5, 2.0, 7.25], np.inf)}

    def test_forty_values_have_bins_of_their_own_where_bins_would_hold_more_of_them(self) -> None:
        values = np.repeat(60 * np.arange(40), 25)

        cuts = SortedPoints(values).fine_cuts(84)

        assert counted(values, cuts).max() == 25
        assert cuts.size == 80

    def test_whole_numbers_side_by_side_share_a_cut(self) -> None:
        cuts = SortedPoints(np.array([4, 5, 5, 9])).fine_cuts(100)

        assert cuts.tolist() == [4, 5, 6, 9, 10]

    def test_the_largest_number_that_there_is_needs_none_above_it(self) -> None:
        largest = np.iinfo(np.uint64).max

        cuts = SortedPoints(np.array([largest] * 3, dtype=np.uint64)).fine_cuts(100)

        assert cuts.tolist() == [largest]

    def test_no_values_have_no_cuts(self) -> None:
        assert SortedPoints(np.zeros(0)).fine_cuts(100).size == 0


class TestManyValues:
    def test_bins_hold_about_as_many_records_and_fewer_at_the_ends(self) -> None:
        values = np.random.default_rng(0).normal(size=20_000)

        held = counted(values, SortedPoints(values).fine_cuts(400))

        assert held[0] == held[-1] == 0  # below the least value, and above the largest
        assert held.max() <= 201
        assert held[1] == LEAST_RECORDS
        assert held[held > 0][-1] <= 2 * LEAST_RECORDS
        assert held[10:-10].min() >= 199

    def test_no_bin_reaches_over_a_wide_gap(self) -> None:
        for kind in [float, np.int64]:
            rng = np.random.default_rng(0)
            parts = [rng.normal(place, 1_000, 3_000) for place in (0, 500_000, 10_000_000)]
            values = np.concatenate(parts).astype(kind)

            cuts = SortedPoints(values).fine_cuts(400)

            held, widths = counted(values, cuts), np.diff([-1e9, *cuts, 1e9])
            assert widths[held > 0].max() < 5_000
            assert cuts[-1] == (values.max() + 1 if kind is np.int64 else np.nextafter(values.max(), np.inf))

    def test_a_frequent_value_among_them_lies_alone(self) -> None:
        rng = np.random.default_rng(0)
        values = np.concatenate([rng.normal(size=5_000), np.zeros(500)])

        cuts = SortedPoints(values).fine_cuts(400)

        assert {0.0, float(np.nextafter(0.0, 1.0))} <= set(cuts)

    def test_so_does_one_far_more_frequent_than_those_around_it_that_holds_less_than_a_bin(self) -> None:
        rng = np.random.default_rng(0)
        # 52 bins of 281 records hold 22 of them each.
        values = np.concatenate([rng.lognormal(size=263), np.zeros(18)])
        even = np.repeat(np.arange(60), 20)

        cuts = SortedPoints(values).fine_cuts(52)

        assert {0.0, float(np.nextafter(0.0, 1.0))} <= set(cuts)
        assert counted(even, SortedPoints(even).fine_cuts(52)).max() > 20

    def test_there_are_never_more_bins_than_asked_for(self) -> None:
        for most in [6, 7, 50, 1000]:
            rng = np.random.default_rng(0)
            for values in (
                rng.normal(size=30_000),
                np.round(rng.exponential(size=30_000), 2),
                rng.integers(0, most // 4, 1_000).astype(float),
                np.concatenate([rng.random(3_000), np.repeat(rng.random(most), 40)]),
                np.concatenate(
                    [rng.random(30_000), *(np.full(3_000 // most + 30, x) for x in rng.random(most))]
                ),
            ):
                cuts = SortedPoints(values).fine_cuts(most)

                assert len(cuts) + 1 <= most
                assert (np.diff(cuts) > 0).all()


class TestCountedValues:
    def test_have_the_same_ranks_cuts_and_sums_as_one_value_per_record(self) -> None:
        for kind in [np.int64, np.uint64, np.float64]:
            rng = np.random.default_rng(0)
            values = rng.integers(0, 60, 3000).astype(kind) * kind(3)
            every, counted_ones = (
                SortedPoints(values),
                SortedPoints(CountedPoints.of(rng.permutation(values))),
            )
            edges = [0, 9, 10, 100, 178] if kind is not np.float64 else [0.0, 9.0, 10.5, 100.0, 178.0]

            assert counted_ones.size == every.size
            assert (counted_ones.ranks([-1, 3, 4, 10**30]) == every.ranks([-1, 3, 4, 10**30])).all()
            assert (counted_ones.starts(edges) == every.starts(edges)).all()
            for power in (1, 2):
                for of in ("cell", "column"):
                    assert (counted_ones.sums(edges, power, of) == every.sums(edges, power, of)).all()
            assert (counted_ones.fine_cuts(20) == every.fine_cuts(20)).all()
            for found, right in (
                (counted_ones.distinct(), every.distinct()),
                (counted_ones.shared(52), every.shared(52)),
            ):
                assert (found.values == right.values).all()
                assert (found.counts == right.counts).all()
            assert 0 < every.shared(52).values.size < every.distinct().values.size
