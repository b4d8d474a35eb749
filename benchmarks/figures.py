"""What a run, a process of its own, says about itself in its last line."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path


def print_figures(started: float, **more: str) -> None:
    """Print seconds since a start, processor seconds and peak memory of this process, and what else there is.

    The peak is that of this program alone: the process's largest size also counts the process that started it.
    """
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        peak = float(lines["VmHWM"].split()[0]) / 1024
    else:
        peak = used.ru_maxrss / 1024
    figures = {"seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime, "peak_mb": peak}
    print(json.dumps({**figures, **more}))
