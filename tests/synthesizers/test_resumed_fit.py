"""A run that is gone on with from its journal ends as if it had never broken off, whatever it had to learn.

The journal of a killed run is the beginning of the journal of the whole one (test_killed_fit holds that with
processes that are killed), so that each beginning stands for a kill at that write.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, ReleaseFileError, ResumeError
from syntabula.models.neural import NeuralRows
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise, SeededNoise
from syntabula.record_models import loop
from syntabula.record_models.adamw import warmth
from syntabula.select.doubling import FirstTimeDoubling

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
N = 600
MOMENTS = 4  # at which each run breaks off, evenly over its writes
SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 90, integer=True, nullable=True),
        "pay": st.Numeric(0.0, 99.0, decimals=2),
        "job": st.Categorical(("cook", "judge", "nurse"), open=True),
        "day": st.Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31), resolution="day"),
    }
)
PARTIAL = st.Schema({name: SCHEMA[name] for name in ("age", "job")}, others="find")
PRIVTREE = st.Preprocessing(discretizer="privtree", within="normal")
EVEN = st.Preprocessing(discretizer="uniform")
NETWORK = {"model": NeuralRows(n_rows=16, units=4, iterations=2)}
FEW_ROUNDS = {"selector": FirstTimeDoubling(rounds_per_column=2)}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "independent": ("independent", {"preprocessing": EVEN}),
    "independent, pure": ("independent", {"preprocessing": EVEN, "budget": st.Budget.pure(2.0)}),
    "private trees": ("independent", {"preprocessing": PRIVTREE}),
    "quantiles": ("independent", {"preprocessing": st.Preprocessing(discretizer="quantile"), "bins": 6}),
    "k-means": ("independent", {"preprocessing": st.Preprocessing(discretizer="kmeans"), "bins": 6}),
    "found domains": ("mst", {"undeclared": True, "preprocessing": PRIVTREE, "epsilon": 40.0}),
    "some declared": ("mst", {"schema": PARTIAL, "preprocessing": PRIVTREE, "epsilon": 40.0}),
    "no privacy": ("independent", {"undeclared": True, "epsilon": math.inf}),
    "mst": ("mst", {"preprocessing": EVEN}),
    "mst, Gaussian": ("mst", {"preprocessing": PRIVTREE, "budget": st.Budget(2.0, 1e-5, accounting="gdp")}),
    "aim": ("aim", {"preprocessing": EVEN, "bins": 4}),
    "privbayes": ("privbayes", {"preprocessing": EVEN, "bins": 4}),
    "margnet": ("margnet", {"preprocessing": EVEN, "bins": 4} | NETWORK | FEW_ROUNDS),
}


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = pd.array(np.clip(rng.normal(45, 15, N), 18, 90).astype(int), dtype="Int16")
    frame = pd.DataFrame(
        {
            "age": age,
            "pay": np.round(np.clip(rng.lognormal(2, 1, N), 0, 99), 2),
            "job": rng.choice(["cook", "judge", "nurse", "clown"], N, p=[0.5, 0.3, 0.15, 0.05]),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 365, N), unit="D"),
        }
    )
    frame.loc[rng.random(N) < 0.1, "age"] = None
    return frame


class Counted(SeededNoise):
    """Counts how many spends it drew for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: set[int] = set()

    def _laplace_draws(self, n, scale):
        self.drawn.add(self._spends)
        return super()._laplace_draws(n, scale)

    def _gaussian_draws(self, n, sigma):
        self.drawn.add(self._spends)
        return super()._gaussian_draws(n, sigma)

    def noisy_max(self, scores, scale):
        self.drawn.add(self._spends)
        return super().noisy_max(scores, scale)


def fit(case: str, journal: Path, *, noise: Any = None, **changes: Any) -> st.Release:
    method, options = METHODS[case]
    stated = {} if "budget" in options | changes else {"epsilon": 4.0}
    given = stated | options | {"noise": noise or Counted(7)} | changes
    schema = None if given.pop("undeclared", False) else given.pop("schema", SCHEMA)
    frame = given.pop("frame", None)
    return st.synthesizer(method)(journal=journal, **given).fit(table() if frame is None else frame, schema)


