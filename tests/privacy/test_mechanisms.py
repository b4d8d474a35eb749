from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)
from syntabula.privacy.mechanisms import Sensitive, choose, frequent, noisy_counts
from syntabula.privacy.noise import SeededNoise

COUNTS = np.arange(6).reshape(2, 3)
SCORES = np.array([1.0, 5.0, 5.0])
GAUSSIAN = GaussianEvent(sigma=2.5, l2_sensitivity_squared=2, cells=6)
LAPLACE = LaplaceEvent(scale=1.5, l1_sensitivity=2, cells=6)
EXPONENTIAL = ExponentialEvent(epsilon=0.5, candidates=3)


@dataclass
class Paid:
    """A token without a ledger."""

    event: Event
    used: int = 0

    def consume(self) -> Event:
        if self.used:
            raise RuntimeError("used before")
        self.used += 1
        return self.event


@dataclass
class Watched:
    """A noise source that only writes down what it is asked."""

    name: str = "watched"
    is_private: bool = False
    calls: list[tuple[str, np.ndarray, float]] = field(default_factory=list)

    def discrete_gaussian(self, counts, sigma):
        self.calls.append(("gaussian", counts, sigma))
        return counts + 1

    def discrete_laplace(self, counts, scale):
        self.calls.append(("laplace", counts, scale))
        return counts + 2

    def noisy_max(self, scores, scale):
        self.calls.append(("choice", scores, scale))
        return 2


class TestNoisyCounts:
    def test_passes_the_statistic_and_the_paid_scale_to_the_source_once(self):
        for event, kind, scale in [(GAUSSIAN, "gaussian", 2.5), (LAPLACE, "laplace", 1.5)]:
            noise, token = Watched(), Paid(event)
            noisy = noisy_counts(token, noise, Sensitive(COUNTS))
            assert token.used == 1
            assert [(k, s) for k, _, s in noise.calls] == [(kind, scale)]
            assert noise.calls[0][1] is COUNTS
            assert (noisy == COUNTS + (1 if kind == "gaussian" else 2)).all()

    def test_of_an_exact_event_is_a_copy_and_draws_nothing(self):
        noise = Watched()
        released = noisy_counts(Paid(ExactEvent("counts")), noise, Sensitive(COUNTS))
        assert (released == COUNTS).all()
        assert not np.shares_memory(released, COUNTS)
        assert noise.calls == []

    def test_with_a_used_token_draws_nothing(self):
        noise, token = Watched(), Paid(GAUSSIAN)
        noisy_counts(token, noise, Sensitive(COUNTS))
        with pytest.raises(RuntimeError, match="used before"):
            noisy_counts(token, noise, Sensitive(COUNTS))
        assert len(noise.calls) == 1

    def test_refuses_what_does_not_fit_the_event_after_spending_the_token(self):
        for event, counts in [
            (EXPONENTIAL, Sensitive(COUNTS)),
            (GaussianEvent(sigma=2.5, l2_sensitivity_squared=1, cells=5), Sensitive(COUNTS)),
            (LaplaceEvent(scale=2.5, l1_sensitivity=1, cells=7), Sensitive(COUNTS)),
            (GAUSSIAN, COUNTS),
            (GAUSSIAN, Sensitive(COUNTS.astype(float))),
            (GAUSSIAN, Sensitive(COUNTS.tolist())),
        ]:
            noise, token = Watched(), Paid(event)
            with pytest.raises(ArgumentError):
                noisy_counts(token, noise, counts)
            assert noise.calls == []
            assert token.used == 1

    def test_is_integer_with_a_real_source(self):
        noisy = noisy_counts(Paid(GAUSSIAN), SeededNoise(1), Sensitive(COUNTS))
        assert noisy.shape == (2, 3)
        assert noisy.dtype == np.int64


