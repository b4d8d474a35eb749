"""How probable records are before and after a training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from syntabula.record_models.looks import Start, loss_at  # noqa: E402


class Level:
    """Each record's loss is the one weight, in proportion to its cell."""

    def __init__(self) -> None:
        self.parameters: Mapping[str, Any] = {"level": torch.tensor([2.0])}
        self.seen: list[int] = []

    def losses(self, records: Any, random: Any) -> Any:
        del random
        self.seen.append(len(records))
        return self.parameters["level"] * records[:, 0]


def start_of(n: int, batch: int = 100) -> Start:
    return Start.of(Level(), torch.ones(n, 1), batch)


def after(rise: float) -> list[Any]:
    """Weights by which the loss, which was 2, has risen by this part of it."""
    return [torch.tensor([2.0 * (1 + rise)])]


class TestStart:
    @pytest.mark.parametrize(
        ("n", "steps", "most"),
        [
            (500, 100, 0.015),
            (500, 5, 0.11),
            (10, 100, 0.06),
            (500, 10_000, 0.011),
            (1, 1, 0.51),
            (9, 0, 0.51),
        ],
    )
    def test_few_steps_or_records_may_lose_more_than_many(self, n: int, steps: int, most: float) -> None:
        start = start_of(n)

        assert start.is_kept(after(0.95 * most), steps)
        assert not start.is_kept(after(1.05 * most), steps)

    def test_any_gain_is_kept_and_what_is_no_number_is_not(self) -> None:
        assert start_of(500).is_kept(after(-0.9), 100)
        assert not start_of(500).is_kept(after(math.nan), 100)

    def test_a_loss_near_0_may_rise_by_a_part_of_1(self) -> None:
        start = Start.of(Level(), torch.zeros(500, 1), 100)

        assert start.is_kept(after(5.0), 100)

    @pytest.mark.parametrize(
        ("n", "batch", "seen"), [(7, 7, [64] * 4), (5_000, 1_000, [512]), (90, 90, [90] * 4)]
    )
    def test_few_records_are_looked_at_repeatedly_and_of_many_a_part(
        self, n: int, batch: int, seen: list[int]
    ) -> None:
        network = Level()

        Start.of(network, torch.ones(n, 1), batch)

        assert network.seen == seen


def test_a_look_leaves_the_weights_as_they_were() -> None:
    network = Level()

    found = loss_at(after(1.0), network, torch.full((10, 1), 3.0), 4)

    assert found == pytest.approx(12.0)
    assert float(network.parameters["level"]) == 2.0
    assert network.seen == [4, 4, 2]
