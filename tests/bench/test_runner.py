from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula.bench import Candidate, Record, Store, Study, run, summarize, work_of
from syntabula.errors import ArgumentError, StudyError

ROWS = "census@60"
SMALL = Study(name="small", datasets=(ROWS,), methods=("independent", "mst"), scores=("tvd-1",), seeds=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the store of one run of all cells."""
    store: Path = tmp_path_factory.mktemp("whole") / "s.jsonl"
    run(SMALL, store, workers=2)
    return store


def half_of(whole: Path, folder: Path) -> Path:
    """Return a store that holds the cells of the first seed."""
    store = folder / "s.jsonl"
    lines = whole.read_text().splitlines(keepends=True)
    first = {cell.key for cell in SMALL.cells if cell.seed == 0}
    store.write_text("".join(line for line in lines if json.loads(line)["key"] in first))
    return store


def scores(records: dict[str, Record]) -> dict[str, dict[str, float]]:
    return {key: dict(record.scores) for key, record in records.items()}


class TestRun:
    @pytest.mark.thorough
    def test_each_cell_has_its_scores_and_what_it_cost(self, whole: Path) -> None:
        found = Store(whole).records()

        assert set(found) == {cell.key for cell in SMALL.cells}
        for record in found.values():
            assert record.status == "done"
            assert 0 < record.scores["tvd-1"] < 1
            assert 0 < record.facts["epsilon_spent"] <= 1
            assert record.processor_seconds is not None
            assert record.processor_seconds > 0
            assert record.peak_mb is not None
            assert record.peak_mb > 20
            assert record.machine["processors"] == os.cpu_count()

    @pytest.mark.thorough
    def test_what_is_done_is_not_run_again(self, whole: Path, tmp_path: Path) -> None:
        store = half_of(whole, tmp_path)
        before = store.read_bytes()
        seen: list[str] = []

        run(SMALL, store, progress=lambda done: seen.append(done.record.cell.key))

        assert store.read_bytes().startswith(before)
        assert sorted(seen) == sorted(cell.key for cell in SMALL.cells if cell.seed == 1)

    @pytest.mark.thorough
    def test_progress_counts_cells_and_time_left(self, tmp_path: Path) -> None:
        left: list[tuple[int, int, float | None]] = []

        run(
            replace(SMALL, seeds=(0,)),
            tmp_path / "s.jsonl",
            workers=1,
            progress=lambda p: left.append((p.done, p.total, p.seconds_left)),
        )

        assert [(done, total) for done, total, _ in left] == [(1, 2), (2, 2)]
        assert left[0][2] is not None
        assert left[0][2] > left[1][2] == 0

    @pytest.mark.thorough
    def test_the_time_for_all_leaves_the_rest_for_the_next_run(self, tmp_path: Path) -> None:
        told: list[str] = []

        found = run(SMALL, tmp_path / "s.jsonl", workers=1, total_seconds=0.0, tell=told.append)

        assert len(found) < len(SMALL.cells)
        assert "left for the next run, as the 0 seconds for all are over" in told[-1]


@pytest.mark.usefixtures("bad_methods")
class TestTrouble:
    @pytest.mark.thorough
    def test_other_cells_go_on(self, tmp_path: Path) -> None:
        methods = ("crashing", "leaving", "raising", "independent")
        study = Study(name="bad", datasets=(ROWS,), methods=methods, scores=("tvd-1",))

        found = {r.cell.method: r for r in run(study, tmp_path / "s.jsonl", workers=2).values()}

        assert found["independent"].status == "done"
        reasons = {name: found[name].reason for name in methods[:3]}
        assert [found[name].status for name in methods[:3]] == ["failed"] * 3
        assert reasons["crashing"] == "its process crashed (signal 11)"
        assert reasons["leaving"] == "its process ended without a result (exit code 3)"
        assert reasons["raising"].startswith("unexpected ValueError at line ")

    @pytest.mark.thorough
    def test_no_reason_holds_the_text_of_another_librarys_error(self, tmp_path: Path) -> None:
        study = Study(name="bad", datasets=(ROWS,), methods=("raising",), scores=("tvd-1",))

        run(study, tmp_path / "s.jsonl")

        assert "secretcell" not in (tmp_path / "s.jsonl").read_text()

    @pytest.mark.thorough
    def test_a_cell_that_hangs_or_fills_memory_is_cut_off(self, tmp_path: Path) -> None:
        hanging = Study(name="h", datasets=(ROWS,), methods=("hanging",), scores=("tvd-1",), seconds=1.0)
        growing = Study(name="g", datasets=(ROWS,), methods=("growing",), scores=("tvd-1",), memory_mb=400.0)

        found = [*run(hanging, tmp_path / "s.jsonl").values(), *run(growing, tmp_path / "s.jsonl").values()]

        assert [record.status for record in found] == ["cut off", "cut off"]
        assert [record.reason for record in found] == ["not done in 1 s", "needed more than 400 MB of memory"]

    @pytest.mark.thorough
    def test_a_larger_limit_runs_what_was_cut_off_again_and_again_runs_failures(self, tmp_path: Path) -> None:
        store = tmp_path / "s.jsonl"
        hanging = Study(name="h", datasets=(ROWS,), methods=("hanging",), scores=("tvd-1",), seconds=1.0)
        failing = Study(name="f", datasets=(ROWS,), methods=("leaving",), scores=("tvd-1",))
        run(hanging, store)
        run(failing, store)

        same = [work_of(study, store) for study in (hanging, failing)]
        longer = [work_of(replace(study, seconds=2 * study.seconds), store) for study in (hanging, failing)]
        again = [work_of(study, store, again=True) for study in (hanging, failing)]

        assert [len(work.cells) for work in (*same, *longer, *again)] == [0, 0, 1, 0, 1, 1]


class TestKilled:
    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
    @pytest.mark.thorough
    def test_a_killed_run_goes_on_and_gives_the_same_table(self, whole: Path, tmp_path: Path) -> None:
        study = replace(SMALL, seeds=(0, 1))
        undisturbed = Store(whole).records()
        store = tmp_path / "s.jsonl"
        code = (
            "import sys; from syntabula import bench\n"
            f"study = bench.Study(name='small', datasets=('{ROWS}',), methods=('independent', 'mst'), "
            "scores=('tvd-1',), seeds=2)\n"
            f"bench.run(study, {str(store)!r}, workers=2)"
        )
        process = subprocess.Popen([sys.executable, "-P", "-c", code])
        while not (store.exists() and store.read_bytes().count(b"\n")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = len(Store(store).records())
        # A machine that loses power may leave half a line.
        with store.open("ab") as file:
            file.write(b'{"format": 1, "key": "ab')

        resumed = run(study, store, workers=2)

        assert 1 <= finished < len(study.cells)
        assert scores(resumed) == scores(undisturbed)
        tables = [
            [
                (row.dataset, row.label, row.means, row.spreads, row.ranks)
                for row in summarize(study, found).rows
            ]
            for found in (resumed, undisturbed)
        ]
        assert tables[0] == tables[1]

    @pytest.mark.thorough
    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
    @pytest.mark.usefixtures("bad_methods")
    def test_no_cell_outlives_a_killed_run(self, tmp_path: Path) -> None:
        code = (
            "from syntabula import bench\n"
            f"study = bench.Study(name='h', datasets=('{ROWS}',), methods=('hanging',))\n"
            f"bench.run(study, {str(tmp_path / 's.jsonl')!r})"
        )
        process = subprocess.Popen([sys.executable, "-P", "-c", code])
        while not (children := _children(process.pid)):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()

        assert _ended(children)

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
    @pytest.mark.thorough
    def test_no_peer_outlives_a_killed_run(self, tmp_path: Path) -> None:
        peer = tmp_path / "python"
        peer.write_text(f"#!/bin/sh\necho $$ > {tmp_path / 'pid'}\nexec sleep 3600\n")
        peer.chmod(0o755)
        code = (
            "from syntabula import bench\n"
            f"study = bench.Study(name='p', datasets=('{ROWS}',), methods=('peer:mbi-aim',))\n"
            f"bench.run(study, {str(tmp_path / 's.jsonl')!r})"
        )
        environment = {**os.environ, "SYNTABULA_PEER_MBI": str(peer)}
        process = subprocess.Popen([sys.executable, "-P", "-c", code], env=environment)
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()

        assert _ended([int((tmp_path / "pid").read_text())])


def _ended(processes: list[int]) -> bool:
    """Wait until none of them runs any more, for a minute."""
    ends = time.monotonic() + 60
    while any(_is_running(process) for process in processes) and time.monotonic() < ends:
        time.sleep(0.05)
    return not any(_is_running(process) for process in processes)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            found += [int(entry.name)] if parent == pid else []
    return found


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TestStore:
    @pytest.mark.thorough
    def test_two_runs_on_one_store_do_not_mix(self, tmp_path: Path) -> None:
        with (
            Store(tmp_path / "s.jsonl").writing(),
            pytest.raises(StudyError, match=r"another run is writing to the store"),
        ):
            run(SMALL, tmp_path / "s.jsonl")

    @pytest.mark.thorough
    def test_results_of_another_version_are_not_mixed_with_ours(self, whole: Path, tmp_path: Path) -> None:
        store = half_of(whole, tmp_path)
        lines = [json.loads(line) for line in store.read_text().splitlines()]
        store.write_text("".join(json.dumps({**line, "version": "0.0.1"}) + "\n" for line in lines))

        with pytest.raises(StudyError, match=r"holds results of syntabula 0\.0\.1, and this is .* compare"):
            run(SMALL, store)
        assert len(store.read_text().splitlines()) == len(lines)

    def test_a_later_format_is_said(self, tmp_path: Path) -> None:
        store = tmp_path / "s.jsonl"
        store.write_text('{"format": 99, "key": "ab"}\n')

        with pytest.raises(StudyError, match="another version of syntabula, in a format"):
            work_of(SMALL, store)

    def test_what_is_no_result_is_named_by_its_line(self, tmp_path: Path) -> None:
        for text in ["rubbish\n", '{"a": 1}\n', "[]\n"]:
            store = tmp_path / "s.jsonl"
            store.write_text(text)

            with pytest.raises(StudyError, match=r"line 1 of the store .* is not a result of a study"):
                work_of(SMALL, store)
            assert store.read_text() == text

    def test_a_store_must_be_named_jsonl(self, tmp_path: Path) -> None:
        with pytest.raises(ArgumentError, match=r"must end in \.jsonl"):
            run(SMALL, tmp_path / "s.csv")

    def test_numbers_come_back_as_they_were(self, tmp_path: Path) -> None:
        cell = SMALL.cells[0]
        kept = Record(
            study="small", cell=cell, status="done", scores={"a": math.nan, "b": 0.1, "c": math.inf}
        )
        with Store(tmp_path / "s.jsonl").writing() as writer:
            writer.append(kept)

        (found,) = Store(tmp_path / "s.jsonl").records().values()

        assert math.isnan(found.scores["a"])
        assert (found.scores["b"], found.scores["c"]) == (0.1, math.inf)
        assert found.cell == cell

    @pytest.mark.thorough
    def test_a_missing_table_leaves_its_cells_out_and_others_go_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = replace(SMALL, datasets=("acsincome", ROWS), seeds=(0,))
        told: list[str] = []

        found = run(study, tmp_path / "s.jsonl", tell=told.append)

        assert {record.cell.dataset for record in found.values()} == {ROWS}
        assert told[0].startswith("2 cells of 'acsincome' are left out: dataset 'acsincome'")


class TestWork:
    @pytest.mark.thorough
    def test_a_dry_run_tells_cells_and_hours_from_what_is_known(self, whole: Path, tmp_path: Path) -> None:
        before = work_of(SMALL, tmp_path / "s.jsonl")
        store = half_of(whole, tmp_path)
        after = work_of(SMALL, store)

        assert (len(before.cells), before.n_known, before.timing.n_measured) == (4, 0, 4)
        assert (len(after.cells), after.n_known, after.timing.n_run) == (2, 2, 2)
        known = [record.seconds for record in Store(store).records().values()]
        assert after.timing.seconds == pytest.approx(sum(known))


@pytest.mark.thorough
def test_a_method_of_known_quality_needs_no_budget(tmp_path: Path) -> None:
    study = Study(
        name="known",
        datasets=(ROWS,),
        methods=tuple(Candidate(method=m) for m in ("SELF", "HALF", "HISTOGRAM", "BINS")),
        epsilons=(0.5, 1.0),
        scores=("tvd-2",),
        against=("learned",),
    )

    found = run(study, tmp_path / "s.jsonl", workers=2)

    by_method = {record.cell.method: record.scores["tvd-2"] for record in found.values()}
    assert len(found) == 5  # BINS at both budgets
    assert by_method["SELF"] == 0.0
    assert by_method["HISTOGRAM"] > by_method["HALF"] > 0
