"""How many threads compute at once: sums that are divided otherwise round otherwise, and give other rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from syntabula._extras import require


@contextmanager
def training_threads(n: int) -> Iterator[None]:
    """Let torch use this many processor threads, and restore the previous number afterwards."""
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    torch.set_num_threads(n)
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
