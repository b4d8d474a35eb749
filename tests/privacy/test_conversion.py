"""Conversions and composition, against printed vectors, 60-digit arithmetic and an independent accountant."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from corners import thorough_but
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Accounting, Budget
from syntabula.privacy.conversion import (
    delta_of_gaussian,
    epsilon_from_mu,
    epsilon_from_rho,
    float_above,
    mu_from_epsilon,
    rho_from_epsilon,
)
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.gdp import exponential_epsilon, gaussian_sigma, laplace_epsilon, laplace_scale
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.rules import epsilon_of
from syntabula.privacy.rules import smallest_threshold as threshold_event

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-5, 1e-3)

VECTORS = [  # epsilon, delta, rho, as printed: the last digit may be off by one half
    (0.1, 1e-5, 0.00043299, 5e-9),
    (0.2, 1e-5, 0.00155884, 5e-9),
    (0.5, 1e-5, 0.00850553, 5e-9),
    (1.0, 1e-5, 0.03055660, 5e-9),
    (2.0, 1e-5, 0.10825636, 5e-9),
    (5.0, 1e-5, 0.55097347, 5e-9),
    (10.0, 1e-5, 1.78269562, 5e-9),
    (100.0, 1e-5, 52.705, 5e-4),
    (1.0, 1e-9, 0.01497306, 5e-9),
]


def precise_epsilon(rho: float, delta: float) -> mpmath.mpf:
    """Minimise the zCDP conversion over alpha with 60 digits."""
    with mpmath.workdps(60):
        exact_rho, log_inverse = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(delta))
        low, high = mpmath.mpf(10) ** -30, mpmath.expm1(log_inverse)
        for _ in range(300):
            t = mpmath.sqrt(low * high)
            low, high = (low, t) if exact_rho * t * t + mpmath.log1p(t) > log_inverse else (t, high)
        alpha = 1 + low
        return alpha * exact_rho + mpmath.log1p(-1 / alpha) + (log_inverse - mpmath.log(alpha)) / low


def precise_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Compute the Gaussian's privacy curve by its textbook difference with 200 digits."""
    with mpmath.workdps(200):
        e, m, root = mpmath.mpf(epsilon), mpmath.mpf(mu), mpmath.sqrt(2)
        return (mpmath.erfc((e / m - m / 2) / root) - mpmath.exp(e) * mpmath.erfc((e / m + m / 2) / root)) / 2


