from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.journal import Journal
from syntabula.privacy.spend_records import JournalProtocol, MemoryJournal

EVENT = GaussianEvent(10.1, 1, 4)
MARK = len('{"drawn": 0}\n')
ARRAYS = [
    np.array([[1, -2], [3, 2**62]]),
    np.array([0.1, -1e300, 5e-324]),
    np.array([1, 2], dtype=">i4"),
    np.array(7),
    np.zeros((0, 3)),
    np.array([True, False]),
    np.arange(6).reshape(2, 3).T,
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


class TestFile:
    @pytest.mark.parametrize("values", ARRAYS, ids=lambda a: f"{a.dtype.str}{a.shape}")
    def test_values_come_back_exactly(self, path: Path, values: np.ndarray) -> None:
        with Journal(path) as journal:
            number = journal.record_spend("measure", EVENT)
            journal.record_outcome(number, values)
            assert np.array_equal(journal.records[0].outcome, values)
        record = Journal.replay(path)[0]
        assert (record.step, record.event) == ("measure", EVENT)
        assert record.outcome is not None
        assert record.outcome.shape == values.shape
        assert np.array_equal(record.outcome, values)

    def test_is_readable_by_its_owner_only(self, path: Path) -> None:
        Journal(path).record_spend("x", EVENT)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_each_line_is_forced_to_disk(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        journal = Journal(path)
        sizes: list[int] = []
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (sizes.append(os.fstat(fd).st_size), real(fd))[1])
        number = journal.record_spend("x", EVENT)
        after_spend = path.stat().st_size
        journal.record_outcome(number, np.array([1]))
        assert sizes == [after_spend, path.stat().st_size]

    def test_opening_again_goes_on(self, path: Path) -> None:
        with Journal(path) as journal:
            journal.record_outcome(journal.record_spend("a", EVENT), np.array([1]))
            journal.record_spend("b", LaplaceEvent(1.0, 1, 1))
        with Journal(path) as journal:
            assert [record.step for record in journal.records] == ["a", "b"]
            assert journal.record_spend("c", ExponentialEvent(1.0, 2)) == 2
        records = Journal.replay(path)
        assert [record.step for record in records] == ["a", "b", "c"]
        assert [record.outcome is None for record in records] == [False, True, True]

    def test_every_cut_is_survived(self, path: Path, tmp_path: Path) -> None:
        with Journal(path) as journal:
            for step in ("a", "b"):
                journal.record_outcome(journal.record_spend(step, EVENT), np.array([1, 2]))
        whole = path.read_bytes()
        cut_path = tmp_path / "cut"
        for length in range(len(whole) + 1):
            cut_path.write_bytes(whole[:length])
            lines = whole[:length].count(b"\n")
            assert len(Journal.replay(cut_path)) == (lines + 1) // 2
            with Journal(cut_path) as journal:
                journal.record_spend("later", EVENT)
            assert Journal.replay(cut_path)[-1].step == "later"
            cut_path.unlink()

    @pytest.mark.parametrize(
        "damage", [b"x", b"{}\n", b'{"outcome": "AA==", "of": 9}\n', b"null\n", b"\x00\n"]
    )
    def test_damage_inside_is_refused(self, path: Path, damage: bytes) -> None:
        with Journal(path) as journal:
            journal.record_spend("x", EVENT)
        path.write_bytes(damage + path.read_bytes())
        with pytest.raises(ReleaseFileError, match="line 1"):
            Journal.replay(path)
        with pytest.raises(ReleaseFileError):
            Journal(path)

    def test_a_failed_write_leaves_no_half_line(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        journal = Journal(path)
        journal.record_spend("a", EVENT)
        real = os.write
        calls: list[int] = []

        def full(descriptor: int, data: memoryview) -> int:
            if calls:
                raise OSError(28, "No space left on device")
            calls.append(1)
            return real(descriptor, data[:5])

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="space"):
                journal.record_spend("b", EVENT)
        assert journal.record_spend("c", EVENT) == 1
        assert [record.step for record in Journal.replay(path)] == ["a", "c"]

    @pytest.mark.parametrize(
        "event", [EVENT, TreeEvent(3.0), ThresholdEvent(10.0, 60.0)], ids=lambda e: type(e).__name__
    )
    def test_on_a_full_disk_an_answer_of_no_fixed_length_is_lost_if_its_mark_fits(
        self, path: Path, event: Event, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.write
        left = 0

        def full(descriptor: int, data: memoryview) -> int:
            if os.fstat(descriptor).st_size >= left:
                raise OSError(28, "No space left on device")
            return real(descriptor, data[: left - os.fstat(descriptor).st_size])

        for spare in range(0, 200, 7):
            path.unlink(missing_ok=True)
            with Journal(path) as journal, monkeypatch.context() as patch:
                number = journal.record_spend("x", event)
                left = path.stat().st_size + spare
                patch.setattr(os, "write", full)
                with pytest.raises(OSError, match="space"):
                    journal.record_outcome(number, np.zeros(1000, dtype=np.uint8))
                lost = event != EVENT and spare >= MARK
                with pytest.raises(ArgumentError) if lost else pytest.raises(OSError, match="space"):
                    journal.record_outcome(number, np.zeros(1000, dtype=np.uint8))
            (record,) = Journal.replay(path)
            assert record.outcome is None
            # Whether its mark fits does not depend on the answer; where it does not, the draw may be made again.
            assert record.lost == (event != EVENT and spare >= MARK)

    def test_runs_are_read_back(self, path: Path) -> None:
        with Journal(path) as journal:
            journal.record_spend("before", EVENT)
            journal.record_run({"method": "mst"})
            journal.record_spend("after", EVENT, "asked")
        with Journal(path) as journal:
            assert [(run.facts, run.first) for run in journal.runs] == [({"method": "mst"}, 1)]
            assert [record.query for record in journal.records] == [None, "asked"]

    def test_a_closed_journal_refuses(self, path: Path) -> None:
        journal = Journal(path)
        journal.close()
        with pytest.raises(ArgumentError, match="closed"):
            journal.record_spend("x", EVENT)


class TestLock:
    def test_a_second_run_in_this_process_is_refused_until_the_first_ends(self, path: Path) -> None:
        with Journal(path), pytest.raises(ReleaseFileError, match="in use by another run"):
            Journal(path)

        with Journal(path) as journal:
            assert journal.records == ()

    def test_another_process_is_refused_and_a_killed_one_lets_go(self, path: Path) -> None:
        script = (
            "import sys\n"
            "from syntabula.privacy.events import GaussianEvent\n"
            "from syntabula.privacy.journal import Journal\n"
            "journal = Journal(sys.argv[1])\n"
            "journal.record_spend('x', GaussianEvent(10.0, 1, 4))\n"
            "print('held', flush=True)\n"
            "sys.stdin.read()\n"
        )
        holder = subprocess.Popen(
            [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ReleaseFileError, match="in use by another run"):
            Journal(path)
        assert len(Journal.replay(path)) == 1  # reading needs no lock

        holder.kill()
        holder.communicate()

        with Journal(path) as journal:
            assert [record.step for record in journal.records] == ["x"]

    def test_a_refused_opening_changes_nothing(self, path: Path) -> None:
        with Journal(path) as journal:
            journal.record_spend("x", EVENT)
            before = path.read_bytes()
            with pytest.raises(ReleaseFileError):
                Journal(path)
            assert path.read_bytes() == before
            journal.record_spend("y", EVENT)
        assert len(Journal.replay(path)) == 2

    def test_a_place_that_cannot_be_used_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ReleaseFileError, match="nowhere"):
            Journal(tmp_path / "nowhere" / "journal")


class TestBothKinds:
    @pytest.fixture(params=["file", "memory"])
    def journal(self, request: pytest.FixtureRequest, path: Path) -> JournalProtocol:
        return Journal(path) if request.param == "file" else MemoryJournal()

    def test_one_outcome_for_each_spend(self, journal: JournalProtocol) -> None:
        number = journal.record_spend("x", EVENT)
        journal.record_outcome(number, np.array([1]))
        for bad in (number, 5, -1):
            with pytest.raises(ArgumentError):
                journal.record_outcome(bad, np.array([2]))
        assert journal.records[0].outcome.tolist() == [1]  # type: ignore[union-attr]

    def test_objects_are_refused(self, journal: JournalProtocol) -> None:
        number = journal.record_spend("x", EVENT)
        with pytest.raises(ArgumentError, match="plain numbers"):
            journal.record_outcome(number, np.array(["a"]))

    def test_later_changes_to_the_array_do_not_show(self, journal: JournalProtocol) -> None:
        values = np.array([1])
        journal.record_outcome(journal.record_spend("x", EVENT), values)
        values[0] = 9
        assert journal.records[0].outcome.tolist() == [1]  # type: ignore[union-attr]
