"""What every method that is trained with noisy gradients promises: refusals, statements, plans, interrupted runs."""

from __future__ import annotations

import errno
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_cases import PRIVATE_CASES, SCHEMA, private, require_library, table

import syntabula as st
from syntabula._planning import FitCost
from syntabula.errors import ArgumentError, BudgetError, ReleaseFileError, TrainingWarning
from syntabula.privacy.journal import Journal
from syntabula.record_models import astray
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.tabular_diffusion import TabularDiffusion

NOISY = [*PRIVATE_CASES]


class Interrupted(Exception):
    """Stands for whatever ends a run."""


@pytest.mark.parametrize("kind", NOISY)
class TestBudget:
    @pytest.mark.parametrize("budget", [st.Budget.pure(1.0)])
    def test_is_refused_at_once_where_training_has_no_cost(self, kind: str, budget: st.Budget) -> None:
        with pytest.raises(BudgetError, match=r"zero-concentrated|pure"):
            private(kind, budget=budget)

    def test_so_small_that_noise_would_be_infinite_is_refused_with_what_to_do(self, kind: str) -> None:
        require_library(kind)

        with pytest.raises(BudgetError, match=r"the budget.* too small .*; raise epsilon"):
            private(kind, budget=st.Budget(1e-9, 1e-12)).fit(table(100), SCHEMA)


@pytest.mark.parametrize("kind", NOISY)
class TestRun:
    @pytest.mark.thorough
    def test_its_statement_names_rate_steps_clip_and_noise_and_no_loss_is_told(self, kind: str) -> None:
        require_library(kind)
        told: list[str] = []
        method = private(kind, progress=lambda step, done: told.append(step))

        said = " ".join(method.fit(table(400), SCHEMA).privacy.text().split())

        assert f"{method.noisy.steps} steps on records sampled at rate 0.2" in said
        assert "clipped to L2 length 1" in said
        assert "discrete Gaussian noise on their sums, standard deviation" in said
        assert any("s left" in step for step in told)
        assert not any("loss" in step for step in told)

    @pytest.mark.thorough
    def test_a_plan_says_how_long_its_steps_take(self, kind: str) -> None:
        require_library(kind)

        short, long = (
            private(kind, noisy=NoisyTraining(steps=n, rate=0.2)).plan(SCHEMA, 5_000) for n in (10, 100_000)
        )

        assert short.seconds < 60 < long.seconds
        assert long.steps[-1].name == "train on the records"


@pytest.mark.parametrize("kind", NOISY)
@pytest.mark.filterwarnings("ignore:seconds is:syntabula.errors.TrainingWarning")
class TestLimitOfTime:
    @pytest.mark.thorough
    def test_pays_for_as_many_steps_as_it_lets(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        require_library(kind)
        method = limited(kind, 3.0)
        each_step_takes(1.0, method, monkeypatch)

        said = " ".join(method.fit(table(400), SCHEMA).privacy.text().split())

        assert "3 steps on records sampled at rate 0.2" in said
        assert method.plan(SCHEMA, 400).steps[-1].seconds == 3.0

    @pytest.mark.thorough
    def test_that_all_steps_keep_changes_nothing(self, kind: str) -> None:
        require_library(kind)
        few = {"noisy": NoisyTraining(steps=5, rate=0.2)}

        free, limit = (private(kind, **few, **more) for more in ({}, {"training": in_time(kind, 10_000.0)}))

        assert (
            limit.fit(table(400), SCHEMA)
            .sample(50, seed=0)
            .equals(free.fit(table(400), SCHEMA).sample(50, seed=0))
        )

    @pytest.mark.thorough
    def test_shorter_than_a_step_is_one_step(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        require_library(kind)
        method = limited(kind, 0.5)
        each_step_takes(1.0, method, monkeypatch)

        assert "1 step" in method.fit(table(400), SCHEMA).privacy.text()


@pytest.mark.thorough
def test_a_resumed_run_takes_the_steps_that_were_paid_for_on_a_slower_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_library("autoregressive")
    method = limited("autoregressive", 20.0)
    each_step_takes(1.0, method, monkeypatch)
    whole = method.fit(table(400), SCHEMA)

    def interrupt(step: str, done: float) -> None:
        if "s left" in step:
            raise Interrupted

    with pytest.raises(Interrupted):
        replace(method, journal=tmp_path / "j", progress=interrupt).fit(table(400), SCHEMA)
    each_step_takes(4.0, method, monkeypatch)
    again = replace(method, journal=tmp_path / "j", resume=True).fit(table(400), SCHEMA)

    assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent
    assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))


