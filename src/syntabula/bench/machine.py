"""What a study ran on, and when."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_DRIVER = Path("/proc/driver/nvidia/gpus")


@cache
def this_machine() -> Mapping[str, Any]:
    """Return what identifies the kind of this machine: system, processor, number of processors, memory, Python, GPUs."""
    gpus = _gpus()
    return {
        "system": platform.system(),
        "processor": _processor(),
        "processors": os.cpu_count() or 1,
        "memory_gb": _memory_gb(),
        "python": platform.python_version(),
        **({"gpus": gpus} if gpus else {}),
    }


def now() -> str:
    """Return the time in UTC, to the second."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _gpus() -> list[str]:
    """Return the names of those that NVIDIA's driver for Linux shows."""
    found = []
    for told in sorted(_DRIVER.glob("*/information")):
        lines = told.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return found


def _memory_gb() -> int | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
    except (AttributeError, OSError, ValueError):
        return None
