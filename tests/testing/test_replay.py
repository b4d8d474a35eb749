"""A replay stops where the run on the neighbour does otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from syntabula.testing.replay import RecordingNoise, check_alike, recorded


def draws(times: int) -> Callable[[RecordingNoise], None]:
    """Return work that draws so often."""

    def work(noise: RecordingNoise) -> None:
        for _ in range(times):
            noise.discrete_gaussian(np.zeros(1, dtype=np.int64), 2.0)

    return work


class TestNumberOfDraws:
    def test_a_run_that_draws_more_often_is_stopped_there(self) -> None:
        for times in [0, 2]:
            first = recorded(draws(times))

            with pytest.raises(AssertionError, match="drew noise more often"):
                recorded(draws(times + 1), first.calls)

    def test_a_run_that_draws_less_often_is_found(self) -> None:
        first = recorded(draws(2))

        with pytest.raises(AssertionError, match="how often noise is drawn"):
            check_alike(first, recorded(draws(1), first.calls))
