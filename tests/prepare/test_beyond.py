"""What is said of values beyond found bounds is not the noise on their count."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.prepare.beyond import (
    CLEARLY,
    NONE,
    USUAL,
    Beyond,
    Sides,
    at_ends,
    on_sides,
    outside,
    reach,
)


def test_exact_counts_are_told_as_they_are() -> None:
    assert Beyond(30, 0.0).fraction(1000) == 0.03
    assert Beyond(-1, 0.0).fraction(1000) == 0.0
    assert Beyond(1000, 0.0).fraction(10) == 1.0


def test_clear_counts_hardly_change_and_noise_shrinks_to_what_is_usual() -> None:
    assert Beyond(100, 2.0**2).fraction(1000) == pytest.approx(0.1, abs=0.001)
    assert Beyond(50, 25.0**2).fraction(1000) < 0.02
    assert Beyond(5000, 2500.0**2).fraction(1000) == pytest.approx(USUAL, rel=0.01)


def test_no_step_lies_where_the_tail_is_approximated() -> None:
    # 20 standard deviations below 0.
    before, after = (Beyond(1, v).fraction(1000) for v in (201.0**2, 203.0**2))

    assert after == pytest.approx(before, rel=0.01)


def test_told_numbers_are_right_on_average() -> None:
    rng = np.random.default_rng(0)
    n, sigma = 10_000, 80.0
    real = rng.exponential(USUAL * n, 20_000)
    noisy = real + rng.normal(0, sigma, real.size)
    told = noisy > CLEARLY * sigma

    fractions = np.array([Beyond(x, sigma**2).fraction(n) for x in noisy[told].tolist()])

    # Standard errors are 0.5 records; six of them fail less often than once in a million seeds.
    assert fractions.mean() * n == pytest.approx(real[told].mean(), abs=4)
    assert noisy[told].mean() > real[told].mean() + 30


def test_cells_around_and_at_the_ends_are_counted_where_they_are_clear() -> None:
    counts = np.zeros(30)
    counts[[9, 21]] = 60.0

    assert outside(counts, 10, 20, 16.0) == Beyond(0.0, 0.0)
    assert outside(counts, 10, 20, 2.0) == Beyond(120.0, 64.0)
    assert outside(counts, 0, 29, 2.0) == Beyond(0.0, 0.0)
    edges = range(31)
    assert at_ends(counts, edges, (5, 22), (0, 22), 2.0) == Beyond(0.0, 0.0)
    assert at_ends(counts, edges, (5, 21), (0, 21), 2.0) == Beyond(60.0, 4.0)


def test_all_that_lies_on_either_side_is_counted_where_it_is_clear() -> None:
    counts = np.array([60.0, 500.0, 500.0, 7.0])

    assert on_sides(counts, 1, 1, 19.0) == Sides(Beyond(60.0, 361.0), NONE)
    assert on_sides(counts, 1, 1, 2.0) == Sides(Beyond(60.0, 4.0), Beyond(7.0, 4.0))
    assert on_sides(counts, 0, 1, 20.0) == on_sides(counts, 0, 0, 2.0) == Sides(NONE, NONE)


def test_cells_that_hold_what_lies_beyond_are_found_where_noise_leaves_no_doubt() -> None:
    rng = np.random.default_rng(0)
    held = np.zeros(60)
    held[17:21] = 250.0

    for sigma, least, most in [(30.0, 1.0, 1.0), (80.0, 0.75, 1.0), (400.0, 0.0, 0.02)]:
        # Seeded.
        ends = [
            reach(held + rng.normal(0, sigma, 60), Beyond(1000.0 + rng.normal(0, sigma), sigma**2), sigma)
            for _ in range(200)
        ]
        assert least <= np.mean([20 <= end <= 23 for end in ends]) <= most
        assert np.mean([0 < end < 20 or end > 23 for end in ends]) <= 0.05
    assert reach(held, NONE, 30.0) == reach(held[:0], Beyond(1000.0, 900.0), 30.0) == 0
