"""The page of the papers' cells is what its script makes of the stores, with a reason for each that is behind."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def script() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("cells")


@pytest.fixture(scope="module")
def cells(script: ModuleType) -> list[Any]:
    found: list[Any] = script.all_cells()
    return found


class TestCells:
    def test_the_page_is_what_the_script_makes_of_the_stores(
        self, script: ModuleType, cells: list[Any]
    ) -> None:
        results = BENCHMARKS / "results"

        assert script.page(cells) == (results / "cells.md").read_text(encoding="utf-8")
        assert script.as_csv(cells) == (results / "cells.csv").read_text(encoding="utf-8")

    def test_each_cell_that_is_behind_or_was_not_run_has_a_reason(self, cells: list[Any]) -> None:
        nameless = [
            (c.source.name, c.title, c.method, c.epsilon)
            for c in cells
            if (c.status == "behind" and (c.reason[0] in ("", "other") or not c.reason[1]))
            or (c.status == "not run" and not c.reason[1])
        ]

        assert nameless == []

    def test_every_printed_figure_stands_once(self, cells: list[Any]) -> None:
        places = [(c.source.name, c.title, c.method, c.epsilon) for c in cells]

        assert len(places) == len(set(places))
        # SynMeter prints 10 figures for each of 12 tables, 6 of disclosure, and one of each is missing.
        assert sum(name.endswith("affinity, fixed evaluators") for name, *_ in places) == 119
        assert sum("table 5" in name for name, *_ in places) == 71

    def test_what_is_better_follows_the_score(self, script: ModuleType) -> None:
        def status(score: str, theirs: float, ours: float) -> str:
            source = next(s for s in script.SOURCES if s.score == score)
            cell = script.PaperCell(
                source=source, dataset="bank", title="Bank", label="aim", method="AIM", epsilon=1.0,
                theirs=theirs, digits=2, ours=ours,
            )  # fmt: skip
            return str(cell.judged().status)

        assert [status("efficacy", 0.7, ours) for ours in (0.71, 0.699, 0.6)] == [
            "no more",
            "level",
            "behind",
        ]
        assert [status("tvd-2", 0.7, ours) for ours in (0.69, 0.701, 0.8)] == ["no more", "level", "behind"]
