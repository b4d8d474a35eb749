"""Schedules and steps back of diffusion, against Bayes' rule worked out by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from syntabula.record_models.diffusion import Stride, cosine_schedule, strided_levels


def transition(size: int, stays: float) -> np.ndarray:
    """Return the probabilities of each code after each code, if one stays with a probability and is even else."""
    return stays * np.eye(size) + (1 - stays) / size


class TestSchedule:
    def test_it_falls_from_one_to_next_to_nothing_by_at_most_the_stated_part(self) -> None:
        kept = cosine_schedule(1000)

        assert kept[0] == 1
        assert 0 < kept[-1] < 1e-4
        assert (np.diff(kept) < 0).all()
        assert (1 - kept[1:] / kept[:-1]).max() <= 0.999 + 1e-12

    def test_it_is_the_square_of_a_cosine(self) -> None:
        kept = cosine_schedule(100)

        wanted = math.cos(0.508 / 1.008 * math.pi / 2) ** 2 / math.cos(0.008 / 1.008 * math.pi / 2) ** 2
        assert kept[50] == pytest.approx(wanted, rel=1e-9)

    def test_strides_lead_from_the_last_level_to_none_and_never_stay(self) -> None:
        for levels, steps in [(1000, 20), (7, 3), (3, 3), (3, 50), (1, 1)]:
            found = strided_levels(levels, steps)

            assert (found[0], found[-1]) == (levels, 0)
            assert (np.diff(found) < 0).all()
            assert len(found) == min(levels, steps) + 1


class TestCodes:
    def test_chances_are_those_of_the_middle_of_three_draws(self) -> None:
        for later, earlier in [(0.3, 0.7), (0.01, 0.02), (0.9, 1.0)]:
            for size in [1, 2]:
                stride = Stride(later, earlier)
                before, after = transition(size, earlier), transition(size, later / earlier)

                for first, now in itertools.product(range(size), repeat=2):
                    joint = before[first] * after[:, now]
                    if joint.sum() > 0:
                        np.testing.assert_allclose(
                            stride.chances(now, first, size), joint / joint.sum(), atol=1e-12
                        )

    def test_draws_follow_the_chances(self) -> None:
        rng, size, n = np.random.default_rng(0), 4, 200_000

        for first, now in [(0, 0), (1, 3)]:
            stride = Stride(0.3, 0.6)
            drawn = stride.draw_codes(np.full(n, now), np.full(n, first), size, rng)
            # Each share has a standard error below .0012; five and a half of them are exceeded once in 10 million.
            shares = np.bincount(drawn, minlength=size) / n
            np.testing.assert_allclose(shares, stride.chances(now, first, size), atol=0.0066)

    def test_two_strides_are_one_over_both(self) -> None:
        size, low, middle, high = 3, 0.2, 0.5, 0.8

        for first, now in itertools.product(range(size), repeat=2):
            through = sum(
                Stride(low, middle).chances(now, first, size)[code]
                * Stride(middle, high).chances(code, first, size)
                for code in range(size)
            )
            np.testing.assert_allclose(through, Stride(low, high).chances(now, first, size), atol=1e-12)

    def test_the_last_step_gives_what_the_codes_were(self) -> None:
        rng = np.random.default_rng(0)
        first, now = rng.integers(5, size=1_000), rng.integers(5, size=1_000)

        assert (Stride(0.4, 1.0).draw_codes(now, first, 5, rng) == first).all()


class TestNumbers:
    def test_mean_and_deviation_are_those_of_the_product_of_two_normal_densities(self) -> None:
        stride, first, now = Stride(0.2, 0.6), 1.3, -0.4
        grid = np.linspace(-8, 8, 200_001)
        before = -((grid - math.sqrt(0.6) * first) ** 2) / (2 * 0.4)
        after = -((now - math.sqrt(0.2 / 0.6) * grid) ** 2) / (2 * (1 - 0.2 / 0.6))
        density = np.exp(before + after)
        density /= density.sum()

        mean, deviation = stride.mean_and_deviation(np.float32([now]), np.float32([first]))

        wanted = (density * grid).sum()
        assert mean[0] == pytest.approx(wanted, abs=1e-5)
        assert deviation == pytest.approx(math.sqrt((density * (grid - wanted) ** 2).sum()), abs=1e-5)

    def test_the_earlier_level_has_its_own_spread(self) -> None:
        stride, first = Stride(0.2, 0.6), np.float32([0.7])

        # The mean is linear: its part from the noise at the later level, beside the spread of the step itself.
        zero, _ = stride.mean_and_deviation(math.sqrt(0.2) * first, first)
        one, spread = stride.mean_and_deviation(math.sqrt(0.2) * first + np.float32(math.sqrt(0.8)), first)

        assert zero[0] == pytest.approx(math.sqrt(0.6) * 0.7, abs=1e-6)
        assert (one[0] - zero[0]) ** 2 + spread**2 == pytest.approx(0.4, abs=1e-6)

    def test_all_strides_together_turn_a_quarter(self) -> None:
        kept, levels = cosine_schedule(1000), strided_levels(1000, 20)

        angles = [Stride(kept[a], kept[b]).angle for a, b in itertools.pairwise(levels)]

        assert sum(angles) == pytest.approx(math.pi / 2, abs=0.01)
        assert min(angles) > 0.05

    def test_the_last_step_gives_what_the_numbers_were(self) -> None:
        mean, deviation = Stride(0.4, 1.0).mean_and_deviation(np.float32([2.0]), np.float32([-1.5]))

        assert (mean[0], deviation) == (pytest.approx(-1.5), 0.0)
