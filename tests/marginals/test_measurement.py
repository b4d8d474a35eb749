"""Measurements: what two of one clique say together, the nearest counts of a total, and the number of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from syntabula.errors import ArgumentError
from syntabula.marginals.measurement import Measurement, consistent_total, project_simplex


def test_the_nearer_measurement_counts_more() -> None:
    first = Measurement(("a",), np.array([0.0, 10.0]), 1.0)
    second = Measurement(("a",), np.array([5.0, 10.0]), 2.0)

    together = first.averaged(second)

    assert together.values == pytest.approx([1.0, 10.0])
    assert together.sigma == pytest.approx(np.sqrt(0.8))


def test_measurements_of_different_columns_are_not_averaged() -> None:
    with pytest.raises(ArgumentError, match="cannot be averaged"):
        Measurement(("a",), np.ones(2), 1.0).averaged(Measurement(("b",), np.ones(2), 1.0))


VALUES = arrays(np.float64, array_shapes(max_dims=3, max_side=6), elements=st.floats(-1e6, 1e6))
TOTALS = st.floats(1e-3, 1e6)


class TestProjectSimplex:
    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_has_the_total_and_no_negative_cell(self, values, total):
        projected = project_simplex(values, total)
        assert projected.shape == values.shape
        assert (projected >= 0).all()
        assert projected.sum() == pytest.approx(total, rel=1e-12)

    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_twice_equals_once(self, values, total):
        once = project_simplex(values, total)
        assert np.allclose(project_simplex(once, total), once, rtol=1e-9, atol=1e-9 * total)

    @pytest.mark.thorough
    @given(VALUES, TOTALS)
    def test_meets_the_conditions_of_the_nearest_point(self, values, total):
        projected = project_simplex(values, total)
        # Karush-Kuhn-Tucker: value - projection is one number where the projection is positive, and no more
        # than it elsewhere.
        gap = values - projected
        tolerance = 1e-9 * (total + np.abs(values).max() + 1)
        threshold = gap[projected > 0].max()
        assert gap[projected > 0].min() >= threshold - tolerance
        assert (gap <= threshold + tolerance).all()

    @settings(max_examples=20)
    @given(arrays(np.float64, 4, elements=st.floats(-5, 5)), st.floats(0.1, 8))
    def test_no_random_point_of_the_simplex_is_nearer(self, values, total):
        others = np.random.default_rng(0).dirichlet(np.full(4, 0.5), size=2000) * total
        ours = np.square(project_simplex(values, total) - values).sum()
        assert ours <= np.square(others - values).sum(axis=1).min() + 1e-9

    def test_keeps_digits_of_a_small_total_under_huge_values(self):
        assert project_simplex(np.array([1e20, 0.0, -1e20]), 1.0).tolist() == [1.0, 0.0, 0.0]

    def test_of_total_zero_is_zero(self):
        assert project_simplex(np.array([3.0, -1.0]), 0.0).tolist() == [0.0, 0.0]

    def test_an_impossible_total_is_refused(self):
        for total in [-1.0, float("nan"), float("inf"), "1"]:
            with pytest.raises(ArgumentError, match="total"):
                project_simplex(np.ones(3), total)

    def test_values_that_are_no_counts_are_refused(self):
        for values in [[], [1.0, float("nan")], [float("inf")]]:
            with pytest.raises(ArgumentError, match="values"):
                project_simplex(np.array(values), 1.0)


class TestConsistentTotal:
    def test_weighs_sums_by_the_inverse_of_their_variance(self):
        wide = Measurement(("a",), np.array([10.0, 20.0, 30.0]), 2.0)  # sum 60, variance 12
        narrow = Measurement(("b",), np.array([20.0, 24.0]), np.array([1.0, 2.0]))  # sum 44, variance 5
        expected = (60 / 12 + 44 / 5) / (1 / 12 + 1 / 5)
        assert consistent_total([wide, narrow]) == pytest.approx(expected, rel=1e-14)

    def test_a_measurement_without_noise_outweighs_all(self):
        exact = Measurement(("a",), np.array([5.0, 6.0]), 0.0)
        noisy = Measurement(("b",), np.array([90.0]), 1e-9)
        assert consistent_total([noisy, exact]) == 11.0

    def test_is_at_least_one(self):
        assert consistent_total([Measurement(("a",), np.array([-3.0, -4.0]), 1.0)]) == 1.0

    def test_keeps_its_weights_at_extreme_noise(self):
        some = [Measurement(("a",), np.array([v]), 1e-150) for v in (10.0, 20.0)]
        assert consistent_total(some) == pytest.approx(15.0)

    @pytest.mark.thorough
    def test_has_the_spread_that_theory_says(self):
        # Variance of 2000 draws of a Gaussian against theory: standard error 3.2 %, bound at 6 standard errors,
        # false alarm 2e-9 (and the seed is fixed).
        rng = np.random.default_rng(1)
        sigmas, cells = (3.0, 1.0), (4, 9)
        totals = [
            consistent_total(
                [
                    Measurement(("a",), 100 / k + s * rng.standard_normal(k), s)
                    for s, k in zip(sigmas, cells, strict=True)
                ]
            )
            for _ in range(2000)
        ]
        theory = 1 / sum(1 / (s**2 * k) for s, k in zip(sigmas, cells, strict=True))
        assert np.var(totals) == pytest.approx(theory, rel=0.19)
        assert np.mean(totals) == pytest.approx(100, abs=6 * np.sqrt(theory / 2000))

    def test_without_measurements_is_refused(self):
        with pytest.raises(ArgumentError, match="without a measurement"):
            consistent_total([])
