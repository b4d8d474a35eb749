from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import BudgetError
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.parameters import exponential_epsilon, gaussian_sigma, laplace_epsilon, laplace_scale
from syntabula.privacy.rules import cost_of, epsilon_of, rho_of

COSTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)


class TestInverses:
    @pytest.mark.thorough
    @settings(max_examples=500)
    @given(COSTS, st.fractions(min_value=Fraction(1, 1000), max_value=10**6))
    def test_sigma_is_the_smallest_that_does_not_overspend(self, rho: Fraction, squared: Fraction) -> None:
        if squared == 0:
            return
        sigma = gaussian_sigma(rho, squared, "rho")
        assert rho_of(GaussianEvent(sigma, squared, 1)) <= rho
        assert rho_of(GaussianEvent(math.nextafter(sigma, 0), squared, 1)) > rho

    @settings(max_examples=500)
    @given(COSTS, st.integers(1, 10**6))
    def test_laplace_scale_is_the_smallest_that_does_not_overspend(
        self, cost: Fraction, sensitivity: int
    ) -> None:
        scale = laplace_scale(cost, sensitivity)
        assert epsilon_of(LaplaceEvent(scale, sensitivity, 1)) <= cost
        assert epsilon_of(LaplaceEvent(math.nextafter(scale, 0), sensitivity, 1)) > cost
        assert (
            rho_of(LaplaceEvent(laplace_scale(laplace_epsilon(cost, "rho"), sensitivity), sensitivity, 1))
            <= cost
        )

    @settings(max_examples=500)
    @given(COSTS)
    def test_exponential_is_the_largest_that_does_not_overspend(self, cost: Fraction) -> None:
        for currency in ("rho", "epsilon"):
            epsilon = exponential_epsilon(cost, currency)  # type: ignore[arg-type]
            assert cost_of(ExponentialEvent(epsilon, 2), currency) <= cost  # type: ignore[arg-type]
            more = ExponentialEvent(math.nextafter(epsilon, math.inf), 2)
            assert cost_of(more, currency) > cost  # type: ignore[arg-type]

    def test_extreme_costs_work_or_are_refused(self) -> None:
        assert rho_of(GaussianEvent(gaussian_sigma(Fraction(1, 10**500), 1, "rho"), 1, 1)) <= Fraction(
            1, 10**500
        )
        with pytest.raises(BudgetError, match="infinite"):
            gaussian_sigma(Fraction(1, 10**700), 1, "rho")
        with pytest.raises(BudgetError, match="infinite"):
            laplace_scale(Fraction(1, 10**400), 1)
        with pytest.raises(BudgetError, match="too small"):
            exponential_epsilon(Fraction(1, 10**700), "rho")
        assert gaussian_sigma(10**600, 1, "rho") > 0

    @pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True, "1", None])
    def test_bad_costs_are_refused(self, bad: object) -> None:
        for make in (
            lambda: gaussian_sigma(bad, 1, "rho"),  # type: ignore[arg-type]
            lambda: gaussian_sigma(bad, 1, "mu_squared"),  # type: ignore[arg-type]
            lambda: gaussian_sigma(1.0, 1, "epsilon"),
            lambda: laplace_scale(bad, 1),  # type: ignore[arg-type]
            lambda: exponential_epsilon(bad, "rho"),  # type: ignore[arg-type]
            lambda: exponential_epsilon(1.0, "none"),
            lambda: laplace_epsilon(1.0, "none"),
        ):
            with pytest.raises(BudgetError):
                make()
