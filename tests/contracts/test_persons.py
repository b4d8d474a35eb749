"""Record and replay on neighbours that differ by all rows of one person, and the bug that it must find."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_settings import takes
from small_tables import neighbours_by_person, persons, with_another_person
from test_record_and_replay import BUDGETS, METHODS, compare_with


def compare(method: str, budget: str, seed: int, tmp_path: Path) -> int:
    frame, schema = persons(seed)
    others = (*neighbours_by_person(frame), *with_another_person(frame))
    return compare_with(method, budget, seed, tmp_path, frame, schema, others)


class TestRecordAndReplay:
    @pytest.mark.parametrize(
        ("method", "budget"), [(m, b) for m in METHODS for b in sorted(BUDGETS) if takes(m, BUDGETS[b])]
    )
    @pytest.mark.parametrize(
        "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3, 4))]
    )
    def test_neighbours_differ_only_within_the_sensitivity_to_a_person(self, method, budget, seed, tmp_path):
        assert compare(method, budget, seed, tmp_path) >= 5
