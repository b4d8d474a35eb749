"""The choice of a method, replayed on neighbours where it is nearly a matter of chance."""

from __future__ import annotations

from pathlib import Path

import pytest
from recording import RecordingNoise
from small_tables import table
from test_record_and_replay import BUDGETS, Run, compare, maker

from syntabula.privacy.noise import SeededNoise
from syntabula.select import automatic

SEEDS = range(4)


@pytest.fixture(autouse=True)
def rash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weigh dependences and believe them, whatever their noise."""
    monkeypatch.setattr(automatic, "_SURE", 0.0)
    monkeypatch.setattr(automatic, "_HIDDEN", 0.0)


@pytest.mark.parametrize(
    ("seed", "budget"),
    [
        (0, "approximate"),
        *(
            pytest.param(0, budget, marks=pytest.mark.thorough)
            for budget in sorted({*BUDGETS} - {"approximate"})
        ),
        *(pytest.param(seed, "approximate", marks=pytest.mark.thorough) for seed in SEEDS if seed),
        pytest.param(1, "pure", marks=pytest.mark.thorough),
    ],
)
def test_neighbours_get_the_same_choice_from_the_same_answers(seed: int, budget: str, tmp_path: Path) -> None:
    assert compare("auto", budget, seed, tmp_path) >= 5


@pytest.mark.thorough
def test_these_tables_are_weighed_and_get_different_methods(tmp_path: Path) -> None:
    shown, make = [], maker("auto", "approximate")
    for seed in SEEDS:
        synthesizer = make(noise=RecordingNoise(SeededNoise(seed)))
        shown.append(Run(synthesizer, *table(seed), tmp_path).release.privacy.text())

    assert all(automatic.WEIGH in text for text in shown)
    assert len({text.split(", because")[0].split()[-1] for text in shown}) > 1
