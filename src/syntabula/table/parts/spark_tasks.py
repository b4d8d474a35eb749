"""What the workers of Spark do with the batches of a frame: fold them, add up states, or send the records on."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula._memory import memory_for
from syntabula._version import __version__
from syntabula.errors import DataError, SyntabulaError
from syntabula.marginals.parts import Fold, State
from syntabula.table.parts import pickling as pickling  # for its effect
from syntabula.table.parts.arrow_parts import ArrowStream
from syntabula.table.parts.part_reading import Part, folded
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE, Wrap
from syntabula.table.raw import RawTable
from syntabula.table.schema.schema import Schema

PLACE = "the Spark frame"
"""What a message calls it."""

ANSWERS = (
    "parts array<bigint>, rows bigint, warnings array<string>, error string, message string, "
    "names array<string>, arrays array<binary>"
)
"""Columns of a frame of answers, for Spark."""

PIECES = "part bigint, piece binary"
"""Column of a frame of records on their way, for Spark."""

NOT_INSTALLED = "the workers of Spark need the same syntabula as the driver"

Batches = Iterator[Any]
Task = Callable[[Batches], Batches]


def on_workers(task: Task) -> Task:
    """Return a function for `mapInArrow` that runs a task, which can be pickled, on each partition.

    The function itself needs no syntabula, so that it can say of a worker that it has none.
    """
    packed, wanted = pickle.dumps(task), __version__
    sentence = NOT_INSTALLED

    def run(batches: Any) -> Any:
        import pickle

        try:
            from syntabula._version import __version__ as found
        except ImportError:
            found = "none"
        if found != wanted:
            raise ImportError(f"{sentence}: it has {wanted}, and a worker {found}")
        yield from pickle.loads(packed)(batches)

    return run


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What folding some partitions gave, or the error that ended it.

    Attributes:
        parts: Numbers of the partitions.
        n_rows: Number of their records (sensitive).
        warnings: What reading them warned of.
        state: Their state.
        error: The error; no state then.
    """

    parts: tuple[int, ...]
    n_rows: int
    warnings: tuple[str, ...]
    state: State
    error: SyntabulaError | None = None

    def batch(self) -> Any:
        """Return the answer as a batch of one row."""
        arrow = require("pyarrow", "arrow")
        texts = arrow.list_(arrow.string())
        columns = {
            "parts": arrow.array([self.parts], arrow.list_(arrow.int64())),
            "rows": arrow.array([self.n_rows], arrow.int64()),
            "warnings": arrow.array([self.warnings], texts),
            "error": arrow.array([None if self.error is None else type(self.error).__name__], arrow.string()),
            "message": arrow.array([None if self.error is None else str(self.error)], arrow.string()),
            "names": arrow.array([[*self.state]], texts),
            "arrays": arrow.array([[*map(_packed, self.state.values())]], arrow.list_(arrow.binary())),
        }
        return arrow.RecordBatch.from_pydict(columns)

    @classmethod
    def read(cls, row: Any) -> Answer:
        """Return the answer of a row; its values are taken by name."""
        error = None
        if row["error"] is not None:
            from syntabula import errors

            error = getattr(errors, row["error"])(row["message"])
        state = dict(zip(row["names"], map(_unpacked, row["arrays"]), strict=True))
        return cls(tuple(row["parts"]), row["rows"], tuple(row["warnings"]), state, error)


def total(answers: Iterable[Answer], fold: Fold[RawTable]) -> Answer:
    """Return the sum of answers, or the first that is an error.

    Raises:
        DataError: If a partition was counted twice.
    """
    seen, n_rows, said, state = set[int](), 0, dict[str, None](), fold.start()
    for answer in answers:
        if answer.error is not None:
            return answer
        if not seen.isdisjoint(answer.parts):
            # Spark keeps one result of a task that it ran more than once.
            raise DataError(
                "Spark gave the records of a partition twice; its rows must not depend on chance: write the frame to a "
                "table, and fit that"
            )
        seen.update(answer.parts)
        n_rows += answer.n_rows
        said |= dict.fromkeys(answer.warnings)
        fold.merge(state, answer.state)
    return Answer(tuple(seen), n_rows, tuple(said), state)


@dataclass(frozen=True)
class FoldTask:
    """Folds the records of a partition."""

    schema: Schema | None
    columns: Sequence[str] | None
    fold: Fold[RawTable]
    wraps: Sequence[Wrap] = ()

    def __call__(self, batches: Batches) -> Batches:
        """Yield one answer."""
        number = _partition()
        part: Part = ArrowStream(PLACE, "parquet", lambda _: gathered(batches))
        for wrap in self.wraps:
            part = wrap(part, number)

        def answer() -> Answer:
            work = folded((part,), self.schema, self.columns, self.fold)
            return Answer((number,), work.n_rows, tuple(dict.fromkeys(work.warnings)), work.state)

        yield _answered(answer).batch()


@dataclass(frozen=True)
class MergeTask:
    """Adds up answers, so that the driver gets a few alone."""

    fold: Fold[RawTable]

    def __call__(self, batches: Batches) -> Batches:
        """Yield one answer."""
        rows = (row for batch in batches for row in batch.to_pylist())
        yield _answered(lambda: total(map(Answer.read, rows), self.fold)).batch()


@dataclass(frozen=True)
class SendTask:
    """Sends records on as they are.

    Attributes:
        columns: Those that are sent; None for all.
    """

    columns: Sequence[str] | None = None

    def __call__(self, batches: Batches) -> Batches:
        """Yield records in the format of Arrow streams."""
        arrow, ipc = require("pyarrow", "arrow"), require("pyarrow.ipc", "arrow")
        for gathered_rows in gathered(batches):
            table = gathered_rows if self.columns is None else gathered_rows.select(list(self.columns))
            sink = arrow.BufferOutputStream()
            with ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            piece = arrow.array([sink.getvalue().to_pybytes()], arrow.binary())
            number = arrow.array([_partition()], arrow.int64())
            yield arrow.RecordBatch.from_pydict({"part": number, "piece": piece})


def _partition() -> int:
    number: int = require("pyspark", "spark").TaskContext.get().partitionId()
    return number


def received(piece: bytes) -> Any:
    """Return the records that `SendTask` sent."""
    return require("pyarrow.ipc", "arrow").open_stream(piece).read_all()


def gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield tables of about ROWS_AT_ONCE rows: Spark's batches have 10,000 by default, and each costs some time."""
    arrow = require("pyarrow", "arrow")
    held, rows = list[Any](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield arrow.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield arrow.Table.from_batches(held)


def _answered(answer: Callable[[], Answer]) -> Answer:
    """Return an answer; a failure is one too, since Spark would try again and then print what was raised."""
    error: SyntabulaError
    try:
        with memory_for(f"read {PLACE}"):
            return answer()
    except SyntabulaError as raised:
        error = raised
    except Exception as raised:
        error = DataError(f"{PLACE} cannot be read ({type(raised).__name__}); check its tables")
    return Answer((), 0, (), {}, error)


def _packed(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _unpacked(packed: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(packed), allow_pickle=False)
    return array
