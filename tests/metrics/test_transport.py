from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from scipy.stats import wasserstein_distance

from syntabula.metrics.transport import Axis, along_axis, in_the_plane, sliced


def numbers(rng: np.random.Generator, n: int, *, decimals: int = 2) -> np.ndarray:
    return np.round(rng.beta(2, 3, size=n), decimals)


def costs(real: list[np.ndarray], synthetic: list[np.ndarray]) -> np.ndarray:
    """Costs of all moves, column by column, as SynMeter defines them; text columns are categories."""
    total = np.zeros((real[0].size, synthetic[0].size))
    for x, y in zip(real, synthetic, strict=True):
        if x.dtype.kind == "f":
            total += np.abs(x[:, None] - y[None, :])
        else:
            total += x[:, None] != y[None, :]
    return total


def axis(x: np.ndarray, y: np.ndarray) -> Axis:
    if x.dtype.kind == "f":
        return Axis.of_numbers(x, y)
    return Axis.of_categories(x.astype(np.uint8), y.astype(np.uint8), 5)


class TestAlongAxis:
    def test_of_numbers_equals_scipy(self):
        rng = np.random.default_rng(1)
        x, y = numbers(rng, 400), numbers(rng, 250) ** 1.5

        assert along_axis(axis(x, y)) == pytest.approx(wasserstein_distance(x, y), abs=1e-12)

    def test_of_categories_is_half_the_difference_of_shares(self):
        x, y = np.array([0, 0, 1, 2]), np.array([0, 3, 3, 3])

        assert along_axis(axis(x, y)) == 0.75

    def test_a_missing_number_is_at_1_from_others(self):
        for x, y, expected in [
            ([0.0, 1.0, math.nan, math.nan], [0.0, 1.0, math.nan, math.nan], 0.0),
            ([0.25, 0.25, 0.25, math.nan], [0.75, 0.75, 0.75, math.nan], 0.375),
            ([0.25, 0.25], [0.25, math.nan], 0.5),
            ([math.nan, math.nan], [0.5, 0.5], 1.0),
            ([math.nan], [math.nan], 0.0),
        ]:
            assert along_axis(axis(np.array(x), np.array(y))) == pytest.approx(expected, abs=1e-12)


class TestInThePlane:
    @pytest.mark.parametrize("kinds", ["nn", "nc", "cn", "cc"])
    def test_equals_the_best_assignment_of_rows(self, kinds):
        rng = np.random.default_rng(2)
        draw = {"n": lambda: numbers(rng, 90), "c": lambda: rng.integers(0, 5, size=90)}
        real, synthetic = ([draw[k]() for k in kinds] for _ in range(2))
        matrix = costs(real, synthetic)
        best = matrix[linear_sum_assignment(matrix)].mean()

        found = in_the_plane(*(axis(x, y) for x, y in zip(real, synthetic, strict=True)))

        assert found == pytest.approx(best, abs=1e-9)

    def test_equals_a_linear_programme_for_samples_of_different_sizes(self):
        rng = np.random.default_rng(3)
        real = [numbers(rng, 23), rng.integers(0, 3, size=23)]
        synthetic = [numbers(rng, 31), rng.integers(0, 3, size=31)]
        matrix = costs(real, synthetic)
        marginals = np.zeros((23 + 31, 23 * 31))
        for i in range(23):
            marginals[i, i * 31 : (i + 1) * 31] = 1
        for j in range(31):
            marginals[23 + j, j::31] = 1
        shares = np.repeat([1 / 23, 1 / 31], [23, 31])
        best = linprog(matrix.ravel(), A_eq=marginals, b_eq=shares).fun

        found = in_the_plane(*(axis(x, y) for x, y in zip(real, synthetic, strict=True)))

        assert found == pytest.approx(best, abs=1e-9)

    def test_leaving_shared_points_in_place_changes_nothing(self):
        # Loads torch, which other tests need not wait for.
        import ot

        rng = np.random.default_rng(4)
        real = [numbers(rng, 300, decimals=1), rng.integers(0, 3, size=300)]
        synthetic = [numbers(rng, 300, decimals=1), rng.integers(0, 3, size=300)]

        found = in_the_plane(*(axis(x, y) for x, y in zip(real, synthetic, strict=True)))

        assert found == pytest.approx(ot.emd2([], [], costs(real, synthetic)), abs=1e-9)

    def test_a_missing_number_costs_1_and_no_more(self):
        real = [np.array([math.nan, 0.5]), np.array([0, 1])]
        synthetic = [np.array([0.25, 0.5]), np.array([0, 1])]

        axes = [axis(x, y) for x, y in zip(real, synthetic, strict=True)]

        assert in_the_plane(*axes) == pytest.approx(0.5)

    def test_missing_numbers_stay_with_each_other(self):
        x = np.array([math.nan, math.nan, 0.0, 1.0])

        assert in_the_plane(axis(x, x[::-1].copy()), axis(x, x[::-1].copy())) == 0.0

    @pytest.mark.thorough
    def test_a_blurred_plan_is_no_cheaper_and_nears_the_exact_one(self):
        rng = np.random.default_rng(5)
        axes = [axis(numbers(rng, 80), numbers(rng, 80)) for _ in range(2)]
        exact = in_the_plane(*axes)

        rough, fine = (in_the_plane(*axes, solver="sinkhorn", regularisation=r) for r in (0.1, 0.005))

        assert exact - 1e-6 < fine < rough
        assert fine == pytest.approx(exact, rel=0.05)


class TestSliced:
    def test_is_the_mean_over_projections(self):
        rng = np.random.default_rng(6)
        x, y = rng.random((60, 2)), rng.random((45, 2))
        angles = np.array([0.3, 1.2, 2.5])
        # Numbers without gaps keep a second coordinate of 0.
        directions = np.stack([np.cos(angles), 0 * angles, np.sin(angles), 0 * angles], axis=1)
        each = [
            wasserstein_distance(x @ d, y @ d) for d in np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ]

        found = sliced(axis(x[:, 0], y[:, 0]), axis(x[:, 1], y[:, 1]), directions)

        assert found == pytest.approx(np.mean(each), abs=1e-12)

    def test_categories_lie_at_1_from_each_other(self):
        four = axis(np.array([0, 1]), np.array([2, 3]))

        corners = np.column_stack([four.along(direction) for direction in np.eye(four.dimensions)])

        assert np.linalg.norm(corners[0] - corners[3]) == pytest.approx(1.0)

    def test_a_missing_number_is_at_most_1_from_others(self):
        values = np.array([0.0, 0.5, 1.0, math.nan])
        line = axis(values, values)

        places = np.column_stack([line.along(direction) for direction in np.eye(line.dimensions)])

        assert np.linalg.norm(places[:3] - places[3], axis=1) == pytest.approx([1, math.sqrt(0.75), 1])
