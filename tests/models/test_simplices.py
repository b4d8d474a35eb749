"""Distributions of several columns at once: the nearest ones, and softmax."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.models.simplices import Simplices

torch = pytest.importorskip("torch")

SIZES = (7, 2, 4)


def columns(numbers: torch.Tensor) -> list[np.ndarray]:
    """Return the numbers of each column [codes, rows]."""
    return np.split(numbers.double().numpy(), np.cumsum(SIZES)[:-1])


def normal(scale: float, rows: int = 200, seed: int = 0) -> torch.Tensor:
    drawn = np.random.default_rng(seed).normal(0, scale, (sum(SIZES), rows))
    return torch.tensor(drawn, dtype=torch.float32)


def assert_nearest(numbers: torch.Tensor, found: torch.Tensor) -> None:
    """Check the conditions of the optimum: a common amount is taken off what stays above 0."""
    for given, nearest in zip(columns(numbers), columns(found), strict=True):
        assert np.allclose(nearest.sum(axis=0), 1, atol=1e-5)
        assert (nearest >= 0).all()
        taken = np.where(nearest > 0, given - nearest, np.nan)
        amount = np.nanmean(taken, axis=0)
        assert np.nanmax(np.abs(taken - amount)) < 1e-5
        assert ((given <= amount + 1e-5) | (nearest > 0)).all()


class TestNearest:
    @pytest.mark.parametrize("scale", [0.01, 2.0, 10.0])
    def test_is_the_nearest_distribution_of_every_column(self, scale: float) -> None:
        numbers = normal(scale)
        found = numbers.clone()

        Simplices(SIZES, 200, torch.device("cpu")).project(found)

        assert_nearest(numbers, found)

    def test_it_is_found_from_wherever_the_last_call_ended(self) -> None:
        """Far above, far below, and near: an amount that is left over never shows."""
        simplices = Simplices(SIZES, 200, torch.device("cpu"))

        for shift, seed in [(5.0, 1), (-5.0, 2), (-4.9, 3)]:
            numbers = normal(1.0, seed=seed) + shift
            found = numbers.clone()
            simplices.project(found)

            assert_nearest(numbers, found)

    def test_leaves_a_distribution_as_it_is(self) -> None:
        shares = torch.cat([torch.full((size, 1), 1 / size) for size in SIZES])
        found = shares.clone()

        Simplices(SIZES, 1, torch.device("cpu")).project(found)

        assert torch.allclose(found, shares)


class TestSoftmax:
    def test_is_in_proportion_to_exponentials(self) -> None:
        numbers = normal(3.0)

        found = Simplices(SIZES, 200, torch.device("cpu")).softmax(numbers)

        for given, shares in zip(columns(numbers), columns(found), strict=True):
            assert np.allclose(shares, np.exp(given) / np.exp(given).sum(axis=0), atol=1e-6)
