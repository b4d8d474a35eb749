from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import BudgetError
from syntabula.privacy.events import (
    Event,
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    TrainingEvent,
    event_from_json,
)

EVENTS: list[Event] = [
    GaussianEvent(10.5, 2, 100),
    GaussianEvent(0.1, Fraction(7, 3), 1),
    LaplaceEvent(3.0, 2, 5),
    ExponentialEvent(0.1, 12),
    TrainingEvent(1.3, 0.01, 2000, 0.5, 88_000, 1e-6),
    ExactEvent("counts of two columns"),
]


class TestEvents:
    def test_json_round_trip_is_exact(self) -> None:
        for event in EVENTS:
            assert event_from_json(json.loads(json.dumps(event.to_json()))) == event

    def test_numpy_numbers_become_plain(self) -> None:
        event = GaussianEvent(np.float64(2.0), 1, np.int64(7))  # type: ignore[arg-type]
        assert type(event.sigma) is float
        assert type(event.cells) is int

    @pytest.mark.parametrize("bad", [0, math.nan, math.inf, "1", True, 10**400, 2**53 + 1])
    def test_bad_scales_are_refused(self, bad: object) -> None:
        for make in (
            lambda: GaussianEvent(bad, 1, 1),  # type: ignore[arg-type]
            lambda: LaplaceEvent(bad, 1, 1),  # type: ignore[arg-type]
            lambda: ExponentialEvent(bad, 1),  # type: ignore[arg-type]
            lambda: TrainingEvent(bad, 0.1, 1, 1.0, 1, 1e-6),  # type: ignore[arg-type]
            lambda: TrainingEvent(1.0, bad, 1, 1.0, 1, 1e-6),  # type: ignore[arg-type]
            lambda: TrainingEvent(1.0, 0.1, 1, bad, 1, 1e-6),  # type: ignore[arg-type]
            lambda: TrainingEvent(1.0, 0.1, 1, 1.0, 1, bad),  # type: ignore[arg-type]
        ):
            with pytest.raises(BudgetError):
                make()

    @pytest.mark.parametrize("bad", [0, 1.5, math.nan, "1", True])
    def test_bad_sensitivities_and_counts_are_refused(self, bad: object) -> None:
        for make in (
            lambda: GaussianEvent(1.0, bad, 1),  # type: ignore[arg-type]
            lambda: GaussianEvent(1.0, 1, bad),  # type: ignore[arg-type]
            lambda: LaplaceEvent(1.0, bad, 1),  # type: ignore[arg-type]
            lambda: ExponentialEvent(1.0, bad),  # type: ignore[arg-type]
            lambda: TrainingEvent(1.0, 0.1, bad, 1.0, 1, 1e-6),  # type: ignore[arg-type]
            lambda: TrainingEvent(1.0, 0.1, 1, 1.0, bad, 1e-6),  # type: ignore[arg-type]
        ):
            with pytest.raises(BudgetError):
                make()

    def test_training_takes_no_record_more_than_surely(self) -> None:
        with pytest.raises(BudgetError, match="rate"):
            TrainingEvent(1.0, 1.01, 1, 1.0, 1, 1e-6)
        with pytest.raises(BudgetError, match="delta"):
            TrainingEvent(1.0, 0.1, 1, 1.0, 1, 1.0)

    def test_exact_answers_need_words(self) -> None:
        for bad in ["", 1, b"rows"]:
            with pytest.raises(BudgetError):
                ExactEvent(bad)  # type: ignore[arg-type]

    def test_unreadable_records_are_refused(self) -> None:
        for record in [{}, {"kind": "x"}, {"kind": "laplace"}, {"kind": "exact", "what": "", "more": 1}]:
            with pytest.raises(BudgetError):
                event_from_json(record)
