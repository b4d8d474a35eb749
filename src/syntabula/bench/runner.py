"""Runs the cells of a study that a store lacks, several at a time; what is finished is never lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syntabula._arguments import count
from syntabula._version import __version__
from syntabula.bench.cell import Cell, n_cells
from syntabula.bench.content import state_behind
from syntabula.bench.machine import now, this_machine
from syntabula.bench.matching import changed_files, of_other_code
from syntabula.bench.process import run_cell
from syntabula.bench.store import Record, Store, Writer
from syntabula.bench.study import Study
from syntabula.bench.table_source import check_table
from syntabula.bench.timing import Timing, timing_of
from syntabula.errors import DatasetError, MissingExtraError, StudyError

Tell = Callable[[str], None]
Show = Callable[["Progress"], None]


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a run would do.

    Attributes:
        study: The study.
        cells: Cells that have no final result yet, in order.
        n_known: Cells that have one.
        missing: Why the tables that are not here cannot be read, by name; their cells are not among `cells`.
        timing: Estimate of the time that the cells take, and what that is known from.
        changed: How many cells of a file, by its path, have results only of what it held before.
        n_of_other_code: How many of the known cells are not known to be of the code that runs now.
    """

    study: Study
    cells: tuple[Cell, ...]
    n_known: int
    missing: Mapping[str, str]
    timing: Timing = field(default_factory=Timing)
    changed: Mapping[str, int] = field(default_factory=dict)
    n_of_other_code: int = 0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        done: Cells finished in this run.
        total: Cells of this run.
        seconds_left: Estimate of the time until the last one, or None while none has finished.
        record: The cell that was just finished.
    """

    done: int
    total: int
    seconds_left: float | None
    record: Record


def work_of(study: Study, store: str | os.PathLike[str], *, again: bool = False) -> Work:
    """Return what a run of a study would do, and how long that may take; runs nothing.

    Args:
        study: The study.
        store: The file of results.
        again: Whether cells that failed or were cut off are run again.

    Raises:
        ArgumentError: If the store has the wrong suffix.
        StudyError: If the store holds something else, or results of another version.
        OSError: If it cannot be read.
    """
    known = Store(Path(store)).records()
    missing: dict[str, str] = {}
    for name in dict.fromkeys(cell.dataset for cell in study.cells):
        try:
            check_table(name)
        except (DatasetError, MissingExtraError, OSError) as error:
            missing[name] = str(error)
    _check_versions(study, known, store)
    cells = study.cells
    wanted = [cell for cell in cells if not _settled(known.get(cell.key), study, again=again)]
    kept = {cell.key: known[cell.key] for cell in cells if cell.key in known}
    for cell in wanted:
        kept.pop(cell.key, None)
    runnable = tuple(cell for cell in wanted if cell.dataset not in missing)
    return Work(
        study=study,
        cells=runnable,
        n_known=len(cells) - len(wanted),
        missing=missing,
        timing=timing_of(runnable, known.values(), study.seconds),
        changed=changed_files(study, known),
        n_of_other_code=of_other_code(kept),
    )


def run(
    study: Study,
    store: str | os.PathLike[str],
    *,
    workers: int | None = None,
    again: bool = False,
    total_seconds: float | None = None,
    tell: Tell | None = None,
    progress: Show | None = None,
) -> dict[str, Record]:
    """Run the cells of a study that a store lacks, each in a process of its own.

    A cell that fails, hangs or fills its memory is recorded as such, with the reason, and others go on. An
    interrupted run, even by `kill -9`, goes on where it was.

    Args:
        study: The study.
        store: The file of results, named .jsonl; made if it is not there. Studies may share one.
        workers: Cells at a time; one per processor by default. Each uses one thread.
        again: Whether cells that failed or were cut off are run again.
        total_seconds: Starts no cell after this time and ends those at work, which are left for the next run.
        tell: Called with remarks, such as on tables that are not here.
        progress: Called after each cell.

    Returns:
        The results of the study's cells by their key, earlier ones included.

    Raises:
        ArgumentError: If a method or option does not exist, or an argument is out of range.
        StudyError: If another run is writing to the store, it holds something else or results of another version, or it
            cannot be written, as when the disk is full; results until then are in it.
        OSError: If the store cannot be read or opened.
    """
    n_workers: int = count().or_none("workers", workers) or os.cpu_count() or 1
    say = tell or (lambda sentence: None)
    place = Store(Path(store))
    with place.writing() as writer:
        work = work_of(study, store, again=again)
        for name, reason in work.missing.items():
            lost = sum(cell.dataset == name for cell in study.cells)
            say(f"{n_cells(lost)} of {name!r} {'is' if lost == 1 else 'are'} left out: {reason}")
        _run_all(work, writer, n_workers, total_seconds, progress or (lambda done: None), say)
    known = place.records()
    return {cell.key: known[cell.key] for cell in study.cells if cell.key in known}


def _run_all(
    work: Work, writer: Writer, n_workers: int, total_seconds: float | None, show: Show, say: Tell
) -> None:
    """Run cells until all are finished; on the way out, end those at work."""
    stop, started = threading.Event(), time.monotonic()
    ends = None if total_seconds is None else started + total_seconds
    left = list(reversed(work.cells))
    at_work: dict[Future[dict[str, Any]], Cell] = {}
    done = 0
    with ThreadPoolExecutor(n_workers) as pool:
        try:
            while left or at_work:
                while left and len(at_work) < n_workers:
                    cell = left.pop()
                    at_work[pool.submit(_outcome, cell, work.study, stop)] = cell
                finished = wait(at_work, timeout=0.5, return_when=FIRST_COMPLETED).done
                for future in finished:
                    record = _record(work.study, at_work.pop(future), future)
                    writer.append(record)
                    done += 1
                    spent = time.monotonic() - started
                    todo = len(work.cells) - done
                    show(
                        Progress(
                            done=done, total=len(work.cells), seconds_left=spent / done * todo, record=record
                        )
                    )
                if ends is not None and time.monotonic() > ends and (left or at_work):
                    say(
                        f"{n_cells(len(left) + len(at_work), '', (' is', ' are'))} left for the next run, as the "
                        f"{total_seconds:g} seconds for all are over; the same command goes on there"
                    )
                    return
        finally:
            stop.set()


def _outcome(cell: Cell, study: Study, stop: threading.Event) -> dict[str, Any]:
    return run_cell(cell, seconds=study.seconds, memory_mb=study.memory_mb, stop=stop)


def _record(study: Study, cell: Cell, future: Future[dict[str, Any]]) -> Record:
    found = future.result()
    limits = {"seconds": study.seconds, "memory_mb": study.memory_mb}
    scores = {k: float("nan") if v is None else float(v) for k, v in found.get("scores", {}).items()}
    return Record(
        study=study.name,
        cell=cell,
        status=found["status"],
        reason=found.get("reason", ""),
        scores=scores,
        facts=found.get("facts", {}),
        seconds=round(found["seconds"], 3),
        processor_seconds=_rounded(found["processor_seconds"]),
        peak_mb=_rounded(found["peak_mb"]),
        limits=limits,
        code=state_behind(cell),
        machine=this_machine(),
        finished=now(),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _settled(record: Record | None, study: Study, *, again: bool) -> bool:
    """Whether a cell needs no run: it is done, or it failed and is not run again, or its limits are no larger now."""
    if record is None or not record.is_final:
        return False
    if record.status == "done":
        return True
    if again:
        return False
    larger = study.seconds > record.limits.get("seconds", 0) or study.memory_mb > record.limits.get(
        "memory_mb", 0
    )
    return record.status == "failed" or not larger


def _check_versions(study: Study, known: Mapping[str, Record], store: str | os.PathLike[str]) -> None:
    keys = {cell.key for cell in study.cells}
    others = sorted({r.version for key, r in known.items() if key in keys and r.version != __version__})
    if others:
        raise StudyError(
            f"the store {os.fspath(store)!r} holds results of syntabula {', '.join(others)}, and this is {__version__}; "
            "name another store for this version, and set both side by side with compare"
        )
