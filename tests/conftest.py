"""What all tests rest on."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Before any library reads it: threads of small matrices wait for each other where several tests run at a time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Where Python was told to keep no compiled modules, each process that a test starts would compile all of them again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine fails no test, and every run tries the same examples.
settings.register_profile(
    "syntabula", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("syntabula")


BY_NAME = ("install", "spark")
OF_PRIVACY = ("statistics", "privacy")
"""Folders whose thorough tests run however little time there is: audits, accounting and noise."""
BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let thorough tests have so much time alone, and say in which order they come then."""
    parser.addoption(
        "--thorough-seconds",
        type=float,
        default=math.inf,
        help="thorough tests, but those of privacy, begin within so many seconds",
    )
    parser.addoption("--thorough-order", default="", help="any word: another gives another order of files")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what installs or starts much unless it is asked for by name, whatever else `-m` says.

    Where time is limited, thorough tests come last, in another order of files for each word, so that on a slow machine
    other ones are left out each time. Those of privacy come first, and none of them is left out.
    """
    unasked = [marker for marker in BY_NAME if marker not in config.option.markexpr]
    left_out = [item for item in items if any(map(item.get_closest_marker, unasked))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if math.isfinite(config.option.thorough_seconds):
        items.sort(key=partial(_place, config.option.thorough_order))


def _is_of_privacy(item: pytest.Item) -> bool:
    return item.path.relative_to(Path(__file__).parent).parts[0] in OF_PRIVACY


def _place(order: str, item: pytest.Item) -> tuple[bool, int]:
    may_wait = item.get_closest_marker("thorough") is not None and not _is_of_privacy(item)
    first = 0 if _is_of_privacy(item) else 1
    return may_wait, zlib.crc32(f"{order} {item.path.name}".encode()) if may_wait else first


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip thorough tests that would begin too late, and say so."""
    late = time.monotonic() - BEGAN > item.config.option.thorough_seconds
    if late and item.get_closest_marker("thorough") is not None and not _is_of_privacy(item):
        pytest.skip("the time for thorough tests is up; `make test-all` runs all of them")


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore interrupts, nohup hang-ups, and their children too."""
    wanted: dict[str, Any] = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
    numbers = {name: getattr(signal, name) for name in wanted if hasattr(signal, name)}
    before = {number: signal.signal(number, wanted[name]) for name, number in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def repeated_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test the same draws in every run, also where it asks for the exact samplers or names no seed.

    What a test finds must not depend on luck. Tests of the samplers themselves are marked `fresh_noise`; processes
    that a test starts draw afresh.
    """
    if request.node.get_closest_marker("fresh_noise"):
        return
    from syntabula.privacy import noise

    seed = zlib.crc32(request.node.nodeid.encode())
    seeded = noise.SeededNoise(seed)
    drawn = SimpleNamespace(
        gaussian=seeded.discrete_gaussian, laplace=seeded.discrete_laplace, choice=seeded.noisy_max
    )
    monkeypatch.setattr(noise, "exact_samplers", drawn)
    generator, streams = np.random.default_rng, np.random.SeedSequence(seed)
    # What training draws is made of the operating system's bits.
    monkeypatch.setattr(noise, "os", SimpleNamespace(urandom=generator(seed).bytes))
    monkeypatch.setattr(
        np.random,
        "default_rng",
        lambda given=None: generator(streams.spawn(1)[0] if given is None else given),
    )
