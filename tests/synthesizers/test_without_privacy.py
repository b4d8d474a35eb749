"""Auto where privacy is switched off: which method it chooses by rows, columns, time and what is installed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ResumeError
from syntabula.record_models.loop import Training
from syntabula.select.automatic import Automatic
from syntabula.synthesizers import auto as auto_module
from syntabula.synthesizers.settings import TableFacts

COLUMNS = ["age", "region", "income"]
MANY, FEW = auto_module.SMALL_ROWS, 90
TORCH, TREES = "torch", "sklearn"


def census(columns: int = 3, n: int = MANY) -> pd.DataFrame:
    return st.datasets.census(n_rows=n)[COLUMNS[:columns]]


def schema(columns: int = 3) -> st.Schema:
    declared = st.datasets.schema_of("census").columns
    return st.Schema({name: declared[name] for name in COLUMNS[:columns]})


def auto(choice: dict[str, Any] | None = None, **options: Any) -> st.Auto:
    return st.Auto(**({"epsilon": math.inf, "seed": 1, "selector": Automatic(**(choice or {}))} | options))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The libraries that seem to be installed; a test may take some away."""
    libraries = {TORCH, TREES}
    monkeypatch.setattr(auto_module, "is_installed", libraries.__contains__)
    return libraries


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """How long plans say that methods take, by key; the others take no time."""
    said: dict[str, float] = {}
    original = auto_module.plan_of

    def planned(method: Any, table: TableFacts) -> Any:
        plan = original(method, table)
        slow = type(plan.steps[0])(
            name="learn", share=0.0, cost=None, memory_mb=0.0, seconds=said.get(method.key, 0.0)
        )
        return type(plan)(
            method=plan.method, budget=plan.budget, n_rows=plan.n_rows, table_mb=0.0, steps=(slow,)
        )

    monkeypatch.setattr(auto_module, "plan_of", planned)
    return said


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Training, "steps_for", lambda training, n_rows: 6)


def chosen(release: st.Release) -> str:
    assert release.privacy.choice is not None
    return release.privacy.choice.method


class TestChoice:
    def test_synthpop_is_the_first_choice_with_a_word_on_repeated_records(self, installed: set[str]) -> None:
        choice = auto().plan(schema(), MANY).choice

        assert choice.method == "synthpop"
        assert "they may repeat records" in choice.reason
        assert "left out" not in choice.reason

    @pytest.mark.parametrize(
        ("too_slow", "method"),
        [
            (["synthpop"], "argn"),
            (["synthpop", "argn"], "private-gsd"),
            (["synthpop", "argn", "private-gsd"], "circuit"),
            (["synthpop", "argn", "private-gsd", "circuit"], "mst"),
            (["synthpop", "argn", "private-gsd", "circuit", "mst"], "independent"),
            (["synthpop", "argn", "private-gsd", "circuit", "mst", "independent"], "independent"),
        ],
    )
    def test_what_takes_too_long_is_left_out_and_the_reason_says_so(
        self, too_slow: list[str], method: str, installed: set[str], seconds: dict[str, float]
    ) -> None:
        seconds |= dict.fromkeys(too_slow, 31.0)

        choice = auto({"max_seconds": 30.0}).plan(schema(), MANY).choice

        assert choice.method == method
        for key in set(too_slow) - {"independent"}:
            assert f"{key} was left out, as it may take 31 s, above 30" in choice.reason

    def test_few_rows_get_private_gsd_and_synthpop_where_it_takes_too_long(
        self, installed: set[str], seconds: dict[str, float]
    ) -> None:
        assert auto().plan(schema(), FEW).choice.method == "private-gsd"
        assert auto().plan(schema(), MANY).choice.method == "synthpop"

        seconds["private-gsd"] = 31.0
        assert auto({"max_seconds": 30.0}).plan(schema(), FEW).choice.method == "synthpop"

    @pytest.mark.thorough
    def test_planned_seconds_grow_with_rows_and_decide(self, installed: set[str]) -> None:
        short, long = (auto({"max_seconds": 300.0}).plan(schema(), n).choice for n in (MANY, 10**9))

        assert short.method == "synthpop"
        assert long.method != "synthpop"

    def test_little_memory_leaves_out_what_needs_more(self, installed: set[str]) -> None:
        choice = auto(memory_mb=0.5).plan(schema(), 10**6).choice

        assert "synthpop was left out, as it may take" in choice.reason
        assert "MB" in choice.reason

    @pytest.mark.parametrize(
        ("missing", "columns", "method", "said"),
        [
            ({TREES}, 3, "argn", "synthpop was left out, as the extra 'evaluate' (sklearn) is not installed"),
            (
                {TORCH, TREES},
                3,
                "private-gsd",
                "argn was left out, as the extra 'neural' (torch) is not installed",
            ),
            (
                {TORCH, TREES},
                2,
                "mst",
                "circuit was left out, as the extra 'neural' (torch) is not installed",
            ),
        ],
    )
    def test_what_is_not_installed_is_left_out(
        self, missing: set[str], columns: int, method: str, said: str, installed: set[str]
    ) -> None:
        installed -= missing

        choice = auto().plan(schema(columns), MANY).choice

        assert choice.method == method
        assert said in choice.reason

    def test_two_columns_without_extras_get_mst_and_one_is_independent(self, installed: set[str]) -> None:
        installed.clear()

        assert auto().plan(schema(2), MANY).choice.method == "mst"
        assert auto().plan(schema(1), MANY).choice.method == "independent"

    def test_a_finite_budget_is_chosen_for_by_released_values_still(self) -> None:
        method = auto(epsilon=3.0)

        assert method.plan(schema(), MANY).choice is None
        assert method.chosen_for(TableFacts(schema=schema(), physical={}, n_rows=MANY)) == (method, None)

    def test_settings_that_were_changed_go_to_the_chosen_method_and_others_are_its_own(
        self, installed: set[str]
    ) -> None:
        table = TableFacts(schema=schema(), physical={}, n_rows=MANY)
        own, _ = auto().chosen_for(table)
        given, _ = auto(bins=7, seed=5, memory_mb=900.0).chosen_for(table)

        assert own.preprocessing == st.Synthpop(epsilon=math.inf).preprocessing
        assert own.preprocessing.discretizer == "fine"
        assert (given.bins, given.seed, given.memory_mb) == (7, 5, 900.0)
        assert given.whole_budget == auto().whole_budget


