"""Record and replay on neighbours that differ by all rows of one person, and the bug that it must find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corners import VARIANTS, thorough_but
from small_settings import takes
from small_tables import neighbours_by_person, persons, with_another_person
from test_preprocessing_replay import (
    DISCRETIZERS,
    GRID,
    LOOSE,
    PURE,
    ReplayingPersons,
    settings,
    with_prices,
)
from test_preprocessing_replay import compare_with as compare_preparing
from test_record_and_replay import BUDGETS, METHODS, compare_with

import syntabula as st
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.privacy import pricing
from syntabula.privacy.events import ThresholdEvent
from syntabula.privacy.units import Units

FIRST = ("auto", "independent", "mst", "privbayes", "privmrf", "tab-pe", "dp-merf")
RUNS = [
    *((method, "approximate", 1) for method in METHODS if method not in VARIANTS),
    *((method, "approximate", 2) for method in ("auto", "mst", "privbayes")),
    *((method, "pure", 1) for method in FIRST if takes(method, BUDGETS["pure"])),
]


def compare(method: str, budget: str, seed: int, tmp_path: Path) -> int:
    frame, schema = persons(seed)
    others = (*neighbours_by_person(frame), *with_another_person(frame))
    return compare_with(method, budget, seed, tmp_path, frame, schema, others)


class TestRecordAndReplay:
    # One method for each kind of question that is asked of persons.
    @pytest.mark.parametrize(
        ("method", "budget", "seed"),
        [
            pytest.param(
                *run,
                marks=() if run[0] in FIRST and run[1:] == ("approximate", 1) else pytest.mark.thorough,
            )
            for run in RUNS
        ],
    )
    def test_neighbours_differ_only_within_the_sensitivity_to_a_person(self, method, budget, seed, tmp_path):
        assert compare(method, budget, seed, tmp_path) >= 5


def declared_as_person(schema: st.Schema) -> st.Schema:
    """Return a schema that declares the key alone."""
    return replace(schema, columns={"who": schema["who"]}, others="find")


class TestPreprocessing:
    @pytest.mark.parametrize("budget", [LOOSE, PURE], ids=["zcdp", "pure"])
    @pytest.mark.parametrize("discretizer", thorough_but(["privtree"], DISCRETIZERS))
    def test_declared_domains(self, discretizer, budget, tmp_path):
        frame, schema = persons(1)
        pairs, run = compare_preparing(
            1,
            tmp_path,
            frame,
            schema,
            neighbours_by_person(frame),
            budget=budget,
            **settings(discretizer, "normal"),
        )

        assert pairs >= 5
        assert run.released is not None

    @pytest.mark.thorough
    @pytest.mark.parametrize(("discretizer", "seed"), [("privtree", 2), ("kmeans", 3)])
    def test_domains_found_privately(self, discretizer, seed, tmp_path):
        frame, schema = persons(seed)
        options = {"replaying": ReplayingPersons, "budget": LOOSE, **settings(discretizer, "even")}
        pairs, run = compare_preparing(
            seed, tmp_path, frame, declared_as_person(schema), neighbours_by_person(frame), **options
        )

        assert pairs >= 5
        assert {ThresholdEvent} <= {type(spent.event) for spent in run.spends}

    @pytest.mark.thorough
    def test_values_off_the_grid_of_a_column(self, tmp_path):
        frame, schema = with_prices()
        frame["who"] = [f"person {i * 7 % 300}" for i in range(len(frame))]
        declared = st.Schema({**schema.columns, "who": st.Identifier()}, unit="who", rows_per_unit=3)
        persons = frame["who"].iloc[[0, 1, 420, -1]]
        others = [(who, frame[frame["who"] != who].reset_index(drop=True)) for who in persons]
        options = {"budget": GRID, "bins": 60, "preprocessing": st.Preprocessing(share=0.8)}
        pairs, run = compare_preparing(
            1, tmp_path, frame, declared, others, replaying=ReplayingPersons, **options
        )

        assert pairs == 4
        steps = {type(s.event): s.step for s in run.spends}
        assert steps[ThresholdEvent] == "find the frequent values of 'price'"

    @pytest.mark.thorough
    def test_a_text_file_whose_types_are_found(self, tmp_path):
        frame, schema = persons(2)
        paths = []
        for number, (_, table) in enumerate([("", frame), *neighbours_by_person(frame)]):
            paths.append(tmp_path / f"{number}.csv")
            table.to_csv(paths[-1], index=False)
        others = [(path.name, path) for path in paths[1:]]
        options = {"replaying": ReplayingPersons, "budget": LOOSE, **settings("privtree", "even")}
        pairs, run = compare_preparing(2, tmp_path, paths[0], declared_as_person(schema), others, **options)

        assert pairs >= 5
        assert any(spend.step.startswith("find the type") for spend in run.spends)


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

    def of(kind: type[Units], numbers: np.ndarray, keys: list[str], secret: bytes) -> Units:
        units = right(kind, numbers, keys, secret)
        shuffled = np.random.default_rng(0).permutation(numbers.size)
        ranks = np.array([(shuffled[numbers == numbers[i]] < shuffled[i]).sum() for i in range(numbers.size)])
        return replace(units, ranks=ranks.astype(np.intp))

    patch.setattr(Units, "of", classmethod(of))


def count_units_as_rows_of_all(patch: pytest.MonkeyPatch) -> None:
    """Count the rows of units of each size where units should be counted."""
    right = Units.sizes

    def sizes(self: Units) -> CountedPoints:
        units = right(self)
        return CountedPoints(units.values, units.values * units.counts)

    patch.setattr(Units, "sizes", sizes)


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
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(BUGS))
    def test_each_is_found(self, name, tmp_path, monkeypatch):
        assert not found(1, tmp_path)

        BUGS[name](monkeypatch)

        assert found(1, tmp_path)