class TestFrequent:
    HELD = np.array([1, 2, 9, 10, 30])

    def test_keeps_the_noisy_counts_that_reach_the_threshold(self):
        noise, token = Watched(), Paid(ThresholdEvent(sigma=2.0, threshold=10.0))
        kept, noisy = frequent(token, noise, Sensitive(self.HELD))
        assert token.used == 1
        assert [(k, s) for k, _, s in noise.calls] == [("gaussian", 2.0)]
        assert (kept.tolist(), noisy.tolist()) == ([2, 3, 4], [10, 11, 31])

    def test_noise_as_large_as_the_threshold_is_drawn_again(self):
        class Surprising(Watched):
            def discrete_gaussian(self, counts, sigma):
                self.calls.append(("gaussian", counts, sigma))
                # Too much for the first and the last count at first, and then too little for the last.
                drawn = [[10, 9, -9, 0, -11], [9, -10], [3]][len(self.calls) - 1]
                return counts + np.array(drawn)

        noise, token = Surprising(), Paid(ThresholdEvent(sigma=2.0, threshold=10.0, bounded=True))
        kept, noisy = frequent(token, noise, Sensitive(self.HELD))

        assert [counts.tolist() for _, counts, _ in noise.calls] == [self.HELD.tolist(), [1, 30], [30]]
        assert {scale for _, _, scale in noise.calls} == {2.0}
        assert (kept.tolist(), noisy.tolist()) == ([0, 1, 3, 4], [10, 11, 10, 33])

    def test_public_categories_are_released_whatever_their_count(self):
        counts, threshold = np.array([0, 1, 30, 2, 12]), ThresholdEvent(2.0, 10.0, bounded=True)
        for event, expected in ((threshold, [0, 1, 2, 4]), (ExactEvent("categories"), [0, 1, 2, 3, 4])):
            kept, _ = frequent(Paid(event), SeededNoise(0), Sensitive(counts), 2)
            assert kept.tolist() == expected

    def test_of_an_exact_event_leaves_out_what_a_single_record_holds(self):
        noise = Watched()
        kept, counts = frequent(Paid(ExactEvent("categories")), noise, Sensitive(self.HELD))
        assert (kept.tolist(), counts.tolist()) == ([1, 2, 3, 4], [2, 9, 10, 30])
        assert noise.calls == []

    def test_refuses_another_event_after_spending_the_token(self):
        noise, token = Watched(), Paid(GAUSSIAN)
        with pytest.raises(ArgumentError, match="categories"):
            frequent(token, noise, Sensitive(self.HELD))
        assert noise.calls == []
        assert token.used == 1


class TestChoose:
    def test_uses_twice_the_sensitivity_over_epsilon(self):
        noise, token = Watched(), Paid(EXPONENTIAL)
        assert choose(token, noise, Sensitive(SCORES), score_sensitivity=3.0) == 2
        assert token.used == 1
        assert [(k, s) for k, _, s in noise.calls] == [("choice", 12.0)]

    def test_never_rounds_the_scale_below_what_was_paid(self):
        for epsilon, sensitivity in product(
            (0.1, 0.3, 1 / 3, 0.7, 1e-9, 49.0, 1e300), (0.1, 1.0, 1 / 3, 7.7, 5e-324)
        ):
            noise = Watched()
            choose(Paid(ExponentialEvent(epsilon, 3)), noise, Sensitive(SCORES), sensitivity)
            scale = Fraction(noise.calls[0][2])
            exact = 2 * Fraction(sensitivity) / Fraction(epsilon)
            assert exact <= scale, (epsilon, sensitivity)
            assert scale <= exact * (1 + Fraction(1, 2**51)) + Fraction(5e-324), (epsilon, sensitivity)

    def test_of_an_exact_event_takes_the_first_of_the_largest(self):
        noise = Watched()
        assert choose(Paid(ExactEvent("choice")), noise, Sensitive(SCORES), 1.0) == 1
        assert noise.calls == []

    def test_refuses_a_sensitivity_that_is_not_above_zero(self):
        for sensitivity in [0, float("nan"), float("inf"), True, None]:
            with pytest.raises(ArgumentError, match="score_sensitivity"):
                choose(Paid(EXPONENTIAL), Watched(), Sensitive(SCORES), sensitivity)

    def test_refuses_a_scale_beyond_float64(self):
        with pytest.raises(ArgumentError, match="beyond float64"):
            choose(Paid(ExponentialEvent(1e-300, 3)), Watched(), Sensitive(SCORES), 1e300)

    def test_refuses_what_does_not_fit_the_event_after_spending_the_token(self):
        cases = [
            (GAUSSIAN, Sensitive(SCORES)),
            (ExponentialEvent(1.0, 2), Sensitive(SCORES)),
            (EXPONENTIAL, SCORES),
            (EXPONENTIAL, Sensitive(SCORES.astype(int))),
            (EXPONENTIAL, Sensitive(SCORES.reshape(3, 1))),
            (EXPONENTIAL, Sensitive(np.array([1.0, np.nan, 2.0]))),
            (ExactEvent("choice"), Sensitive(np.array([]))),
            (ExactEvent("choice"), Sensitive(np.array([np.nan, 1.0]))),
        ]
        for event, scores in cases:
            noise, token = Watched(), Paid(event)
            with pytest.raises(ArgumentError):
                choose(token, noise, scores, 1.0)
            assert noise.calls == []
            assert token.used == 1
