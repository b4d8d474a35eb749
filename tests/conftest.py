"""What all tests rest on."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore interrupts, and their children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
