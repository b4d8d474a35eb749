from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, DataError, PrivacyWarning
from syntabula.table.schema.plain_yaml import read_yaml
from syntabula.tuning import job as trial_job
from syntabula.tuning.chosen import chosen_by
from syntabula.tuning.objective import Objective
from syntabula.tuning.picture import draw_search

pytest.importorskip("optuna", reason="the extra tune is not installed")

QUICK = Objective(weights={"tvd-2": 1.0}, metrics={})
SPACE = {"bins": {"low": 2, "high": 40}, "records_per_noise": {"low": 1.0, "high": 16.0, "log": True}}


def people(n: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 91, size=n)
    return pd.DataFrame({"age": age, "pay": 500 * age + rng.integers(0, 9000, size=n), "old": age > 60})


SCHEMA = st.Schema(
    {"age": st.Numeric(17, 90, integer=True), "pay": st.Numeric(0, 60_000, integer=True), "old": st.Boolean()}
)


def search(method: st.Synthesizer | None = None, **given):
    options = {"schema": SCHEMA, "space": SPACE, "objective": QUICK, "trials": 4}
    options |= {"finalists": 0, "is_public": True}
    return st.tune(method or st.MST(epsilon=4.0), people(), **options | given)


class TestAuto:
    @pytest.mark.thorough
    def test_the_method_that_it_chooses_is_tuned_with_its_settings(self):
        auto = st.Auto(epsilon=4.0, memory_mb=900.0)

        found = st.tune(
            auto,
            people(),
            schema=SCHEMA,
            space={"bins": [5, 20]},
            objective=QUICK,
            trials=2,
            finalists=0,
            is_public=True,
        )

        chosen = auto_choice(auto)
        assert found.method == chosen.key != "auto"
        assert (chosen.whole_budget, chosen.memory_mb, chosen.bins) == (auto.whole_budget, 900.0, "auto")
        assert found.chosen_because
        assert str(found).startswith(f"auto chose {found.method}: {found.chosen_because}")


def auto_choice(auto: st.Auto) -> Any:
    tables = trial_job.tables_of(people(), None, SCHEMA, None, 0)
    return chosen_by(auto, tables, 0)[0]


