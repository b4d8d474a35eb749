"""Counts of wide cells and of their parts are weighed as least squares would."""

from __future__ import annotations

import numpy as np

from syntabula.prepare.two_counts import combined
from syntabula.privacy.events import ExactEvent, GaussianEvent
from syntabula.privacy.pricing import NoisyVector

COARSE = [0, 8, 16, 32, 64]
FINE = [0, 2, 4, 6, 8, 32, 40, 48, 56, 60, 64]
"""The two cells in the middle are one part."""


def noisy(values: list[float], sigma: float) -> NoisyVector:
    event = GaussianEvent(sigma, 1, len(values)) if sigma else ExactEvent("counts")
    return NoisyVector(np.array(values, dtype=np.float64), event)


def dense(fine: NoisyVector, coarse: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates and their covariance, by the normal equations."""
    sums = np.array(
        [[1.0 if lo <= a < hi else 0.0 for a in FINE[:-1]] for lo, hi in ((0, 8), (8, 32), (32, 64))]
    )
    wide = np.array([coarse[0], coarse[1] + coarse[2], coarse[3]])
    weights = np.diag([1 / sigma**2, 1 / (2 * sigma**2), 1 / sigma**2])
    information = np.eye(len(FINE) - 1) / fine.sigma**2 + sums.T @ weights @ sums
    covariance = np.linalg.inv(information)
    return covariance @ (fine.values / fine.sigma**2 + sums.T @ weights @ wide), covariance


def test_estimates_and_the_noise_of_sums_are_those_of_least_squares() -> None:
    for sigmas in [(3.0, 5.0), (5.0, 3.0), (10.0, 0.01)]:
        rng = np.random.default_rng(3)
        fine = noisy(rng.normal(50, 20, len(FINE) - 1).tolist(), sigmas[0])
        coarse = rng.normal(200, 40, len(COARSE) - 1)

        found = combined(fine, FINE, coarse, sigmas[1], COARSE)

        values, covariance = dense(fine, coarse, sigmas[1])
        np.testing.assert_allclose(found.values, values)
        sums = np.tril(np.ones((values.size, values.size)))
        np.testing.assert_allclose(found.noise_of_sums(), np.sqrt(np.diag(sums @ covariance @ sums.T)))
        backwards = sums[:, ::-1]
        np.testing.assert_allclose(
            found.reversed().noise_of_sums(), np.sqrt(np.diag(backwards @ covariance @ backwards.T))
        )


def test_without_noise_parts_stay_as_they_were_counted() -> None:
    fine = noisy([float(i) for i in range(len(FINE) - 1)], 0.0)

    found = combined(fine, FINE, np.array([6.0, 2.0, 2.0, 35.0]), 0.0, COARSE)

    np.testing.assert_array_equal(found.values, fine.values)
    assert not found.noise_of_sums().any()
