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
    # Plain locks, as a second signal breaks an Event that the first one has just left.
    begin, end = threading.Lock(), threading.Lock()
    begin.acquire()
    end.acquire()
    started = stopped = finished = False
    interrupt: KeyboardInterrupt | None = None

    def run() -> None:
        nonlocal finished
        begin.acquire()
        try:
            if not stopped:
                results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            finished = True
            end.release()

    thread = threading.Thread(target=run, name="duckdb", daemon=True)
    try:
        thread.start()
        started = True
        begin.release()
    except KeyboardInterrupt as error:
        interrupt = error
    if not started:
        stopped = True
        begin.release()
    while started:
        # A further signal is nothing new: what waits is tried again.
        try:
            if interrupt is not None:
                stopped = True
                database.interrupt()
            if not finished:
                # With a time limit, as waits without one cannot be interrupted on every system.
                end.acquire(timeout=1.0 if interrupt is None else _LOOK_EVERY)
                continue
            # What the thread still holds must be gone: an interpreter that ends now would abort within DuckDB.
            thread.join()
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if errors:
        raise errors[0]
    return results[0]


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error of DuckDB stands for an interrupt, for queries on a connection of the user's."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"
