"""Runs one cell in a process of its own, with limits of time and memory."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from syntabula.bench.cell import Cell
from syntabula.bench.worker import answer_in

_LOOK_EVERY = 0.05
_CLOCK = 3.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Stopped(Exception):
    """The run was asked to stop while a cell was at work; the cell is left for the next run."""


def run_cell(
    cell: Cell, *, seconds: float, memory_mb: float, stop: threading.Event | None = None
) -> dict[str, Any]:
    """Run a cell and return its outcome, whatever happens to its process.

    Args:
        cell: The cell.
        seconds: Most processor seconds, so that a busy machine changes nothing; by the clock it may take three times
            as long. Where the system does not show processor seconds, the clock alone counts.
        memory_mb: Most resident memory of the process, watched several times a second where the system shows it.
        stop: Ends the process when set.

    Returns:
        Its `status` ("done", "failed", "cut off" or "left out"), the `reason` if it is not done, and else its scores,
        facts, seconds, processor seconds and peak memory in megabytes.

    Raises:
        Stopped: If `stop` was set.
    """
    # -P keeps files of the working directory from replacing modules.
    command = [sys.executable, "-P", "-m", "syntabula.bench.worker"]
    started, peak = time.perf_counter(), 0.0
    used: float | None = None
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(cell.to_json()).encode() + b"\n")
                process.stdin.flush()
            ended: dict[str, Any] | None = None
            while process.poll() is None and ended is None:
                clock, used = time.perf_counter() - started, _processor_seconds(process.pid)
                peak = max(peak, _resident_mb(process.pid))
                if stop is not None and stop.is_set():
                    raise Stopped
                if (used if used is not None else clock) > seconds or clock > _CLOCK * seconds:
                    ended = {"reason": f"not done in {seconds:g} s", "limit": "seconds"}
                elif peak > memory_mb:
                    ended = {"reason": f"needed more than {memory_mb:g} MB of memory", "limit": "memory"}
                else:
                    time.sleep(_LOOK_EVERY)
        finally:
            code = _ended(process)
        clock = time.perf_counter() - started
        measured = {"seconds": clock, "processor_seconds": used, "peak_mb": peak or None}
        if ended is not None:
            return {"status": "cut off", **ended, **measured}
        written.seek(0)
        answer = answer_in(written.read().decode("utf-8", "replace"))
    if answer is not None:
        return answer
    return {"status": "failed", "reason": _why_ended(code), **measured}


def _ended(process: subprocess.Popen[bytes]) -> int:
    """End a process, and all that it started; return its exit code."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        elif process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    return process.wait()


def _why_ended(code: int) -> str:
    if code == -signal.SIGTERM or (sys.platform != "win32" and code == -signal.SIGKILL):
        return "the system or a person ended its process, most likely because memory was short"
    if code < 0:
        return f"its process crashed (signal {-code})"
    return f"its process ended without a result (exit code {code})"


def _processor_seconds(pid: int) -> float | None:
    """Return the processor seconds of a process and of those it waited for; None where the system does not show them."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


def _resident_mb(pid: int) -> float:
    """Return the memory of a process in megabytes; 0 where the system does not show it."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0.0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if len(fields) > 1 else math.nan
