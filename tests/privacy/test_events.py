from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import BudgetError
from syntabula.privacy.accounting.costs import cost_of, epsilon_of, rho_of
from syntabula.privacy.accounting.parameters import (
    exponential_epsilon,
    gaussian_sigma,
    laplace_epsilon,
    laplace_scale,
)
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    event_from_json,
)

EVENTS: list[Event] = [
    GaussianEvent(10.5, 2, 100),
    GaussianEvent(0.1, Fraction(7, 3), 1),
    LaplaceEvent(3.0, 2, 5),
    ExponentialEvent(0.1, 12),
    ExactEvent("counts of two columns"),
]
COSTS = st.fractions(min_value=Fraction(1, 10**12), max_value=10**6)


class TestEvents:
    @pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
    def test_json_round_trip_is_exact(self, event: Event) -> None:
        assert event_from_json(json.loads(json.dumps(event.to_json()))) == event

    def test_numpy_numbers_become_plain(self) -> None:
        event = GaussianEvent(np.float64(2.0), 1, np.int64(7))  # type: ignore[arg-type]
        assert type(event.sigma) is float
        assert type(event.cells) is int

    @pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "1", True, None, 10**400, 2**53 + 1])
    def test_bad_scales_are_refused(self, bad: object) -> None:
        for make in (
            lambda: GaussianEvent(bad, 1, 1),  # type: ignore[arg-type]
            lambda: LaplaceEvent(bad, 1, 1),  # type: ignore[arg-type]
            lambda: ExponentialEvent(bad, 1),  # type: ignore[arg-type]
        ):
            with pytest.raises(BudgetError):
                make()

    @pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, "1", True, None])
    def test_bad_sensitivities_and_counts_are_refused(self, bad: object) -> None:
        for make in (
            lambda: GaussianEvent(1.0, bad, 1),  # type: ignore[arg-type]
            lambda: GaussianEvent(1.0, 1, bad),  # type: ignore[arg-type]
            lambda: LaplaceEvent(1.0, bad, 1),  # type: ignore[arg-type]
            lambda: ExponentialEvent(1.0, bad),  # type: ignore[arg-type]
        ):
            with pytest.raises(BudgetError):
                make()

    @pytest.mark.parametrize("bad", ["", 1, None, b"rows"])
    def test_exact_answers_need_words(self, bad: object) -> None:
        with pytest.raises(BudgetError):
            ExactEvent(bad)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "record", [{}, {"kind": "x"}, {"kind": "laplace"}, {"kind": "exact", "what": "", "more": 1}]
    )
    def test_unreadable_records_are_refused(self, record: dict[str, object]) -> None:
        with pytest.raises(BudgetError):
            event_from_json(record)


class TestCosts:
    def test_costs_are_exact(self) -> None:
        assert rho_of(GaussianEvent(0.1, 3, 9)) == Fraction(3) / (2 * Fraction(0.1) ** 2)
        assert rho_of(LaplaceEvent(4.0, 2, 9)) == Fraction(1, 8)
        assert epsilon_of(LaplaceEvent(4.0, 2, 9)) == Fraction(1, 2)
        assert rho_of(ExponentialEvent(0.5, 3)) == Fraction(1, 32)
        assert epsilon_of(ExponentialEvent(0.1, 3)) == Fraction(0.1)

    def test_events_without_a_cost_are_refused(self) -> None:
        with pytest.raises(BudgetError, match="Gaussian"):
            epsilon_of(GaussianEvent(1.0, 1, 1))
        for cost in (rho_of, epsilon_of):
            with pytest.raises(BudgetError, match="exact answers"):
                cost(ExactEvent("rows"))

    @pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
    def test_nothing_is_counted_without_privacy(self, event: Event) -> None:
        assert cost_of(event, "none") == 0


class TestInverses:
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
