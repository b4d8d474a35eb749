from __future__ import annotations

from fractions import Fraction

import pytest

from syntabula.errors import BudgetError
from syntabula.privacy.events import Event, ExactEvent, ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.rules import cost_of, epsilon_of, rho_of

EVENTS: list[Event] = [
    GaussianEvent(10.5, 2, 100),
    GaussianEvent(0.1, Fraction(7, 3), 1),
    LaplaceEvent(3.0, 2, 5),
    ExponentialEvent(0.1, 12),
    ExactEvent("counts of two columns"),
]


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
