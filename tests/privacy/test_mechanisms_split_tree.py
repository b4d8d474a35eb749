"""The proof of the private tree, checked number by number with the discrete noise that is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from syntabula.privacy.events import ExactEvent, TreeEvent
from syntabula.privacy.mechanisms import (
    MOST_DEPTH,
    STEPS,
    Node,
    Sensitive,
    are_decisions,
    most_decisions,
    split_tree,
)
from syntabula.privacy.noise import SeededNoise


def log_split(biased: np.ndarray, scale: float) -> np.ndarray:
    """Logarithm of the probability that biased + discrete Laplace noise exceeds 0, all in steps."""
    ratio = math.exp(-1 / scale)
    # P(X > -b): for b <= 0 the upper tail from 1 - b, for b > 0 all but the lower tail up to -b.
    upper = (np.minimum(biased, 0) - 1) / scale - math.log1p(ratio)
    lower = np.log1p(-np.exp(-np.maximum(biased, 0) / scale) / (1 + ratio))
    return np.where(biased <= 0, upper, lower)


class TestProof:
    def test_the_probability_of_a_split_is_that_of_the_noise(self):
        scale, values = 7.3, np.arange(-2000, 2001)
        mass = np.exp(-np.abs(values) / scale)
        mass /= mass.sum()

        for biased in (-40, -1, 0, 1, 25):
            exact = mass[values + biased > 0].sum()
            assert float(log_split(np.array([biased]), scale)[0]) == pytest.approx(math.log(exact), rel=1e-9)

    def test_all_decisions_on_a_path_cost_less_than_three_over_the_scale(self):
        for noise_scale in [0.5, 1.5, 3.0, 100.0]:
            # Counts that stay as they are down the path are the worst case: each level then takes off exactly
            # delta. Every alignment of the count with the threshold is tried, in 256 places.
            event = TreeEvent(scale=noise_scale)
            scale, delta = event.scale * STEPS, math.ceil(event.decay * STEPS)
            depths = np.arange(MOST_DEPTH * 4)
            worst = 0.0
            for start in np.linspace(0, delta, 256, endpoint=False).astype(int):
                top = start + 40 * delta
                with_record = np.maximum(top - depths * delta, -delta)
                without = np.maximum(top - STEPS - depths * delta, -delta)
                worst = max(worst, float((log_split(with_record, scale) - log_split(without, scale)).sum()))

            assert worst <= TreeEvent.sensitivity / noise_scale
            assert worst >= 0.5 * TreeEvent.sensitivity / noise_scale

    def test_counts_that_fall_down_the_path_cost_less_too(self):
        for noise_scale in [0.5, 3.0, 100.0]:
            rng = np.random.default_rng(0)
            event = TreeEvent(scale=noise_scale)
            scale, delta = event.scale * STEPS, math.ceil(event.decay * STEPS)
            for _ in range(300):
                falls = delta + rng.integers(0, 3, 60) * STEPS
                with_record = np.maximum(rng.integers(0, 20 * delta) - np.cumsum(falls), -delta)
                without = np.maximum(with_record - STEPS, -delta)

                cost = float((log_split(with_record, scale) - log_split(without, scale)).sum())

                assert cost <= TreeEvent.sensitivity / noise_scale

    def test_a_decision_not_to_split_costs_at_most_one_over_the_scale(self):
        for noise_scale in [0.5, 3.0, 100.0]:
            scale = noise_scale * STEPS
            biased = np.linspace(-8 * scale, 8 * scale, 4001).astype(int)

            cost = np.log1p(-np.exp(log_split(biased - STEPS, scale))) - np.log1p(
                -np.exp(log_split(biased, scale))
            )

            assert cost.max() <= 1 / noise_scale * (1 + 1e-6)


class TestDecisions:
    @pytest.mark.parametrize("root", [Node(0.0, 1.0), Node(0, 5), Node(0, 40)])
    def test_there_are_never_more_than_a_journal_is_told(self, root):
        class Paid:
            def consume(self):
                return ExactEvent("tree")

        rng = np.random.default_rng(0)
        for most_leaves in (1, 2, 3, 7, 64):
            numbers = []
            for often in (0.0, 0.3, 0.6, 0.9, 1.0):

                def counts(nodes, often=often):
                    return Sensitive((rng.random(len(nodes)) < often).astype(np.int64) * 9)

                decisions = split_tree(
                    Paid(), SeededNoise(0), root, counts, threshold=4, most_leaves=most_leaves
                )
                assert are_decisions(root, decisions, most_leaves=most_leaves)
                numbers.append(decisions.size)
            assert max(numbers) <= most_decisions(most_leaves)
            if root == Node(0.0, 1.0):
                assert max(numbers) == most_decisions(most_leaves)


class TestNode:
    def test_integers_split_exactly_and_single_ones_not_at_all(self):
        assert Node(0, 5).halves() == (Node(0, 2, 1), Node(2, 5, 1))
        assert Node(4, 5).halves() is None

    def test_floats_without_a_number_between_do_not_split(self):
        assert Node(1.0, math.nextafter(1.0, 2.0)).halves() is None
        assert Node(-1e308, 1e308).halves() == (Node(-1e308, 0.0, 1), Node(0.0, 1e308, 1))
