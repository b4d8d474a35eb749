"""A fit whose process is killed at any write of its journal, or while it saves: nothing is lost or spent twice."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import BudgetExceededError
from syntabula.privacy import journal as journal_file
from syntabula.privacy.events import ThresholdEvent, TreeEvent
from syntabula.privacy.journal import Journal, JournalRecord
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed")

FRAME = pd.DataFrame({"a": [0, 1, 2] * 20, "b": [0, 1] * 30, "c": [1, 1, 0, 0] * 15})
SCHEMA = st.Schema({name: st.Numeric(0, 2, integer=True) for name in FRAME})
BUDGET = st.Budget.zcdp(0.5, 1e-5)
WRITES = (
    11  # of MST on three columns: the run; one-way counts, two choices and pairs twice, each with its outcome
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object]) -> None:
    """Run work in a process of its own that has to be killed by it."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(600)
    assert process.exitcode == -signal.SIGKILL


def fit(journal: Path, seed: int = 1, **options: object) -> st.Release:
    return st.MST(budget=BUDGET, journal=journal, **({"seed": seed} | options)).fit(FRAME, SCHEMA)


def saved(release: st.Release, folder: Path) -> bytes:
    release.save(folder / "x.syn")
    return (folder / "x.syn").read_bytes()


class Watched(SeededNoise):
    """Writes down each draw, before it is made, in a file that outlives the process."""

    def __init__(self, seed: int, path: Path) -> None:
        super().__init__(seed)
        self.path = path

    def _note(self, kind: str) -> None:
        with self.path.open("a") as file:
            file.write(kind + "\n")

    def discrete_gaussian(self, counts, sigma):
        self._note("gaussian")
        return super().discrete_gaussian(counts, sigma)

    def noisy_max(self, scores, scale):
        self._note("max")
        return super().noisy_max(scores, scale)


