"""Values that no single count shows, but several together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import PrivateDomainError
from syntabula.prepare.bounds import FoundBounds, _faint_ends, extract_bounds, power_edges
from syntabula.prepare.faint import faint_cells
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.pricing import NoisyVector

ONE = Budget(epsilon=1.0, delta=1e-5)
EDGES = power_edges(integer=False)
ZERO = EDGES.index(0)
N = 2_000
SHARE = Fraction(1, 500)
"""Its first count has a standard deviation of 118 records, so that one power must hold 500 to stand out."""


def answer_of(n: int = 0) -> NoisyVector:
    column = ColumnCurator(np.zeros(n), Ledger(ONE), SeededNoise(0))
    return column.histogram(EDGES, share=SHARE / 2, step="s")


def counted(heights: dict[int, float]) -> np.ndarray:
    counts = np.zeros(len(EDGES) - 1)
    for cell, height in heights.items():
        counts[ZERO + cell] = height
    return counts


def found(
    values: np.ndarray, seed: int = 0, n_records: float = N, n_missing: int = 0
) -> tuple[FoundBounds | None, Ledger]:
    ledger = Ledger(ONE)
    column = ColumnCurator(values, ledger, SeededNoise(seed), n_missing=n_missing)
    try:
        return extract_bounds(column, share=SHARE, step="s", n_records=n_records), ledger
    except PrivateDomainError:
        return None, ledger


class TestCells:
    def test_the_clearest_cells_are_found_on_one_side_or_on_both(self) -> None:
        answer = answer_of()
        height = 3 * answer.sigma
        for heights, expected in (
            ({32: height, 33: height, 34: height, 35: height}, (32, 35)),
            ({-31: height, -32: height, -33: height, -34: height}, (-34, -31)),
            ({32: height, 33: height, -33: height, -34: height}, (-34, 33)),
            ({0: 7 * answer.sigma}, (0, 0)),
        ):
            cells = faint_cells(answer, counted(heights), 1, ZERO)

            assert cells == (ZERO + expected[0], ZERO + expected[1])

    def test_what_stands_out_alone_lies_within_the_bounds_too(self) -> None:
        answer = answer_of()
        both = dict.fromkeys((32, 33, 34, 35, -33, -34, -35, -36), 3.2 * answer.sigma)

        ends = _faint_ends(answer, counted(both | {50: 8 * answer.sigma}), 1, EDGES)

        assert ends == (ZERO - 36, ZERO + 50)

    def test_where_none_exceed_noise_together_there_are_none(self) -> None:
        answer = answer_of()

        assert faint_cells(answer, counted({32: answer.sigma, 33: answer.sigma}), 1, ZERO) is None

    def test_noise_alone_hardly_ever_does(self) -> None:
        # The threshold is passed with probability below 1 / 380 in each of 300 runs; 14 or more in all have a probability
        # below 1e-10.
        passed = 0
        for seed in range(300):
            column = ColumnCurator(np.zeros(0), Ledger(ONE), SeededNoise(seed))
            answer = column.histogram(EDGES, share=SHARE / 2, step="s")
            passed += faint_cells(answer, answer.values, 1, ZERO) is not None

        assert passed < 14


class TestBounds:
    def test_values_on_both_sides_of_zero_are_found_for_the_same_share(self) -> None:
        values = np.random.default_rng(0).normal(0, 3, N)

        runs = [found(values, seed) for seed in range(20)]

        # By one count, one run in sixty finds any. By both, three in four find both sides; fewer than 5 of 20 have a
        # probability below 1e-6.
        bounds = [bounds for bounds, _ in runs if bounds is not None]
        assert sum(np.mean((values >= b.lower) & (values <= b.upper)) > 0.9 for b in bounds) >= 5
        assert all(b.upper - b.lower < 200 for b in bounds)
        for _, ledger in runs:
            assert 0.99 * float(SHARE) < float(ledger.spent / ONE.total) <= float(SHARE)

    @pytest.mark.parametrize(("n_records", "n_missing"), [(0.0, 0), (N, N - 5)])
    def test_what_hardly_holds_a_value_is_not_asked_again(self, n_records: float, n_missing: int) -> None:
        bounds, ledger = found(np.full(5, 7.5), n_records=n_records, n_missing=n_missing)

        assert bounds is None
        assert len(ledger.entries) == 1
