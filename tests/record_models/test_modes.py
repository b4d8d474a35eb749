"""Modes: fitted to a one-way marginal, and each code comes back from any of its own."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.record_models.modes import Modes, fitted_modes

RNG = np.random.default_rng(0)
HILLS = (
    np.exp(-(((np.arange(300) - 60) / 10) ** 2)) + 2 * np.exp(-(((np.arange(300) - 200) / 25) ** 2)) + 1e-6
)
SPIKED = np.where(np.isin(np.arange(500), [0, 250]), 5_000.0, RNG.integers(1, 30, 500))
MARGINALS = {
    "hills": (np.arange(300), HILLS),
    "spikes": (np.arange(500), SPIKED),
    "even": (np.arange(1000), np.ones(1000)),
    "gaps": (np.sort(RNG.choice(10_000, 40, replace=False)), RNG.random(40) + 0.01),
    "two codes": (np.array([3, 900]), np.array([1e-6, 1.0])),
    "one code": (np.array([7]), np.array([1.0])),
}


def fitted(name: str, most: int = 10) -> tuple[np.ndarray, np.ndarray, Modes, np.ndarray]:
    codes, counts = MARGINALS[name]
    shares = counts / counts.sum()
    return codes, shares, *fitted_modes(codes, shares, most)


def test_encoding_and_decoding_a_code_gives_it_back_whatever_its_mode() -> None:
    for most in [1, 10]:
        for name in MARGINALS:
            codes, _, modes, chances = fitted(name, most)

            offsets = modes.offsets(codes).astype(np.float32)

            assert 1 <= modes.centres.size <= most
            np.testing.assert_allclose(chances.sum(1), 1.0)
            assert np.abs(offsets[chances > 0]).max() <= 1.0
            for mode in range(modes.centres.size):
                held = np.flatnonzero(chances[:, mode])
                back = modes.nearest(codes, np.full(held.size, mode), offsets[held, mode])
                assert (back == held).all()


class TestFit:
    def test_two_hills_are_found(self) -> None:
        codes, shares, modes, chances = fitted("hills", 2)

        # Normal densities whose standard deviations are 10 and 25 over the root of two.
        assert sorted(modes.centres) == pytest.approx([60, 200], abs=1.5)
        held = shares[:, None] * chances
        variances = (held * (codes[:, None] - modes.centres) ** 2).sum(0) / held.sum(0)
        assert sorted(np.sqrt(variances)) == pytest.approx([10 / 2**0.5, 25 / 2**0.5], rel=0.05)
        assert sorted(held.sum(0)) == pytest.approx([10 / 60, 50 / 60], abs=0.02)
        assert (modes.reaches >= 3.8 * np.sqrt(variances)).all()

    def test_a_frequent_code_has_a_mode_of_its_own(self) -> None:
        _, shares, modes, chances = fitted("spikes")

        for spike in (0, 250):
            own = int(chances[spike].argmax())
            assert modes.centres[own] == pytest.approx(spike, abs=1e-6)
            assert (shares * chances[:, own]).sum() == pytest.approx(shares[spike], rel=0.1)

    def test_the_same_marginal_has_the_same_modes(self) -> None:
        one, two = fitted("spikes")[2], fitted("spikes")[2]

        assert (one.centres == two.centres).all()
        assert (one.reaches == two.reaches).all()


class TestChances:
    def test_they_are_those_of_drawn_offsets(self) -> None:
        for deviation in [0.0, 0.3]:
            codes, _, modes, _ = fitted("gaps", 4)
            rng, n = np.random.default_rng(1), 40_000
            weights, means = np.array([[0.4, 0.1, 0.3, 0.2]])[:, : modes.centres.size], np.array([0.8])
            weights /= weights.sum()
            drawn = rng.choice(weights.size, n, p=weights[0])
            offsets = means[0] + deviation * rng.standard_normal(n)

            found = modes.code_chances(codes, weights, means, deviation)[0]

            counted = np.bincount(modes.nearest(codes, drawn, offsets), minlength=codes.size) / n
            # Six standard deviations in each of 40 cells: false alarms below 1e-7.
            assert (np.abs(counted - found) <= 6 * np.sqrt(found * (1 - found) / n) + 1e-9).all()
            assert found.sum() == pytest.approx(1)