def saved(release: st.Release, folder: Path) -> bytes:
    """Return the bytes of the release, without the number of answers that came from the journal."""
    replace(release, privacy=replace(release.privacy, replayed=0)).save(folder / "x.syn")
    return (folder / "x.syn").read_bytes()


def beginnings(whole: bytes) -> list[tuple[bytes, int]]:
    """Return journals of runs that broke off at any write, and how many answers each holds."""
    lines = whole.splitlines(keepends=True)
    found = []
    for n in range(len(lines) + 1):
        answers = sum(line.startswith(b'{"outcome"') for line in lines[:n])
        left = lines[n][: len(lines[n]) // 2] if n < len(lines) and n % 3 == 1 else b""
        found.append((b"".join(lines[:n]) + left, answers))
    return found


def evenly(items: list[Any], most: int) -> list[Any]:
    return [
        items[i] for i in sorted({round(x) for x in np.linspace(0, len(items) - 1, min(most, len(items)))})
    ]


class TestBytes:
    @pytest.mark.thorough
    @pytest.mark.parametrize("case", METHODS)
    def test_are_those_of_a_run_that_never_broke_off(self, case: str, tmp_path: Path) -> None:
        path, noise = tmp_path / "journal", Counted(7)
        release = fit(case, path, noise=noise)
        whole, file = path.read_bytes(), saved(release, tmp_path)
        spends = len(Journal.read(path).records)
        ended = []

        for beginning, answers in evenly(beginnings(whole), MOMENTS):
            path.write_bytes(beginning)
            again = Counted(7)
            resumed = fit(case, path, noise=again, resume=True)
            assert resumed.privacy.replayed == answers
            assert len(noise.drawn - again.drawn) == min(answers, len(noise.drawn))
            assert again.drawn <= noise.drawn
            assert path.read_bytes() == whole
            assert saved(resumed, tmp_path) == file
            assert resumed.sample(50, seed=3).equals(release.sample(50, seed=3))
            ended.append(answers)

        assert ended[0] == 0
        assert ended[-1] == spends


class TestSecure:
    @pytest.mark.thorough
    def test_all_recorded_answers_make_the_same_release_without_a_draw(self, tmp_path: Path) -> None:
        class Spent(SecureNoise):
            def discrete_gaussian(self, counts, sigma):
                raise AssertionError("an answer was drawn again")

            noisy_max = discrete_laplace = discrete_gaussian

        path = tmp_path / "journal"
        release = fit("found domains", path, noise=SecureNoise())

        resumed = fit("found domains", path, noise=Spent(), resume=True)

        assert resumed.privacy.noise_is_private
        assert saved(resumed, tmp_path) == saved(release, tmp_path)

    def test_no_recorded_answer_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        fit("mst", path, noise=SecureNoise())
        first = Journal.read(path).records
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:5]))

        resumed = fit("mst", path, noise=SecureNoise(), resume=True)

        second = Journal.read(path).records
        assert resumed.privacy.replayed == 2
        assert len(second) == len(first)
        assert all(np.array_equal(a.outcome, b.outcome) for a, b in zip(first[:2], second[:2], strict=True))


