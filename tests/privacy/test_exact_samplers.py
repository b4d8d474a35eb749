"""The exponential mechanism among many: what its proof rests on, its extremes, and what it draws from."""

from __future__ import annotations

import os
import random
from fractions import Fraction
from multiprocessing import get_context

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syntabula.errors import ArgumentError
from syntabula.privacy import exact_samplers
from syntabula.privacy.exact_samplers import choose_among_many as choose
from syntabula.privacy.noise import SecureNoise

pytestmark = pytest.mark.fresh_noise

FULL = np.finfo(np.float64).max
LEAST = 5e-324
SMALLEST_NORMAL = np.finfo(np.float64).tiny


def power(exponent: Fraction, bits: int, digits: int = 120) -> mpmath.mpf:
    """2^bits exp(-exponent) to so many digits; what is beyond an exponent of 5000 is too small to matter here."""
    with mpmath.workdps(digits):
        near = min(exponent, Fraction(5000))
        return mpmath.ldexp(mpmath.exp(-mpmath.mpf(near.numerator) / near.denominator), bits)


def exponents(scores: np.ndarray, scale: float) -> list[Fraction]:
    largest = Fraction(float(scores.max()))
    return [(largest - Fraction(float(s))) / Fraction(scale) for s in scores]


def units(scores: np.ndarray, scale: float, unit_bits: int = 32) -> np.ndarray:
    table = exact_samplers._units_by_step(unit_bits)
    return table[exact_samplers._steps_down(scores, scores.max(), scale, table.size - 1)]


any_score = st.floats(allow_nan=False, allow_infinity=False)
any_scale = st.floats(min_value=LEAST, allow_nan=False, allow_infinity=False)
near_scores = st.lists(st.floats(0, 30), min_size=1, max_size=8)


class TestUnits:
    @pytest.mark.thorough
    @given(scores=st.lists(any_score, min_size=1, max_size=8), scale=any_scale)
    @example(scores=[FULL, -FULL, 0.0, FULL / 2], scale=FULL)
    @example(scores=[FULL, -FULL, 0.0], scale=LEAST)
    @example(scores=[0.0, -LEAST, -2 * LEAST, LEAST], scale=LEAST)
    @example(scores=[0.0, -LEAST, -SMALLEST_NORMAL, SMALLEST_NORMAL], scale=3 * LEAST)
    @example(scores=[1e300, -1e300], scale=1.0)
    def test_of_any_candidate_reach_its_weight(self, scores: list[float], scale: float) -> None:
        exact = np.array(scores)

        for given_units, exponent in zip(units(exact, scale), exponents(exact, scale), strict=True):
            assert int(given_units) >= power(exponent, 32)

    @pytest.mark.thorough
    @given(below=near_scores, scale=st.floats(1e-3, 1e3))
    def test_exceed_it_by_two_steps_at_most(self, below: list[float], scale: float) -> None:
        exact = -np.array([0.0, *below]) * scale

        for given_units, exponent in zip(units(exact, scale), exponents(exact, scale), strict=True):
            assert int(given_units) <= power(exponent - Fraction(2, 64), 32) + 1

    @given(step=st.integers(0, 1500), nudge=st.integers(-3, 3), scale=st.floats(1e-300, 1e300))
    def test_at_the_edge_of_a_step_are_those_of_an_exponent_that_is_no_larger(
        self, step: int, nudge: int, scale: float
    ) -> None:
        edge = step / 64 * scale
        for _ in range(abs(nudge)):
            edge = float(np.nextafter(edge, np.copysign(np.inf, nudge)))
        exact = np.array([0.0, -max(edge, 0.0)])

        steps = exact_samplers._steps_down(exact, exact.max(), scale, 1421)

        assert Fraction(int(steps[1]) - 1, 64) <= exponents(exact, scale)[1]
        assert units(exact, scale)[1] >= power(exponents(exact, scale)[1], 32)

    def test_of_the_largest_score_are_two_to_the_32_and_of_the_least_one(self) -> None:
        table = exact_samplers._units_by_step(32)

        assert table[0] == table[1] == 2**32
        assert table[-1] == 1
        assert power(Fraction(table.size - 2, 64), 32) <= 1
        assert (np.diff(table) <= 0).all()
        assert exact_samplers.MOST_CANDIDATES * int(table[0]) < 2**63


class TestBounds:
    @pytest.mark.thorough
    @given(
        exponent=st.fractions(0, 60) | st.fractions(0, Fraction(1, 10**30)) | st.fractions(0, 1000),
        bits=st.integers(1, 300),
    )
    @example(exponent=Fraction(10**632), bits=64)
    @example(exponent=Fraction(1, 10**632), bits=64)
    @example(exponent=Fraction(64), bits=64)
    def test_hold_the_power_and_are_close(self, exponent: Fraction, bits: int) -> None:
        low, high = exact_samplers.exponential_bounds(exponent, bits)

        exact = power(exponent, bits, digits=800 if exponent < 1 else 160)
        assert low <= exact <= high
        assert high - low <= 2

    def test_hold_a_power_next_to_a_whole_number(self) -> None:
        for whole in [3, 7, 1000, 10**6 + 1]:
            for bits in [64, 96]:
                # Nearer to it than rounding a quotient in the wrong direction moves it.
                with mpmath.workdps(200):
                    at = bits * mpmath.ln(2) - mpmath.ln(whole)
                    above, below = (
                        Fraction(mpmath.nstr(at + side, 150))
                        for side in (mpmath.mpf(10) ** -60, -(mpmath.mpf(10) ** -60))
                    )

                assert exact_samplers.exponential_bounds(above, bits)[0] < whole
                assert exact_samplers.exponential_bounds(below, bits)[1] > whole

    def test_of_exponent_zero_are_equal(self) -> None:
        assert exact_samplers.exponential_bounds(Fraction(0), 40) == (2**40, 2**40)


