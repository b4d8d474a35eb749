"""Places of codes: near where records are similar, in the directions that tell most codes apart."""

from __future__ import annotations

import tracemalloc

import numpy as np

from syntabula.record_models.many_codes import MOST_DIRECTIONS, bytes_of_means, places_of_codes


def distances(places: np.ndarray, target: np.ndarray, codes: list[int]) -> np.ndarray:
    first = np.array([places[np.flatnonzero(target == code)[0]] for code in codes])
    found: np.ndarray = np.linalg.norm(first[:, None] - first, axis=2)
    return found


def test_codes_are_near_if_their_records_are_similar_in_numbers_and_classes() -> None:
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(100), 50).astype(np.uint8)
    number = (target % 2 * 40 + rng.integers(0, 10, target.size)).astype(np.uint8)
    kind = (target % 3).astype(np.uint8)

    places = places_of_codes(target, [number, kind], [50, 3], [True, False])
    apart = distances(places, target, [0, 6, 1, 7, 2])

    assert places.shape == (5_000, 4)
    np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-9)
    # Codes 0 and 6 are alike in both, as are 1 and 7; 2 has the numbers of 0 and another class.
    same, other = [apart[0, 1], apart[2, 3]], [apart[0, 2], apart[1, 3], apart[0, 4]]
    assert max(same) < 0.2 < 0.5 < min(other)


def test_records_of_one_code_lie_at_one_place_and_many_predictors_leave_few_directions() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 60, 500).astype(np.uint8)
    predictors = [rng.integers(0, 30, 500).astype(np.uint8) for _ in range(300)]

    places = places_of_codes(target, predictors, [30] * 300, [False] * 300)

    assert places.shape == (500, MOST_DIRECTIONS)
    assert len(np.unique(places.round(9), axis=0)) == len(np.unique(target))


def test_the_memory_said_is_what_they_take_where_each_record_has_a_code_of_its_own() -> None:
    n, sizes, ordered = 3_000, [30] * 20 + [5, 90], [False] * 21 + [True]
    rng = np.random.default_rng(0)
    target = rng.permutation(2 * n)[:n].astype(np.uint16)
    predictors = [rng.integers(0, size, n).astype(np.uint8) for size in sizes]

    tracemalloc.start()
    places_of_codes(target, predictors, sizes, ordered)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # Beside them, a few numbers of each record and each pair of features.
    assert 0.9 < peak / bytes_of_means(n, 2 * n, sizes, ordered) < 1.4
