"""Available memory, sizes for messages, and the errors that mean memory ran out."""

from __future__ import annotations

import errno
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path

from syntabula.errors import ResourceError, SyntabulaError

_NAMES = ("OutOfMemoryException", "OutOfMemoryError")
"""Classes of DuckDB and torch that do not inherit from MemoryError."""
_MARKS = (
    "Out of Memory Error",  # DuckDB, which wraps its own errors
    "bad_alloc",  # C++ libraries
    "allocation_failed",  # LZ4, within Arrow
    "can't start new thread",  # Python, where no stack fits
    "Failed to launch worker thread",  # Arrow, likewise
    "failed to map segment",  # the loader of shared libraries
    "annot allocate memory",  # the operating system
    "DefaultCPUAllocator",  # torch, on a processor
    "STATUS_ALLOC_FAILED",  # libraries of a GPU's maker, within torch
    "CUDA error: out of memory",  # torch, where not even a stream can be made
)
"""Parts of the messages of other errors that mean memory ran out."""
_CGROUPS = "/sys/fs/cgroup"


def table_mb(cells: int, bytes_per_cell: int = 8) -> float:
    """Return the size of a table with this many cells; infinite if it exceeds the largest float."""
    try:
        return cells * bytes_per_cell / 2**20
    except OverflowError:
        return math.inf


def above_limit(needed_mb: float, limit_mb: float) -> str:
    """Say that more is needed than allowed, with enough digits to show it: need rounded up, limit rounded down."""
    return f"{_shown(needed_mb, ROUND_CEILING)} MB, above the limit of {_shown(limit_mb, ROUND_FLOOR)} MB"


def cells_shown(cells: int) -> str:
    """Return a number of cells for a message; only the power of ten if it is huge."""
    return f"{cells:,}" if cells < 10**15 else f"about 1e{math.log10(cells):.0f}"


def _shown(size_mb: float, rounding: str) -> str:
    if math.isinf(size_mb):
        return "more than 1e+308"
    digits = max(3, math.floor(math.log10(size_mb)) + 1) if size_mb > 0 else 3
    return f"{Context(prec=digits, rounding=rounding).create_decimal(repr(float(size_mb))).normalize():,f}"


def ran_out(error: BaseException | None, handled: BaseException | None = None) -> bool:
    """Return whether an error means that memory ran out, or was caused by one that does.

    A reader that runs out of memory may call the file damaged, and a library's binding may wrap a MemoryError. So
    every error that was raised while such an error was handled counts too.

    Args:
        error: The error.
        handled: An error that the caller was already handling, which is not the cause.
    """
    while error is not None and error is not handled:
        if isinstance(error, MemoryError) or type(error).__name__ in _NAMES:
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        if not isinstance(error, SyntabulaError) and any(mark in str(error) for mark in _MARKS):
            return True
        error = error.__cause__ or error.__context__
    return False


def available_bytes() -> int | None:
    """Return how many more bytes this process can use, as far as the system says; None if it does not.

    On Linux: memory available to new programs, within the limits of the container and of the process. Elsewhere: all
    memory of the machine.
    """
    limits = [*_of_the_machine(), *_of_the_container(), *_of_the_process()]
    return max(0, min(limits)) if limits else None


def _of_the_machine() -> Iterator[int]:
    with suppress(OSError, ValueError):
        yield _number("/proc/meminfo", "MemAvailable:") * 1024
        return
    with suppress(AttributeError, OSError, ValueError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_the_container() -> Iterator[int]:
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text(encoding="ascii", errors="replace").splitlines():
            _, kinds, place = line.split(":", 2)
            if kinds == "":
                root, most, used, reclaimable = "", "memory.max", "memory.current", "inactive_file"
            elif kinds == "memory":
                root, most, used = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
                reclaimable = "total_inactive_file"
            else:
                continue
            # Inside a container, its own group often appears as the root.
            for folder in {Path(_CGROUPS, root), Path(_CGROUPS, root, place.lstrip("/"))}:
                # "max", which is not a number, means no limit.
                with suppress(OSError, ValueError):
                    free = int((folder / most).read_text()) - int((folder / used).read_text())
                    yield free + _number(f"{folder}/memory.stat", reclaimable)


def _of_the_process() -> Iterator[int]:
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            yield most - _number("/proc/self/status", "VmSize:") * 1024


def _number(path: str, name: str) -> int:
    """Return the number beside a name in a file of the system; raises ValueError if there is no such name."""
    for line in Path(path).read_text(encoding="ascii", errors="replace").splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(words[1])
    raise ValueError(name)


@contextmanager
def memory_for(
    what: str, remedy: str = "use fewer rows or columns, or a machine with more memory"
) -> Iterator[None]:
    """Raise ResourceError if memory runs out within the block, and say what it was needed for and what to do.

    Args:
        what: Completes the sentence "there is not enough memory to ...".
        remedy: Completes the message.
    """
    handled = sys.exception()
    try:
        yield
    except Exception as error:
        if isinstance(error, ResourceError) or not ran_out(error, handled):
            raise
        raise ResourceError(f"there is not enough memory to {what}; {remedy}") from None