class TestZcdpConversion:
    def test_matches_the_printed_vectors(self) -> None:
        for epsilon, delta, rho, last_digit in VECTORS:
            assert rho_from_epsilon(epsilon, delta) == pytest.approx(rho, rel=1e-6, abs=last_digit), rho

    @pytest.mark.thorough
    def test_is_sound_and_tight_in_60_digits(self) -> None:
        for epsilon in [1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0, 100.0, 1e4, 1e8]:
            for delta in [1e-300, 1e-15, 1e-9, 1e-5, 0.01, 0.5, 0.999]:
                rho = rho_from_epsilon(epsilon, delta)
                precise = precise_epsilon(rho, delta)
                assert precise <= epsilon_from_rho(rho, delta) <= epsilon, delta
                assert precise_epsilon(rho * (1 + 1e-12), delta) > epsilon, delta

    def test_inner_root_is_the_minimum_of_delta(self) -> None:
        rho, epsilon = rho_from_epsilon(1.0, 1e-5), 1.0
        alphas = 1 + np.geomspace(1e-3, 100, 200_001)
        deltas = np.exp((alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas)) / (
            alphas - 1
        )
        assert deltas.min() == pytest.approx(1e-5, rel=1e-8)

    def test_stays_below_the_closed_form(self) -> None:
        for epsilon, delta in itertools.product(EPSILONS, DELTAS):
            rho = rho_from_epsilon(epsilon, delta)
            assert epsilon_from_rho(rho, delta) <= rho + 2 * math.sqrt(rho * math.log(1 / delta))

    @pytest.mark.thorough
    @settings(max_examples=1000)
    @given(st.floats(-9, 8), st.floats(-15, -0.301))
    def test_round_trip_never_overclaims(self, epsilon_exponent: float, delta_exponent: float) -> None:
        self.assert_never_overclaims(10**epsilon_exponent, 10**delta_exponent)

    def test_round_trip_never_overclaims_at_the_ends(self) -> None:
        for epsilon, delta in itertools.product((1e-9, 1.0, 1e8), (1e-15, 1e-5, 0.5)):
            self.assert_never_overclaims(epsilon, delta)

    def assert_never_overclaims(self, epsilon: float, delta: float) -> None:
        back = epsilon_from_rho(rho_from_epsilon(epsilon, delta), delta)
        assert back <= epsilon
        assert back >= epsilon * (1 - 1e-12) - 1e-14

    @pytest.mark.thorough
    @settings(max_examples=1000)
    @given(st.floats(-12, 8), st.floats(-15, -0.01), st.floats(1.000001, 10))
    def test_is_monotone(self, exponent: float, delta_exponent: float, factor: float) -> None:
        self.assert_monotone(10**exponent, 10**delta_exponent, factor)

    def test_is_monotone_at_the_ends(self) -> None:
        for value, delta, factor in itertools.product(
            (1e-12, 1.0, 1e8), (1e-15, 1e-5, 0.97), (1.000001, 10.0)
        ):
            self.assert_monotone(value, delta, factor)

    def assert_monotone(self, value: float, delta: float, factor: float) -> None:
        epsilon, rho = epsilon_from_rho(value, delta), rho_from_epsilon(value, delta)
        assert epsilon_from_rho(value * factor, delta) >= epsilon
        assert epsilon_from_rho(value, delta ** (1 / factor)) <= epsilon
        assert rho_from_epsilon(value * factor, delta) >= rho
        assert rho_from_epsilon(value, delta ** (1 / factor)) >= rho * (1 - 1e-13)

    def test_fractions_are_rounded_up(self) -> None:
        assert epsilon_from_rho(Fraction(1, 3), 1e-5) == epsilon_from_rho(math.nextafter(1 / 3, 1), 1e-5)
        assert float_above(Fraction(1, 3)) == math.nextafter(1 / 3, 1)
        assert float_above(Fraction(10) ** 400) == math.inf
        assert epsilon_from_rho(0.0, 1e-5) == 0

    def test_bad_delta_is_refused(self) -> None:
        for delta in [0.0, 1.0, math.nan, math.inf]:
            for call in (epsilon_from_rho, rho_from_epsilon, mu_from_epsilon, epsilon_from_mu):
                with pytest.raises(BudgetError, match="delta"):
                    call(1.0, delta)

    def test_bad_values_are_refused(self) -> None:
        for value in [-1.0, math.nan, math.inf]:
            for call in (epsilon_from_rho, rho_from_epsilon, mu_from_epsilon, epsilon_from_mu):
                with pytest.raises(BudgetError):
                    call(value, 1e-5)
            with pytest.raises(BudgetError):
                delta_of_gaussian(value, 1.0)
            with pytest.raises(BudgetError):
                delta_of_gaussian(1.0, value)


class TestGaussian:
    def test_delta_matches_200_digits_also_in_the_tails(self) -> None:
        for mu in [1e-4, 1e-2, 0.1, 0.5, 1, 2, 2.001, 3, 4.5, 10, 14.1, 20, 141, 200]:
            compared = 0
            for epsilon in (0, 1e-9, 1e-3, 0.1, 1, 5, 10, 100, 1e4):
                precise = precise_delta(epsilon, mu)
                if precise > mpmath.mpf(10) ** -290:
                    compared += 1
                    assert abs(delta_of_gaussian(epsilon, mu) / precise - 1) < 1e-12, mu
            assert compared >= 2, mu

    def test_far_tail_is_zero_and_not_an_error(self) -> None:
        assert delta_of_gaussian(1e8, 1e-8) == 0
        assert delta_of_gaussian(0, 1e8) == 1

    def test_mu_matches_the_printed_vectors(self) -> None:
        for epsilon, mu in [(0.2, 0.061334), (1, 0.268051), (5, 1.121242), (10, 2.000446)]:
            assert mu_from_epsilon(epsilon, 1e-5) == pytest.approx(mu, abs=5e-7)

    @pytest.mark.thorough
    def test_inverses_are_rounded_against_us(self) -> None:
        for epsilon, delta in itertools.product(EPSILONS, DELTAS):
            mu = mu_from_epsilon(epsilon, delta)
            assert precise_delta(epsilon, mu) <= delta < precise_delta(epsilon, mu * (1 + 1e-10))
            above = epsilon_from_mu(mu, delta)
            assert precise_delta(above, mu) <= delta
            assert above == pytest.approx(epsilon, rel=1e-10)
        assert epsilon_from_mu(1e-6, 1e-3) == 0

    @pytest.mark.thorough
    def test_inverses_are_rounded_against_us_at_random_points(self) -> None:
        rng = random.Random(5)
        for _ in range(120):
            epsilon, delta = 10 ** rng.uniform(-6, 2.3), 10 ** rng.uniform(-40, -0.01)
            mu = mu_from_epsilon(epsilon, delta)
            assert delta * (1 - 1e-11 * (1 + mu * mu)) <= precise_delta(epsilon, mu) <= delta
            above = epsilon_from_mu(mu, delta)
            assert above == 0 or precise_delta(above, mu) <= delta

    def test_is_never_above_the_zcdp_bound(self) -> None:
        for epsilon, delta in itertools.product(EPSILONS, DELTAS):
            rho = rho_from_epsilon(epsilon, delta)
            assert epsilon_from_mu(math.sqrt(2 * rho), delta) <= epsilon


