"""One cell in a process of its own: reads the cell from standard input and writes its outcome to standard output.

The process ends as soon as standard input is closed, so that no cell outlives the run that started it, however that
ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

_MARK = "syntabula cell "
"""Begins the line of the outcome, as libraries may print too."""


def main() -> None:
    """Run one cell."""
    # Only the outcome goes to the real standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with suppress(OSError):  # the system ends this process first if memory is short, not the run
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    cell = sys.stdin.readline()
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    started = time.perf_counter()
    found = _outcome(cell)
    found |= {"seconds": time.perf_counter() - started, "processor_seconds": sum(os.times()[:4])}
    found |= {"peak_mb": peak_mb()}
    answers.write(_MARK + json.dumps(found, allow_nan=False) + "\n")
    answers.close()
    os._exit(0)  # threads of libraries would hold the process


def answer_in(text: str) -> dict[str, Any] | None:
    """Return the outcome in what a worker wrote; None if it did not write one whole."""
    for line in text.splitlines():
        if line.startswith(_MARK):
            with suppress(ValueError):
                found: dict[str, Any] = json.loads(line.removeprefix(_MARK))
                return found
    return None


def _outcome(text: str) -> dict[str, Any]:
    from syntabula import errors
    from syntabula._memory import ran_out
    from syntabula.bench.cell import Cell, plain
    from syntabula.bench.content import content_of
    from syntabula.bench.tasks import TASKS

    warnings.simplefilter("ignore")
    try:
        cell = Cell.from_json(json.loads(text))
        if cell.content != content_of(cell.dataset):
            reason = f"the file {cell.dataset!r} has changed since the run began; run the study again"
            return {"status": "left out", "reason": reason}
        found = TASKS[cell.task].run(cell)
    except (errors.MissingExtraError, errors.DatasetError) as error:
        return {"status": "left out", "reason": str(error)}
    except errors.SyntabulaError as error:
        return {"status": "failed", "reason": str(error)}
    except Exception as error:
        # A method, a plug-in or a library may raise anything; the cell then has an outcome, and the run goes on.
        if ran_out(error):
            return {"status": "cut off", "reason": "memory ran out", "limit": "memory"}
        # The text of another library's error may show a cell of the table.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"line {frame.lineno} of {Path(frame.filename).name}"
        return {"status": "failed", "reason": f"unexpected {type(error).__name__} at {place}"}
    return {"status": "done", "scores": plain(dict(found.scores)), "facts": plain(dict(found.facts))}


def peak_mb() -> float:
    """Return the largest size of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        return float(lines["VmHWM"].split()[0]) / 1024
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 1024


def _end_with_the_run() -> None:
    while sys.stdin.read(1):
        pass
    # A peer's script is a process of its own, in the group that this one leads.
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
