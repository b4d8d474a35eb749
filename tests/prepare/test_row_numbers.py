"""Released counts between powers of two tell numbers of rows from amounts."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.prepare.bounds import power_edges
from syntabula.prepare.row_numbers import seem_to_number_rows

EDGES = power_edges(integer=True)
N = 5_000


def seem(values: np.ndarray, height: float = 100.0) -> bool:
    counts, _ = np.histogram(values, np.array(EDGES, dtype=np.float64))
    # Far less noise than the height lets pass, in a pattern that is the same in every run.
    return seem_to_number_rows(counts + np.resize([15.0, -15.0, 5.0], counts.size), EDGES, height)


@pytest.mark.parametrize("first", [0, 1])
def test_running_numbers_do(first: int) -> None:
    assert seem(np.arange(first, first + N))


def test_a_fifth_may_be_left_out() -> None:
    assert seem(np.arange(N * 5 // 4)[np.arange(N * 5 // 4) % 5 > 0])


def test_amounts_do_not_though_their_range_is_as_wide_as_there_are_rows() -> None:
    rng = np.random.default_rng(0)
    for scale in (N / 10, N / 4, N / 2, N):
        assert not seem(rng.gamma(2.0, scale, N).astype(np.int64)), scale
        assert not seem(rng.exponential(scale, N).astype(np.int64)), scale


def test_numbers_that_repeat_or_leave_out_many_do_not() -> None:
    assert not seem(np.arange(N) // 2)
    assert not seem(np.arange(N) * 2)


def test_numbers_on_both_sides_of_zero_do_not() -> None:
    assert not seem(np.arange(N) - N // 2)


def test_where_noise_could_hide_the_difference_none_do() -> None:
    assert not seem(np.arange(N), height=2_000.0)
    assert not seem(np.array([], dtype=np.int64))