Trace = list[tuple[str, Fraction]]


def gaussians(count: int) -> Trace:
    return [("gaussian", Fraction(1, count))] * count


def tree_trace() -> Trace:
    """Ten one-way tables, nine choices of an edge, nine two-way tables: a third of the budget each."""
    ways = [("gaussian", Fraction(1, 30))] * 10
    return ways + [("exponential", Fraction(1, 27)), ("gaussian", Fraction(1, 27))] * 9


def annealed_trace() -> Trace:
    """Rounds of a choice and a measurement, where both grow every few rounds."""
    weights = [2 ** (position // 3) for position in range(12)]
    rounds = [Fraction(weight, sum(weights)) for weight in weights]
    return [part for share in rounds for part in (("exponential", share / 10), ("gaussian", share * 9 / 10))]


def extraction_trace() -> Trace:
    """A table without a schema: counts, bounds and categories found, then bins, then measurements."""
    found = [("laplace", Fraction(1, 200)), ("threshold", Fraction(1, 50)), ("threshold", Fraction(1, 50))]
    bins = [("tree", Fraction(1, 50)), ("laplace", Fraction(1, 50))] * 2
    return found + bins + [("joint", Fraction(1, 2)), ("gaussian", Fraction(3, 8))]


TRACES: dict[str, Trace] = {
    "1 Gaussian": gaussians(1),
    "200 Gaussians": gaussians(200),
    "20 Gaussians and 20 exponential": [("gaussian", Fraction(1, 40)), ("exponential", Fraction(1, 40))] * 20,
    "spanning tree": tree_trace(),
    "annealed rounds": annealed_trace(),
    "30 marginals at once": [("joint", Fraction(1))],
    "40 exponential": [("exponential", Fraction(1, 40))] * 40,
    "10 Laplace and 1 Gaussian": [("laplace", Fraction(1, 20))] * 10 + [("gaussian", Fraction(1, 2))],
    "5 private trees and 1 Gaussian": [("tree", Fraction(1, 10))] * 5 + [("gaussian", Fraction(1, 2))],
    "a table without a schema": extraction_trace(),
}
# Delta of each threshold, as a part of the whole, where a trace has some.
THRESHOLD_PART = Fraction(1, 20)


def points() -> list[tuple[str, float, Accounting]]:
    """One of eight epsilons for each trace and currency, and all of them in turn."""
    turns: dict[Accounting, int] = {"gdp": 0, "zcdp": 4}
    return [
        (name, epsilon, accounting)
        for place, name in enumerate(TRACES)
        for turn, epsilon in enumerate(EPSILONS)
        for accounting, wanted in turns.items()
        if (place + turn) % 8 == wanted
    ]


class TestAgainstAnotherAccountant:
    """dp-accounting (Google) as oracle, which shares no code with ours."""

    @pytest.fixture
    def pld(self) -> Any:
        return pytest.importorskip(
            "dp_accounting.pld.privacy_loss_distribution", reason="the oracle dp-accounting is not installed"
        )

    @pytest.fixture
    def rdp(self) -> Any:
        return pytest.importorskip(
            "dp_accounting.rdp.rdp_privacy_accountant", reason="the oracle dp-accounting is not installed"
        )

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    @pytest.mark.parametrize(
        "point", thorough_but(lambda point: point[2] == "gdp" and point[1] <= 0.1, points()), ids=str
    )
    def test_ledger_is_sound_and_not_loose(self, pld: Any, point: tuple[str, float, Accounting]) -> None:
        name, epsilon, accounting = point
        for delta in DELTAS:
            ledger = play(TRACES[name], Budget(epsilon, delta, accounting=accounting))
            composed = compose(pld, ledger, epsilon / 4_000)
            # What thresholds may fail with is added to delta, and so is not there for the rest.
            true = composed.get_epsilon_for_delta(float(Fraction(delta) - ledger.budget.failure_delta))
            assert ledger.epsilon_spent == pytest.approx(epsilon, rel=1e-12)
            assert ledger.epsilon_spent >= true
            # The price of counting in zCDP: 1.04 to 1.23 on these points, to 1.33 for choices alone at epsilon
            # 20, and to 1.55 at the largest delta. That of Gaussian privacy is 1.00 to 1.19 up to epsilon 2, most for
            # choices alone; beyond, sigma is below 1 and the oracle's continuous noise no measure for discrete noise.
            if accounting == "zcdp":
                assert ledger.epsilon_spent <= (1.4 if delta <= 1e-5 else 1.6) * true
            elif epsilon <= 2:
                assert ledger.epsilon_spent <= 1.2 * true

    @pytest.mark.parametrize("epsilon", EPSILONS[::2])
    def test_conversion_agrees_with_renyi_accounting(self, rdp: Any, epsilon: float) -> None:
        for delta in DELTAS:
            rho = rho_from_epsilon(epsilon, delta)
            orders = 1 + np.geomspace(0.011, 1e5, 20_000)
            theirs, _ = rdp.compute_epsilon(orders, orders * rho, delta)
            ours = epsilon_from_rho(rho, delta)
            assert theirs / 1.001 <= ours <= theirs * (1 + 1e-9), delta
            default = np.asarray(rdp.DEFAULT_RDP_ORDERS)
            assert ours <= 1.05 * rdp.compute_epsilon(default, default * rho, delta)[0], delta

    def test_gaussian_curve_agrees(self) -> None:
        oracle = pytest.importorskip(
            "dp_accounting.gaussian_mechanism", reason="dp-accounting is not installed"
        )
        for epsilon, delta in itertools.product(EPSILONS, DELTAS):
            sigma = oracle.get_sigma_gaussian(epsilon, delta)
            assert 1 / mu_from_epsilon(epsilon, delta) == pytest.approx(sigma, rel=1e-5), (epsilon, delta)


def play(trace: Trace, budget: Budget) -> Ledger:
    """Spend a trace of shares on a ledger, as a synthesizer would."""
    thresholds = sum(kind == "threshold" for kind, _ in trace)
    if thresholds:
        budget = budget.with_failure_delta(thresholds * THRESHOLD_PART * Fraction(budget.delta))
    part = budget.failure_delta / max(thresholds, 1)
    ledger = Ledger(budget)
    assert budget.total is not None
    for kind, share in trace:
        ledger.spend(event_of(kind, share * budget.total, part, ledger), step=kind)
    return ledger


def event_of(kind: str, cost: Fraction, delta: Fraction, ledger: Ledger) -> Event:
    """Make the event of a kind that costs so much on a ledger; delta is that of a threshold."""
    currency, left = ledger.budget.currency, ledger.remaining
    assert left is not None
    match kind:
        case "gaussian":
            return GaussianEvent(gaussian_sigma(cost, 1, currency), 1, 1)
        case "joint":
            return GaussianEvent(gaussian_sigma(cost, 30, currency), 30, 30)
        case "exponential":
            return ExponentialEvent(exponential_epsilon(cost, currency, left), 2)
        case "laplace":
            return LaplaceEvent(laplace_scale(laplace_epsilon(cost, currency, left), 2), 2, 2)
        case "tree":
            return TreeEvent(scale=laplace_scale(laplace_epsilon(cost, currency, left), 3))
    return threshold_event(gaussian_sigma(cost, 1, currency), delta)


def compose(pld: Any, ledger: Ledger, step: float) -> Any:
    """Compose the optimistic privacy loss of every event of a ledger."""
    counts: dict[Any, int] = {}
    for entry in ledger.entries:
        counts[entry.event] = counts.get(entry.event, 0) + 1
    composed = None
    for event, count in counts.items():
        one = one_event(pld, event, step)
        many = one.self_compose(count) if count > 1 else one
        composed = many if composed is None else composed.compose(many)
    return composed


def one_event(pld: Any, event: Event, step: float) -> Any:
    """Privacy loss of one event, rounded down.

    The exponential mechanism is taken with two candidates whose scores move by the sensitivity in opposite
    ways, so that the odds of the first go from exp(-epsilon/2) to exp(epsilon/2). A tree is taken as the worst
    that a mechanism of its pure epsilon can be, which gives one of two answers.
    """
    options: dict[str, Any] = {"pessimistic_estimate": False, "value_discretization_interval": step}
    if isinstance(event, GaussianEvent):
        sigma = event.sigma / math.sqrt(event.l2_sensitivity_squared)
        return pld.from_gaussian_mechanism(sigma, use_connect_dots=False, **options)
    if isinstance(event, ThresholdEvent):
        return pld.from_gaussian_mechanism(event.sigma, use_connect_dots=False, **options)
    if isinstance(event, LaplaceEvent):
        scale = event.scale / event.l1_sensitivity
        return pld.from_laplace_mechanism(scale, use_connect_dots=False, **options)
    # Two answers, whose odds go from exp(-reach) to exp(reach).
    reach = event.epsilon / 2 if isinstance(event, ExponentialEvent) else float(epsilon_of(event))
    likely = -math.log1p(math.exp(-reach))
    unlikely = likely - reach
    before, after = {0: unlikely, 1: likely}, {0: likely, 1: unlikely}
    return pld.from_two_probability_mass_functions(before, after, **options)
