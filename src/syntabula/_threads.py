"""How many threads compute at once: sums that are divided otherwise round otherwise, and give other rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from syntabula._extras import require

MOST_TRAINING_THREADS = 1024
"""That an option or a file may name, on any machine."""

_HELPFUL = 64
"""More, if there are no more processors, wait for each other in each product: 256 on two processors took 12 times the
time of 8. A system that cannot start as many as torch asks for ends the process without a word."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_MOST_THREADS = 8
"""As each holds what it computes with in memory."""
_KEPT = 31 << 20
"""Bytes, a little less than the largest block whose return glibc learns from."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_at_once(n: int) -> int:
    """Return how many of n threads can compute at the same time."""
    return min(n, processors())


@contextmanager
def training_threads(n: int) -> Iterator[None]:
    """Let torch use this many processor threads, and restore the previous number afterwards.

    It uses 64 where more are asked for than there are processors. Memory that a step of training frees is kept for the
    next.
    """
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    # glibc hands back what is free at the end of its heap beyond twice the largest block that it mapped and got back
    # (mallopt(3) on M_MMAP_THRESHOLD), and each step would fault in anew what the one before freed: up to a fifth of its
    # time. So it is shown a large block, of which no page is touched. Other libraries take no notice.
    torch.empty(_KEPT, dtype=torch.uint8)
    torch.set_num_threads(min(n, max(_HELPFUL, processors())))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread_for_products() -> Iterator[None]:
    """Let numpy multiply matrices in one thread, and restore the previous number afterwards."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def in_threads(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """Return what work gives for each item, some at a time: as many as numpy had threads to multiply one matrix in.

    What each gives depends on its item alone, and products within are made in one thread, so that the number of threads
    changes nothing.
    """
    n = min(len(items), _product_threads(), _MOST_THREADS)
    with one_thread_for_products():
        if n < 2:
            return [work(item) for item in items]
        pool = ThreadPoolExecutor(n)
        try:
            return [*pool.map(work, items)]
        finally:
            # After an error or an interrupt what has not begun is not done.
            pool.shutdown(cancel_futures=True)


def _product_threads() -> int:
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
