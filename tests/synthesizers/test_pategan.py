"""PATE-GAN from end to end: what is released, what is asked of records, and what small tables and budgets give."""

from __future__ import annotations

import math
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, MissingExtraError, TrainingWarning
from syntabula.marginals.domain import Domain
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training.teachers import Council
from syntabula.record_models import loop
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.loop import Training
from syntabula.record_models.teaching import Teaching

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
SMALL = Autoregressive(units=32, embedding=4, waves=4)
QUICK = Training(steps=150, batch=256, learning_rate=5e-3)
TEACHING = Teaching(rounds=2, labels=400, rows=2000)
SCHEMA = st.Schema(
    {
        "size": st.Numeric(0.0, 20.0, decimals=2),
        "kind": st.Categorical(("large", "small")),
        "place": st.Categorical(("east", "north", "west")),
    }
)


def method(**options: Any) -> st.PATEGAN:
    stated = {} if "budget" in options else {"epsilon": 5.0}
    usual = {**stated, "seed": 0, "teaching": TEACHING, "model": SMALL, "training": QUICK}
    return st.PATEGAN(**(usual | options))


def table(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = np.clip(rng.normal(10, 3, n), 0, 20).round(2)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size, "kind": kind, "place": rng.choice(["east", "north", "west"], n)})


def gap(frame: pd.DataFrame) -> float:
    """Return how much larger large ones are."""
    by_kind = frame.groupby("kind")["size"].mean()
    return float(by_kind["large"] - by_kind["small"])


def test_without_torch_it_is_said_what_to_install_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    with pytest.raises(MissingExtraError, match=r"syntabula\[neural\]"):
        method(model=Autoregressive(units=31)).fit(tmp_path / "not there.csv", SCHEMA)


class TestRows:
    @pytest.mark.thorough
    @pytest.mark.parametrize("epsilon", [5.0, math.inf])
    def test_votes_bring_dependence_that_one_way_marginals_lack(self, epsilon: float) -> None:
        pytest.importorskip("torch")

        made = method(epsilon=epsilon).fit(table(), SCHEMA).sample(4000, seed=0)

        assert gap(made) > 1.5
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5
        assert abs((made["place"] == "east").mean() - 1 / 3) < 0.07

    @pytest.mark.thorough
    def test_conditions_and_given_values_hold(self) -> None:
        pytest.importorskip("torch")
        release = method().fit(table(), SCHEMA)

        above = release.sample(200, where={"size": (12.0, 15.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"size": [4.5, 16.0]}), seed=0)

        assert above["size"].between(12, 15).all()
        assert (above["kind"] == "large").all()
        assert given["size"].tolist() == [4.5, 16.0]

    @pytest.mark.thorough
    def test_a_release_is_saved_and_samples_the_same_without_torch(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        release = method().fit(table(), SCHEMA)
        release.save(tmp_path / "x.syn")
        monkeypatch.setitem(sys.modules, "torch", None)

        assert st.load(tmp_path / "x.syn").sample(100, seed=1).equals(release.sample(100, seed=1))

    @pytest.mark.thorough
    def test_it_states_a_noisy_number_of_records(self) -> None:
        pytest.importorskip("torch")

        total = method().fit(table(), SCHEMA).model.total

        assert total != 4000
        assert abs(total - 4000) < 200


class TestSmall:
    @pytest.mark.thorough
    @pytest.mark.parametrize("n", [0, 1, 10])
    def test_few_rows_and_more_teachers_than_these(self, n: int) -> None:
        pytest.importorskip("torch")

        release = method().fit(table(10).head(n), SCHEMA)

        made = release.sample(50, seed=0)
        assert len(made) == 50
        assert (made.nunique() > 1).all()

    @pytest.mark.thorough
    def test_no_rows_at_all_and_no_budget(self) -> None:
        pytest.importorskip("torch")

        release = method(epsilon=math.inf).fit(table(10).head(0), SCHEMA)

        assert (release.sample(50, seed=0).nunique() > 1).all()
        assert len(release.sample(seed=0)) == 1

    @pytest.mark.thorough
    def test_one_column(self) -> None:
        pytest.importorskip("torch")
        schema = st.Schema({"kind": SCHEMA["kind"]})

        made = method().fit(table()[["kind"]], schema).sample(2000, seed=0)

        assert abs((made["kind"] == "large").mean() - (table()["kind"] == "large").mean()) < 0.1

    @pytest.mark.parametrize("budget", [st.Budget(0.001, 1e-9), st.Budget.pure(0.01)])
    @pytest.mark.thorough
    def test_a_budget_that_pays_for_hardly_a_vote_leaves_noise(self, budget: st.Budget) -> None:
        pytest.importorskip("torch")

        made = method(budget=budget).fit(table(), SCHEMA).sample(500, seed=0)

        assert set(made["kind"]) <= {"large", "small"}

    def test_a_generator_that_diverges_leaves_the_rows_that_were_weighed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e30)
        training = Training(steps=30, learning_rate=1e-2)

        with pytest.warns(TrainingWarning, match="Lower learning_rate, which is 0.01"):
            release = method(training=training).fit(table(), SCHEMA)
        release.save(tmp_path / "t.syn")

        rows = release.sample(2_000, seed=0)
        assert st.load(tmp_path / "t.syn").sample(2_000, seed=0).equals(rows)
        assert gap(rows) > 0.5 * gap(table())

    def test_a_budget_is_spoken_of_only_where_there_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("torch")
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e30)
        training = Training(steps=3, learning_rate=1e-2)

        for epsilon, ends in [
            (5.0, "another run, which needs a budget of its own"),
            (math.inf, "another run"),
        ]:
            with pytest.warns(TrainingWarning, match=f"in {ends}$"):
                method(training=training, epsilon=epsilon).fit(table(), SCHEMA)


