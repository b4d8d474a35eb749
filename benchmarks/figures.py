"""The largest memory of this process."""

from __future__ import annotations

import resource
from pathlib import Path


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
