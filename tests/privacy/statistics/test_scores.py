"""Scores of a choice: one record changes them by no more than is declared, however large the numbers beside it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.privacy.statistics import scores as module
from syntabula.privacy.statistics.scores import distances, on_grid, quantile_scores, shortfall_scores

SCALES = [1.0, 1e6, 1e14, 1e17, 1e30, 1e300]  # twice the sensitivity over epsilon, up to the tiniest budgets


def test_a_record_changes_the_scores_of_quantiles_by_the_sensitivity_at_most() -> None:
    for scale in SCALES:
        for fraction in [Fraction(1, 2), Fraction(3, 20), Fraction(19, 20)]:
            rng = np.random.default_rng(0)
            log_widths = np.log(rng.random(50))
            ranks = np.sort(rng.integers(0, 10_000_001, 50))
            one, declared = quantile_scores(ranks, 10_000_000, fraction, log_widths, scale)

            for first_above in range(51):
                more = ranks + (np.arange(50) >= first_above)
                other, _ = quantile_scores(more, 10_000_001, fraction, log_widths, scale)
                assert (
                    np.abs(one - other).max() <= declared == max(fraction.numerator, (1 - fraction).numerator)
                )


@pytest.mark.parametrize("scale", SCALES)
def test_a_record_changes_a_shortfall_by_one_at_most(scale: float) -> None:
    rng = np.random.default_rng(1)
    counts, enough = rng.integers(0, 10_000_000, 50), 9e6
    merits, log_weights = rng.random(50) * enough, np.log(rng.random(50))
    one = shortfall_scores(counts, enough, merits, log_weights, scale)

    other = shortfall_scores(counts + (rng.random(50) < 0.5), enough, merits, log_weights, scale)

    assert np.abs(one - other).max() <= 1


class TestDistances:
    @pytest.mark.parametrize("at_once", [1, 7, 2**18])
    def test_they_are_those_of_each_table_whatever_goes_at_a_time(
        self, at_once: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rng = np.random.default_rng(2)
        shapes = [(3, 2), (1,), (), (4, 5, 2), (2,), (6,)]
        counts = [rng.integers(0, 1000, shape) for shape in shapes]
        estimates = [rng.uniform(0, 1000, shape) for shape in shapes]
        monkeypatch.setattr(module, "_CELLS_AT_ONCE", at_once)

        found = distances([np.asarray(c) for c in counts], estimates)

        expected = [np.abs(c - on_grid(e)).sum() for c, e in zip(counts, estimates, strict=True)]
        assert found.tolist() == expected

    def test_a_large_table_beside_a_small_one_changes_nothing_of_it(self) -> None:
        counts = [np.array([5, 5]), np.array([1, 2])]

        assert distances(counts, [np.array([1e300, 0.0]), np.array([1.0, 1.5])]).tolist() == [2.0**31, 0.5]
