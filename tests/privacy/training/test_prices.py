"""The part of delta that training sets aside: the one with which a budget buys the least noise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from syntabula.errors import BudgetError
from syntabula.privacy.conversion import mu_from_epsilon
from syntabula.privacy.training import prices
from syntabula.privacy.training.prices import training_delta_part, training_noise


def noise_with(part: Fraction, epsilon: float, delta: float, rate: float, steps: int) -> float:
    mu = mu_from_epsilon(epsilon, float(1 - part) * delta)
    return training_noise(Fraction(mu) ** 2, rate, steps, float(part) * delta)


class TestPartOfDelta:
    @pytest.mark.parametrize(
        ("epsilon", "delta", "rate", "steps"),
        [
            (1.0, 1e-5, 0.04, 300),
            (3.0, 1e-5, 1.0, 50),
        ],
    )
    @pytest.mark.thorough
    def test_needs_no_more_noise_than_any_other(
        self, epsilon: float, delta: float, rate: float, steps: int
    ) -> None:
        noises = {p: noise_with(p, epsilon, delta, rate, steps) for p in prices._PARTS}

        part = training_delta_part(epsilon, delta, rate, steps)

        # They are compared at a noise that is some hundredths too large.
        assert noises[part] <= min(noises.values()) * (1 + 1e-3)

    @pytest.mark.thorough
    def test_is_small_where_noise_is_large_and_large_where_sampling_is_rare(self) -> None:
        assert training_delta_part(0.4, 1e-5, 0.3, 2000) == prices._PARTS[0]
        assert training_delta_part(2.4, 1e-8, 0.002, 5000) == prices._PARTS[-1]

    @pytest.mark.thorough
    def test_leaves_most_of_the_noise_where_a_tenth_wasted_it(self) -> None:
        part = training_delta_part(2.4, 1e-8, 0.002, 5000)

        wasted = noise_with(Fraction(1, 10), 2.4, 1e-8, 0.002, 5000)
        assert noise_with(part, 2.4, 1e-8, 0.002, 5000) < 0.99 * wasted

    def test_of_steps_that_no_delta_covers_is_refused(self) -> None:
        with pytest.raises(BudgetError, match="too small"):
            training_delta_part(1.0, 1e-12, 0.01, 1_000_000)
