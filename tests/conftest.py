"""What all tests rest on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before any library reads it: threads of small matrices wait for each other where several tests run at a time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A busy machine fails no test, and every run tries the same examples.
settings.register_profile(
    "syntabula", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("syntabula")


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore interrupts, nohup hang-ups, and their children too."""
    wanted: dict[str, Any] = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
    numbers = {name: getattr(signal, name) for name in wanted if hasattr(signal, name)}
    before = {number: signal.signal(number, wanted[name]) for name, number in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