class TestRecords:
    @pytest.mark.thorough
    def test_they_are_asked_for_marginals_and_votes_alone(self) -> None:
        pytest.importorskip("torch")

        release = method().fit(table(), SCHEMA)

        asked = [event["step"] for event in release.privacy.to_json()["steps"]]
        votes = ["teachers vote, round 1", "teachers vote, round 2"]
        assert asked[-3:] == ["measure one-way marginals", *votes]

    @pytest.mark.thorough
    def test_a_run_goes_on_from_its_journal_to_the_same_release(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        whole = method(journal=tmp_path / "whole").fit(table(), SCHEMA)
        right = Council.vote

        def breaks(self, *rows, step, **options):
            if step.endswith("2"):
                raise KeyboardInterrupt
            return right(self, *rows, step=step, **options)

        monkeypatch.setattr(Council, "vote", breaks)
        with pytest.raises(KeyboardInterrupt):
            method(journal=tmp_path / "broken").fit(table(), SCHEMA)
        monkeypatch.undo()

        resumed = method(journal=tmp_path / "broken", resume=True).fit(table(), SCHEMA)

        assert resumed.sample(50, seed=3).equals(whole.sample(50, seed=3))
        assert resumed.privacy.to_json()["steps"] == whole.privacy.to_json()["steps"]

    @pytest.mark.thorough
    def test_what_was_voted_on_stands_even_if_the_table_is_another(self, tmp_path: Path) -> None:
        pytest.importorskip("torch")
        whole = method(journal=tmp_path / "journal").fit(table(), SCHEMA)

        # All votes come from the journal; nothing is left to be asked of this table.
        again = method(journal=tmp_path / "journal", resume=True, noise=None).fit(table(500), SCHEMA)

        assert again.sample(50, seed=3).equals(whole.sample(50, seed=3))

    @pytest.mark.thorough
    def test_the_order_of_records_changes_nothing(self) -> None:
        pytest.importorskip("torch")
        one, other = (
            method(noise=SeededNoise(3), seed=None).fit(frame, SCHEMA).sample(50, seed=0)
            for frame in (table(), table().sample(frac=1, random_state=0))
        )

        assert one.equals(other)


class TestOptions:
    def test_they_are_listed_by_part_and_changed_by_name(self) -> None:
        assert [*st.method_options("pategan")] == ["model", "training", "teaching"]
        changed = method().with_options(rounds=3, units=7, steps=5)

        assert (changed.teaching.rounds, changed.model.units, changed.training.steps) == (3, 7, 5)
        assert set(st.option_notes("pategan")) >= {"teachers", "rounds", "labels", "units", "seconds"}

    def test_nothing_of_what_it_needs_is_refused(self) -> None:
        for wrong in [{"teachers": 0}, {"rounds": 0}, {"labels": 0}, {"rows": 0}, {"strength": 0.0}]:
            with pytest.raises(ArgumentError, match=next(iter(wrong))):
                method().with_options(**wrong)

    def test_what_is_no_such_part_is_refused(self) -> None:
        for part in ["teaching", "model", "training"]:
            with pytest.raises(ArgumentError, match=part):
                method(**{part: 3})

    def test_progress_tells_no_loss_and_that_the_generator_sees_rows_alone(self) -> None:
        pytest.importorskip("torch")
        told: list[str] = []
        few = {"teaching": replace(TEACHING, rounds=1, rows=500), "training": Training(steps=20, batch=64)}

        method(progress=lambda step, done: told.append(step), **few).fit(table(300), SCHEMA)

        assert any(re.match(r"round 1 of 1, train on rows: at most \d+ s left", step) for step in told)
        assert not any("loss" in step or "train on the records" in step for step in told)

    def test_a_plan_names_each_round_and_what_it_costs(self) -> None:
        pytest.importorskip("torch")

        plan = method().plan(SCHEMA, 5000)

        rounds = [step for step in plan.steps if step.name.startswith("teachers vote")]
        assert len(rounds) == 2
        assert rounds[0].share == rounds[1].share
        assert sum(step.share for step in plan.steps) == pytest.approx(1)
        assert method().with_options(steps=10_000).plan(SCHEMA, 5000).seconds > plan.seconds

    def test_rounds_share_the_seconds_of_training(self) -> None:
        pytest.importorskip("torch")
        long = method().with_options(steps=10**7)

        few, more = (long.with_options(seconds=s).plan(SCHEMA, 5000).seconds for s in (10, 30))

        assert more - few == pytest.approx(20)


class TestTeaching:
    def test_teachers_follow_the_number_of_records(self) -> None:
        assert [Teaching().teachers_for(n) for n in (-5, 10, 30_000, 10**7)] == [50, 50, 3000, 5000]
        assert Teaching(teachers=7).teachers_for(30_000) == 7


def test_a_limit_of_time_that_leaves_next_to_no_steps_is_told_before_anything_is_paid(tmp_path: Path) -> None:
    # Too short for a step on any machine.
    hurried = method(training=replace(QUICK, seconds=1e-6), journal=tmp_path / "j")

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "seconds is 1e-06, .* 1 step of 300 on a table of")
        told = r"table of 1 row, .* for the whole budget\. All steps .* or take method aim$"
        with pytest.raises(TrainingWarning, match=told):
            hurried.fit(table(400), SCHEMA)

        assert not (tmp_path / "j").exists()
        with pytest.raises(TrainingWarning, match=r"1 step of 300 on a table of 5,000 rows"):
            hurried.plan(SCHEMA, 5000)
        # What a resumed run pays for was settled before.
        resumed = replace(hurried, resume=True)
        resumed.learner.try_parts(lambda: Domain(("x",), (3,)), resumed.whole_budget, memory_mb=1000.0)
        # Without a budget nothing is paid.
        method(epsilon=math.inf, training=hurried.training).fit(table(400), SCHEMA)
