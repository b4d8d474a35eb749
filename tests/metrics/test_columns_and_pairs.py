from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score

from syntabula.metrics import compare
from syntabula.metrics.association import (
    Association,
    CorrelationSimilarity,
    correlation_matrix,
    correlation_ratio,
    theils_u,
)
from syntabula.metrics.numeric_columns import KolmogorovSmirnov, PercentileSimilarity, largest_gap

RNG = np.random.default_rng(0)


class TestKolmogorovSmirnov:
    def test_equals_scipy(self):
        rng = np.random.default_rng(1)
        x, y = np.round(rng.normal(size=300), 1), np.round(rng.normal(0.2, 1, size=200), 1)

        assert largest_gap(x, y) == pytest.approx(ks_2samp(x, y).statistic, abs=1e-12)

    def test_missing_cells_lie_above_all_numbers(self):
        x, y = np.array([1.0, 2.0, math.nan, math.nan]), np.array([1.0, 2.0])

        assert largest_gap(x, y) == 0.5
        assert largest_gap(x, x[::-1].copy()) == 0.0

    def test_without_numbers_there_is_no_value(self):
        frame = pd.DataFrame({"c": ["a", "b"]})

        score = KolmogorovSmirnov()(compare(frame, frame), RNG)

        assert math.isnan(score.value)
        assert "numeric" in score.note


class TestAssociation:
    def test_correlations_equal_pandas_with_and_without_gaps(self):
        rng = np.random.default_rng(2)
        frame = pd.DataFrame(rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 1e3)
        for expected_of in (frame, frame.mask(rng.random(frame.shape) < 0.2)):
            found = correlation_matrix([expected_of[c].to_numpy() for c in expected_of])

            np.testing.assert_allclose(found, expected_of.corr().to_numpy(), atol=1e-10)

    def test_a_constant_correlates_with_nothing(self):
        found = correlation_matrix([np.full(5, 0.1), np.arange(5.0), np.full(5, math.nan)])

        np.testing.assert_array_equal(found, np.eye(3))

    def test_the_correlation_ratio_is_the_fit_of_a_regression_on_indicators(self):
        rng = np.random.default_rng(3)
        codes = rng.integers(0, 4, size=300).astype(np.uint8)
        y = codes**2 + rng.normal(0, 3, size=300)
        indicators = np.eye(4)[codes]
        expected = LinearRegression().fit(indicators, y).score(indicators, y)

        assert correlation_ratio(codes, y, 5) ** 2 == pytest.approx(expected, abs=1e-10)

    def test_the_correlation_ratio_passes_over_missing_numbers(self):
        codes, y = np.array([0, 0, 1, 1, 1], np.uint8), np.array([1.0, 1.0, 2.0, 2.0, math.nan])

        assert correlation_ratio(codes, y, 2) == pytest.approx(1.0)
        assert correlation_ratio(codes, np.full(5, math.nan), 2) == 0.0

    def test_theils_u_is_mutual_information_over_entropy(self):
        rng = np.random.default_rng(4)
        x = rng.integers(0, 4, size=400).astype(np.uint8)
        y = np.where(rng.random(400) < 0.5, x // 2, rng.integers(0, 2, size=400)).astype(np.uint8)
        shared = mutual_info_score(x, y)

        found = theils_u(x, y, (4, 2))

        expected = shared / mutual_info_score(x, x), shared / mutual_info_score(y, y)
        assert found == pytest.approx(expected, abs=1e-10)
        assert theils_u(x, np.zeros(400, np.uint8), (4, 1)) == (0.0, 0.0)

    def test_averages_the_gaps_of_all_kinds_of_pairs(self):
        real = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.5], "c": list("aabb"), "d": list("uuvv")})
        real["y"] = -real["x"]
        broken = real.assign(y=[0.5, -0.5, -0.5, 0.5], d=list("uvuv"))

        score = Association()(compare(real, broken), RNG)

        assert score.details["x", "y"] == pytest.approx(1.0)
        assert score.details["c", "d"] == pytest.approx(1.0)
        assert score.details["x", "c"] == 0.0
        assert score.value == pytest.approx(np.mean([*score.details.values()]))


class TestCorrelationSimilarity:
    def test_equals_the_formula(self):
        rng = np.random.default_rng(5)
        real, synthetic = (pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc")) for _ in range(2))
        r, s = ((f.corr().to_numpy() + 1) / 2 for f in (real, synthetic))

        score = CorrelationSimilarity()(compare(real, synthetic), RNG)

        assert score.value == pytest.approx((np.minimum(r, s) / np.maximum(r, s)).mean(), abs=1e-10)

    def test_two_correlations_of_minus_one_are_alike(self):
        frame = pd.DataFrame({"x": [0.5, 1.5, 2.5], "y": [2.5, 1.5, 0.5]})

        assert CorrelationSimilarity()(compare(frame, frame), RNG).value == 1.0


class TestPercentileSimilarity:
    def test_equals_the_formula(self):
        real = pd.DataFrame({"x": np.linspace(0, 1, 101)})
        synthetic = pd.DataFrame({"x": np.linspace(0, 1, 101) ** 2})
        at = np.arange(1, 101) / 100

        score = PercentileSimilarity()(compare(real, synthetic), RNG)

        assert score.value == pytest.approx(1 - np.abs(at - at**2).max())

    def test_present_cells_are_compared(self):
        for other, expected in [([0.5, None], 1.0), ([None, None], 0.0)]:
            real = pd.DataFrame({"x": [0.5, None]})

            score = PercentileSimilarity()(compare(real, pd.DataFrame({"x": np.array(other, float)})), RNG)

            assert score.value == expected
