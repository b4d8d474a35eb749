"""Record and replay on neighbours that differ by all rows of one person, and the bug that it must find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_settings import takes
from small_tables import neighbours_by_person, persons, with_another_person
from test_record_and_replay import BUDGETS, METHODS, compare_with

from syntabula.privacy import pricing
from syntabula.privacy.units import Units


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


def skip_truncation(patch: pytest.MonkeyPatch) -> None:
    """Keep all rows of a person, however many."""
    patch.setattr(Units, "kept", lambda self, most: np.arange(self.numbers.size))


def count_rows(patch: pytest.MonkeyPatch) -> None:
    """Buy noise for a single row, whatever the unit is."""
    right = pricing._price
    patch.setattr(
        pricing, "_price", lambda ledger, share, **options: replace(right(ledger, share, **options), rows=1)
    )


def choose_by_all(patch: pytest.MonkeyPatch) -> None:
    """Choose rows at random, by draws that go from one person on to the next."""
    right = Units.of.__func__

    def of(kind: type[Units], numbers: np.ndarray, keys: list[str]) -> Units:
        units = right(kind, numbers, keys)
        shuffled = np.random.default_rng(0).permutation(numbers.size)
        ranks = np.array([(shuffled[numbers == numbers[i]] < shuffled[i]).sum() for i in range(numbers.size)])
        return replace(units, ranks=ranks.astype(np.intp))

    patch.setattr(Units, "of", classmethod(of))


def count_units_as_rows_of_all(patch: pytest.MonkeyPatch) -> None:
    """Count the rows of units of each size where units should be counted."""
    right = Units.sizes
    patch.setattr(Units, "sizes", lambda self: np.repeat(right(self), right(self)))


BUGS = {
    "rows are counted instead of persons": count_rows,
    "rows beyond the most are kept": skip_truncation,
    "which rows are kept depends on other persons": choose_by_all,
    "units are counted once for each row": count_units_as_rows_of_all,
}


def found(seed: int, tmp_path: Path) -> bool:
    try:
        compare("mst", "approximate", seed, tmp_path)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


class TestPlantedBugs:
    @pytest.mark.parametrize("name", list(BUGS))
    def test_each_is_found(self, name, tmp_path, monkeypatch):
        assert not found(1, tmp_path)

        BUGS[name](monkeypatch)

        assert found(1, tmp_path)
