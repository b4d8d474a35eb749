"""Ctrl-C while DuckDB works: it stops the query at once and arrives as KeyboardInterrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")

_LOOK_EVERY = 0.05
"""Seconds between two attempts to stop: one that falls between two queries is lost."""


def interruptible(database: Any, work: Callable[[], ResultT]) -> ResultT:
    """Run queries so that an interrupt stops them.

    In the main thread DuckDB turns some interrupts into a RuntimeError and misses others until the query
    ends. The work therefore runs in a thread of its own, while this one waits for signals.

    Args:
        database: Connection that the work uses.
        work: What to run; it should do little beside its queries, as only these are stopped.

    Returns:
        What the work returns.

    Raises:
        KeyboardInterrupt: If the user interrupts; the work has ended by then. Errors of the work pass through.
    """
    results: list[ResultT] = []
    errors: list[BaseException] = []
    begun, stopped, finished = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        begun.wait()
        try:
            if not stopped.is_set():
                results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            finished.set()

    # Events, as an interrupted Thread.join takes a running thread for a stopped one in Python 3.11.
    thread = threading.Thread(target=run, name="duckdb", daemon=True)
    try:
        thread.start()
        begun.set()
        # With a time limit, as waits without one cannot be interrupted on every system.
        while not finished.wait(1.0):
            pass
    except KeyboardInterrupt:
        stopped.set()
        if begun.is_set():
            while not finished.wait(_LOOK_EVERY):
                database.interrupt()
        begun.set()
        raise
    if errors:
        raise errors[0]
    return results[0]


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error of DuckDB stands for an interrupt, for queries on a connection of the user's."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"
