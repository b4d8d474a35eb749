from __future__ import annotations

import numpy as np

from syntabula.marginals.distinct import CountedPoints


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
