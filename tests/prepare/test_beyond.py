"""What is said of values beyond found bounds is not the noise on their count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.prepare.beyond import (
    CLEARLY,
    NONE,
    USUAL,
    Beyond,
    Sides,
    _mean_above_zero,
    at_ends,
    on_sides,
    outside,
    reach,
)
from syntabula.prepare.bounds import extract_bounds
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise


def test_exact_counts_are_told_as_they_are() -> None:
    assert Beyond(30, 0.0).fraction(1000) == 0.03
    assert Beyond(-1, 0.0).fraction(1000) == 0.0
    assert Beyond(1000, 0.0).fraction(10) == 1.0


def test_clear_counts_hardly_change_and_noise_that_could_be_all_is_not_told() -> None:
    assert Beyond(100, 2.0**2).fraction(1000) == pytest.approx(0.1, abs=0.001)
    assert 0.03 < Beyond(50, 25.0**2).fraction(1000) < 0.05
    assert Beyond(40, 25.0**2).fraction(1000) == 0.0


def test_no_step_lies_where_the_tail_is_approximated() -> None:
    # 20 standard deviations below 0.
    before, after = (_mean_above_zero(mean) for mean in (-19.99, -20.01))

    assert after == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("sigma", [20.0, 80.0, 800.0])
def test_told_numbers_are_right_on_average(sigma: float) -> None:
    # What lies beyond grows with the noise that hides it.
    rng = np.random.default_rng(0)
    n = 10_000
    real = rng.exponential(USUAL * n + sigma / 2, 20_000)
    noisy = real + rng.normal(0, sigma, real.size)

    fractions = np.array([Beyond(x, sigma**2).fraction(n) for x in noisy.tolist()])

    told = fractions > 0
    assert told.tolist() == (noisy > CLEARLY * sigma).tolist()
    # The standard error is sigma / 40 at most; six of them fail less often than once in a million seeds.
    assert fractions[told].mean() * n == pytest.approx(real[told].mean(), abs=0.15 * sigma)


def test_at_most_leaves_room_for_noise_and_holds_in_nineteen_of_twenty() -> None:
    assert Beyond(-5.0, 100.0).at_most(1_000) == pytest.approx(CLEARLY / 100)
    assert Beyond(30.0, 0.0).at_most(1_000) == 0.03
    assert Beyond(900.0, 1e6).at_most(1_000) == 1.0
    noisy = 50 + np.random.default_rng(0).normal(0, 20, 20_000)

    held = np.mean([Beyond(x, 400.0).at_most(1_000) >= 0.05 for x in noisy.tolist()])

    # The standard error is .0016; six of them fail less often than once in a million seeds.
    assert held == pytest.approx(0.95, abs=0.01)


def test_what_noise_cut_off_small_columns_is_told_in_full() -> None:
    # Seeded. Of amounts that spread over many powers of two noise hides most, here every sixth value. They were told to
    # be 4 in a hundred where this was told.
    told, cut = [], []
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        amounts = np.where(rng.random(3_000) < 0.7, 0, rng.lognormal(9.6, 1.2, 3_000)).astype(np.int64)
        column = ColumnCurator(
            amounts, Ledger(Budget(epsilon=0.5, delta=1e-5)), SeededNoise(seed), n_missing=0
        )
        found = extract_bounds(column, share=Fraction(1, 100), step="bounds", unit=100)
        if found.beyond > 0:
            told.append(found.beyond)
            cut.append(float(np.mean((amounts < found.lower) | (amounts > found.upper))))

    assert len(told) > 30
    assert np.mean(told) == pytest.approx(np.mean(cut), abs=0.06)


def test_cells_around_and_at_the_ends_are_counted() -> None:
    counts = np.zeros(30)
    counts[[9, 21]] = 60.0

    assert outside(counts, 10, 20, 2.0) == Beyond(120.0, 64.0)
    assert outside(counts, 0, 29, 2.0) == Beyond(0.0, 0.0)
    edges = range(31)
    assert at_ends(counts, edges, (5, 22), (0, 22), 2.0) == Beyond(0.0, 4.0)
    assert at_ends(counts, edges, (5, 21), (0, 21), 2.0) == Beyond(60.0, 4.0)


def test_all_that_lies_on_either_side_is_counted() -> None:
    counts = np.array([60.0, 500.0, 500.0, 7.0])

    assert on_sides(counts, 1, 1, 2.0) == Sides(Beyond(60.0, 4.0), Beyond(7.0, 4.0))
    assert on_sides(counts, 0, 1, 20.0) == Sides(NONE, Beyond(7.0, 400.0))


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
    # Values that noise may have made are sought nowhere.
    assert reach(held, Beyond(1000.0, 400.0**2), 30.0) == 0
    assert reach(held, NONE, 30.0) == reach(held[:0], Beyond(1000.0, 900.0), 30.0) == 0