@pytest.mark.parametrize("kind", NOISY)
def test_a_limit_of_time_that_leaves_next_to_no_steps_is_told(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_library(kind)
    each_step_takes(1.0, limited(kind, 3.0), monkeypatch)

    before = r"leaves about 3 steps of 200 on a table of 1 row"
    after = r"leaves 3 steps of 200, .* All steps take about 200 s: raise seconds"
    with pytest.warns(TrainingWarning, match=before), pytest.warns(TrainingWarning, match=after):
        limited(kind, 3.0).fit(table(400), SCHEMA)
    # A warning would be an error.
    limited(kind, 20.0).fit(table(400), SCHEMA)


@pytest.mark.parametrize("kind", NOISY)
def test_a_limit_of_time_that_is_too_short_for_any_table_is_told_before_anything_is_paid(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require_library(kind)
    method = limited(kind, 3.0)
    each_step_takes(1.0, method, monkeypatch)

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "seconds is 3, .* leaves about 3 steps of 200 on a table of 1 row,")
        with pytest.raises(TrainingWarning, match=r"for the whole budget\. All steps .* or take method aim$"):
            replace(method, journal=tmp_path / "j").fit(table(400), SCHEMA)

    assert not (tmp_path / "j").exists()
    with pytest.warns(TrainingWarning, match="leaves about 3 steps of 200 on a table of 5,000 rows"):
        method.plan(SCHEMA, 5_000)


def in_time(kind: str, seconds: float) -> Training:
    return replace(private(kind).training, seconds=seconds)


def limited(kind: str, seconds: float) -> Any:
    return private(kind, training=in_time(kind, seconds), noisy=NoisyTraining(steps=200, rate=0.2))


def each_step_takes(seconds: float, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a trial say so, whatever the machine."""

    def cost(self: Any, domain: Any, n_rows: int, training: Any, noisy: Any, steps: int) -> FitCost:
        return FitCost(1.0, seconds * steps)

    monkeypatch.setattr(type(method.model), "noisy_training_cost", cost)


@pytest.mark.parametrize("kind", NOISY)
class TestDivergence:
    @pytest.mark.parametrize("rate", [1e-8, 1.001])
    def test_a_rate_at_which_nothing_is_learned_is_refused_before_anything_is_paid(
        self, kind: str, rate: float
    ) -> None:
        with pytest.raises(ArgumentError, match="learning_rate must be a number from 1e-7 to 1"):
            private(kind).with_options(learning_rate=rate)

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.ConditionWarning")
    def test_what_else_was_paid_for_is_released_and_can_be_loaded(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        require_library(kind)
        monkeypatch.setattr(astray, "_FARTHEST", -1.0)  # any training went astray

        with pytest.warns(TrainingWarning, match="Lower learning_rate, which is 0.01, in another run"):
            release = private(kind).fit(table(), SCHEMA)
        release.save(tmp_path / "t.syn")

        rows = release.sample(4_000, seed=0)
        assert st.load(tmp_path / "t.syn").sample(4_000, seed=0).equals(rows)
        assert (release.sample(5, where={"kind": "large"}, seed=0)["kind"] == "large").all()
        assert abs((rows["kind"] == "large").mean() - (table()["kind"] == "large").mean()) < 0.05
        assert abs(np.corrcoef(rows["size"], rows["double"])[0, 1]) < 0.1
        assert release.privacy.epsilon_spent <= 5.0

    @pytest.mark.thorough
    @pytest.mark.parametrize("clip", [1e-300, 1e300])
    def test_a_clip_of_any_size_leaves_numbers(self, kind: str, clip: float, tmp_path: Path) -> None:
        require_library(kind)
        noisy = NoisyTraining(steps=5, rate=0.2, clip=clip)

        private(kind, noisy=noisy, journal=tmp_path / "journal").fit(table(400), SCHEMA).save(
            tmp_path / "t.syn"
        )

        assert len(st.load(tmp_path / "t.syn").sample(10)) == 10


@pytest.mark.thorough
def test_an_interrupted_training_that_diverges_comes_to_the_same(tmp_path: Path) -> None:
    require_library("tabular_diffusion")
    diverging = {
        "model": TabularDiffusion(units=128, levels=5, steps_back=5, draws=5),
        "noisy": NoisyTraining(steps=20, rate=0.2, learning_rate=1.0),
    }
    times = 0

    def interrupt(step: str, done: float) -> None:
        nonlocal times
        times += "s left" in step
        if times == 1:
            raise Interrupted

    with pytest.warns(TrainingWarning):
        whole = private("tabular_diffusion", **diverging).fit(table(400), SCHEMA)
    with pytest.raises(Interrupted):
        private("tabular_diffusion", journal=tmp_path / "j", progress=interrupt, **diverging).fit(
            table(400), SCHEMA
        )
    with pytest.warns(TrainingWarning):
        again = private("tabular_diffusion", journal=tmp_path / "j", resume=True, **diverging).fit(
            table(400), SCHEMA
        )

    assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("autoregressive", 1),
        ("autoregressive", 4),
        ("tabular_diffusion", 1),
        ("variational", 2),
        ("adversarial", 2),
    ],
)
def test_an_interrupted_training_goes_on_and_pays_nothing_more(kind: str, tmp_path: Path, told: int) -> None:
    require_library(kind)
    whole = private(kind, journal=tmp_path / "whole").fit(table(400), SCHEMA)
    times = 0

    def interrupt(step: str, done: float) -> None:
        nonlocal times
        times += "s left" in step
        if times == told:
            raise Interrupted

    with pytest.raises(Interrupted):
        private(kind, journal=tmp_path / "broken", progress=interrupt).fit(table(400), SCHEMA)
    again = private(kind, journal=tmp_path / "broken", resume=True).fit(table(400), SCHEMA)

    assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))
    assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent
    with Journal(tmp_path / "broken") as journal:
        assert [r.step for r in journal.records] == ["measure one-way marginals", "train on the records"]


@pytest.mark.parametrize("room", [0, 100], ids=["none", "for a part of the line"])
@pytest.mark.parametrize("last", [2, 5])
def test_a_disk_that_is_full_at_a_checkpoint_loses_nothing_that_was_kept_and_nothing_is_paid_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int, room: int
) -> None:
    require_library("autoregressive")
    path = tmp_path / "broken"
    whole = private("autoregressive", journal=tmp_path / "whole").fit(table(400), SCHEMA)
    original, real, kept = Journal._append, os.write, 0

    def append(journal: Journal, line: dict[str, Any], **options: Any) -> None:
        nonlocal kept
        kept += "checkpoint" in line
        original(journal, line, **options)

    def full(descriptor: int, data: memoryview) -> int:
        if kept < last:
            return real(descriptor, data)
        if len(data) <= room or data[:13] != b'{"checkpoint"' or not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:room])

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_append", append)
        patch.setattr(os, "write", full)
        with pytest.raises(
            ReleaseFileError, match=r"journal '.*broken' cannot be written: No space .* resume"
        ):
            private("autoregressive", journal=path).fit(table(400), SCHEMA)
    complete = (tmp_path / "whole").read_bytes()
    left = path.read_bytes()
    state = Journal.read(path).records[-1].checkpoint
    again = private("autoregressive", journal=path, resume=True).fit(table(400), SCHEMA)

    assert state is not None
    assert state.steps == (last - 1) * 40 // 5
    assert complete.startswith(left)
    assert path.read_bytes() == complete
    assert again.sample(300, seed=1).equals(whole.sample(300, seed=1))
    assert again.privacy.epsilon_spent == whole.privacy.epsilon_spent
    with Journal(path) as journal:
        assert [r.step for r in journal.records] == ["measure one-way marginals", "train on the records"]