class TestBudget:
    def test_what_is_spent_is_what_one_run_spends(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        release = fit("mst", path)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:6]))

        resumed = fit("mst", path, resume=True)

        assert resumed.privacy.epsilon_spent == release.privacy.epsilon_spent
        assert resumed.privacy.lines == release.privacy.lines
        with Journal(path) as journal:
            assert Ledger(resumed.privacy.budget, journal).spent <= resumed.privacy.budget.total

    def test_a_run_after_one_that_counts_is_gone_on_with_by_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        fit("independent", path)
        twice = {"budget": st.Budget.zcdp(2.0, 1e-5)}
        release = fit("mst", path, **twice)
        whole = path.read_bytes()
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-2]))

        resumed = fit("mst", path, **twice, resume=True)

        assert path.read_bytes() == whole
        assert saved(resumed, tmp_path) == saved(release, tmp_path)

    def test_a_second_resumption_is_the_same_again(self, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        release = fit("mst", path)

        for _ in range(2):
            assert saved(fit("mst", path, resume=True), tmp_path) == saved(release, tmp_path)

    def test_earlier_answers_are_about_the_table_that_they_were_drawn_from(self, tmp_path: Path) -> None:
        path, half = tmp_path / "journal", tmp_path / "half"
        release = fit("mst", path)
        lines = path.read_bytes().splitlines(keepends=True)
        half.write_bytes(b"".join(lines[:-2]))

        everything = fit("mst", path, resume=True, frame=table(1))
        last_from_another = fit("mst", half, resume=True, frame=table(1))

        assert saved(everything, tmp_path) == saved(release, tmp_path)
        assert last_from_another.privacy.lines == release.privacy.lines
        assert saved(last_from_another, tmp_path) != saved(release, tmp_path)


class TestAnotherRun:
    """What does not belong to the run of the journal is refused: nothing is drawn, nothing is written."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "journal"
        fit("mst", path)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:6]))
        return path

    def refused(self, path: Path, match: str, case: str = "mst", **changes: Any) -> None:
        before, noise = path.read_bytes(), changes.pop("noise", None) or Counted(7)
        with pytest.raises(ResumeError, match=match) as caught:
            fit(case, path, noise=noise, resume=True, **changes)
        assert "nothing was drawn" in str(caught.value)
        assert path.read_bytes() == before
        assert not getattr(noise, "drawn", None)

    def test_another_method(self, path: Path) -> None:
        self.refused(path, "its method is mst, but here it is independent", case="independent")

    def test_another_budget(self, path: Path) -> None:
        self.refused(path, "its budget is .*, but here it is", epsilon=3.0)

    def test_another_source_of_noise(self, path: Path) -> None:
        self.refused(path, "its noise is seeded noise", noise=SecureNoise())

    def test_another_seed(self, path: Path) -> None:
        self.refused(path, "its seed is None, but here it is 7", noise=SeededNoise(7), seed=7)

    def test_another_version(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from syntabula.synthesizers import run_facts

        monkeypatch.setattr(run_facts, "__version__", "99.0")
        self.refused(path, "its version is .*, but here it is 99.0")

    def test_other_bins(self, path: Path) -> None:
        self.refused(path, "another option bins; nothing", bins=3)

    def test_another_setting_of_the_model(self, path: Path) -> None:
        model = st.MST().model.__class__(iterations=5)
        self.refused(path, r"another option model\.iterations; nothing", model=model)

    def test_columns_in_another_order(self, path: Path) -> None:
        turned = st.Schema(dict(reversed(SCHEMA.columns.items())))
        self.refused(path, "another schema; nothing", schema=turned)

    def test_others_that_are_to_be_found(self, path: Path) -> None:
        self.refused(
            path, "its domain of other columns is not stated", schema=st.Schema(SCHEMA.columns, others="find")
        )

    def test_categories_in_another_order(self, path: Path) -> None:
        turned = SCHEMA.with_column("job", st.Categorical(("nurse", "judge", "cook"), open=True))
        self.refused(path, "another declaration of column 'job'; nothing", schema=turned)

    def test_other_bounds(self, path: Path) -> None:
        wider = SCHEMA.with_column("pay", st.Numeric(0.0, 999.0, decimals=2))
        self.refused(path, "another declaration of column 'pay'; nothing", schema=wider)

    def test_a_journal_without_its_beginning(self, path: Path) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[1:]))
        with pytest.raises(ReleaseFileError, match="line 1 of the journal is damaged"):
            fit("mst", path, resume=True)

    def test_spends_that_were_not_asked_for_again(self, path: Path) -> None:
        whole = path.with_name("whole")
        fit("mst", whole)
        with Journal(whole) as journal:
            journal.record_spend("more", journal.records[0].event)
        with pytest.raises(ResumeError, match="1 of its spends"):
            fit("mst", whole, resume=True)

    def test_without_resume_it_counts_as_before(self, path: Path) -> None:
        release = fit("independent", path)

        assert release.privacy.replayed == 0
        assert release.privacy.lines[0].share > 0

    def test_resume_needs_a_journal_that_exists(self, tmp_path: Path) -> None:
        with pytest.raises(ArgumentError, match="journal=PATH"):
            st.MST(resume=True)
        with pytest.raises(ReleaseFileError, match="no journal"):
            fit("mst", tmp_path / "none", resume=True)
        assert not (tmp_path / "none").exists()


def test_a_source_that_cannot_turn_to_the_next_spend_is_refused_at_once() -> None:
    class Old:
        name, is_private = "old", False

        def discrete_gaussian(self, counts, sigma):
            return counts

        noisy_max = discrete_laplace = discrete_gaussian

    with pytest.raises(ArgumentError, match="NoiseSource"):
        st.MST(noise=Old())


TRAINED: dict[str, dict[str, Any]] = {
    "argn": {"units": 8},
    "tvae": {"units": 8},
    "ctgan": {"units": 8},
    "tabddpm": {"units": 8},
    "circuit": {"states": 4},
    "great": {"units": 8},
}


class TestTrainingWithoutPrivacy:
    """A training on the records themselves goes on from the state that it kept last."""

    def fit(self, method: str, journal: Path, **changes: Any) -> st.Release:
        options = TRAINED[method] | {"steps": 10, "batch": 32}
        made = st.synthesizer(method)(epsilon=math.inf, seed=3, journal=journal, **changes)
        return made.with_options(**options).fit(table(), SCHEMA)

    @pytest.mark.parametrize(
        "method", [m if m == "argn" else pytest.param(m, marks=pytest.mark.thorough) for m in TRAINED]
    )
    def test_is_that_of_a_run_that_never_broke_off(
        self, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        path = tmp_path / "journal"
        release = self.fit(method, path)
        lines, file = path.read_bytes().splitlines(keepends=True), saved(release, tmp_path)
        kept = [n for n, line in enumerate(lines) if line.startswith(b'{"checkpoint"')]
        # Killed while it wrote what it had learned in six steps of ten.
        path.write_bytes(b"".join(lines[: kept[1] + 1]) + lines[kept[2]][:100])
        steps: list[int] = []
        monkeypatch.setattr(loop, "warmth", lambda done, step: steps.append(step) or warmth(done, step))

        resumed = self.fit(method, path, resume=True)

        # Plans try a step of number 0.
        assert min(step for step in steps if step) == 4
        assert saved(resumed, tmp_path) == file

    def test_a_full_disk_loses_nothing_that_was_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("torch")
        path = tmp_path / "journal"
        file = saved(self.fit("argn", path), tmp_path)
        path.unlink()
        original, real, kept = Journal._append, os.write, 0

        def append(journal: Journal, line: dict[str, Any], **room: Any) -> None:
            nonlocal kept
            kept += "checkpoint" in line
            original(journal, line, **room)

        def full(descriptor: int, data: memoryview) -> int:
            if kept == 3:
                raise OSError(28, "No space left on device")
            return real(descriptor, data)

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "_append", append)
            patch.setattr(os, "write", full)
            with pytest.raises(ReleaseFileError, match=r"space.*continue with resume"):
                self.fit("argn", path)
        state = Journal.read(path).records[-1].checkpoint

        resumed = self.fit("argn", path, resume=True)

        assert state is not None
        assert state.steps == 4
        assert saved(resumed, tmp_path) == file


class TestFullDisk:
    @pytest.mark.thorough
    @pytest.mark.parametrize("kind", ["gaussian", "exponential", "threshold", "tree"])
    def test_an_answer_that_could_not_be_written_is_drawn_when_there_is_room(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "journal"
        release = fit("found domains", path)
        whole, file = path.read_bytes(), saved(release, tmp_path)
        path.unlink()
        real, size = os.write, 0

        def full(descriptor: int, data: memoryview) -> int:
            if os.lseek(descriptor, 0, os.SEEK_CUR) >= size > 0:
                raise OSError(28, "No space left on device")
            return real(descriptor, data)

        original = Journal._append

        def append(journal: Journal, line: dict[str, Any], **room: Any) -> None:
            nonlocal size
            if "outcome" in line and journal.records[line["of"]].event.to_json()["kind"] == kind:
                size = journal._end
            original(journal, line, **room)

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "_append", append)
            patch.setattr(os, "write", full)
            with pytest.raises(ReleaseFileError, match=r"space.*continue with resume"):
                fit("found domains", path)
        assert path.read_bytes() == whole[: len(path.read_bytes())]
        assert Journal.read(path).records[-1].outcome is None

        resumed = fit("found domains", path, resume=True)

        assert path.read_bytes() == whole
        assert saved(resumed, tmp_path) == file