class TestFit:
    @pytest.mark.thorough
    @pytest.mark.usefixtures("few_steps")
    # What so few steps learn is not much.
    @pytest.mark.filterwarnings("ignore:the trained model holds next to nothing")
    @pytest.mark.parametrize(
        ("missing", "columns", "method"),
        [({TREES}, 3, "argn"), ({TORCH}, 2, "synthpop"), ({TORCH, TREES}, 3, "private-gsd")],
    )
    def test_each_learns_and_its_release_is_saved_and_says_why(
        self, missing: set[str], columns: int, method: str, installed: set[str], tmp_path: Path
    ) -> None:
        installed -= missing

        release = auto().fit(census(columns), schema(columns))
        release.save(tmp_path / "x.syn")
        loaded = st.load(tmp_path / "x.syn")

        assert chosen(release) == method
        assert release.method == "auto"
        assert loaded.privacy.choice == release.privacy.choice
        assert f"{method}, because privacy is switched off" in " ".join(loaded.privacy.text().split())
        assert list(loaded.sample(50, seed=0).columns) == COLUMNS[:columns]
        pd.testing.assert_frame_equal(loaded.sample(50, seed=0), release.sample(50, seed=0))

    @pytest.mark.thorough
    def test_it_is_the_release_of_the_method_itself(self, installed: set[str]) -> None:
        installed.remove(TORCH)

        ours = auto().fit(census(2), schema(2)).sample(200, seed=3)
        its = st.Synthpop(epsilon=math.inf, seed=1).fit(census(2), schema(2)).sample(200, seed=3)

        pd.testing.assert_frame_equal(ours, its)

    def test_the_rows_of_the_table_decide_not_those_assumed(
        self, installed: set[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        installed.clear()
        asked = []
        original = auto_module.plan_of
        monkeypatch.setattr(
            auto_module, "plan_of", lambda m, table: asked.append(table.n_rows) or original(m, table)
        )

        auto().fit(census(n=FEW), schema())

        assert set(asked) >= {FEW}

    @pytest.mark.thorough
    def test_a_table_without_a_schema_is_learned(self, installed: set[str], tmp_path: Path) -> None:
        installed.remove(TORCH)
        census(2).to_csv(tmp_path / "people.csv", index=False)

        for source in (census(2), tmp_path / "people.csv"):
            assert chosen(auto().fit(source)) == "synthpop"

    @pytest.mark.thorough
    def test_a_finished_journal_gives_the_same_release_and_another_choice_is_refused(
        self, installed: set[str], tmp_path: Path
    ) -> None:
        installed.remove(TORCH)
        journal = tmp_path / "journal"
        first = auto(journal=journal).fit(census(2), schema(2))

        again = auto(journal=journal, resume=True).fit(census(2), schema(2))

        pd.testing.assert_frame_equal(first.sample(50, seed=0), again.sample(50, seed=0))
        installed.clear()
        with pytest.raises(ResumeError, match="method"):
            auto(journal=journal, resume=True).fit(census(2), schema(2))


class TestPlan:
    def test_it_has_the_steps_and_the_reason_of_the_chosen_method(self, installed: set[str]) -> None:
        installed.remove(TORCH)

        plan = auto().plan(schema(2), MANY)
        its = st.Synthpop(epsilon=math.inf).plan(schema(2), MANY)

        assert plan.method == "auto"
        assert [step.name for step in plan.steps] == [step.name for step in its.steps]
        assert f"{plan.choice.method}, because {plan.choice.reason}." in plan.describe()
        assert json.loads(json.dumps(plan.to_json()))["choice"] == plan.choice.to_json()
        assert its.choice is None


def test_the_choice_says_which_method_it_plans() -> None:
    steps: list[str] = []
    table = pd.DataFrame({name: [i % k for i in range(60)] for name, k in (("a", 7), ("b", 5), ("c", 3))})

    st.Auto(epsilon=math.inf, seed=0, progress=lambda step, done: steps.append(step)).fit(table)

    assert steps[:2] == ["read the table", "choose a method: plan private-gsd"]
