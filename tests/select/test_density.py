"""The density that tells tables apart: a tree of strong pairs is sparse, columns that all hang together are dense."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.privacy.doors.scores import STEPS_PER_RECORD, dependence_steps
from syntabula.select.density import density

N, CODES, COLUMNS = 8000, 10, 8
DOMAIN = Domain.from_sizes({f"x{i}": CODES for i in range(COLUMNS)})
PAIRS = list(combinations(DOMAIN.columns, 2))


def tree(correlation: float) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    columns = [rng.standard_normal(N)]
    for _ in range(COLUMNS - 1):
        parent = columns[rng.integers(len(columns))]
        columns.append(correlation * parent + np.sqrt(1 - correlation**2) * rng.standard_normal(N))
    return columns


def equal(correlation: float) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shared = np.sqrt(correlation) * rng.standard_normal(N)
    return [shared + np.sqrt(1 - correlation) * rng.standard_normal(N) for _ in range(COLUMNS)]


def dependences(columns: list[np.ndarray]) -> np.ndarray:
    codes = [np.clip((c + 4) / 8 * CODES, 0, CODES - 1).astype(int) for c in columns]
    found = []
    for one, other in combinations(codes, 2):
        counts = np.bincount(one * CODES + other, minlength=CODES**2).reshape(CODES, CODES)
        found.append(dependence_steps(counts) / STEPS_PER_RECORD)
    return np.array(found)


def found(columns: list[np.ndarray], sigma: float = 0.0, seed: int = 0) -> float:
    noise = sigma * np.random.default_rng(seed).standard_normal(len(PAIRS))
    return density(DOMAIN, PAIRS, dependences(columns) + noise, n_records=N, sigma=sigma)


class TestDensity:
    def test_a_tree_is_explained_whatever_its_strength(self) -> None:
        for correlation in [0.3, 0.7, 0.9]:
            assert found(tree(correlation)) < 0.03

    def test_equal_correlations_are_not(self) -> None:
        for correlation in [0.5, 0.65, 0.8]:
            assert found(equal(correlation)) > 0.09

    def test_columns_without_dependence_have_none(self) -> None:
        assert abs(found(equal(0.0))) < 0.02

    # Noise of 400 records is 0.025 of a pair's distance: the mean of seven pairs of a tree and 21 others then
    # moves by some 0.01, and the choice of the tree adds as much. Seeded.
    def test_noise_does_not_turn_one_into_the_other(self) -> None:
        for seed in range(5):
            assert found(tree(0.9), sigma=400, seed=seed) < 0.07, seed
            assert found(equal(0.65), sigma=400, seed=seed) > 0.09, seed

    def test_two_columns_are_a_tree(self) -> None:
        pair = [PAIRS[0]]
        domain = DOMAIN.project(PAIRS[0])

        assert density(domain, pair, np.array([float(N)]), n_records=N, sigma=0.0) == 0.0

    def test_pairs_that_were_not_weighed_count_for_nothing(self) -> None:
        weighed = [p for p in PAIRS if "x0" not in p]
        kept = [p in weighed for p in PAIRS]

        some = density(DOMAIN, weighed, dependences(equal(0.65))[kept], n_records=N, sigma=0.0)

        assert some > 0.09

    def test_drowned_values_stay_within_what_a_distance_can_be(self) -> None:
        assert -1 <= density(DOMAIN, PAIRS, np.full(len(PAIRS), 1e9), n_records=1.0, sigma=1e9) <= 1