class TestTune:
    @pytest.mark.thorough
    def test_finds_options_no_worse_than_the_method_as_it_is_given(self):
        found = search(trials=8, finalists=0)

        assert len(found.trials) == 8
        assert found.best.value <= found.default.value
        assert found.best.value == min(t.value for t in (found.default, *found.trials))
        assert found.finals == ()
        assert set(found.options) in ({"bins", "records_per_noise"}, set())
        assert 0 <= found.gain < 1

    @pytest.mark.thorough
    def test_two_bins_are_found_to_be_too_few(self):
        """An objective that sees nothing would not tell them apart."""
        found = search(space={"bins": [2, 25]}, trials=6, seed=3)

        by_bins = {bins: [t.value for t in found.trials if t.values["bins"] == bins] for bins in (2, 25)}
        assert min(by_bins[2]) > max(by_bins[25])
        assert found.options.get("bins") != 2

    def test_options_that_change_nothing_gain_nothing(self, monkeypatch):
        """The least of 20 values of the same noise is far below their mean; later fits of it are not."""

        def repeat(self, values, number, place):
            return {"tvd-2": float(np.random.default_rng([number + 1, place]).normal(0.5, 0.1))}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        curse, fair = search(trials=20, finalists=0), search(trials=20, finalists=20)

        assert curse.best.value < 0.4
        # The default and 20 finalists have means of three fits: a deviation of .058 each.
        assert abs(np.mean([t.value for t in fair.finals]) - 0.5) < 5 * 0.1 / np.sqrt(63)
        assert fair.best.value > curse.best.value
        assert fair.gain < curse.gain
        assert fair.finals[0].number == trial_job.DEFAULT
        assert fair.given == fair.finals[0]
        assert "means of further fits" in fair.text()

    def test_finals_go_on_after_an_interruption_and_leave_out_what_fails(self, monkeypatch, tmp_path):
        fitted = []

        def repeat(self, values, number, place):
            if len(fitted) == stop:
                raise KeyboardInterrupt
            fitted.append((number, place))
            if number == 1 and place == 2:
                raise DataError("no")
            return {"tvd-2": 0.5 - 0.1 * number}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        stop = 8
        with pytest.raises(KeyboardInterrupt):
            search(trials=3, finalists=2, storage=tmp_path / "trials")
        stop = -1
        found = search(trials=3, finalists=2, storage=tmp_path / "trials")

        assert len(fitted) == len(set(fitted)) == 1 + 3 + 3 * 3
        assert [(t.number, t.state) for t in found.finals] == [
            (trial_job.DEFAULT, "done"),
            (2, "done"),
            (1, "failed"),
        ]
        assert found.best.number == 2
        assert "1 of the best failed" in found.text()
        assert "NaN" not in json.dumps(found.to_json())

    def test_the_best_options_are_given_to_a_method(self):
        found = search(trials=1, space={"bins": [7], "discretizer": ["uniform"], "records_per_noise": [2.0]})
        best = dataclasses.replace(
            found, options={"bins": 7, "discretizer": "uniform", "records_per_noise": 2.0}
        )

        tuned = best.apply(st.MST(epsilon=0.5, seed=3))

        assert (tuned.bins, tuned.preprocessing.discretizer, tuned.seed) == (7, "uniform", 3)
        assert tuned.whole_budget == st.MST(epsilon=0.5).whole_budget
        assert st.method_options(tuned)["selector"]["records_per_noise"] == 2.0
        with pytest.raises(ArgumentError, match="options are of 'mst', and the method is 'aim'"):
            best.apply(st.AIM(epsilon=0.5))

    @pytest.mark.thorough
    def test_the_same_seed_gives_the_same_search(self):
        first, second = search(), search()

        assert [t.values for t in first.trials] == [t.values for t in second.trials]
        assert [t.value for t in first.trials] == [t.value for t in second.trials]
        assert [t.values for t in first.trials] != [t.values for t in search(seed=1).trials]

    @pytest.mark.thorough
    def test_a_search_in_a_file_goes_on_as_it_would_have(self, tmp_path):
        whole = search()
        search(trials=2, storage=tmp_path / "trials")
        went_on = search(storage=tmp_path / "trials")

        assert [t.values for t in went_on.trials] == [t.values for t in whole.trials]
        assert [t.value for t in went_on.trials] == [t.value for t in whole.trials]

    @pytest.mark.thorough
    def test_a_killed_search_goes_on_as_it_would_have(self, tmp_path):
        script = tmp_path / "run.py"
        script.write_text(
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from tests.tuning.test_search import search\n"
            "search(trials=30, storage=sys.argv[2])\n"
        )
        stored = tmp_path / "trials"
        root = Path(__file__).parents[2]
        running = subprocess.Popen([sys.executable, script, root, stored])
        deadline = time.monotonic() + 240
        # The journal has some lines per trial.
        while not (stored.exists() and stored.read_text().count("\n") > 25) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
        running.wait()

        went_on, whole = search(storage=stored), search()

        assert [t.values for t in went_on.trials[:4]] == [t.values for t in whole.trials]
        assert [t.value for t in went_on.trials[:4]] == [t.value for t in whole.trials]

    def test_another_search_in_the_file_is_refused(self, tmp_path):
        search(trials=1, storage=tmp_path / "trials")

        with pytest.raises(ArgumentError, match="another method, table, schema, space"):
            search(trials=1, storage=tmp_path / "trials", seed=1)

    def test_a_table_or_schema_that_was_changed_is_another_search(self, tmp_path):
        search(trials=1, storage=tmp_path / "trials")
        wider = SCHEMA.with_column("age", st.Numeric(0, 120, integer=True))

        for table, schema in ((people(seed=1), SCHEMA), (people(), wider)):
            with pytest.raises(ArgumentError, match="another method, table, schema, space"):
                st.tune(
                    st.MST(epsilon=4.0), table, schema=schema, space=SPACE, objective=QUICK, trials=1, finalists=0,
                    is_public=True, storage=tmp_path / "trials",
                )  # fmt: skip

    def test_a_line_that_a_kill_cut_off_is_dropped(self, tmp_path):
        stored = tmp_path / "trials"
        search(trials=1, storage=stored)
        whole = stored.read_bytes()
        stored.write_bytes(whole[:-20])

        for _ in range(2):  # the second reads what the first wrote behind the line
            found = search(trials=1, storage=stored)

            assert [t.state for t in found.trials] == ["done"]

    def test_a_space_of_values_that_are_not_allowed_is_refused(self):
        with pytest.raises(ArgumentError, match=r"all 2 sets of options failed.*records_per_noise must be"):
            search(trials=2, space={"records_per_noise": [-1.0, -2.0]})

    def test_a_score_without_value_for_the_method_as_given_is_refused(self):
        # There are no days or times.
        objective = Objective(weights={"rhythm": 1.0, "tvd-2": 1.0}, metrics={})

        with pytest.raises(ArgumentError, match="'rhythm' has no value for this table"):
            search(objective=objective)

    def test_a_file_that_holds_something_else_is_refused(self, tmp_path):
        # Optuna takes the last line of a file for one that was not written to its end, and writes behind it.
        for text in ("age,pay\n1,2\n", "notes\n", "{}\n", "[1]", "3\n"):
            (tmp_path / "trials").write_text(text)

            with pytest.raises(ArgumentError, match="holds no search"):
                search(trials=1, storage=tmp_path / "trials")
            assert (tmp_path / "trials").read_text() == text

    def test_a_file_with_the_name_of_its_lock_is_left_alone(self, tmp_path):
        (tmp_path / "trials.lock").write_text("mine")

        with pytest.raises(ArgumentError, match=r"trials.lock' has the name of the lock"):
            search(trials=1, storage=tmp_path / "trials")
        assert (tmp_path / "trials.lock").read_text() == "mine"

    def test_a_file_in_use_is_refused_until_its_search_ends(self, tmp_path, monkeypatch):
        refused = []

        def repeat(self, values, number, place):
            with pytest.raises(ArgumentError, match="another search uses"):
                search(trials=1, storage=tmp_path / "trials")
            refused.append(number)
            return {"tvd-2": 0.5}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        search(trials=2, storage=tmp_path / "trials")

        assert refused == [-1, 0, 1]

    def test_a_mark_of_a_write_that_was_killed_is_removed(self, tmp_path, monkeypatch):
        """Optuna would wait half a minute before it removed the mark itself."""
        monkeypatch.setattr("optuna.storages.journal._file.time.sleep", None)
        (tmp_path / "trials.lock").symlink_to(tmp_path / "trials")

        found = search(trials=1, storage=tmp_path / "trials")

        assert [t.state for t in found.trials] == ["done"]
        assert [path.name for path in tmp_path.iterdir()] == ["trials"]

    @pytest.mark.thorough
    def test_processes_try_as_many(self):
        found = search(workers=2)

        assert [t.state for t in found.trials] == ["done"] * 4

    @pytest.mark.thorough
    def test_repeats_are_averaged_over_other_seeds(self):
        found = search(trials=1, repeats=2)
        once = search(trials=1)

        assert found.default.value != once.default.value
        assert found.trials[0].values == once.trials[0].values

    def test_a_method_with_a_seed_has_other_noise_in_each_fit_too(self):
        seeded, plain = (search(st.MST(epsilon=4.0, seed=seed), trials=1, repeats=2) for seed in (3, None))

        assert [t.value for t in (seeded.default, *seeded.trials)] == [
            t.value for t in (plain.default, *plain.trials)
        ]

    def test_a_bad_trial_is_given_up_after_its_first_repeats(self, monkeypatch):
        """With the median rule, after five trials, one that is far worse is not fitted again."""
        asked = []

        def repeat(self, values, number, place):
            asked.append((number, place))
            return {"tvd-2": 0.9 if number == 6 else 0.1 + 0.001 * number}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        found = search(trials=8, repeats=3)

        assert found.trials[6].state == "pruned"
        assert [place for number, place in asked if number == 6] == [0]
        assert [place for number, place in asked if number == 0] == [0, 1, 2]

    def test_a_trial_that_fails_is_recorded_and_the_others_go_on(self, monkeypatch):
        whole = trial_job.Job.repeat

        def repeat(self, values, number, place):
            if number == 1:
                raise DataError("the bins are odd")
            if number == 2:
                raise ValueError("cell 1234")
            return whole(self, values, number, place)

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        found = search()

        assert [t.state for t in found.trials] == ["done", "failed", "failed", "done"]
        assert found.trials[1].reason == "the bins are odd"
        # Messages of other libraries may hold a cell.
        assert found.trials[2].reason == "ValueError"
        assert "2 failed, the first because: the bins are odd" in found.text()

    def test_progress_tells_the_best_so_far_and_the_time_to_come_without_the_first_fit(self, monkeypatch):
        """The first fit of a process imports libraries."""
        scores, told, now = {trial_job.DEFAULT: 0.5, 0: 0.3, 1: 0.4, 2: 0.2}, [], [0.0]

        def repeat(self, values, number, place):
            now[0] += {trial_job.DEFAULT: 1000.0, 0: 40.0, 1: 80.0, 2: 5.0}[number]
            return {"tvd-2": scores[number]}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        monkeypatch.setattr(trial_job, "time", SimpleNamespace(perf_counter=lambda: now[0]))

        found = search(trials=3, finalists=0, progress=lambda step, done: told.append(step))

        assert told[1] == "at most 3 fits to come"
        assert [step for step in told if step.startswith("try")] == [
            "try options, best so far 0.5; at most 3 fits to come",
            "try options, best so far 0.3; at most 2 fits to come, about 80 s if each takes as long as those so far",
            "try options, best so far 0.3; at most 1 fit to come, about 60 s if each takes as long as those so far",
        ]
        assert (found.default.seconds, [trial.seconds for trial in found.trials]) == (1000, [40, 80, 5])

    def test_a_resumed_search_leaves_out_the_first_fit_of_its_own_processes_too(self, monkeypatch, tmp_path):
        told, now = [], [0.0]

        def repeat(self, values, number, place):
            now[0] += {trial_job.DEFAULT: 1000.0, 0: 40.0, 1: 900.0, 2: 20.0}[number]
            return {"tvd-2": 0.5}

        monkeypatch.setattr(trial_job.Job, "repeat", repeat)
        monkeypatch.setattr(trial_job, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        storage = tmp_path / "search.log"

        search(trials=1, finalists=0, storage=storage)
        search(trials=3, finalists=0, storage=storage, progress=lambda step, done: told.append(step))

        times = [step.partition("to come")[2] for step in told if "to come" in step]
        assert times[-1] == ", about 40 s if each takes as long as those so far"
        assert {*times[:-1]} == {", about 80 s if each takes as long as those so far"}

    def test_no_trial_starts_after_the_seconds_are_over(self):
        found = search(trials=50, seconds=1e-9)

        assert not found.trials
        assert found.options == {}
        assert "nothing tried was better" in found.text()

    def test_warns_that_a_sensitive_table_is_not_protected(self):
        with pytest.warns(PrivacyWarning, match="no privacy guarantee covers the choice"):
            search(trials=1, is_public=False)

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ({"space": {"binz": [2]}}, "did you mean 'bins'"),
            ({"target": "pya"}, "did you mean 'pay'"),
            ({"trials": 0}, "trials"),
            ({"workers": 0}, "workers"),
            ({"objective": Objective(weights={"affinity": 1.0})}, "needs target"),
        ],
    )
    def test_refuses_wrong_arguments_before_anything_is_fitted(self, given, what, monkeypatch):
        monkeypatch.setattr(trial_job.Job, "repeat", None)

        with pytest.raises(ArgumentError, match=what):
            search(**given)

    def test_refuses_a_method_with_a_journal(self, tmp_path):
        with pytest.raises(ArgumentError, match="neither journal nor noise"):
            st.tune(st.MST(journal=tmp_path / "j"), people(), schema=SCHEMA)

    def test_refuses_a_table_of_too_few_rows(self):
        with pytest.raises(DataError, match="10 rows"):
            st.tune(st.MST(), people(9), schema=SCHEMA, objective=QUICK, is_public=True)


