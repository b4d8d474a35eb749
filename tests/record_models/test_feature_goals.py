"""Goals of mean features: their difference by brute force, and their gradient by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.fourier import FourierFeatures, draw_features
from syntabula.record_models.feature_goals import FeatureGoals

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b", "c", "d"), (3, 5, 2, 4), frozenset({"b"}))


def goals(columns: int, deviation: float = 1.0) -> tuple[FourierFeatures, FeatureGoals]:
    rng = np.random.default_rng(0)
    one_way = {c: np.ones(DOMAIN.size(c)) for c in DOMAIN}
    features = draw_features(DOMAIN, one_way, most=60, columns=columns, rng=rng)
    means = rng.normal(size=2 * features.count)
    weights = np.arange(1.0, 1 + np.prod(features.shape[:2]))
    return features, FeatureGoals.of(features, means, deviation=deviation, weights=weights, device="cpu")


def rows() -> Any:
    return torch.rand(7, 14, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("columns", [1, 2, 3])
class TestDifference:
    def test_it_is_the_mean_of_products_less_the_goal(self, columns: int) -> None:
        features, made = goals(columns)
        table = rows().numpy().astype(np.float64)
        starts = np.cumsum([0, *DOMAIN.sizes])
        parts = []
        for clique, angles in features.blocks():
            wave = np.ones((7, features.waves), dtype=complex)
            for column, angle in zip(clique, angles, strict=True):
                j = DOMAIN.index(column)
                wave *= table[:, starts[j] : starts[j + 1]] @ np.exp(1j * angle)
            parts.append(np.stack([wave.mean(0).real, wave.mean(0).imag], axis=-1))

        found = made.difference(rows()).numpy()

        wanted = np.concatenate(parts, axis=None) - made.wanted.numpy().ravel()
        np.testing.assert_allclose(found.ravel(), wanted, atol=2e-6)

    def test_its_gradient_is_what_small_changes_say(self, columns: int) -> None:
        _, made = goals(columns)
        table = rows()
        slope = torch.randn(made.wanted.shape, generator=torch.Generator().manual_seed(1))
        gradient = torch.ones_like(table)

        made.add_gradient(gradient, table, slope)

        for row, code in ((0, 0), (3, 7), (6, 13), (2, 9)):
            up, down = table.clone(), table.clone()
            up[row, code] += 1e-2
            down[row, code] -= 1e-2
            change = float(((made.difference(up) - made.difference(down)) * slope).sum()) / 2e-2
            assert float(gradient[row, code]) - 1 == pytest.approx(7 * change, abs=2e-2)


def test_weights_are_those_of_the_sets_of_columns() -> None:
    features, made = goals(2)

    for number, (found, _) in enumerate(zip(made.weight.flatten(0, 1), features.blocks(), strict=True)):
        assert (found == number + 1).all()


def test_noise_explains_what_is_as_large_as_noise_and_nothing_without_noise() -> None:
    _, made = goals(2, deviation=0.1)
    _, without = goals(2, deviation=0.0)
    noise = 0.1 * torch.randn(made.wanted.shape, generator=torch.Generator().manual_seed(0))

    assert made.is_explained(noise)
    assert not made.is_explained(2 * noise)
    assert not without.is_explained(noise)