# After one write is before the next, and the third question goes as the second, the fourth as the first.
@pytest.mark.parametrize(
    ("write", "moment"),
    [(0, "before"), *((write, moment) for write in (0, 1, 2, 3, 4, 8) for moment in ("half", "after"))],
)
class TestWhileSpending:
    @pytest.fixture
    def folder(self, tmp_path: Path, write: int, moment: str) -> Path:
        """A folder with the journal of a run that was killed around one of its writes."""

        def work() -> None:
            original, count = Journal._append, 0

            def append(journal: Journal, line: dict[str, object], **room: object) -> None:
                nonlocal count
                count += 1
                if count <= write:
                    return original(journal, line, **room)
                if moment == "half":
                    text, _ = journal_file._written(line, journal._last)
                    os.lseek(journal._descriptor, journal._end, os.SEEK_SET)
                    os.write(journal._descriptor, text[: len(text) // 2])
                if moment == "after":
                    original(journal, line, **room)
                die()

            Journal._append = append
            fit(tmp_path / "journal", seed=None, noise=Watched(0, tmp_path / "drawn")).save(
                tmp_path / "x.syn"
            )

        killed(work)
        return tmp_path

    @pytest.mark.thorough
    def test_no_draw_is_without_its_spend_on_disk(self, folder: Path, write: int, moment: str) -> None:
        draws = (folder / "drawn").read_text().split() if (folder / "drawn").exists() else []

        spends = Journal.read(folder / "journal").records

        assert not (folder / "x.syn").exists()
        assert len(draws) <= len(spends) <= len(draws) + 1
        kinds = {"GaussianEvent": "gaussian", "ExponentialEvent": "max"}
        assert [kinds[type(s.event).__name__] for s in spends][: len(draws)] == draws
        complete = write + (moment == "after")
        assert len(spends) == complete // 2
        assert sum(s.outcome is not None for s in spends) == max(complete - 1, 0) // 2

    @pytest.mark.thorough
    def test_resumed_it_ends_as_if_it_had_not_been_killed(
        self, folder: Path, write: int, moment: str
    ) -> None:
        whole = fit(folder / "whole", seed=None, noise=SeededNoise(0))
        path = folder / "journal"
        answered = sum(s.outcome is not None for s in Journal.read(path).records)
        (folder / "drawn").unlink(missing_ok=True)

        release = fit(path, seed=None, noise=Watched(0, folder / "drawn"), resume=True)

        drawn = (folder / "drawn").read_text().split() if (folder / "drawn").exists() else []
        assert len(drawn) + answered == (WRITES - 1) // 2
        assert path.read_bytes() == (folder / "whole").read_bytes()
        assert release.privacy == replace(whole.privacy, replayed=answered)
        assert saved(replace(release, privacy=whole.privacy), folder) == saved(whole, folder)

    @pytest.mark.thorough
    def test_what_was_spent_counts_and_the_rest_is_enough_or_refused(
        self, folder: Path, write: int, moment: str
    ) -> None:
        path = folder / "journal"
        lost = Journal.read(path).records
        with Journal(path) as journal:
            before = Ledger(BUDGET, journal).spent
        if BUDGET.total - before < BUDGET.total / 100:
            with pytest.raises(BudgetExceededError, match="new journal"):
                fit(path)
            assert Journal.read(path).records[-1].step == lost[-1].step
            return

        release = fit(path)

        with Journal(path) as journal:
            ledger = Ledger(BUDGET, journal)
        assert [e.event for e in ledger.entries[: len(lost)]] == [s.event for s in lost]
        assert before < ledger.spent <= BUDGET.total or not lost
        assert float(ledger.spent / BUDGET.total) > 1 - 1e-12
        assert release.privacy.epsilon_spent <= BUDGET.epsilon
        release.save(folder / "x.syn")
        assert st.load(folder / "x.syn").sample(9, seed=0).equals(release.sample(9, seed=0))


class Killed(BaseException):
    """Stands for the end of a process, where one for each would take long."""


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
class TestEveryKindOfSpend:
    """A fit that asks for all there is, killed in each line of its journal in turn and gone on with each time."""

    TOWNS = tuple("abcdefgh")
    PARTIAL = st.Schema({"town": st.Categorical(TOWNS)}, others="find")
    KINDS = frozenset({"GaussianEvent", "ExponentialEvent", "TreeEvent", "ThresholdEvent"})
    STEPS = (
        "find the type of",
        "count the records",
        "find the domain of",
        "fit the bins of",
        "merge rare",
        "choose",
    )

    @pytest.fixture
    def table(self, tmp_path: Path) -> Path:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                "age": rng.integers(18, 60, 400),
                "pay": np.round(rng.random(400) * 99, 2),
                "job": rng.choice(["cook", "judge", "nurse"], 400, p=[0.6, 0.3, 0.1]),
                "town": rng.choice(self.TOWNS, 400, p=[0.4, 0.3, 0.2, 0.05, 0.02, 0.01, 0.01, 0.01]),
            }
        )
        frame.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"

    def fit(self, table: Path, journal: Path, **options: object) -> st.Release:
        method = st.AIM(
            epsilon=40.0,
            seed=3,
            bins=6,
            rare=st.RareCategories(least_categories=4),
            journal=journal,
            **options,
        )
        return method.with_options(max_rounds=1, iterations=10).fit(table, self.PARTIAL)

    def moments(self, whole: list[bytes], spends: Sequence[JournalRecord]) -> Iterator[tuple[int, int]]:
        """Yield each line of a journal, and after how many changes of the file the fit is killed in it."""
        for number, text in enumerate(whole):
            line = json.loads(text)
            padded = "outcome" in line and isinstance(spends[line["of"]].event, TreeEvent | ThresholdEvent)
            # The end of a padded line is its third change, which the last two kills come after.
            yield from ((number, changes) for changes in ((0, 1, 2, 3 + number % 2) if padded else (0,)))

    def killed_in(self, number: int, changes: int, patch: pytest.MonkeyPatch) -> None:
        """Kill whoever writes this line; in the middle of the next change to the file, if that is a write."""
        original, write = Journal._append, os.write

        def append(journal: Journal, line: dict[str, object], **room: object) -> None:
            if journal.path.read_bytes()[: journal._end].count(b"\n") < number:
                return original(journal, line, **room)
            left = iter(range(changes))

            def counted(real: Callable[..., object]) -> Callable[..., object]:
                def call(descriptor: int, *given: object) -> object:
                    if next(left, None) is None:
                        if real is write:
                            write(descriptor, given[0][: len(given[0]) // 2])
                        raise Killed
                    return real(descriptor, *given)

                return call

            for name in ("write", "fsync", "ftruncate"):
                patch.setattr(os, name, counted(getattr(os, name)))
            original(journal, line, **room)

        patch.setattr(Journal, "_append", append)

    @pytest.mark.thorough
    def test_killed_in_each_line_it_ends_as_if_it_had_never_been(
        self, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = self.fit(table, tmp_path / "whole")
        whole = (tmp_path / "whole").read_bytes()
        spends = Journal.read(tmp_path / "whole").records
        assert {type(spend.event).__name__ for spend in spends} == self.KINDS
        assert all(any(spend.step.startswith(step) for spend in spends) for step in self.STEPS)
        budget, path = release.privacy.budget, tmp_path / "journal"
        path.touch()

        for number, changes in self.moments(whole.splitlines(), spends):
            with monkeypatch.context() as patch:
                self.killed_in(number, changes, patch)
                with pytest.raises(Killed):
                    self.fit(table, path, resume=True)
            left = path.read_bytes()
            assert whole.startswith(left[: left.rfind(b"\n") + 1])
            spent = Ledger(budget, Journal.read(path)).spent
            assert spent <= budget.total
        resumed = self.fit(table, path, resume=True)

        assert path.read_bytes() == whole
        assert resumed.privacy == replace(release.privacy, replayed=len(spends) - 1)
        assert saved(replace(resumed, privacy=release.privacy), tmp_path) == saved(release, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "call", "old"),
    [
        *(("syn", call, old) for call in ("fsync", "replace") for old in (True, False)),
        *(("csv", "replace", True), ("csv", "fsync", False), ("parquet", "replace", True)),
    ],
)
def test_killed_while_it_saves_it_leaves_the_old_file_or_none(
    kind: str, call: str, old: bool, tmp_path: Path
) -> None:
    release = st.MST(budget=BUDGET, seed=1).fit(FRAME, SCHEMA)
    target = tmp_path / f"x.{kind}"

    def write() -> None:
        if kind == "syn":
            release.save(target)
        else:
            release.sample_to(target, 50, seed=1)

    if old:
        write()
    before = target.read_bytes() if old else None

    def work() -> None:
        setattr(os, call, lambda *_: die())
        write()

    killed(work)

    assert (target.read_bytes() if target.exists() else None) == before
    write()
    assert len(st.load(target).sample(5) if kind == "syn" else target.read_bytes()) > 0
