"""What all tests rest on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

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
    """A shell that starts tests in the background has them ignore interrupts, and their children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