class Scripted:
    """Stands in for `secrets.randbits`: hands out the digits of a number, in order."""

    def __init__(self, number: int, bits: int) -> None:
        self.number, self.left = number, bits

    def __call__(self, bits: int) -> int:
        self.left -= bits
        assert self.left >= 0, "more digits were drawn than it takes"
        return (self.number >> self.left) % (1 << bits)


class TestDecision:
    @pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(7), Fraction(0.1), Fraction(1, 10**20)])
    def test_is_right_however_long_the_point_agrees_with_the_weight(
        self, monkeypatch: pytest.MonkeyPatch, exponent: Fraction
    ) -> None:
        # Digits of the weight, of which the last are moved: it takes all of them, and at most two words more.
        for alike in (33, 64, 200):
            for nudge in (-3, 3):
                with mpmath.workdps(200):
                    point = int(mpmath.floor(power(exponent, 32 + alike, digits=200))) + nudge
                unit, digits = point >> alike, point % (1 << alike)
                monkeypatch.setattr(exact_samplers.secrets, "randbits", Scripted(digits << 96, alike + 96))

                assert exact_samplers._is_below(unit, exponent, 32) is (nudge < 0), (alike, nudge)

    def test_needs_no_digit_for_most_units(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exact_samplers.secrets, "randbits", Scripted(0, 0))
        near = int(power(Fraction(1), 32))

        assert exact_samplers._is_below(near - 3, Fraction(1), 32)
        assert not exact_samplers._is_below(near + 3, Fraction(1), 32)
        assert exact_samplers._is_below(2**32 - 1, Fraction(0), 32)
        assert not exact_samplers._is_below(1, Fraction(10**632), 32)

    def test_of_a_candidate_with_next_to_no_weight_falls_with_the_first_digits(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exact_samplers.secrets, "randbits", Scripted(1, 32))

        assert not exact_samplers._is_below(0, Fraction(10**632), 32)


class TestExtremes:
    def test_of_one_candidate_is_that_one(self) -> None:
        assert choose(np.array([-1e300]), LEAST) == 0

    def test_takes_the_best_by_far_of_a_million(self) -> None:
        for scale in [LEAST, SMALLEST_NORMAL, 1e-9, 1.0]:
            # Others together have probability 1e6 exp(-1e4) or less.
            scores = np.full(1_000_000, -1e300)
            scores[765_432] = 1e4

            assert choose(scores, scale) == 765_432

    @pytest.mark.thorough
    @pytest.mark.parametrize("scale", [LEAST, FULL])
    def test_of_equal_scores_reaches_both_halves_of_a_million(self, scale: float) -> None:
        # That one of two halves is missed by 40 draws has probability 2^-39.
        scores = np.full(1_000_000, -1e300)

        assert {choose(scores, scale) // 500_000 for _ in range(40)} == {0, 1}

    def test_leaves_scores_alone(self) -> None:
        scores = np.array([1.0, -3.0, 0.5])

        choose(scores, 2.0)

        assert scores.tolist() == [1.0, -3.0, 0.5]

    def test_of_too_many_candidates_is_refused_without_a_score(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exact_samplers, "MOST_CANDIDATES", 3)

        with pytest.raises(ArgumentError, match="at most 3 candidates, not 4") as caught:
            choose(np.full(4, 987654.0), 1.0)

        assert "987654" not in str(caught.value)


def _choices(queue) -> None:  # type: ignore[no-untyped-def]
    queue.put([SecureNoise().noisy_max(np.zeros(100_000), 1.0) for _ in range(20)])


class TestSource:
    def test_is_the_generator_of_the_operating_system_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*arguments: object, **options: object) -> None:
            raise AssertionError("drew from elsewhere")

        for name in (
            "default_rng",
            "random",
            "uniform",
            "integers",
            "choice",
            "exponential",
            "standard_exponential",
        ):
            monkeypatch.setattr(np.random, name, refuse, raising=False)
        for name in ("random", "randrange", "randint", "getrandbits"):
            monkeypatch.setattr(random, name, refuse)
        scores, asked = np.sin(np.arange(5000.0)), []
        monkeypatch.setattr(exact_samplers.secrets, "randbelow", lambda most: asked.append(most) or most // 3)

        chosen = {choose(scores, 1.0) for _ in range(5)}

        assert len(chosen) == 1
        assert asked == [int(units(scores, 1.0).sum())] * 5

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    def test_differs_between_forked_processes(self) -> None:
        # Equal with probability 1e-100.
        context = get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=_choices, args=(queue,)) for _ in range(2)]
        for child in children:
            child.start()
        one, other = queue.get(timeout=600), queue.get(timeout=600)
        for child in children:
            child.join()

        assert one != other

    def test_is_opendp_for_a_thousand_candidates_and_not_for_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exact_samplers, "_noisy_max_measurement", lambda scale: lambda scores: -1)
        monkeypatch.setattr(exact_samplers, "choose_among_many", lambda scores, scale: -2)

        assert SecureNoise().noisy_max(np.zeros(1000), 1.0) == -1
        assert SecureNoise().noisy_max(np.zeros(1001), 1.0) == -2
