from __future__ import annotations

import errno
import math
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.privacy import journal as journals
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent, ThresholdEvent
from syntabula.privacy.journal import Journal, MemoryJournal

EVENT = GaussianEvent(10.1, 1, 4)
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
        record = Journal.read(path).records[0]
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

    def test_a_line_that_was_cut_off_is_taken_away_on_disk(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Journal(path) as journal:
            journal.record_spend("x", EVENT)
        whole = path.stat().st_size
        with path.open("ab") as file:
            file.write(b'{"cut off')
        sizes: list[int] = []
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (sizes.append(os.fstat(fd).st_size), real(fd))[1])

        with Journal(path):
            pass

        assert whole in sizes

    def test_opening_again_goes_on(self, path: Path) -> None:
        with Journal(path) as journal:
            journal.record_outcome(journal.record_spend("a", EVENT), np.array([1]))
            journal.record_spend("b", LaplaceEvent(1.0, 1, 1))
        with Journal(path) as journal:
            assert [record.step for record in journal.records] == ["a", "b"]
            assert journal.record_spend("c", ExponentialEvent(1.0, 2)) == 2
        records = Journal.read(path).records
        assert [record.step for record in records] == ["a", "b", "c"]
        assert [record.outcome is None for record in records] == [False, True, True]

    @pytest.mark.thorough
    def test_every_cut_is_survived(self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fsync", lambda _: None)  # cuts stand for what did not get to the disk
        with Journal(path) as journal:
            for step in ("a", "b"):
                journal.record_outcome(journal.record_spend(step, EVENT), np.array([1, 2]))
        whole = path.read_bytes()
        cut_path = tmp_path / "cut"
        for length in range(len(whole) + 1):
            cut_path.write_bytes(whole[:length])
            lines = whole[:length].count(b"\n")
            assert len(Journal.read(cut_path).records) == (lines + 1) // 2
            with Journal(cut_path) as journal:
                journal.record_spend("later", EVENT)
            assert Journal.read(cut_path).records[-1].step == "later"
            cut_path.unlink()

    @pytest.mark.parametrize("damage", [b"x", b"{}\n", b'{"outcome": "AA==", "of": 9}\n', b"\x00\n"])
    def test_damage_inside_is_refused(self, path: Path, damage: bytes) -> None:
        with Journal(path) as journal:
            journal.record_spend("x", EVENT)
        path.write_bytes(damage + path.read_bytes())
        with pytest.raises(ReleaseFileError, match="line 1"):
            Journal.read(path)
        with pytest.raises(ReleaseFileError):
            Journal(path)

    @pytest.mark.parametrize("end", [b"\r", b" ", b"", b"\0"])
    def test_lines_with_other_ends_are_no_line_that_was_cut_short(self, path: Path, end: bytes) -> None:
        with Journal(path) as journal:
            journal.record_outcome(journal.record_spend("x", EVENT), np.array([1, 2]))
        whole = path.read_bytes()
        first = whole.index(b"\n") + 1

        for spoilt in (whole.replace(b"\n", end), whole[:first] + whole.replace(b"\n", end)):
            path.write_bytes(spoilt)
            with pytest.raises(ReleaseFileError, match="what was spent cannot be known"):
                Journal(path)
            assert path.read_bytes() == spoilt

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
            with pytest.raises(ReleaseFileError, match="space"):
                journal.record_spend("b", EVENT)
        assert journal.record_spend("c", EVENT) == 1
        assert [record.step for record in Journal.read(path).records] == ["a", "c"]

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


class TestAnswersWithoutAFixedLength:
    """Whether one can be written must not depend on it: else a draw that is repeated until it fits is biased."""

    LONGEST = 900

    def after(self, path: Path, size: int, spare: int, monkeypatch: pytest.MonkeyPatch) -> bool:
        """Say whether an answer of some bytes was written where so much was left on the disk."""
        real = os.write

        def full(descriptor: int, data: memoryview) -> int:
            room = left - os.lseek(descriptor, 0, os.SEEK_CUR)
            if room <= 0:
                raise OSError(28, "No space left on device")
            return real(descriptor, data[:room])

        path.unlink(missing_ok=True)
        with Journal(path) as journal, monkeypatch.context() as patch:
            number = journal.record_spend("x", ThresholdEvent(10.0, 60.0))
            before = path.read_bytes()
            left = len(before) + spare
            patch.setattr(os, "write", full)
            answer = np.zeros(size, dtype=np.uint8)
            try:
                journal.record_outcome(number, answer, longest=self.LONGEST)
            except ReleaseFileError:
                assert path.read_bytes() == before
        (record,) = Journal.read(path).records
        if record.outcome is not None:
            assert np.array_equal(record.outcome, answer)
            assert path.read_bytes().endswith(b"\n")
        return record.outcome is not None

    def test_they_fit_where_the_longest_would(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fits = {
            spare: {self.after(path, size, spare, monkeypatch) for size in (0, 7, 450, self.LONGEST)}
            for spare in range(0, 2000, 125)
        }

        assert all(len(outcomes) == 1 for outcomes in fits.values())
        assert (fits[0], fits[1875]) == ({False}, {True})

    def test_what_follows_them_is_read_back(self, path: Path) -> None:
        with Journal(path) as journal:
            for size in (3, 0, 800):
                number = journal.record_spend("x", ThresholdEvent(10.0, 60.0))
                journal.record_outcome(number, np.full(size, 7, dtype=np.uint8), longest=self.LONGEST)
            journal.record_spend("y", EVENT)
        assert [None if x.outcome is None else x.outcome.size for x in Journal.read(path).records] == [
            3,
            0,
            800,
            None,
        ]

    def test_one_that_is_longer_is_refused_and_nothing_of_it_is_written(self, path: Path) -> None:
        with Journal(path) as journal:
            number = journal.record_spend("x", ThresholdEvent(10.0, 60.0))
            before = path.read_bytes()
            with pytest.raises(ArgumentError, match="longest"):
                journal.record_outcome(number, np.zeros(9000, dtype=np.uint8), longest=self.LONGEST)
            assert path.read_bytes() == before

    def test_a_kill_leaves_all_of_one_or_none(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = np.ones(5, dtype=np.uint8)
        found = []
        for calls in range(5):
            path.unlink(missing_ok=True)
            with Journal(path) as journal, monkeypatch.context() as patch:
                number = journal.record_spend("x", ThresholdEvent(10.0, 60.0))
                kill_after(calls, patch)
                with pytest.raises(Killed):
                    journal.record_outcome(number, answer, longest=self.LONGEST)
            found.append(Journal.read(path).records[0].outcome is not None)
            with Journal(path) as journal:
                if journal.records[0].outcome is None:
                    journal.record_outcome(0, answer, longest=self.LONGEST)
                journal.record_spend("y", EVENT)
            assert Journal.read(path).records[0].outcome.tolist() == [1] * 5

        # The answer and its padding, forced to disk; the end of its line, forced to disk; the padding cut off.
        assert found == [False, False, False, True, True]


class Killed(BaseException):
    """What a process that is killed cannot catch."""


def kill_after(calls: int, patch: pytest.MonkeyPatch) -> None:
    """Let only so many more calls change a file."""
    left = iter(range(calls))

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if next(left, None) is None:
                raise Killed
            return real(*given)

        return call

    for name in ("write", "fsync", "ftruncate"):
        patch.setattr(os, name, counted(getattr(os, name)))


class TestDamage:
    @pytest.fixture
    def lines(self, path: Path) -> list[bytes]:
        """The lines of two runs, of which the first two spends are alike."""
        with Journal(path) as journal:
            for run in ("a", "b"):
                journal.record_run({"method": run})
                for step in ("x", "x", "y"):
                    journal.record_outcome(journal.record_spend(step, EVENT, "q"), np.array([1, 2]))
            journal.record_file("table")
        return path.read_bytes().splitlines(keepends=True)

    def refused(self, path: Path, lines: list[bytes], line: int) -> None:
        path.write_bytes(b"".join(lines))
        for opened in (Journal.read, Journal):
            with pytest.raises(ReleaseFileError, match=rf"journal '.*' cannot be used: line {line} of"):
                opened(path)
        assert path.read_bytes() == b"".join(lines)

    def test_a_line_that_was_taken_out_is_missed(self, path: Path, lines: list[bytes]) -> None:
        for i in range(len(lines) - 1):
            self.refused(path, lines[:i] + lines[i + 1 :], i + 1)

    def test_a_spend_that_was_taken_out_with_its_outcome_is_missed(
        self, path: Path, lines: list[bytes]
    ) -> None:
        self.refused(path, lines[:1] + lines[3:], 2)

    def test_lines_in_another_order_are_refused(self, path: Path, lines: list[bytes]) -> None:
        for i in range(len(lines) - 1):
            self.refused(path, [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]], i + 1)

    def test_a_line_that_is_there_twice_is_refused(self, path: Path, lines: list[bytes]) -> None:
        for i in range(len(lines)):
            self.refused(path, [*lines[: i + 1], *lines[i:]], i + 2)

    @pytest.mark.thorough
    def test_a_changed_letter_anywhere_is_noticed(self, path: Path, lines: list[bytes]) -> None:
        for i, line in enumerate(lines):
            for place in range(0, len(line) - 1, 7):
                changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
                self.refused(path, [*lines[:i], changed, *lines[i + 1 :]], i + 1)

    def test_lines_of_another_journal_are_refused(
        self, path: Path, lines: list[bytes], tmp_path: Path
    ) -> None:
        with Journal(tmp_path / "other") as journal:
            journal.record_run({"method": "c"})
        other = (tmp_path / "other").read_bytes().splitlines(keepends=True)
        self.refused(path, other + lines[1:], 2)
        self.refused(path, lines + other, len(lines) + 1)

    def test_lines_of_an_earlier_version_are_refused(self, path: Path) -> None:
        self.refused(path, [b'{"run": {"method": "mst"}}\n', b'{"drawn": 0}\n'], 1)

    @pytest.mark.parametrize(
        "line",
        [
            {"outcome": "AAAAAAAA+H8=", "of": 0, "dtype": "<f8", "shape": [1]},
            {"outcome": "AAAAAAAA8H8=", "of": 0, "dtype": "<f8", "shape": [1]},
            {"outcome": "AAAAAAAA8H8=", "of": 0, "dtype": "|O", "shape": [1]},
            {"outcome": "AAAAAAAA8H8=", "of": 0, "dtype": 8, "shape": [1]},
            {"outcome": "AAAAAAAA8H8=", "of": 0, "dtype": "<i8", "shape": [2]},
            {"outcome": "AAAAAAAA8H8=", "of": 0, "dtype": "<i8", "shape": [10**30]},
            {"outcome": "AAAAAAAA8H8=", "of": "0", "dtype": "<i8", "shape": [1]},
            {"outcome": "AAAAAAAA8H8=", "of": 1, "dtype": "<i8", "shape": [1]},
            {"outcome": "?", "of": 0, "dtype": "<i8", "shape": [1]},
            {"outcome": "AAAAAAAA8H8="},
            {
                "spend": "x",
                "event": {"kind": "gaussian", "sigma": math.nan, "l2_sensitivity_squared": 1, "cells": 1},
            },
            {
                "spend": "x",
                "event": {"kind": "gaussian", "sigma": 1.0, "l2_sensitivity_squared": "1/0", "cells": 1},
            },
            {
                "spend": "x",
                "event": {"kind": "gaussian", "sigma": "1", "l2_sensitivity_squared": 1, "cells": 1},
            },
            {"spend": "x", "event": {"kind": "unknown"}},
            {"spend": "x", "event": []},
            {"run": ["method"]},
            {"unknown": 1},
            {},
            [[]],
        ],
        ids=repr,
    )
    def test_what_no_run_writes_is_refused_though_its_hash_is_right(self, path: Path, line: Any) -> None:
        with Journal(path) as journal:
            journal.record_spend("x", EVENT)
            text, _ = journals._written(line, journal._last)
        self.refused(path, [path.read_bytes(), text], 2)

    def test_deep_nesting_is_refused(self, path: Path) -> None:
        body = b'{"run": ' + b"[" * 100_000
        self.refused(
            path, [body + b', "chain": "' + journals._hash(body, journals._START).encode() + b'"}\n'], 1
        )


class TestPlace:
    def test_a_file_that_is_no_journal_stays_as_it_is(self, path: Path) -> None:
        for content in [b"my notes", b"\0\1\2", b'{"release": 1}']:
            path.write_bytes(content)
            with pytest.raises(ReleaseFileError, match="not a journal"):
                Journal(path)
            assert path.read_bytes() == content

    @pytest.mark.skipif(os.name != "posix", reason="makes links and pipes")
    @pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder", "link to a device"])
    def test_anything_but_a_file_is_refused_without_opening_it(
        self, path: Path, kind: str, tmp_path: Path
    ) -> None:
        target = tmp_path / "target"
        if kind == "link":
            with Journal(target) as journal:
                journal.record_spend("x", EVENT)
        before = target.read_bytes() if target.exists() else None
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "link to a device":
                path.symlink_to("/dev/null")
            case _:
                path.symlink_to(target)

        with pytest.raises(ReleaseFileError, match="symbolic link, a folder, a pipe or a device"):
            Journal(path)

        assert (target.read_bytes() if target.exists() else None) == before


@pytest.mark.parametrize("call", ["ftruncate", "fsync"])
def test_one_that_no_disk_holds_is_not_opened(path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    closed: list[int] = []
    real = os.close
    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        patched.setattr(os, "close", lambda fd: (closed.append(fd), real(fd))[1])
        with pytest.raises(
            ReleaseFileError, match="cannot be opened: No space left on device; choose another"
        ):
            Journal(path)

    assert closed
    Journal(path).close()


def failing(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestFiles:
    def test_they_belong_to_the_last_run(self, path: Path) -> None:
        with Journal(path) as journal:
            with pytest.raises(ArgumentError, match="no run"):
                journal.record_file("a")
            for name in ("a", "b"):
                journal.record_run({"method": name})
                journal.record_file(name)
                journal.record_file(name + name)
        assert [run.files for run in Journal.read(path).runs] == [("a", "aa"), ("b", "bb")]


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
        assert len(Journal.read(path).records) == 1  # reading needs no lock

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
        assert len(Journal.read(path).records) == 2

    def test_a_place_that_cannot_be_used_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ReleaseFileError, match="nowhere"):
            Journal(tmp_path / "nowhere" / "journal")


class TestBothKinds:
    @pytest.fixture(params=["file", "memory"])
    def journal(self, request: pytest.FixtureRequest, path: Path) -> MemoryJournal:
        return Journal(path) if request.param == "file" else MemoryJournal()

    def test_one_outcome_for_each_spend(self, journal: MemoryJournal) -> None:
        number = journal.record_spend("x", EVENT)
        journal.record_outcome(number, np.array([1]))
        for bad in (number, 5, -1):
            with pytest.raises(ArgumentError):
                journal.record_outcome(bad, np.array([2]))
        assert journal.records[0].outcome.tolist() == [1]  # type: ignore[union-attr]

    def test_objects_are_refused(self, journal: MemoryJournal) -> None:
        number = journal.record_spend("x", EVENT)
        with pytest.raises(ArgumentError, match="plain numbers"):
            journal.record_outcome(number, np.array(["a"]))

    def test_later_changes_to_the_array_do_not_show(self, journal: MemoryJournal) -> None:
        values = np.array([1])
        journal.record_outcome(journal.record_spend("x", EVENT), values)
        values[0] = 9
        assert journal.records[0].outcome.tolist() == [1]  # type: ignore[union-attr]