class TestObjective:
    def test_sums_weighted_distances_from_the_best_value(self):
        objective = Objective(weights={"tvd-1": 2.0, "spikes": 1.0}, metrics={})

        given = {"tvd-1": 0.2, "spikes": 1.0}
        assert objective.value({"tvd-1": 0.1, "spikes": 0.7}, given) == pytest.approx(0.5)
        relative = dataclasses.replace(objective, is_relative=True)
        # Half of the given distance for one; for the other, whose given distance is 0, what it is.
        assert relative.value({"tvd-1": 0.1, "spikes": 0.7}, given) == pytest.approx(0.5 * 2.0 + 0.3)

    def test_refuses_weights_that_make_no_sense(self):
        for weights, what in [
            ({"tvd-1": -1}, "weight"),
            ({"tvd-1": 0}, "above 0"),
            ({"tvd1": 1}, "did you mean 'tvd-1'"),
            ({"efficacy": 1}, "no best value"),
            (["tvd-1"], "mapping"),
        ]:
            with pytest.raises(ArgumentError, match=what):
                Objective(weights=weights, metrics={})

    def test_affinity_is_left_out_of_the_usual_one_without_a_target(self):
        assert set(Objective().check(has_target=False).weights) == {"wasserstein-sliced", "query-error-3"}
        assert "affinity" in Objective().check(has_target=True).weights

    @pytest.mark.thorough
    def test_affinity_is_judged_on_validation_rows(self):
        found = st.tune(
            st.MST(epsilon=4.0),
            people(),
            schema=SCHEMA,
            target="old",
            space=SPACE,
            trials=1,
            finalists=0,
            is_public=True,
        )

        assert set(found.default.scores) == {"wasserstein-sliced", "affinity", "query-error-3"}


class TestTuning:
    @pytest.mark.thorough
    def test_options_are_written_for_the_command_and_trials_as_json(self, tmp_path):
        found = search(space={"bins": [25], "records_per_noise": [4.5]}, trials=2)
        found.write(tmp_path / "best.yaml")
        found.write(tmp_path / "all.json")

        text = (tmp_path / "best.yaml").read_text()
        assert text.startswith("# The options were chosen by looking at the validation rows")
        written = read_yaml(text)
        assert written == {"method": "mst", "options": dict(found.options)}
        assert len(json.loads((tmp_path / "all.json").read_text())["trials"]) == 2
        with pytest.raises(ArgumentError, match=r"\.yaml"):
            found.write(tmp_path / "best.txt")

    @pytest.mark.thorough
    def test_is_drawn(self, tmp_path):
        found = search(space=SPACE | {"discretizer": ["uniform", "privtree"]})

        draw_search(found, tmp_path / "search.png")

        assert (tmp_path / "search.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
