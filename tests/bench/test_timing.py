"""Estimates before anything has run: from results of the store, from packaged measurements, or guesses."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula.bench import Candidate, Record, Store, Study, find_study, list_studies
from syntabula.bench.costs import cells_of_table, estimate
from syntabula.bench.timing import timing_of

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"


def study(*methods: str | Candidate, task: str = "tables", **more: object) -> Study:
    scores = {"disclosure": ("mean-disclosure",), "membership": ("groundhog",)}.get(task, ("tvd-2",))
    facts = {"name": "s", "datasets": ("bank",), "methods": methods, "task": task, "scores": scores, **more}
    return Study(**facts)  # type: ignore[arg-type]


def seconds(asked: Study) -> float:
    return estimate(asked.cells[0], math.inf).seconds


class TestStore:
    def test_only_what_is_done_tells_how_long(self) -> None:
        asked = study("mst", seeds=3)
        first, second, third = asked.cells
        known = [
            Record(study="s", cell=first, status="done", seconds=40.0),
            Record(study="s", cell=second, status="left out", seconds=1.2),
            Record(study="s", cell=second, status="cut off", seconds=3.0),
        ]

        found = timing_of([second, third], known, 600.0)
        alone = timing_of([second, third], known[1:], 600.0)

        assert (found.seconds, found.n_run) == (80.0, 2)
        assert (alone.n_run, alone.n_measured) == (0, 2)

    def test_results_with_other_scores_do_not(self) -> None:
        other = study("mst", scores=("tvd-1",))
        known = [Record(study="s", cell=other.cells[0], status="done", seconds=40.0)]

        assert timing_of(study("mst").cells, known, 600.0).n_run == 0


class TestMeasured:
    def test_time_grows_with_steps_trials_and_shadows(self) -> None:
        steps = [Candidate(method="tabddpm", options={"steps": n}, label=str(n)) for n in (1000, 4000)]
        short, long = (seconds(study(row)) for row in steps)
        few, many = (seconds(study("mst", task="disclosure", options={"shadows": n})) for n in (20, 80))
        once, often = (
            seconds(study("mst", task="tuning", options={"trials": n, "space": "usual"})) for n in (10, 100)
        )

        assert long > 2 * short
        assert many > 3 * few
        assert often > 2 * once

    def test_what_it_is_known_from_is_told(self) -> None:
        bases = {
            "measured": [
                study("mst"),
                study("SELF"),
                study(Candidate(method="tabddpm", options={"steps": 9})),
            ],
            "scaled": [study("mst", task="disclosure"), study("mst", task="membership")],
            "guessed": [study("margnet+pgm"), study(Candidate(method="aim", options={"max_rounds": 3}))],
        }

        assert {
            basis: {estimate(s.cells[0], 600.0).basis for s in studies} for basis, studies in bases.items()
        } == {basis: {basis} for basis in bases}

    def test_no_cell_takes_more_than_its_limit(self) -> None:
        assert estimate(find_study("synmeter-t6").cells[0], 60.0).seconds == 60.0

    def test_a_file_has_a_size_without_being_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes(b"1" * 6000)

        assert cells_of_table(str(tmp_path / "a.csv")) == 1000
        assert cells_of_table(str(tmp_path / "b.csv")) > 0
        assert cells_of_table("bank@100") == 1700

    @pytest.mark.thorough
    def test_tuning_of_all_tables_takes_days(self) -> None:
        asked = find_study("synmeter-t6")

        found = timing_of(asked.cells, (), asked.seconds)

        assert found.seconds > 5 * 24 * 3600
        assert found.n_guessed == 0

    @pytest.mark.thorough
    def test_every_cell_of_every_study_has_an_estimate(self) -> None:
        for listed in list_studies():
            if isinstance(listed, Study):
                small = replace(listed, seeds=listed.seeds[:1])
                assert timing_of(small.cells, (), small.seconds).seconds > 0

    @pytest.mark.skipif(not RESULTS.is_dir(), reason="the committed results are not here")
    def test_the_committed_runs_took_about_what_it_says(self) -> None:
        """The first two are what it was made of; tuning is a scaling of theirs."""
        for store, factor in [("synmeter-ranks", 1.2), ("tab_bench-t1-bank", 1.3), ("tuning", 4.0)]:
            done = [r for r in Store(RESULTS / f"{store}.jsonl").records().values() if r.status == "done"]

            took = sum(r.processor_seconds or 0.0 for r in done)
            said = sum(estimate(r.cell, math.inf).seconds for r in done)

            assert took / factor < said < took * factor
