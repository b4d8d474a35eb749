"""The grid of gradient sums: what one record moves after rounding, and the noise that answers it."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.privacy.events import TrainingEvent
from syntabula.privacy.gdp import gaussian_cost
from syntabula.privacy.training.grid import Grid, noise_scale


def event(noise_multiplier: float = 1.3, clip: float = 0.7, cells: int = 50) -> TrainingEvent:
    return TrainingEvent(noise_multiplier, 0.1, 10, clip, cells, 1e-6)


def test_a_vector_as_long_as_the_clip_moves_a_rounded_sum_by_the_sensitivity_at_most() -> None:
    for cells in [1, 50, 1000, 88_000]:
        grid = Grid(0.7, cells)
        generator = np.random.default_rng(cells)
        worst = 0.0
        for scale in (0.0, 1.0, 1e3):
            total = generator.normal(size=cells) * scale
            for vector in (
                generator.normal(size=cells),
                np.eye(1, cells)[0],
                np.full(cells, 0.5) * grid.unit,
            ):
                longest = vector * (grid.clip / max(np.linalg.norm(vector), grid.clip))
                moved = grid.rounded(total + longest) - grid.rounded(total)
                worst = max(worst, float(np.square(moved.astype(np.float64)).sum()))

        assert worst <= grid.sensitivity_squared


def test_rounding_can_move_each_cell_by_a_whole_step() -> None:
    # The reason why the number of cells counts: a vector of hardly any length moves every cell.
    grid = Grid(1.0, 100)
    low = np.full(100, 0.5 - 1e-6) * grid.unit
    high = np.full(100, 0.5 + 1e-6) * grid.unit

    assert np.abs(grid.rounded(high) - grid.rounded(low)).sum() == 100


def test_the_sensitivity_grows_by_little() -> None:
    for cells in [1, 88_000, 10**8]:
        grid = Grid(1.0, cells)

        assert 1.002 <= float(grid.sensitivity_squared) ** 0.5 / grid.steps <= 1.0023


def test_one_draw_costs_what_continuous_noise_of_the_multiplier_would() -> None:
    for multiplier in [0.3, 1.3, 40.0]:
        asked = event(multiplier)
        cost = Grid(asked.clip, asked.cells).sensitivity_squared * gaussian_cost(noise_scale(asked))

        assert float(cost) * multiplier**2 == pytest.approx(1, rel=1e-12)
        assert cost * (multiplier**2) <= 1 + 1e-15


def test_sums_beyond_all_records_and_no_numbers_stay_within_int64() -> None:
    grid = Grid(1.0, 3)

    rounded = grid.rounded(np.array([1e300, -np.inf, np.nan]))

    assert rounded[0] == -rounded[1] == 2**62
    assert rounded[2] == 0
