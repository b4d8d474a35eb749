"""Folds parts in several processes of one machine; an error that comes back from one shows no cell."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING

from syntabula._memory import memory_for
from syntabula.errors import DataError, ResourceError, SyntabulaError
from syntabula.marginals.parts import Fold
from syntabula.table.parts import pickling as pickling  # for its effect
from syntabula.table.parts.part_reading import Part, Work, folded

if TYPE_CHECKING:
    from syntabula.table.raw import RawTable
    from syntabula.table.schema.schema import Schema


def folded_in_processes(
    parts: Sequence[Part],
    schema: Schema | None,
    columns: Sequence[str] | None,
    fold: Fold[RawTable],
    *,
    processes: int,
    pools: list[Executor],
) -> Work:
    """Fold parts in some processes, each with a share of the parts and one state, and return their sum.

    Args:
        parts: The parts.
        schema: Declares all columns, or some; None for none.
        columns: The columns to read; None for all.
        fold: What is asked.
        processes: Number of processes.
        pools: Holds the processes that an earlier pass started, and then those of this one; none after an error.

    Raises:
        ResourceError: If a process ends before its work is done, as the system ends one that takes too much memory.
        SyntabulaError: If a part cannot be read; what other parts gave is dropped.
    """
    # Neighbouring parts go to different processes, so that each has as much to do.
    tasks = [(parts[i::processes], schema, columns, fold) for i in range(processes)]
    pool = pools.pop() if pools else None
    pool = pool or ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin)
    total: Work | None = None
    done = False
    try:
        for answer in pool.map(_run, tasks):
            if isinstance(answer, SyntabulaError):
                raise answer
            if total is None:
                total = answer
                continue
            fold.merge(total.state, answer.state)
            total = Work(total.state, total.n_rows + answer.n_rows, [*total.warnings, *answer.warnings])
        done = True
    except BrokenProcessPool:
        raise ResourceError(
            "a process that read part of the table ended too early, probably because memory ran out; use fewer workers, "
            'or one. A script that uses more than one needs `if __name__ == "__main__":` around what it runs'
        ) from None
    finally:
        if done:
            pools.append(pool)
        else:
            pool.shutdown(wait=True, cancel_futures=True)
    assert total is not None
    return total


def _begin() -> None:
    # The process that started this one decides what an interrupt ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_Task = tuple[Sequence[Part], "Schema | None", Sequence[str] | None, Fold["RawTable"]]


def _run(task: _Task) -> Work | SyntabulaError:
    """Return the work, or the error to raise: an error that is raised here would bring its traceback along."""
    try:
        with memory_for("read the table"):
            return folded(*task)
    except SyntabulaError as error:
        return type(error)(str(error))
    except Exception as error:
        return DataError(f"part of the table cannot be read ({type(error).__name__}); check its files")
