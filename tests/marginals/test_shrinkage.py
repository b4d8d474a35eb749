"""Noisy counts are drawn towards expected ones by what noise explains."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.shrinkage import without_noise, without_noise_in_groups

GROUPS = np.array([0, 0, 0, 0, 0, 1, 1])
EVEN = np.full(7, 1_000 / 7)
WORKING_DAYS = np.array([200.0, 200, 200, 200, 200, 0, 0])


def test_exact_counts_stay_and_sums_are_kept():
    counts = np.array([10.0, 300, 200, 5, 85, 400, 0])

    np.testing.assert_allclose(without_noise_in_groups(counts, 0.0, EVEN, GROUPS), counts)
    noisy = without_noise_in_groups(counts + 30, 50.0, EVEN, GROUPS)
    assert np.isclose(noisy.sum(), 1_000)
    assert noisy.min() >= 0


def test_groups_that_stand_out_are_told_though_noise_hides_what_differs_within():
    rng, off = np.random.default_rng(0), {"together": [], "in groups": []}
    for _ in range(500):
        counts = WORKING_DAYS + rng.normal(0, 50, 7)
        for name, found in (
            ("together", without_noise(counts, 50.0, EVEN)),
            ("in groups", without_noise_in_groups(counts, 50.0, EVEN, GROUPS)),
        ):
            off[name].append(np.abs(found - WORKING_DAYS).sum())

    assert np.mean(off["in groups"]) < 0.55 * np.mean(off["together"])


def test_where_nothing_differs_little_noise_is_left():
    rng = np.random.default_rng(0)
    found = [without_noise_in_groups(EVEN + rng.normal(0, 50, 7), 50.0, EVEN, GROUPS) for _ in range(500)]

    assert np.mean([np.abs(one - EVEN).sum() for one in found]) < 0.5 * 7 * 50 * 0.8
