"""What all tests rest on."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import hypothesis
import pytest

# No test is timed, and a failure found once is found again by whoever runs the same code.
hypothesis.settings.register_profile("syntabula", deadline=None, derandomize=True)
hypothesis.settings.load_profile("syntabula")


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore interrupts, and their children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
