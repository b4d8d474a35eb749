"""The coarsest level that represents the values, from noisy counts of the level that each needs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.prepare.found_levels import extract_level
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

STEP = "find a level"


def level_of(counts: list[int], budget: Budget, *, share: float = 0.1, seed: int = 0) -> int:
    """Find the level of a column in which so many values need each level."""
    ledger = Ledger(budget)
    levels = np.repeat(np.arange(len(counts)), counts)
    curator = ColumnCurator(levels, ledger, SeededNoise(seed))

    level = extract_level(curator, len(counts), share=Fraction(share), step=STEP)

    assert [entry.step for entry in ledger.entries] == [STEP]
    if budget.total is not None:
        assert 0 < ledger.spent <= Fraction(share) * budget.total
    return level


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-5), Budget.pure(1.0), Budget.none()], ids=str)
def test_it_is_the_finest_that_many_values_need(budget: Budget) -> None:
    assert level_of([5000, 0, 3000, 0], budget) == 2
    assert level_of([8000, 0, 0, 0], budget) == 0
    assert level_of([0, 0, 0, 8000], budget) == 3


def test_without_privacy_one_value_is_enough_and_none_needs_the_coarsest() -> None:
    assert level_of([5000, 0, 1], Budget.none()) == 2
    assert level_of([0, 0, 0], Budget.none()) == 0


def test_so_few_that_noise_hides_them_do_not_count() -> None:
    assert [level_of([5000, 0, 1], Budget(1.0, 1e-5), seed=seed) for seed in range(20)] == [0] * 20


def test_values_that_need_finer_levels_count_together() -> None:
    # Noise alone hardly exceeds 72 on one count, and 143 on the sum of four.
    assert level_of([5000, 60, 60, 60, 60], Budget(1.0, 1e-5)) >= 1
    assert level_of([5000, 30, 0, 0, 0], Budget(1.0, 1e-5)) == 0


def test_where_noise_could_hide_half_of_the_values_half_of_them_decide() -> None:
    levels = [level_of([0, 0, 1500], Budget(1.0, 1e-5), share=3 / 10**5, seed=seed) for seed in range(20)]

    assert levels.count(2) > 15


def test_many_that_need_the_same_level_are_not_hidden_by_the_noise_of_finer_ones() -> None:
    # Noise has a standard deviation of about 13 and hardly exceeds 76 on one count, but 216 on the sum of nine. That it
    # lowers a count of 150 below 76 has a chance below 1e-7 for each seed.
    counts = [5000, 150, *[0] * 8]

    assert [level_of(counts, Budget(1.0, 1e-5), seed=seed) for seed in range(10)] == [1] * 10
