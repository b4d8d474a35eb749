"""A Spark frame as a table in parts: its workers fold the partitions, and the driver adds up their states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from syntabula._memory import ran_out
from syntabula._version import __version__
from syntabula.errors import DataError, MissingExtraError, ResourceError, SyntabulaError
from syntabula.marginals.parts import Fold
from syntabula.table.parts.arrow_parts import ArrowStream
from syntabula.table.parts.part_reading import Part, Work
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.parts.spark_tasks import (
    ANSWERS,
    NOT_INSTALLED,
    PIECES,
    PLACE,
    Answer,
    FoldTask,
    MergeTask,
    SendTask,
    on_workers,
    received,
    total,
)
from syntabula.table.raw import RawTable, check_names
from syntabula.table.schema.schema import Schema

_GROUPS = 4
"""Workers that add up states, of all partitions, before the driver does: it would be sent thousands of them."""

_ENDED = ("Python worker exited unexpectedly", "ExecutorLostFailure", "maxResultSize")


@dataclass(frozen=True)
class PlanSnapshot:
    """What a frame reads, as Spark says: its plan and its files."""

    frame: Any
    plan: int
    files: tuple[str, ...]

    @classmethod
    def of(cls, frame: Any) -> PlanSnapshot:
        """Return what a frame reads now."""
        with failures_of_spark():
            return cls(frame, frame.semanticHash(), tuple(sorted(frame.inputFiles())))

    def check(self) -> None:
        """Raise DataError if the frame reads something else."""
        now = PlanSnapshot.of(self.frame)
        if (now.plan, now.files) != (self.plan, self.files):
            raise DataError(
                "the table changed while it was read: the Spark frame does not read what it read at the start; fit a "
                "table that nothing writes to, such as a version of it"
            )


@dataclass(eq=False, repr=False)
class SparkParts(RawParts):
    """A Spark frame, of which each partition is a part.

    Attributes:
        frame: The frame.
    """

    frame: Any = None

    @property
    def states_at_once(self) -> int:
        """How many states are in the driver's memory at once: one as it came, one being read, and the sum."""
        return 3

    def _folded(self, fold: Fold[RawTable]) -> Work:
        fold_task, merge_task = FoldTask(self.schema, self.columns, fold, self.wraps), MergeTask(fold)
        with failures_of_spark():
            # What is around a part, such as rules, may need other columns than those that are asked of it.
            states = _chosen(self.frame, None if self.wraps else self.columns).mapInArrow(
                on_workers(fold_task), ANSWERS
            )
            merged = states.repartition(_GROUPS).mapInArrow(on_workers(merge_task), ANSWERS)
            found = total(map(Answer.read, merged.toLocalIterator()), fold)
        if found.error is not None:
            raise found.error
        return Work(found.state, found.n_rows, [*found.warnings])

    def _numbered(self) -> Iterator[tuple[int, Part]]:
        sent = _sent(self.frame, None if self.wraps else self.columns)
        for number, rows in groupby(sent, key=itemgetter("part")):
            part: Part = ArrowStream(PLACE, "parquet", partial(_received, rows))
            for wrap in self.wraps:
                part = wrap(part, number)
            yield number, part


def spark_parts(frame: Any, schema: Schema | None) -> SparkParts:
    """Return a Spark frame as a table in parts.

    Args:
        frame: A frame of the classic kind, or of Spark Connect.
        schema: Declares all columns, or some; None for none.

    Raises:
        DataError: If it is a stream, or Spark cannot say what it reads.
        SchemaError: If the names of its columns do not fit the schema.
    """
    if frame.isStreaming:
        raise DataError("a Spark frame that streams has no end; write it to a table, and fit that")
    check_names(frame.columns)
    if schema is not None:
        schema.check_names(frame.columns)
    part = ArrowStream(PLACE, "parquet", partial(_pieces, frame))
    return SparkParts("parquet", schema, (part,), snapshot=PlanSnapshot.of(frame), frame=frame)


def empty_table(frame: Any) -> Any:
    """Return the columns of a frame without records, as a relation of DuckDB: the names of types are those of files."""
    import duckdb

    with failures_of_spark():
        return duckdb.connect().from_arrow(frame.limit(0).toArrow())


def _chosen(frame: Any, columns: Sequence[str] | None) -> Any:
    if columns is None:
        return frame
    return frame.select(*("`" + name.replace("`", "``") + "`" for name in columns))


def _pieces(frame: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the records of a frame in this process, one partition after the other."""
    return _received(_sent(frame, columns), columns)


def _sent(frame: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    # Workers choose the columns. Spark itself would divide the rows of some frames otherwise if it read fewer.
    with failures_of_spark():
        yield from frame.mapInArrow(on_workers(SendTask(columns)), PIECES).toLocalIterator()


def _received(rows: Iterable[Any], _: Sequence[str] | None) -> Iterator[Any]:
    for row in rows:
        yield received(row["piece"])


@contextmanager
def failures_of_spark() -> Iterator[None]:
    """Turn every failure of Spark into an error that shows no cell: Spark's own message may."""
    try:
        yield
    except SyntabulaError:
        raise
    except Exception as error:
        raise _described(error) from None


def _described(error: Exception) -> SyntabulaError:
    text = str(error)
    if NOT_INSTALLED in text:
        return MissingExtraError(
            f"{NOT_INSTALLED}, version {__version__}; install it there, or let PYSPARK_PYTHON name a Python that has it"
        )
    if ran_out(error) or any(mark in text for mark in _ENDED):
        return ResourceError(
            "a worker of Spark ended too early, or sent too much, probably because memory ran out; give workers more "
            "(spark.executor.memoryOverhead), divide the frame into more partitions (repartition), or use fewer bins"
        )
    # The name of a kind of errors, such as CAST_INVALID_INPUT, of newer versions first.
    condition = getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))()
    kind = type(error).__name__ if condition is None else f"{type(error).__name__}, {condition}"
    return DataError(
        f"{PLACE} cannot be read ({kind}); see that `frame.write` of it to a table succeeds, and read Spark's own log"
    )
