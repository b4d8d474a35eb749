"""Time and memory that each run, a separate process, prints in its last line."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path


def print_figures(started: float, **more: str) -> None:
    """Print seconds since a start, processor seconds and peak memory of this process, and further figures.

    The peak is that of this program alone: the system's figure for the largest size of a process also includes
    the process that started it.
    """
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {"seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime, "peak_mb": peak_mb()}
    print(json.dumps({**figures, **more}))


def peak_mb() -> float:
    """Return the largest size of this process since its start, or since `forget_peak`."""
    status = Path("/proc/self/status")
    if not status.exists():  # not on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return float(lines["VmHWM"].split()[0]) / 1024


def forget_peak() -> None:
    """Reset the largest size, if the system allows it."""
    references = Path("/proc/self/clear_refs")
    if references.exists():
        references.write_text("5")
